// The form of a call: each value in a control of its own. Python has normalised the schema, and checks what is sent:
// only what the person changed.

import { drawContext } from "./context.js";
import { editsOf } from "./form_edits.js";
import { drawField } from "./form_field.js";
import { findFaults, isMap, plant, spotAt, spotsOf } from "./form_spot.js";
import { withInstead } from "./instead.js";
import { div } from "./kit.js";

/** @param {any} props  of cards/form.py */
function formRoot({ form, value, layout, mode }) {
  const places = layout.map(({ path, branch }) => [JSON.stringify(path), branch]).reverse();
  const plan = { fill: mode === "answer", layout: new Map(places) };
  return plant(form, plan.fill && value === null ? undefined : value, plan);
}

function setErrors(root, errors) {
  for (const spot of spotsOf(root)) spot.error = "";
  for (const { path, message } of errors) {
    const spot = spotAt(root, path);
    spot.error = spot.error ? `${spot.error}\n${message}` : message;
  }
}

/** @type {import("./frame.js").Card}  `touched`: the spot that changed last. */
const form = {
  seed: (props) => ({ root: formRoot(props) }),
  answer: ({ root }) => ({ edits: editsOf(root) }),
  confirm: (label, { root }, { mode }) => (mode === "review" && editsOf(root).length ? `${label} changes` : label),
  check: ({ root }) => (findFaults(root) ? { error: "Please look at the marked fields.", draft: { root } } : undefined),
  quiet: [({ root }, props) => props.mode === "review" && editsOf(root).length > 0 && ["Reset", form.seed(props)]],
  draw(body, change, { el }) {
    const context = drawContext();
    const fields = div("hitl-form");
    body.append(context.el, fields);
    let [root, held, value, errors, was] = /** @type {any[]} */ ([]);
    let rest = 0; // when the next preview may be drawn
    const view = {
      updates: new Map(),
      marks: false,
      touch(spot) {
        if (spot) spot.error = "";
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
        const by = isMap(root) && !root.node.nullable ? el.getAttribute("aria-labelledby") : "";
        fields.replaceChildren(drawField(view, root, by));
        value = props.value;
        rest = 4 * performance.now() - 3 * start;
      } else if (draft !== held) draft.touched ? view.updates.get(draft.touched)?.() : updateAll();
      if (draft && (props.errors !== errors || (was === "sending" && !phase))) {
        setErrors(root, props.errors);
        updateAll();
      }
      [held, errors, was] = [draft, props.errors, phase];
    };
  },
};

export default withInstead(form);
