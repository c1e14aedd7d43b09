// The form of a call: what the model proposes, each value in a control of its own, and what the person makes of it.
// Python has normalised the schema and will apply and validate; here values are drawn, and what changed is sent.

import { editsOf } from "./form_edits.js";
import { drawField } from "./form_field.js";
import { findFaults, isMap, plant, spotAt, spotsOf } from "./form_spot.js";
import { fillRows, h, uid } from "./kit.js";
import { fillPlainRow, plainRow } from "./plain.js";

/**
 * @typedef {{
 *   form: any, value: any, layout: { path: (string | number)[], branch: number | null }[],
 *   rows?: import("./plain.js").PlainRow[], mode: "review" | "answer", instead?: boolean,
 *   errors?: { path: (string | number)[], message: string }[],
 * }} FormProps
 * @typedef {{ root: import("./form_spot.js").Spot, touched?: any, instead?: string }} FormDraft  `touched`: what changed
 *   last (undefined = anything may have); `instead`: a text in the place of the form
 */

/** @param {FormProps} props */
function formRoot({ form, value, layout = [], mode }) {
  const places = layout.map(({ path, branch }) => [JSON.stringify(path), branch]).reverse();
  const fill = mode === "answer";
  return plant(form, fill && value === null ? undefined : value, { fill, layout: new Map(places) });
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
    const rows = h("div", { class: "hitl-args" });
    const fields = h("div", { class: "hitl-form" });
    const text = drawInstead((instead) => change({ ...held, instead }), confirm);
    body.append(rows, fields, text.el);
    let [root, held, value, errors, was] = /** @type {any[]} */ ([]);
    const touch = (spot) => {
      if (spot) spot.error = "";
      change({ root, touched: spot });
    };
    const view = { updates: new Map(), touch, marks: false };
    const redraw = (next) => {
      root = next;
      view.updates.clear();
      const by = isMap(root) && !root.node.nullable ? el.getAttribute("aria-labelledby") : "";
      fields.replaceChildren(drawField(view, root, by));
    };
    const updateAll = () => view.updates.forEach((update) => update());
    return (props, draft, phase) => {
      fillRows(rows, props.rows ?? [], plainRow, fillPlainRow);
      view.marks = props.mode === "answer";
      if (draft ? draft.root !== root : props.value !== value) redraw(draft ? draft.root : formRoot(props));
      else if (draft !== held) draft.touched ? view.updates.get(draft.touched)?.() : updateAll();
      [held, value] = [draft, props.value];
      if (draft && (props.errors !== errors || (was === "sending" && !phase))) {
        setErrors(root, props.errors ?? []);
        updateAll();
      }
      [errors, was] = [props.errors, phase];
      text.update(draft?.instead);
      fields.hidden = draft?.instead !== undefined;
    };
  },
};

function setErrors(root, errors) {
  for (const spot of spotsOf(root)) spot.error = "";
  for (const { path, message } of errors) {
    const spot = spotAt(root, path);
    spot.error = spot.error ? `${spot.error}\n${message}` : message;
  }
}

/** A text in the place of the form. */
function drawInstead(change, confirm) {
  const id = uid();
  const text = h("textarea", { class: "hitl-input", id, dir: "auto", rows: 4 });
  const el = h("div", { class: "hitl-instead", hidden: true }, h("label", { for: id, text: "Your answer" }), text);
  text.addEventListener("input", () => change(text.value));
  text.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && confirm());
  const update = (instead) => {
    const opens = instead !== undefined && el.hidden;
    el.hidden = instead === undefined;
    if (instead !== undefined && text.value !== instead) text.value = instead;
    if (opens) text.focus();
  };
  return { el, update };
}
