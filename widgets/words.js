// A box for words: one line, where Enter sends, or several, where Ctrl or ⌘ with Enter does.

import { h, uid, writeOrHide } from "./kit.js";

/**
 * @param {{ long: boolean, label: string, onchange: (text: string) => void, send?: () => void }} wanted
 * @returns {{ el: HTMLElement, update: (text: string, placeholder?: string) => void, box: any }}
 */
export function drawWords({ long, label, onchange, send }) {
  const id = uid();
  const box = h(long ? "textarea" : "input", { id, class: "hitl-input", dir: "auto", autocomplete: "off" });
  const tip = h("p", { class: "hitl-help", text: long && send ? "Ctrl or ⌘ with Enter sends." : "" });
  const el = h("div", { class: "hitl-words" }, h("label", { class: "hitl-field-label", for: id, text: label }), box, tip);
  box.addEventListener("input", () => onchange(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && (!long || event.ctrlKey || event.metaKey)) send?.();
  });
  const update = (text, placeholder = "") => {
    const now = text.replaceAll(/\r\n?/g, "\n");
    if (box.value !== now) box.value = now;
    box.placeholder = placeholder;
    if (long) box.rows = Math.min(Math.max(now.split("\n").length, 3), 16);
    tip.hidden = !tip.textContent;
  };
  return { el, update, box };
}
