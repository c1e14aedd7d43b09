// The form of a call: each value in a control of its own. Python has normalised the schema, and checks what is sent:
// only what the person changed.

import { changesIn } from "./change.js";
import { drawContext } from "./context.js";
import { keptOf, putBack } from "./form_draft.js";
import { editsOf } from "./form_edits.js";
import { drawField } from "./form_field.js";
import { findFaults, isMap, plant, spotAt, spotsOf } from "./form_spot.js";
import { withInstead } from "./instead.js";
import { div, h, write } from "./kit.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {import("./form_spot.js").Path} Path
 * @typedef {{
 *   form: import("./form_spot.js").FormNode, value: import("./wire.js").Wire, mode: "review" | "answer",
 *   layout: { path: Path, branch: number | null }[], errors: { path: Path, message: string }[],
 * }} FormProps  of cards/form.py
 */

/** @param {FormProps} props */
function formRoot({ form, value, layout, mode }) {
  const places = layout.map(({ path, branch }) => /** @type {const} */ ([JSON.stringify(path), branch])).reverse();
  const plan = { fill: mode === "answer", layout: new Map(places) };
  return plant(form, plan.fill && value === null ? undefined : value, plan);
}

/** @param {Spot} root @param {FormProps["errors"]} errors */
function setErrors(root, errors) {
  for (const spot of spotsOf(root)) spot.error = "";
  for (const { path, message } of errors) {
    const spot = spotAt(root, path);
    spot.error = spot.error ? `${spot.error}\n${message}` : message;
  }
}

const FORM_MANY = 4; // changes from which on they are listed, too

/** @type {import("./frame.js").Card}  `touched`: the spot that changed last. */
const form = {
  seed: (props) => ({ root: formRoot(props) }),
  keep: ({ root }) => keptOf(root) && { root: keptOf(root) },
  resume: (props, { root }) => {
    const draft = form.seed(props);
    putBack(draft.root, root);
    return draft;
  },
  answer: ({ root }) => ({ edits: editsOf(root) }),
  confirm: (label, { root }, { mode }) => (mode === "review" && editsOf(root).length ? `${label} changes` : label),
  check: ({ root }) => (findFaults(root) ? { error: "Please look at the marked fields.", draft: { root } } : undefined),
  quiet: [({ root }, props) => props.mode === "review" && editsOf(root).length > 0 && ["Reset", form.seed(props)]],
  draw(body, change, { el }) {
    const context = drawContext();
    const fields = div("hitl-form");
    const count = h("p", { class: "hitl-field-label" });
    const list = h("div", { class: "hitl-tree" });
    const changes = div("hitl-changes", count, list);
    body.append(context.el, fields, changes);
    const drawChanges = (/** @type {Spot | undefined} */ root, /** @type {string} */ mode) => {
      const found = root && mode === "review" ? changesIn(root) : [];
      changes.hidden = found.length < FORM_MANY;
      if (changes.hidden) return;
      write(count, `${found.length} changes`);
      drawTree(list, [["dl", {}, ...found.flatMap(([place, nodes]) => [["dt", {}, place], ["dd", {}, ...nodes]])]]);
    };
    let [root, held, value, errors, was] = /** @type {any[]} */ ([]);
    let rest = 0; // when the next preview may be drawn
    /** @type {import("./form_field.js").View} */
    const view = {
      updates: new Map(),
      marks: false,
      touch(spot) {
        if (spot) [spot.error, spot.begun] = ["", true];
        change({ root, touched: spot });
      },
    };
    const updateAll = () => view.updates.forEach((update) => update());
    return (props, draft, phase) => {
      context.update(props.rows);
      const start = performance.now();
      if (draft ? draft.root !== root : props.value !== value && start >= rest) {
        root = draft?.root ?? formRoot(props);
        view.marks = props.mode === "answer";
        view.updates.clear();
        const by = (isMap(root) && !root.node.nullable && el.getAttribute("aria-labelledby")) || "";
        fields.replaceChildren(drawField(view, root, by));
        value = props.value;
        rest = 4 * performance.now() - 3 * start;
      } else if (draft !== held) draft.touched ? view.updates.get(draft.touched)?.() : updateAll();
      const news = JSON.stringify(props.errors);
      if (draft && ((props.errors !== errors && root.told !== news) || (was === "sending" && !phase))) {
        root.told = news; // another view of the card has the same places: what was corrected there stays so
        setErrors(root, props.errors);
        updateAll();
      }
      if (draft !== held) drawChanges(draft?.root, props.mode);
      [held, errors, was] = [draft, props.errors, phase];
    };
  },
};

export default withInstead(form);
