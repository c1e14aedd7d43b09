// One place of a form: its label, its control, whether it is there at all, its help, and what is wrong with it.

import { drawLeaf, drawSelect } from "./form_leaf.js";
import { drawList } from "./form_list.js";
import { drawMap } from "./form_map.js";
import { choose, fill, isList, isMap, isUnion, mayLeave } from "./form_spot.js";
import { drawTable } from "./form_table.js";
import { textOf, typedFault } from "./form_wire.js";
import { h, keepFocus, named, reveal, uid, write, writeOrHide } from "./kit.js";

/**
 * @typedef {{ updates: Map<any, () => void>, touch: (spot: any) => void, marks: boolean }} View
 * One drawing of a form: what brings each spot up to date, what to call after a change, whether to mark what is required.
 */

/** @param {View} view  @param {string} [by]  the ids of what labels it, if it has no label of its own */
export function drawField(view, spot, by = "") {
  const { node } = spot;
  const [id, labelId, helpId, wrongId] = [uid(), uid(), uid(), uid()];
  const leaf = isLeaf(spot);
  const title = reveal(node.title || spot.key || "Value");
  const label = h(leaf ? "label" : "span", { class: "hitl-field-label", id: labelId, for: leaf && id, text: title });
  const head = h("div", { class: "hitl-field-head", hidden: by !== "" }, label);
  if (view.marks && node.required) head.append(h("span", { class: "hitl-flag", text: "required" }));
  const drawn = drawControl(view, spot, { id, by: by || labelId });
  const main = h("div", { class: "hitl-field-main" }, drawn.el);
  const state = leaf && node.kind !== "boolean" && node.kind !== "choice" ? main : head;
  const help = h("p", { class: "hitl-help", id: helpId, dir: "auto", hidden: true });
  const wrong = h("p", { class: "hitl-wrong", id: wrongId, hidden: true });
  const el = h("div", { class: "hitl-field", "data-wide": isWide(node) }, head, main);
  const updateState = hasState(spot) ? drawState(view, spot, by || labelId, state, main) : () => {};
  writeOrHide(help, by ? "" : helpOf(node));
  main.append(help, wrong);
  const input = drawn.el.querySelector(`[id="${id}"]`) ?? drawn.el;
  input.setAttribute("aria-describedby", `${helpId} ${wrongId}`);
  if (!leaf) group(el)
}
