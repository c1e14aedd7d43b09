// What is said in a run, and what is noted about it: text, whatever it looks like.

import { h, write } from "./kit.js";

/** @type {Record<string, string>} */
const MESSAGE_SPEAKERS = { user: "You", assistant: "Assistant" };
/** @type {Record<string, string>} */
const NOTE_SIGNS = { info: "i", warning: "!", error: "✕" };

/** @param {() => any} item  gives the item as it is now */
export function drawMessage(item) {
  const speaker = h("span", { class: "hitl-speaker" });
  const text = h("span", { dir: "auto" });
  const caret = h("span", { class: "hitl-caret", "aria-hidden": "true" });
  const el = h("div", { class: "hitl-message" }, speaker, h("p", { class: "hitl-text" }, text, caret));
  const update = () => {
    const { role, text: said, streaming } = item();
    el.dataset.role = role;
    el.hidden = !said && !streaming;
    write(speaker, MESSAGE_SPEAKERS[role] ?? role);
    write(text, said);
    caret.hidden = !streaming;
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
