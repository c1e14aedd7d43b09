// What is said in a run, and what is noted about it: text, whatever it looks like.

import { h, write } from "./kit.js";
import { drawTree } from "./tree.js";

/** @type {Record<string, string>} */
const MESSAGE_SPEAKERS = { user: "You", assistant: "Assistant", reasoning: "Thought" };
/** @type {Record<string, string>} */
const NOTE_SIGNS = { info: "i", warning: "!", error: "✕" };

/** @param {() => any} item  gives the item as it is now */
export function drawMessage(item) {
  const speaker = h("span", { class: "hitl-speaker" });
  const words = h("div", { class: "hitl-tree", dir: "auto" });
  const copy = h("button", { type: "button", class: "hitl-link hitl-copy", text: "Copy" });
  copy.addEventListener("click", async (/** @type {Event} */ event) => {
    event.preventDefault(); // it may stand where folding is
    await navigator.clipboard?.writeText(words.innerText);
    copy.textContent = "Copied";
  });
  // What the agent thinks is folded, until somebody wants to know.
  const thought = item().role === "reasoning";
  const el = h(thought ? "details" : "div", { class: "hitl-message" });
  el.append(...(thought ? [h("summary", {}, speaker)] : [speaker, copy]), words);
  const update = () => {
    const { role, text: said, streaming, tree = said ? [["plain", {}, said]] : [] } = item();
    el.dataset.role = role;
    el.hidden = tree.length === 0 && !streaming;
    write(speaker, MESSAGE_SPEAKERS[role] ?? role);
    drawTree(words, tree);
    words.toggleAttribute("data-streaming", streaming === true);
  };
  return { el, update };
}

/** A note, or a word about an item that this version does not know. @param {() => any} item */
export function drawNote(item) {
  const sign = h("span", { class: "hitl-sign", "aria-hidden": "true" });
  const text = h("span", { class: "hitl-text", dir: "auto" });
  const el = h("div", { class: "hitl-note" }, sign, text);
  const update = () => {
    const { type, level, text: said } = item();
    const known = type === "note";
    el.dataset.level = known ? level : "warning";
    el.setAttribute("role", level === "error" ? "alert" : "note");
    write(sign, NOTE_SIGNS[el.dataset.level] ?? "i");
    write(text, known ? said : `There is no way to show \`${type}\` in this version of hitl_nb.`);
  };
  return { el, update };
}
