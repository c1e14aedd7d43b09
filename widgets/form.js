// The form of a call: what the model proposes, each value in a control of its own, and what the person makes of it.
// Python has normalised the schema and will apply and validate; here values are drawn, and what changed is sent.

import { drawContext } from "./context.js";
import { editsOf } from "./form_edits.js";
import { drawField } from "./form_field.js";
import { findFaults, isMap, plant, spotAt, spotsOf } from "./form_spot.js";
import { h } from "./kit.js";
import { drawWords } from "./words.js";

/**
 * @typedef {{
 *   form: any, value: any, layout: { path: (string | number)[], branch: number | null }[], rows: any[],
 *   mode: "review" | "answer", instead: boolean, errors: { path: (string | number)[], message: string }[],
 * }} FormProps
 * @typedef {{ root: import("./form_spot.js").Spot, touched?: any, instead?: string }} FormDraft  `touched`: what changed
 *   last (undefined: anything may have); `instead`: a text in place of the form
 */

/** @param {FormProps} props */
function formRoot({ form, value, layout = [], mode }) {
  const places = layout.map(({ path, branch }) => [JSON.stringify(path), branch]).reverse();
  const plan = { fill: mode === "answer", layout: new Map(places) };
  return plant(form, plan.fill && value === null ? undefined : value, plan);
}

function setErrors(root, errors = []) {
  for (const spot of spotsOf(root)) spot.error = "";
  for (const { path, message } of errors) {
    const spot = spotAt(root, path);
    spot.error = spot.error ? `${spot.error}\n${message}` : message;
  }
}

/** @type {import("./frame.js").Card} */
export const form = {
  seed: (props) => ({ root: formRoot(props) }),
  answer: ({ root, instead }) => (instead === undefined ? { edits: editsOf(root) } : { instead }),
  confirm: (label, { root, instead }, { mode }) => {
    if (instead !== undefined) return "Send answer";
    return mode === "review" && editsOf(root).length ? `${label} changes` : label;
  },
  check: (draft) => {
    const { root, instead } = draft;
    if (instead !== undefined) return instead.trim() ? undefined : { error: "Nothing is written yet.", draft };
    return findFaults(root) ? { error: "Something cannot be sent as it is.", draft: { root } } : undefined;
  },
  quiet: [
    ({ root, instead }, props) =>
      instead === undefined && props.mode === "review" && editsOf(root).length > 0 && ["Reset", form.seed(props)],
    ({ root, instead }, props) =>
      props.instead && (instead === undefined ? ["Answer instead", { root, instead: "" }] : ["Back to the form", { root }]),
  ],
  draw(body, change, { el, confirm }) {
    const context = drawContext();
    const fields = h("div", { class: "hitl-form" });
    body.append(context.el, fields);
    const write = (instead) => change({ ...held, instead });
    const words = drawWords(body, { long: true, label: "Your answer", change: write, send: confirm });
    let [root, held, value, errors, was] = /** @type {any[]} */ ([]);
    const view = { updates: new Map(), marks: false, touch };
    function touch(spot) {
      if (spot) spot.error = "";
      change({ root, touched: spot });
    }
    const redraw = () => {
      view.updates.clear();
      const by = isMap(root) && !root.node.nullable ? el.getAttribute("aria-labelledby") : "";
      fields.replaceChildren(drawField(view, root, by));
    };
    const updateAll = () => view.updates.forEach((update) => update());
    return (props, draft, phase) => {
      context.update(props.rows);
      view.marks = props.mode === "answer";
      if (draft ? draft.root !== root : props.value !== value) {
        root = draft ? draft.root : formRoot(props);
        redraw();
      } else if (draft !== held) draft.touched ? view.updates.get(draft.touched)?.() : updateAll();
      if (draft && (props.errors !== errors || (was === "sending" && !phase))) {
        setErrors(root, props.errors);
        updateAll();
      }
      const opens = draft?.instead !== undefined && held?.instead === undefined;
      [held, value, errors, was] = [draft, props.value, props.errors, phase];
      fields.hidden = draft?.instead !== undefined;
      words.el.hidden = !fields.hidden;
      words.update(draft?.instead ?? "");
      if (opens) words.box.focus();
    };
  },
};
