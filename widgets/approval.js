// A yes or no: what it is about, how much is at risk, and room for a reason. A no is the frame's decline.

import { drawContext } from "./context.js";
import { h, writeOrHide } from "./kit.js";
import { drawWords } from "./words.js";

/** @typedef {{ rows: any[], risk: null | "low" | "high", reason: null | "optional" | "required", keys?: boolean }} ApprovalProps */

const APPROVAL_RISKS = new Map([
  ["low", "Low risk"],
  ["high", "High risk: look twice"],
]);

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ reason: "" }),
  keep: ({ reason }) => (reason ? { reason } : undefined),
  answer: ({ reason }, props) => (props.reason && reason.trim() ? { approved: true, reason } : { approved: true }),
  check: ({ reason }, props) => {
    if (props.reason !== "required" || reason.trim()) return undefined;
    return { error: "Please say why.", draft: { reason, wrong: true } };
  },
  reason: ({ reason }) => reason,
  needsReason: (props) => props.reason === "required",
  keys: (props) => (props.keys && props.risk !== "high" ? ["Y", "N"] : undefined),
  draw(body, change) {
    const risk = h("p", { class: "hitl-risk" });
    const context = drawContext();
    body.append(risk, context.el);
    const words = drawWords(body, { long: false, label: "Reason", change: (reason) => change({ reason }) });
    return (props, draft) => {
      context.update(props.rows);
      writeOrHide(risk, APPROVAL_RISKS.get(props.risk));
      risk.dataset.risk = props.risk ?? "";
      words.el.hidden = !props.reason;
      words.update(draft?.reason ?? "", "", props.reason === "required" ? "Reason" : "Reason (optional)");
      words.el.toggleAttribute("data-wrong", draft?.wrong === true);
      words.box.ariaInvalid = String(draft?.wrong === true);
    };
  },
};
