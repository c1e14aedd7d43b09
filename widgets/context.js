// What a question is about: rows to read, above whatever a card asks for.

import { fillRows, h, uid, write } from "./kit.js";
import { drawTree } from "./tree.js";

/** @typedef {{ label: string, text?: string, tree?: import("./tree.js").TreeNode[], long: boolean }} ContextRow */

/** @returns {{ el: HTMLElement, update: (rows?: ContextRow[]) => void }} */
export function drawContext() {
  const el = h("div", { class: "hitl-args" });
  const update = (/** @type {ContextRow[]} */ rows = []) => {
    el.hidden = rows.length === 0;
    fillRows(el, rows, contextRow, fillContextRow);
  };
  return { el, update };
}

function contextRow() {
  const id = uid();
  const value = h("div", { class: "hitl-arg-text hitl-tree", "aria-labelledby": id, dir: "auto" });
  return h("div", { class: "hitl-arg" }, h("div", { class: "hitl-arg-label", id, dir: "auto" }), value);
}

/** @param {HTMLElement} row @param {ContextRow} shown */
function fillContextRow(row, { label, text = "", tree, long }) {
  const [name, value] = /** @type {HTMLElement[]} */ ([...row.children]);
  write(name, label);
  drawTree(value, tree ?? [text]);
  row.dataset.long = String(long);
  // A box that scrolls must be reachable by keyboard.
  value.setAttribute("role", long ? "region" : "group");
  if (long) value.setAttribute("tabindex", "0");
  else value.removeAttribute("tabindex");
}
