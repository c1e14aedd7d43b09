// The one widget of a run: messages, notes, cards and records, as a list that follows the kernel.
//
// The default export is a function, because anywidget gives `initialize` and `render` different model objects: what
// they share (one store a run, however many views) can only be found through this closure.

import { approval } from "./approval.js";
import { choice } from "./choice.js";
import { form } from "./form.js";
import { drawFrame } from "./frame.js";
import { withInstead } from "./instead.js";
import { explain, h } from "./kit.js";
import { drawMessage, drawNote } from "./message.js";
import { plain } from "./plain.js";
import { reply } from "./reply.js";
import { stepReview } from "./step_review.js";
import { RunStore } from "./store.js";
import { text } from "./text.js";
import { timePicker } from "./time_picker.js";

/** @type {Map<string, import("./frame.js").Card>} */
const RUN_CARDS = new Map([
  ["approval", approval],
  ["choice", choice],
  ["form", withInstead(form)],
  ["plain", plain],
  ["reply", reply],
  ["step_review", stepReview],
  ["text", text],
  ["time_picker", timePicker],
]);

const RUN_SILENCE = "No word from the kernel yet. If it is idle, reload the page or run the cell again.";

export default () => {
  const store = new RunStore();
  return {
    initialize: ({ model, signal }) => store.connect(model, signal),
    render: ({ el, signal }) => drawRun(store, el, signal),
  };
};

function drawRun(store, el, signal) {
  // JupyterLab would take keys pressed in a card for its own: "d d" on a checkbox deletes the cell.
  const list = h("div", { class: "hitl-run", "data-lm-suppress-shortcuts": "true" });
  const silence = h("p", { class: "hitl-silence", role: "status", text: RUN_SILENCE });
  /** @type {Map<string, { el: HTMLElement, update: () => void, kind: string }>} */
  const drawn = new Map();

  const follow = (changed) => {
    silence.hidden = store.heard || store.link === "open";
    for (const [key, { el: gone, kind }] of drawn) {
      if (runKind(store.items.get(key)) !== kind) drawn.delete(key) && gone.remove();
    }
    let before = list.firstElementChild;
    for (const [key, item] of store.items) {
      const known = drawn.get(key);
      const node = known ?? { ...drawItem(store, item), kind: runKind(item) };
      drawn.set(key, node);
      // Only what is out of place is moved: a moved element loses the focus.
      if (node.el === before) before = before.nextElementSibling;
      else list.insertBefore(node.el, before);
      if (!known || !changed || changed.has(key)) runGuard(node);
    }
  };
  follow();
  store.watch(follow, signal);
  el.append(list, silence);
}

/** Items of another kind under the same key are drawn anew. */
const runKind = (item) => item && `${item.type} ${item.card ?? ""}`;

/** One item that cannot be drawn does not take the others with it. */
function runGuard(node) {
  try {
    node.update();
  } catch (error) {
    node.el.replaceChildren(
      h("p", { class: "hitl-error", role: "alert", text: `Could not be drawn: ${explain(error)}` }),
    );
  }
}

function drawItem(store, { key, type, card }) {
  if (type === "call") return drawFrame(store, key, RUN_CARDS.get(card) ?? missingCard(card));
  if (type === "message") return drawMessage(() => store.items.get(key));
  return drawNote(() => store.items.get(key));
}

/** @returns {import("./frame.js").Card} */
function missingCard(name) {
  const draw = () => {
    throw new Error(`there is no card called \`${name}\` in this version of hitl_nb.`);
  };
  return { seed: () => ({}), answer: draw, draw };
}
