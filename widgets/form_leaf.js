// One value, one control; and one for several of a few. A number is typed as text, so that every digit survives.

import { mayLeave, newPart, pick, shownText, type } from "./form_spot.js";
import { sameWire, textOf } from "./wire.js";
import { h } from "./kit.js";
import { drawOptions, drawSelect } from "./options.js";

/**
 * @typedef {import("./form_spot.js").LeafSpot} LeafSpot
 * @typedef {import("./form_spot.js").ListSpot} ListSpot
 * @typedef {import("./form_field.js").View} View
 * @typedef {{ id: string, "aria-labelledby": string, class: string }} Names
 * @typedef {{ el: any, update: () => void }} Control
 */

/** @type {Record<string, string>} */
const LEAF_NATIVE = { date: "date", time: "time", datetime: "datetime-local" };
/** @type {Record<string, string>} */
const LEAF_MODES = { number: "decimal", integer: "numeric" };

/**
 * @param {View} view
 * @param {LeafSpot} spot
 * @param {{ id: string, by: string, cell: boolean }} names
 * @returns {Control}
 */
export function drawLeaf(view, spot, { id, by, cell }) {
  const { kind, options } = spot.node;
  const names = { id, "aria-labelledby": by, class: "hitl-input" };
  if (kind === "boolean" || kind === "choice") return drawPick(view, spot, names, cell);
  if (kind !== "constant") return drawText(view, spot, names, cell);
  const el = h("output", { ...names, class: "hitl-constant" });
  return { el, update: () => (el.textContent = spot.now === undefined ? "" : options?.[0].label) };
}

/** @param {View} view @param {LeafSpot} spot @param {Names} names @param {boolean} cell @returns {Control} */
function drawText(view, spot, names, cell) {
  const { kind } = spot.node;
  const lines = ["text", "long_text", "json"].includes(kind);
  const el = h(lines ? "textarea" : "input", { ...names, "data-kind": kind, inputmode: LEAF_MODES[kind] });
  if (!lines) el.type = kind === "secret" ? "password" : (LEAF_NATIVE[kind] ?? "text");
  el.step = "any"; // seconds are no fault
  el.autocomplete = kind === "secret" ? "new-password" : "off";
  el.spellcheck = kind === "long_text";
  const ends = textOf(spot.from).includes("\r\n") ? "\r\n" : "\n"; // a textarea knows only one of them
  let last = "";
  el.oninput = () => {
    last = el.value;
    spot.partial = el.validity.badInput;
    type(spot, last.replaceAll("\n", ends));
    view.touch(spot);
  };
  el.onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey) return; // confirms the card, which looks whether somebody has taken the key
    if (kind === "text" && event.key === "Enter" && !event.shiftKey && !last.includes("\n")) event.preventDefault();
  };
  const update = () => {
    const { now, error } = spot;
    const text = shownText(spot, now).replaceAll(/\r\n?/g, "\n");
    if (text !== last) el.value = last = text;
    // What a date's control cannot show, or what is wrong and has no place in it, such as an offset.
    if (kind in LEAF_NATIVE && (error || (text && !el.value))) {
      el.type = "text";
      el.value = text;
    }
    if (lines) el.rows = Math.min(text.split("\n").length, 16);
    const state = now === undefined ? "left out" : now === null ? "null" : "";
    el.placeholder = now?.$ === "secret" ? "unchanged" : cell ? state : kind === "duration" ? "PT1H30M" : "";
  };
  return { el, update };
}

/**
 * Radio buttons up to five, else a select; a checkbox for yes and no.
 * @param {View} view
 * @param {LeafSpot} spot
 * @param {Names} names
 * @param {boolean} cell
 * @returns {Control}
 */
function drawPick(view, spot, names, cell) {
  const { kind, options, required, nullable } = spot.node;
  const take = (/** @type {any} */ wire) => (pick(spot, wire), view.touch(spot));
  if (kind === "boolean" && required && !nullable && typeof spot.now === "boolean") {
    const el = h("input", { ...names, class: "hitl-box", type: "checkbox", onchange: () => take(el.checked) });
    return { el, update: () => (el.checked = spot.now) };
  }
  const given = options ?? [true, false].map((value) => ({ value, label: value ? "Yes" : "No" }));
  const picks = given.map(({ value, label }) => /** @type {[any, string]} */ ([value, label]));
  const radios = picks.length <= 5 && !cell;
  if (nullable && picks.every(([wire]) => wire !== null)) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "left out"]);
  const isOn = (/** @type {number} */ at) => sameWire(picks[at][0], spot.now);
  if (!radios) return drawSelect(picks, names, isOn, take);
  const group = drawOptions("radio", names["aria-labelledby"], (at) => take(picks[at][0]));
  const labels = picks.map(([, label]) => ({ label }));
  return { el: group.el, update: () => group.update(labels, isOn) };
}

const LEAF_TICKS = 40; // more of them are no longer seen at a glance

/**
 * Whether a list is some of a few options, each at most once: then each of them has a box to tick.
 * @param {ListSpot} spot
 */
export function hasTicks({ node, now }) {
  const { kind, unique, item } = node;
  if (kind !== "list" || !unique || !item || item.nullable || !["choice", "constant"].includes(item.kind)) return false;
  const options = item.options ?? [];
  const ats = Array.isArray(now) ? now.map((part) => options.findIndex(({ value }) => sameWire(value, part.now))) : [];
  return options.length <= LEAF_TICKS && !ats.includes(-1) && new Set(ats).size === ats.length;
}

/** @param {View} view @param {ListSpot} spot @param {string} by @returns {Control} */
export function drawTicks(view, spot, by) {
  const options = spot.node.item?.options ?? [];
  const at = (/** @type {import("./form_spot.js").Spot} */ part) =>
    options.findIndex(({ value }) => sameWire(value, /** @type {any} */ (part.now)));
  const group = drawOptions("checkbox", by, (tick, on) => {
    const now = (spot.now ??= spot.kept = []);
    const place = now.findIndex((part) => at(part) === tick);
    if (on && place < 0) {
      const part = /** @type {LeafSpot} */ (newPart(spot));
      part.now = options[tick].value;
      const after = now.findIndex((each) => at(each) > tick); // in the order of the options, whichever was ticked first
      now.splice(after < 0 ? now.length : after, 0, part);
    }
    if (!on && place >= 0) now.splice(place, 1);
    view.touch(spot);
  });
  const labels = options.map(({ label }) => ({ label }));
  return { el: group.el, update: () => group.update(labels, (tick) => spot.now?.some((part) => at(part) === tick) ?? false) };
}
