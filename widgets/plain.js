// A read-only view of a call's arguments, for tools without a card of their own. Nothing is shortened: a person
// approves exactly what stands here.

import { fillRows, h, uid, write } from "./kit.js";

/** @typedef {{ label: string, text: string, long: boolean }} PlainRow */

/** @type {import("./frame.js").Card} */
export const plain = {
  seed: () => ({}),
  answer: () => ({}),
  draw(body) {
    const list = h("div", { class: "hitl-args" });
    const none = h("p", { class: "hitl-none", text: "No arguments" });
    body.append(list, none);
    return ({ rows }) => {
      none.hidden = rows.length > 0;
      fillRows(list, rows, plainRow, fillPlainRow);
    };
  },
};

export function plainRow() {
  const id = uid();
  const value = h("div", { class: "hitl-arg-text", "aria-labelledby": id, dir: "auto" });
  return h("div", { class: "hitl-arg" }, h("div", { class: "hitl-arg-label", id, dir: "auto" }), value);
}

export function fillPlainRow(row, { label, text, long }) {
  const [name, value] = row.children;
  write(name, label);
  write(value, text);
  row.dataset.long = String(long);
  // A box that scrolls must be reachable by keyboard.
  value.setAttribute("role", long ? "region" : "group");
  if (long) value.setAttribute("tabindex", "0");
  else value.removeAttribute("tabindex");
}
