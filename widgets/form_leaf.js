// One value, one control. Numbers are typed as text, so that every digit survives; dates get the browser's own controls
// where these can show them to the last digit.

import { mayLeave, pick, shownText, type } from "./form_spot.js";
import { sameWire, textOf } from "./form_wire.js";
import { h, uid } from "./kit.js";

/**
 * @typedef {{ id: string, by: string, cell?: boolean }} LeafNames  `by`: the ids of what labels the control
 * @typedef {{ el: HTMLElement, update: () => void }} Drawn
 */

/** @param {import("./form_field.js").View} view  @param {LeafNames} names  @returns {Drawn} */
export function drawLeaf(view, spot, names) {
  const { kind, options } = spot.node;
  if (kind === "boolean" || kind === "choice") return drawPick(view, spot, names);
  if (kind !== "constant") return drawText(view, spot, names);
  const el = h("output", { id: names.id, class: "hitl-constant", "aria-labelledby": names.by, dir: "auto" });
  return { el, update: () => (el.textContent = spot.now === undefined ? "" : options[0].label) };
}

const LEAF_NATIVE = {
  date: ["date", /^$|^\d{4}-\d\d-\d\d$/],
  time: ["time", /^$|^\d\d:\d\d(:\d\d)?$/],
  datetime: ["datetime-local", /^$|^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/],
};
const LEAF_HINTS = { datetime: "2026-11-29T10:00:00Z", duration: "PT1H30M", date: "2026-11-29", time: "10:00" };
const LEAF_LONG = 90; // characters that fit into one line of a form

function drawText(view, spot, { id, by, cell }) {
  const { kind } = spot.node;
  const plain = kind === "text" || kind === "long_text" || kind === "json";
  const line = (text) => kind !== "long_text" && kind !== "json" && !text.includes("\n") && text.length < LEAF_LONG;
  let last = "";
  let input;
  const make = (text) => {
    const [native, lossless] = LEAF_NATIVE[kind] ?? [];
    const type_ = kind === "secret" ? "password" : lossless?.test(text) ? native : "text";
    input = h(line(text) || !plain ? "input" : "textarea", { id, "aria-labelledby": by, class: "hitl-input", oninput });
    if (input.localName === "input") input.type = type_;
    if (kind === "number" || kind === "integer") input.inputMode = kind === "number" ? "decimal" : "numeric";
    input.autocomplete = kind === "secret" ? "new-password" : "off";
    input.spellcheck = kind === "long_text";
    input.step = "any"; // a date with seconds is no fault
    input.dataset.kind = kind;
    input.dir = "auto";
    last = "";
    return input;
  };
  // A textarea knows one kind of line end; the others come back when the text is read.
  const ends = /\r\n/.test(textOf(spot.from)) ? "\r\n" : "\n";
  function oninput() {
    last = input.value;
    spot.partial = input.validity.badInput;
    type(spot, last.replaceAll("\n", ends));
    view.touch(spot);
  }
  const el = h("span", { class: "hitl-control" }, make(shownText(spot, spot.now)));
  const update = () => {
    const text = shownText(spot, spot.now).replaceAll(/\r\n?/g, "\n");
    const one = line(text) || (text === last && !text.includes("\n"));
    if (plain && one !== (input.localName === "input") && !input.matches(":focus")) el.replaceChildren(make(text));
    if (spot.error && LEAF_NATIVE[kind]) input.type = "text"; // what was wrong may be out of reach, such as an offset
    if (text !== last) input.value = last = text;
    if (input.localName === "textarea") input.rows = Math.min(text.split("\n").length, 16);
    const hidden = kind === "secret" && spot.now?.$ && spot.now === spot.from;
    const state = spot.now === null ? "null" : spot.now === undefined ? "not set" : "";
    input.placeholder = hidden ? "unchanged, hidden" : (cell && state) || LEAF_HINTS[kind] || "";
  };
  return { el, update };
}

/** Radio buttons up to five, else a select; a checkbox where there are two states, yes and no. */
function drawPick(view, spot, names) {
  const { kind, options, required, nullable } = spot.node;
  const take = (wire) => {
    pick(spot, wire);
    view.touch(spot);
  };
  if (kind === "boolean" && required && !nullable && typeof spot.now === "boolean") return drawBox(spot, names, take);
  const picks = kind === "boolean" ? [[true, "Yes"], [false, "No"]] : options.map(({ value, label }) => [value, label]);
  const few = picks.length <= 5 && !names.cell;
  if (nullable && !picks.some(([wire]) => wire === null)) picks.push([null, "null"]);
  if (mayLeave(spot)) picks.push([undefined, "not set"]);
  const now = () => picks.findIndex(([wire]) => sameWire(wire, spot.now));
  return few ? drawRadios(picks, names, now, take) : drawSelect(picks, names, now, take);
}

function drawBox(spot, { id, by }, take) {
  const el = h("input", { type: "checkbox", id, class: "hitl-box", "aria-labelledby": by });
  el.addEventListener("change", () => take(el.checked));
  return { el, update: () => (el.checked = spot.now === true) };
}

function drawRadios(picks, { by }, now, take) {
  const name = uid();
  const el = h("span", { class: "hitl-radios", role: "radiogroup", "aria-labelledby": by });
  const boxes = picks.map(([wire, text]) => {
    const box = h("input", { type: "radio", name, class: "hitl-box", onchange: () => take(wire) });
    const label = h("label", { class: "hitl-radio", "data-none": wire == null }, box, h("span", { text, dir: "auto" }));
    el.append(label);
    return box;
  });
  return { el, update: () => boxes.forEach((box, at) => (box.checked = at === now())) };
}

export function drawSelect(picks, { id, by }, now, take) {
  const el = h("select", { id, class: "hitl-input", "aria-labelledby": by });
  el.append(h("option", { value: -1, text: "Choose…", hidden: true }));
  picks.forEach(([, text], at) => el.append(h("option", { value: at, text })));
  el.addEventListener("change", () => take(picks[el.value][0]));
  return { el, update: () => (el.value = now()) };
}
