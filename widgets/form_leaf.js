// One value, one control. Numbers are typed as text, so that every digit survives; dates get the browser's own controls
// where these can show them to the last digit.

import { mayLeave, pick, shownText, type } from "./form_spot.js";
import { sameWire, textOf } from "./form_wire.js";
import { h, uid } from "./kit.js";
import { reveal } from "./visible.js";

/**
 * @typedef {{ id: string, by: string, cell?: boolean }} Names  `by`: the ids of what labels the control
 * @param {import("./form_field.js").View} view  @param {Names} names  @returns {import("./form_field.js").Drawn}
 */
export function drawLeaf(view, spot, names) {
  const { kind, options } = spot.node;
  if (kind === "boolean" || kind === "choice") return drawPick(view, spot, names);
  if (kind !== "constant") return drawText(view, spot, names);
  const el = h("output", { id: names.id, class: "hitl-constant", "aria-labelledby": names.by, dir: "auto" });
  return { el, input: () => el, update: () => (el.textContent = spot.now === undefined ? "" : reveal(options[0].label)) };
}

const LEAF_NATIVE = {
  date: ["date", /^(\d{4}-\d\d-\d\d)?$/],
  time: ["time", /^(\d\d:\d\d(:\d\d)?)?$/],
  datetime: ["datetime-local", /^(\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?)?$/],
};
const LEAF_HINTS = { date: "2026-11-29", time: "10:00:00", datetime: "2026-11-29T10:00:00Z", duration: "PT1H30M" };
const LEAF_MODES = { number: "decimal", integer: "numeric" };

function drawText(view, spot, { id, by, cell }) {
  const { kind } = spot.node;
  const [native, lossless] = LEAF_NATIVE[kind] ?? [];
  const lines = ["text", "long_text", "json"].includes(kind);
  const box = { id, "aria-labelledby": by, class: "hitl-input", "data-kind": kind, inputmode: LEAF_MODES[kind] };
  const el = h(lines ? "textarea" : "input", { ...box, dir: "auto", spellcheck: String(kind === "long_text") });
  el.autocomplete = kind === "secret" ? "new-password" : "off";
  if (!lines) el.type = kind === "secret" ? "password" : lossless?.test(shownText(spot, spot.now)) ? native : "text";
  if (native) el.step = "any"; // seconds are no fault
  // A textarea knows one kind of line end; the other comes back when the text is read.
  const ends = textOf(spot.from).includes("\r\n") ? "\r\n" : "\n";
  let last = "";
  el.addEventListener("input", () => {
    last = el.value;
    spot.partial = el.validity.badInput;
    type(spot, last.replaceAll("\n", ends));
    view.touch(spot);
  });
  el.addEventListener("keydown", (event) => {
    // A text is one line unless it has more already, or more are asked for.
    const one = kind === "text" && !el.value.includes("\n") && !event.shiftKey;
    if (one && event.key === "Enter") event.preventDefault();
  });
  const update = () => {
    const text = shownText(spot, spot.now).replaceAll(/\r\n?/g, "\n");
    if (spot.error && native) el.type = "text"; // what is wrong may be out of the control's reach, such as an offset
    if (text !== last) el.value = last = text;
    if (lines) el.rows = Math.min(text.split("\n").length, 16);
    const state = spot.now === undefined ? "not set" : spot.now === null && kind !== "json" ? "null" : "";
    el.placeholder = spot.now?.$ === "secret" && spot.now === spot.from ? "unchanged" : cell ? state : LEAF_HINTS[kind] ?? "";
  };
  return { el, input: () => el, update };
}

/** Radio buttons up to five, else a select; a checkbox for yes and no. */
function drawPick(view, spot, names) {
  const { kind, options, required, nullable } = spot.node;
  const take = (wire) => (pick(spot, wire), view.touch(spot));
  if (kind === "boolean" && required && !nullable && typeof spot.now === "boolean") return drawBox(spot, names, take);
  const picks = kind === "boolean" ? [[true, "Yes"], [false, "No"]] : options.map(({ value, label }) => [value, reveal(label)]);
  const draw = picks.length <= 5 && !names.cell ? drawRadios : drawSelect;
  if (nullable && picks.every(([wire]) => wire !== null)) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "not set"]);
  return draw(picks, names, () => picks.findIndex(([wire]) => sameWire(wire, spot.now)), take);
}

function drawBox(spot, { id, by }, take) {
  const el = h("input", { type: "checkbox", id, class: "hitl-box", "aria-labelledby": by, onchange: () => take(el.checked) });
  return { el, input: () => el, update: () => (el.checked = spot.now === true) };
}

function drawRadios(picks, { by }, now, take) {
  const name = uid();
  const boxes = picks.map(([wire]) => h("input", { type: "radio", name, class: "hitl-box", onchange: () => take(wire) }));
  const labels = boxes.map((box, at) => h("label", { class: "hitl-radio" }, box, h("span", { text: picks[at][1], dir: "auto" })));
  const el = h("span", { class: "hitl-radios", role: "radiogroup", "aria-labelledby": by }, ...labels);
  return { el, input: () => el, update: () => boxes.forEach((box, at) => (box.checked = at === now())) };
}

/**
 * @param {[any, string][]} picks  values and their texts
 * @param {() => number} now  the place of what is picked  @param {(value: any) => void} take
 */
export function drawSelect(picks, { id = "", by = "" }, now, take) {
  const onchange = () => take(picks[Number(el.value)][0]);
  const el = h("select", { id, class: "hitl-input", "aria-labelledby": by, onchange });
  el.append(h("option", { value: -1, text: "Choose…", hidden: true }), ...picks.map(([, text], value) => h("option", { value, text })));
  return { el, input: () => el, update: () => (el.value = String(now())) };
}
