// A question that is answered by one of a few buttons, or in words.

import { drawContext } from "./context.js";
import { fillRows, h, write } from "./kit.js";
import { drawWords } from "./words.js";

/**
 * @typedef {{ rows: any[], choices: string[], label: string }} ReplyProps
 * @typedef {{ text: string, choice?: number, wrong?: boolean }} ReplyDraft  `choice`: the button that was pressed
 */

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ text: "" }),
  answer: ({ text, choice }) => (choice === undefined ? { text } : { choice }),
  check: ({ text, choice }) => {
    if (choice !== undefined || text.trim()) return undefined;
    return { error: "Nothing is written yet.", draft: { text, wrong: true } };
  },
  draw(body, change, { el, confirm }) {
    const context = drawContext();
    const by = el.getAttribute("aria-labelledby");
    const buttons = h("div", { class: "hitl-actions", role: "group", "aria-labelledby": by });
    body.append(context.el, buttons);
    let [text, was] = ["", ""];
    const press = (/** @type {number} */ choice) => {
      change({ text, choice });
      confirm();
    };
    const words = drawWords(body, { long: true, label: "", change: (text) => change({ text }), send: confirm });
    return ({ rows, choices, label }, draft, phase) => {
      text = draft?.text ?? "";
      // A button that was refused is no longer pressed: Send sends the words.
      if (was === "sending" && phase === "") delete draft.choice;
      was = phase;
      context.update(rows);
      buttons.hidden = choices.length === 0;
      fillRows(buttons, choices, (at) => replyButton(() => press(at)), write);
      words.update(text, "", label);
      words.el.toggleAttribute("data-wrong", draft?.wrong === true);
    };
  },
};

/** @param {() => void} onclick */
const replyButton = (onclick) => h("button", { type: "button", class: "hitl-button", dir: "auto", onclick });
