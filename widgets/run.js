// The one widget of a run: messages, notes, cards and records, as a list that follows the kernel.
//
// The default export is a function, because anywidget gives `initialize` and `render` different model objects: what
// they share (one store a run, however many views) can only be found through this closure.

import { CARDS, OTHERS } from "./cards.js";
import { drawFrame } from "./frame.js";
import { explain, h } from "./kit.js";
import { drawMessage, drawNote } from "./message.js";
import { RunStore } from "./store.js";

/**
 * @typedef {import("./frame.js").Card} Card
 * @typedef {import("./store.js").Item} Item
 * @typedef {{ el: HTMLElement, update: () => void }} Drawn
 * @typedef {{ model: import("./store.js").Model, el: HTMLElement, signal: AbortSignal }} Host  what anywidget gives
 */

const RUN_SILENCE = "No word from the kernel yet. If it is idle, reload the page or run the cell again.";

export default async () => {
  const store = new RunStore();
  const cards = new Map(CARDS);
  await Promise.all([...OTHERS].map(async ([name, text]) => cards.set(name, await loadCard(name, text))));
  return {
    initialize: (/** @type {Host} */ { model, signal }) => store.connect(model, signal),
    render: (/** @type {Host} */ { el, signal }) => drawRun(store, cards, el, signal),
  };
};

const RUN_PATIENCE = 5000; // for a module of somebody else that never ends

/**
 * The card of another package, from a module of its own; one that fails is told of when it should be drawn.
 * @param {string} name
 * @param {string} text
 * @returns {Promise<Card>}
 */
async function loadCard(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const late = new Promise((_, refuse) => setTimeout(() => refuse(new Error("it takes too long to load")), RUN_PATIENCE));
  try {
    const { default: card } = await Promise.race([import(url), late]);
    for (const part of ["seed", "draw", "answer"])
      if (typeof card?.[part] !== "function") throw new Error(`its \`export default\` has no \`${part}\``);
    return card;
  } catch (error) {
    return missingCard(`the card \`${name}\` failed: ${explain(error)}`);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * @param {RunStore} store
 * @param {Map<string, Card>} cards
 * @param {HTMLElement} el
 * @param {AbortSignal} signal
 */
function drawRun(store, cards, el, signal) {
  // JupyterLab would take keys pressed in a card for its own: "d d" on a checkbox deletes the cell.
  const list = h("div", { class: "hitl-run", "data-lm-suppress-shortcuts": "true" });
  const silence = h("p", { class: "hitl-silence", role: "status", text: RUN_SILENCE });
  /** @type {Map<string, Drawn & { kind: string }>} */
  const drawn = new Map();

  const follow = (/** @type {Set<string> | undefined} */ changed = undefined) => {
    silence.hidden = store.heard || store.link === "open";
    for (const [key, { el: gone, kind }] of drawn) {
      if (runKind(store.items.get(key)) !== kind) drawn.delete(key) && gone.remove();
    }
    let before = list.firstElementChild;
    for (const [key, item] of store.items) {
      const known = drawn.get(key);
      const node = known ?? { ...drawItem(store, cards, item), kind: runKind(item) };
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

/** Items of another kind under the same key are drawn anew. @param {Item | undefined} item */
const runKind = (item) => (item ? `${item.type} ${item.card ?? ""}` : "");

/** One item that cannot be drawn does not take the others with it. @param {Drawn} node */
function runGuard(node) {
  try {
    node.update();
  } catch (error) {
    node.el.replaceChildren(
      h("p", { class: "hitl-error", role: "alert", text: `Could not be drawn: ${explain(error)}` }),
    );
  }
}

/** @param {RunStore} store @param {Map<string, Card>} cards @param {Item} item @returns {Drawn} */
function drawItem(store, cards, { key, type, card }) {
  if (type === "call") return drawFrame(store, key, cards.get(card) ?? missingCard(runUnknown(card)));
  if (type === "message") return drawMessage(() => store.items.get(key));
  return drawNote(() => store.items.get(key));
}

/** @param {string} card */
const runUnknown = (card) => `there is no card called \`${card}\` in this version of hitl_nb.`;

/** @param {string} why @returns {Card} */
function missingCard(why) {
  const draw = () => {
    throw new Error(why);
  };
  return { seed: () => ({}), answer: draw, draw };
}
