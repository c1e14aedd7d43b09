// One place of a form: its label, its control, whether it is there, its help, and what is wrong with it.

import { helpOf } from "./form_help.js";
import { drawLeaf } from "./form_leaf.js";
import { drawParts } from "./form_rows.js";
import { choose, fill, isLeaf, isText, isUnion, mayLeave, wrongWith } from "./form_spot.js";
import { drawTable } from "./form_table.js";
import { arrange, div, h, keepFocus, link, named, remembered, uid, writeOrHide } from "./kit.js";
import { drawSelect } from "./options.js";

/**
 * @param {{ updates: Map<any, () => void>, touch: (spot?: any) => void, marks: boolean }} view  one drawing of a form
 * @param {string} [by]  the ids of what labels the field, if it has no label of its own
 */
export function drawField(view, spot, by = "", cell = false) {
  const { node } = spot;
  const leaf = isLeaf(spot);
  const [id, labelId] = [uid(), uid()];
  const names = by || labelId;
  const control = drawControl(view, spot, { id, by: names, cell });
  const main = div("hitl-field-main", control.el);
  const head = by ? "" : fieldHead(view, spot, labelId, leaf && id);
  const state = drawState(view, spot, names, main);
  (leaf || by ? main : head).append(state.el);
  const help = by ? "" : helpOf(node);
  const about = help && uid();
  if (help) main.append(h("p", { class: "hitl-help", id: about, text: help }));
  const el = div("hitl-field", head, main);
  el.toggleAttribute("data-wide", isWide(node));
  if (!leaf && !cell) named(el, "", names).role = "group";
  return follow(view, spot, el, main, () => (control.update(), state.update()), leaf ? control.el : undefined, about);
}

function fieldHead({ marks }, { node, key }, id, control) {
  const text = node.title || (key === undefined ? "Value" : key.trim() || `"${key}"`);
  const label = h(control ? "label" : "span", { class: "hitl-field-label", id, for: control, text });
  return div(
    "hitl-field-head",
    label,
    h("span", { class: "hitl-flag", text: marks && node.required ? "required" : "" }),
  );
}

/** Keep `el` up to date with its spot, and say in `main` what is wrong with it. */
export function follow(view, spot, el, main, update, control, about = "") {
  let wrong; // made when needed: a table has thousands of cells
  const now = () => {
    update();
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

function drawControl(view, spot, names) {
  if (isUnion(spot)) return drawUnion(view, spot, names.by);
  if (spot.node.kind === "table") return drawTable(view, spot, names.by);
  return isLeaf(spot) ? drawLeaf(view, spot, names) : drawParts(view, spot, names.by);
}

const isWide = ({ kind, item, branches = [] }) =>
  ["object", "dict", "table"].includes(kind) || (kind === "list" && isWide(item)) || branches.some(isWide);

/** A choice of the form, and the control of that form. Null and "not set" are forms, too. */
function drawUnion(view, spot, by) {
  const { branches, nullable } = spot.node;
  const picks = branches.map(({ title }, at) => [at, title]);
  if (nullable) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "not set"]);
  const isOn = (at) => picks[at][0] === (spot.now ? spot.branches.indexOf(spot.now) : spot.now);
  const select = drawSelect(picks, {}, isOn, (place) => {
    if (place == null) spot.now = place;
    else choose(spot, place);
    view.touch(spot);
  });
  const slot = div("hitl-slot");
  const field = remembered((branch) => drawField(view, branch, by));
  const update = () => {
    select.update();
    arrange(slot, spot.now ? [field(spot.now)] : []);
  };
  return { el: div("hitl-union", named(select.el, "Type", by), slot), update };
}

/** Whether a place is filled, null or left out, and what leads from one to the other. */
function drawState(view, spot, by, main) {
  const { kind, nullable, required } = spot.node;
  const el = h("span", { class: "hitl-state", hidden: true });
  const shown = ["boolean", "choice", "union"].includes(kind); // by the control itself
  if (shown || !(nullable || mayLeave(spot) || spot.now == null)) return { el, update: () => {} };
  const state = (text, act) => link(text, by, () => keepFocus([main], () => (act(), view.touch(spot))));
  const flag = h("span", { class: "hitl-flag" });
  const set = state("set", () => fill(spot));
  const none = state("null", () => (spot.now = null));
  const out = state("leave out", () => (spot.now = undefined));
  el.append(flag, set, none, out);
  const canFill = !isLeaf(spot) || isText(spot) || kind === "constant";
  const update = () => {
    const { now } = spot;
    const missing = view.marks && required ? "" : "not set";
    writeOrHide(flag, now === undefined ? missing : now === null && nullable && kind !== "json" ? "null" : "");
    set.hidden = now != null || !canFill;
    none.hidden = !nullable || kind === "json" || now === null;
    out.hidden = !mayLeave(spot) || now === undefined;
    el.hidden = [...el.children].every((child) => child.hidden);
  };
  return { el, update };
}
