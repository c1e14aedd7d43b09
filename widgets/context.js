// What a question is about: rows to read, above whatever a card asks for.

import { fillRows, h } from "./kit.js";
import { fillPlainRow, plainRow } from "./plain.js";

/** @returns {{ el: HTMLElement, update: (rows?: import("./plain.js").PlainRow[]) => void }} */
export function drawContext() {
  const el = h("div", { class: "hitl-args" });
  const update = (rows = []) => {
    el.hidden = rows.length === 0;
    fillRows(el, rows, plainRow, fillPlainRow);
  };
  return { el, update };
}
