// A tool call that nobody is asked about: what it was given, how far it is, what came of it.
//
// It is folded and unfolded by its reader alone: what opens or closes by itself moves what is below.

import { drawContext } from "./context.js";
import { h, write, writeOrHide } from "./kit.js";
import { drawTree } from "./tree.js";

/** @type {Record<string, [sign: string, words: string]>} */
const TOOL_STATES = {
  writing: ["●", "is being written"],
  running: ["●", "running"],
  done: ["✓", "done"],
  failed: ["✕", "failed"],
  stopped: ["⊘", "stopped"],
};
const TOOL_TICK = 1000;

/** @param {number} seconds */
const toolTime = (seconds) => (seconds < 60 ? `${seconds.toFixed(seconds < 10 ? 1 : 0)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`);

/** @param {() => any} item  gives the item as it is now */
export function drawTool(item) {
  const sign = h("span", { class: "hitl-tool-sign", "aria-hidden": "true" });
  const title = h("span", { class: "hitl-tool-title", dir: "auto" });
  const name = h("code", { class: "hitl-tool" });
  const state = h("span", { class: "hitl-tool-state" });
  const bar = h("progress", { max: "1", "aria-label": "Progress" });
  const args = drawContext();
  const result = drawContext();
  const error = h("p", { class: "hitl-error", role: "alert" });
  const warning = h("p", { class: "hitl-warning" });
  const body = h("div", { class: "hitl-tool-body" }, args.el, result.el);
  const card = h("details", { class: "hitl-tool-call", open: true }, h("summary", {}, sign, title, name, state, bar), body);
  const own = h("div", { class: "hitl-drawn hitl-tree", dir: "auto" });
  const el = h("div", {}, own, card, error, warning);
  let since = 0; // when it began, by the clock of this page
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const tell = () => {
    const { state: now, seconds, progress } = item();
    const [mark, words] = TOOL_STATES[now] ?? ["?", now];
    const runs = now === "running";
    const spent = runs ? (performance.now() - since) / 1000 : seconds;
    write(sign, mark);
    write(state, [words, progress?.words, spent != null && (!runs || spent >= 1) && toolTime(spent)].filter(Boolean).join(" · "));
    bar.hidden = !progress;
    if (progress?.fraction == null) bar.removeAttribute("value");
    else bar.value = progress.fraction;
    clearTimeout(timer);
    timer = runs ? setTimeout(() => card.isConnected && tell(), TOOL_TICK) : undefined;
  };

  const update = () => {
    const shown = item();
    if (shown.state === "running" && !since) since = performance.now() - (shown.seconds ?? 0) * 1000;
    el.hidden = shown.hidden;
    card.hidden = shown.own;
    card.dataset.state = shown.state;
    card.classList.toggle("hitl-bare", shown.args.length + shown.result.length === 0);
    own.hidden = !shown.own;
    drawTree(own, shown.tree);
    write(title, shown.title);
    writeOrHide(name, shown.name);
    args.update(shown.args);
    result.update(shown.result);
    writeOrHide(error, shown.error);
    writeOrHide(warning, shown.warning);
    tell();
  };
  return { el, update };
}

/** What a function of the user's has drawn. @param {() => any} item */
export function drawDrawn(item) {
  const own = h("div", { class: "hitl-drawn hitl-tree", dir: "auto" });
  const warning = h("p", { class: "hitl-warning" });
  const el = h("div", {}, own, warning);
  const update = () => {
    const { tree, hidden, warning: words } = item();
    el.hidden = hidden;
    drawTree(own, tree);
    writeOrHide(warning, words);
  };
  return { el, update };
}
