// The one widget of a run: messages, notes, cards and records, as a list that follows the kernel.
//
// The default export is a function, because anywidget gives `initialize` and `render` different model objects: what
// they share (one store a run, however many views) can only be found through this closure.

import { CARDS, OTHERS } from "./cards.js";
import { chatLog, drawChatHead, drawComposer } from "./chat.js";
import { drawFrame } from "./frame.js";
import { keepKey } from "./keys.js";
import { arrange, explain, h } from "./kit.js";
import { drawPace } from "./pace.js";
import { drawMessage, drawNote } from "./message.js";
import { drawState } from "./state.js";
import { RunStore } from "./store.js";
import { drawDrawn, drawTool } from "./tool.js";

/**
 * @typedef {import("./frame.js").Card} Card
 * @typedef {import("./store.js").Item} Item
 * @typedef {{ el: HTMLElement, update: () => void, rest?: () => void, state?: string, folded?: boolean, aside?: boolean }} Drawn
 * @typedef {Drawn & { kind: string }} Node
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
  const list = h("div", { class: "hitl-run" });
  // Before JupyterLab looks at the key, which it does at the document, on its way down.
  addEventListener("keydown", (event) => keepKey(el, event), { capture: true, signal });
  const pace = drawPace(list, () => store.place === "inbox");
  const log = chatLog(list);
  const silence = h("p", { class: "hitl-silence", role: "status", text: RUN_SILENCE });
  /** @type {Map<string, Node>} */
  const drawn = new Map();

  /** @type {Node[]} in order */
  let nodes = [];

  const draw = (/** @type {string} */ key, /** @type {Item} */ item) => {
    const node = Object.assign(drawItem(store, cards, item), { kind: runKind(item) });
    drawn.set(key, node);
    return node;
  };
  /** All of it: what comes, goes or is another kind of thing is found by looking at each. */
  const followAll = () => {
    for (const [key, { el: gone, kind }] of drawn) {
      if (runKind(store.items.get(key)) !== kind) drawn.delete(key) && gone.remove();
    }
    nodes = [...store.items].map(([key, item]) => drawn.get(key) ?? draw(key, item));
    runArrange(list, nodes);
    nodes.forEach(runGuard);
  };
  /** Only what has changed: what is new is last, and a thousand that were decided cost nothing. */
  const followSome = (/** @type {Set<string>} */ changed) => {
    const known = [...changed].filter((key) => drawn.has(key));
    if (known.some((key) => runKind(store.items.get(key)) !== drawn.get(key)?.kind)) return followAll();
    for (const key of changed) {
      const item = store.items.get(key);
      const node = drawn.get(key) ?? (item && draw(key, item));
      if (!node) continue;
      if (!known.includes(key)) nodes.push(node), list.append(node.el);
      runGuard(node);
    }
  };
  const follow = (/** @type {Set<string> | undefined} */ changed = undefined) => {
    silence.hidden = store.heard || store.link === "open";
    const follows = log.follows();
    if (changed && drawn.size > 0) followSome(changed);
    else followAll();
    if (log.fold(nodes)) runArrange(list, nodes);
    pace.update(nodes);
    log.toEnd(follows);
  };
  list.addEventListener("hitl-fold", () => (log.fold(nodes), runArrange(list, nodes), pace.update(nodes)));
  follow();
  store.watch(follow, signal);
  el.append(pace.el, log.el, list, silence);
}

/** Put what is not folded into its place. @param {HTMLElement} list @param {Drawn[]} nodes */
const runArrange = (list, nodes) =>
  arrange(
    list,
    nodes.filter(({ folded }) => !folded).map(({ el }) => el),
  );

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
  if (type === "chat-head") return drawChatHead(store, key);
  if (type === "composer") return drawComposer(store, key);
  if (type === "drawn") return drawDrawn(() => store.items.get(key));
  if (type === "state") return drawState(store, key);
  if (type === "tool") return drawTool(() => store.items.get(key));
  if (type === "message") return drawMessage(() => store.items.get(key));
  return { ...drawNote(() => store.items.get(key)), aside: key === "aside" }; // of the screen itself: no part of the run
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
