// One value, one control. A number is typed as text, so that every digit survives.

import { mayLeave, pick, shownText, type } from "./form_spot.js";
import { sameWire, textOf } from "./wire.js";
import { h } from "./kit.js";
import { drawOptions, drawSelect } from "./options.js";

const LEAF_NATIVE = { date: "date", time: "time", datetime: "datetime-local" };
const LEAF_MODES = { number: "decimal", integer: "numeric" };

export function drawLeaf(view, spot, { id, by, cell }) {
  const { kind, options } = spot.node;
  const names = { id, "aria-labelledby": by, class: "hitl-input" };
  if (kind === "boolean" || kind === "choice") return drawPick(view, spot, names, cell);
  if (kind !== "constant") return drawText(view, spot, names, cell);
  const el = h("output", { ...names, class: "hitl-constant" });
  return { el, update: () => (el.textContent = spot.now === undefined ? "" : options[0].label) };
}

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
  el.onkeydown = (event) => {
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
    const state = now === undefined ? "not set" : now === null ? "null" : "";
    el.placeholder = now?.$ === "secret" ? "unchanged" : cell ? state : kind === "duration" ? "PT1H30M" : "";
  };
  return { el, update };
}

/** Radio buttons up to five, else a select; a checkbox for yes and no. */
function drawPick(view, spot, names, cell) {
  const { kind, options, required, nullable } = spot.node;
  const take = (wire) => (pick(spot, wire), view.touch(spot));
  if (kind === "boolean" && required && !nullable && typeof spot.now === "boolean") {
    const el = h("input", { ...names, class: "hitl-box", type: "checkbox", onchange: () => take(el.checked) });
    return { el, update: () => (el.checked = spot.now) };
  }
  const picks = options?.map((each) => [each.value, each.label]) ?? [true, false].map((on) => [on, on ? "Yes" : "No"]);
  const radios = picks.length <= 5 && !cell;
  if (nullable && picks.every(([wire]) => wire !== null)) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "not set"]);
  const isOn = (at) => sameWire(picks[at][0], spot.now);
  if (!radios) return drawSelect(picks, names, isOn, take);
  const group = drawOptions("radio", names["aria-labelledby"], (at) => take(picks[at][0]));
  const labels = picks.map(([, label]) => ({ label }));
  return { el: group.el, update: () => group.update(labels, isOn) };
}
