// One place of a form: its label, its control, whether it is there, its help, and what is wrong with it.

import { changeAt } from "./change.js";
import { helpOf } from "./form_help.js";
import { drawLeaf, drawTicks, hasTicks } from "./form_leaf.js";
import { drawParts } from "./form_rows.js";
import { branchesOf, choose, fill, isLeaf, isList, isText, isUnion, mayLeave, wrongWith } from "./form_spot.js";
import { drawTable } from "./form_table.js";
import { arrange, div, h, named, remembered, uid, writeOrHide } from "./kit.js";
import { drawSelect } from "./options.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {{ updates: Map<Spot, () => void>, touch: (spot?: Spot) => void, marks: boolean }} View  one drawing
 */

/**
 * @param {View} view
 * @param {Spot} spot
 * @param {string} by  the ids of what labels the field, if it has no label of its own
 * @param {boolean} cell  whether it stands in a table
 * @returns {HTMLElement}
 */
export function drawField(view, spot, by = "", cell = false) {
  const { node } = spot;
  const leaf = isLeaf(spot);
  const [id, labelId] = [uid(), uid()];
  const names = by || labelId;
  const control = drawControl(view, spot, { id, by: names, cell });
  const main = div("hitl-field-main", control.el);
  const head = by ? "" : fieldHead(view, spot, labelId, leaf && id);
  const state = drawState(view, spot, names);
  (leaf || by ? main : head).append(state.el);
  const help = by ? "" : helpOf(node);
  const about = help && uid();
  if (help) main.append(h("p", { class: "hitl-help", id: about, text: help }));
  const el = div("hitl-field", head, main);
  el.toggleAttribute("data-wide", isWide(node));
  if (!leaf && !cell) named(el, "", names).role = "group";
  return follow(view, spot, el, main, () => (control.update(), state.update()), leaf ? control.el : undefined, about);
}

/**
 * @param {View} view
 * @param {Spot} spot
 * @param {string} id
 * @param {string | false} control  the label's, and of what
 */
function fieldHead({ marks }, { node, key }, id, control) {
  const text = node.title || (key === undefined ? "Value" : key.trim() || `"${key}"`);
  const label = h(control ? "label" : "span", { class: "hitl-field-label", id, for: control, text });
  return div(
    "hitl-field-head",
    label,
    h("span", { class: "hitl-flag", text: marks && node.required ? "required" : "" }),
  );
}

/**
 * Keep `el` up to date with its spot, and say in `main` what is wrong with it.
 * @param {View} view
 * @param {Spot} spot
 * @param {HTMLElement} el
 * @param {Element} main
 * @param {() => void} update
 * @param {HTMLElement} [control]
 * @param {string} about  the id of what is said about it
 */
export function follow(view, spot, el, main, update, control, about = "") {
  let [wrong, changed] = /** @type {any[]} */ ([]); // made when needed: a table has thousands of cells
  const now = () => {
    update();
    const change = view.marks ? [] : changeAt(spot);
    if (change.length) main.append((changed ??= h("div", { class: "hitl-change hitl-tree", dir: "auto" })));
    if (changed) (drawTree(changed, change), (changed.hidden = change.length === 0));
    const text = wrongWith(spot);
    if (text) main.append((wrong ??= h("p", { class: "hitl-wrong", id: uid() })));
    if (wrong) writeOrHide(wrong, text);
    el.toggleAttribute("data-wrong", text !== "");
    control?.setAttribute("aria-invalid", String(text !== ""));
    control?.setAttribute("aria-describedby", wrong ? `${wrong.id} ${about}` : about);
  };
  view.updates.set(spot, now);
  now();
  return el;
}

/**
 * @param {View} view
 * @param {Spot} spot
 * @param {{ id: string, by: string, cell: boolean }} names
 * @returns {import("./form_leaf.js").Control}
 */
function drawControl(view, spot, names) {
  if (isUnion(spot)) return drawUnion(view, spot, names.by);
  if (isLeaf(spot)) return drawLeaf(view, spot, names);
  if (isList(spot) && hasTicks(spot)) return drawTicks(view, spot, names.by);
  return isList(spot) && spot.node.kind === "table" ? drawTable(view, spot, names.by) : drawParts(view, spot, names.by);
}

/** @param {import("./form_spot.js").FormNode} node @returns {boolean} */
const isWide = ({ kind, item, branches = [] }) =>
  ["object", "dict", "table"].includes(kind) || (kind === "list" && !!item && isWide(item)) || branches.some(isWide);

/**
 * A choice of the form, and the control of that form. Null and "left out" are forms, too.
 * @param {View} view
 * @param {import("./form_spot.js").UnionSpot} spot
 * @param {string} by
 */
function drawUnion(view, spot, by) {
  const picks = branchesOf(spot).map(({ title = "" }, at) => /** @type {[any, string]} */ ([at, title]));
  if (spot.node.nullable) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "left out"]);
  const isOn = (/** @type {number} */ at) =>
    picks[at][0] === (spot.now ? spot.branches?.indexOf(spot.now) : spot.now);
  const select = drawSelect(picks, {}, isOn, (place) => {
    if (place == null) spot.now = place;
    else choose(spot, place);
    view.touch(spot);
  });
  const slot = div("hitl-slot");
  const field = remembered((/** @type {Spot} */ branch) => drawField(view, branch, by));
  const update = () => {
    select.update();
    arrange(slot, spot.now ? [field(spot.now)] : []);
  };
  return { el: div("hitl-union", named(select.el, "Type", by), slot), update };
}

/**
 * One small menu that says whether a place is filled, null or left out, and leads from one to the other.
 * @param {View} view
 * @param {Spot} spot
 * @param {string} by
 */
function drawState(view, spot, by) {
  const { kind, nullable, required } = spot.node;
  const el = h("span", { class: "hitl-spot", hidden: true });
  const shown = ["boolean", "choice", "union"].includes(kind); // by the control itself
  const missing = spot.now == null;
  const none = nullable && kind !== "json";
  if (shown || !(none || mayLeave(spot) || missing)) return { el, update: () => {} };
  /** @type {[any, string][]} */
  const picks = [["filled", "filled in"]];
  if (none || spot.now === null) picks.push([null, "null"]);
  if (mayLeave(spot) || spot.now === undefined) picks.push([undefined, view.marks && required ? "empty" : "left out"]);
  const state = () => spot.now ?? (spot.now === null ? null : undefined);
  const isOn = (/** @type {number} */ at) => (state() == null ? picks[at][0] === state() : at === 0);
  const menu = drawSelect(picks, {}, isOn, (wanted) => {
    if (wanted === "filled") fill(spot);
    else spot.now = wanted;
    view.touch(spot);
  });
  menu.el.className = "hitl-menu";
  el.append(named(menu.el, "What is here", by));
  const canFill = !isLeaf(spot) || isText(spot) || kind === "constant"; // a number is filled in by typing it
  const update = () => {
    menu.update();
    const can = (/** @type {any} */ pick) =>
      pick === "filled" ? canFill || spot.now != null : pick === null ? none : mayLeave(spot);
    const options = [...menu.el.options].slice(1);
    options.forEach((option, at) => (option.hidden = option.disabled = !can(picks[at][0]) && !isOn(at)));
    el.hidden = options.filter((option) => !option.disabled).length < 2 && !(spot.now == null && canFill);
  };
  return { el, update };
}
