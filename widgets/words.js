// A box for words: one line, where Enter sends, or several, where Ctrl or ⌘ with Enter does.

import { h, uid, write } from "./kit.js";

/**
 * @param {HTMLElement} body  what it is put into
 * @param {{ long: boolean, label: string, change: (text: string) => void, send?: () => void }} wanted
 * @returns {{ el: HTMLElement, box: any, update: (text: string, placeholder?: string, label?: string) => void }}
 */
export function drawWords(body, { long, label, change, send }) {
  const [id, tipId] = [uid(), uid()];
  const described = long && send ? tipId : null;
  const box = h(long ? "textarea" : "input", { id, class: "hitl-input", dir: "auto", "aria-describedby": described });
  const name = h("label", { class: "hitl-field-label", for: id, text: label });
  const el = h("div", { class: "hitl-words" }, name, box);
  if (described) el.append(h("p", { class: "hitl-help", id: tipId, text: "Ctrl or ⌘ with Enter sends." }));
  box.autocomplete = "off";
  box.addEventListener("input", () => change(box.value));
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.isComposing && (!long || event.ctrlKey || event.metaKey)) send?.();
  });
  body.append(el);
  const update = (/** @type {string} */ text, placeholder = "", called = label) => {
    const now = text.replaceAll(/\r\n?/g, "\n");
    if (box.value !== now) box.value = now;
    box.placeholder = placeholder;
    if (long) box.rows = Math.min(Math.max(now.split("\n").length, 3), 16);
    write(name, called);
  };
  return { el, box, update };
}
