// One place of a form: its label, its control, whether it is there at all, its help, and what is wrong with it.

import { helpOf } from "./form_help.js";
import { drawLeaf, drawSelect } from "./form_leaf.js";
import { drawParts } from "./form_parts.js";
import { choose, fill, isLeaf, isUnion, mayLeave, wrongWith } from "./form_spot.js";
import { drawTable } from "./form_table.js";
import { arrange, h, keepFocus, named, uid, writeOrHide } from "./kit.js";
import { reveal } from "./visible.js";

/**
 * @typedef {{ updates: Map<any, () => void>, touch: (spot?: any) => void, marks: boolean }} View
 * One drawing of a form: what brings a spot up to date, what to call after a change, whether to mark what is required.
 * @typedef {{ el: HTMLElement, update: () => void, input?: () => HTMLElement }} Drawn
 */

/** @param {View} view  @param {string} [by]  the ids of what labels it, where it has no label of its own */
export function drawField(view, spot, by = "") {
  const { node, key } = spot;
  const [id, labelId, helpId] = [uid(), uid(), uid()];
  const drawn = drawControl(view, spot, { id, by: by || labelId });
  const text = reveal(node.title || (key === undefined ? "Value" : key.trim() || `"${key}"`));
  const label = h(drawn.input ? "label" : "span", { class: "hitl-field-label", id: labelId, text, dir: "auto" });
  if (drawn.input) label.htmlFor = id;
  const head = h("div", { class: "hitl-field-head", hidden: by !== "" }, label);
  if (view.marks && node.required) head.append(h("span", { class: "hitl-flag", text: "required" }));
  const main = h("div", { class: "hitl-field-main" }, drawn.el);
  const el = h("div", { class: "hitl-field", "data-wide": isWide(node) }, head, main);
  if (!drawn.input) named(el, "", by || labelId).setAttribute("role", "group");
  const state = drawState(view, spot, by || labelId, main);
  (drawn.input || by ? main : head).append(state.el);
  const help = by ? "" : reveal(helpOf(node));
  main.append(h("p", { class: "hitl-help", id: helpId, dir: "auto", text: help, hidden: !help }));
  const update = () => (drawn.update(), state.update());
  return follow(view, spot, el, update, { input: drawn.input, main, about: helpId });
}

/** Keep `el` up to date with its spot, and say in `main` what is wrong with it. */
export function follow(view, spot, el, update, { input, main, about = "" }) {
  /** @type {HTMLElement | undefined} made when it is needed: a table has thousands of cells */
  let wrong;
  const now = () => {
    update();
    const text = wrongWith(spot);
    if (text) main.append((wrong ??= h("p", { class: "hitl-wrong", id: uid(), dir: "auto" })));
    if (wrong) writeOrHide(wrong, reveal(text));
    el.toggleAttribute("data-wrong", text !== "");
    input?.().setAttribute("aria-invalid", text !== "");
    input?.().setAttribute("aria-describedby", wrong ? `${wrong.id} ${about}` : about);
  };
  view.updates.set(spot, now);
  now();
  return el;
}

/** @returns {Drawn} */
export function drawControl(view, spot, names) {
  if (isUnion(spot)) return drawUnion(view, spot, names);
  if (spot.node.kind === "table") return drawTable(view, spot, names);
  return isLeaf(spot) ? drawLeaf(view, spot, names) : drawParts(view, spot, names);
}

const FIELD_WIDE = new Set(["object", "dict", "table"]);
const isWide = ({ kind, item, branches = [] }) =>
  FIELD_WIDE.has(kind) || (kind === "list" && isWide(item)) || branches.some(isWide);

/** A choice of the form, and the control of that form. Null and "not set" are forms, too. @returns {Drawn} */
function drawUnion(view, spot, { by }) {
  const { branches, nullable } = spot.node;
  const picks = branches.map(({ title }, at) => [at, reveal(title)]);
  if (nullable) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "not set"]);
  const place = () => (spot.now ? [...spot.branches].find(([, branch]) => branch === spot.now)[0] : spot.now);
  const now = () => picks.findIndex(([at]) => at === place());
  const select = drawSelect(picks, {}, now, (at) => {
    if (at == null) spot.now = at;
    else choose(spot, at);
    view.touch(spot);
  });
  const slot = h("div", { class: "hitl-slot" });
  const drawn = new Map();
  const update = () => {
    select.update();
    if (spot.now && !drawn.has(spot.now)) drawn.set(spot.now, drawField(view, spot.now, by));
    arrange(slot, spot.now ? [drawn.get(spot.now)] : []);
  };
  return { el: h("div", { class: "hitl-union" }, named(select.el, "Type", by), slot), update };
}

/** Kinds whose control shows its states itself; kinds that are filled by typing. */
const FIELD_STATED = new Set(["boolean", "choice", "union"]);
const FIELD_TYPED = new Set(["number", "integer", "date", "time", "datetime", "duration", "secret", "json"]);

/** Whether a place is filled, null or left out, and what leads from one to the other. */
export function drawState(view, spot, by, main) {
  const { nullable, kind } = spot.node;
  const link = (text, act) => {
    const onclick = () => keepFocus([main], () => (act(), view.touch(spot)));
    return named(h("button", { type: "button", class: "hitl-link", text, onclick }), text, by);
  };
  const flag = h("span", { class: "hitl-flag" });
  const set = link("set", () => fill(spot));
  const none = link("null", () => (spot.now = null));
  const out = link("leave out", () => (spot.now = undefined));
  const el = h("span", { class: "hitl-state" }, flag, set, none, out);
  const update = () => {
    const { now } = spot;
    writeOrHide(flag, now === undefined ? "not set" : now === null && kind !== "json" ? "null" : "");
    set.hidden = now != null || FIELD_TYPED.has(kind);
    none.hidden = !nullable || now === null || kind === "json";
    out.hidden = !mayLeave(spot) || now === undefined;
    el.hidden = FIELD_STATED.has(kind) || [...el.children].every((child) => child.hidden);
  };
  return { el, update };
}
