// Options to choose from: radio buttons, checkboxes or buttons, each with its label and what is said about it.

import { fillRows, h, uid, write, writeOrHide } from "./kit.js";
import { showKey } from "./pace.js";

/**
 * @typedef {{ label: string, note?: string, hint?: string, hidden?: boolean, cells?: string[] }} Option  `hint`: the key
 *   that picks it; `cells`: what else is known about it, one a column
 */

/**
 * @param {"radio" | "checkbox" | "button"} type
 * @param {string} by  the ids of what labels them all
 * @param {(at: number, on: boolean) => void} take  called when a person picks or drops an option
 * @param {string} [name]  radio buttons with one name are one group, also where they stand in several places
 */
export function drawOptions(type, by, take, name = uid()) {
  const role = type === "radio" ? "radiogroup" : "group";
  const el = h("div", { class: "hitl-options", role, "aria-labelledby": by });
  const make = (/** @type {number} */ at) => {
    const noteId = uid();
    const text = h("span", { class: "hitl-text", dir: "auto" });
    const line = type === "button" ? optionButton(() => take(at, true), text) : optionBox({ type, name }, at, take, text);
    const hint = h("kbd", { class: "hitl-key", "aria-hidden": "true" });
    const note = h("span", { class: "hitl-option-note", id: noteId, dir: "auto" });
    const cells = h("div", { class: "hitl-cells", id: uid() });
    return h("div", { class: "hitl-option" }, line, hint, note, cells);
  };
  const list = h("div");
  const head = h("div", { class: "hitl-columns", "aria-hidden": "true" });
  el.append(head, list);
  /** @param {Option[]} options  @param {(at: number) => boolean} isOn @param {string[]} columns */
  const update = (options, isOn, columns = []) => {
    head.hidden = columns.length === 0;
    el.toggleAttribute("data-columns", columns.length > 0);
    el.style.setProperty("--hitl-columns", String(columns.length));
    fillRows(head, columns.length ? ["", ...columns] : [], () => h("span", { dir: "auto" }), write);
    const isNumber = (/** @type {string | undefined} */ text = "") => /^-?[\d.,]+$/.test(text);
    [...head.children].forEach((title, at) => {
      title.toggleAttribute("data-number", at > 0 && options.every(({ cells = [] }) => isNumber(cells[at - 1])));
    });
    fillRows(list, options, make, (row, { label, note, hint, hidden = false, cells = [] }, at) => {
      const [line, key, about, rest] = row.children;
      const [box, text] = [line.querySelector("input, button"), line.querySelector(".hitl-text")];
      box.checked = isOn(at);
      row.dataset.on = String(isOn(at));
      row.hidden = hidden;
      write(text, label);
      if (type === "button") showKey(box, hint ?? "");
      writeOrHide(key, type === "button" ? "" : hint);
      writeOrHide(about, note);
      rest.hidden = cells.length === 0;
      fillRows(rest, cells, optionCell, (cell, text, column) => {
        write(cell.firstChild, `${columns[column]}: `);
        write(cell.lastChild, text);
        cell.toggleAttribute("data-number", isNumber(text));
      });
      const described = [note && about.id, cells.length > 0 && rest.id].filter(Boolean).join(" ");
      if (described) box.setAttribute("aria-describedby", described);
    });
  };
  return { el, update };
}

/** @param {{ type: string, name: string }} props @param {number} at @param {(at: number, on: boolean) => void} take */
function optionBox({ type, name }, at, take, /** @type {HTMLElement} */ text) {
  const box = h("input", { type, name, class: "hitl-box", onchange: () => take(at, box.checked) });
  return h("label", { class: "hitl-option-line" }, box, text);
}

/** @param {() => void} onclick @param {HTMLElement} text */
const optionButton = (onclick, text) =>
  h("div", { class: "hitl-option-line" }, h("button", { type: "button", class: "hitl-button", onclick }, text));

const optionCell = () => h("span", {}, h("span", { class: "hitl-spoken" }), h("span", { dir: "auto" }));

/**
 * A select over values that are no texts.
 * @param {[any, string][]} picks  each value and its text
 * @param {Record<string, any>} props  of the element
 * @param {(at: number) => boolean} isOn
 * @param {(value: any) => void} take
 */
export function drawSelect(picks, props, isOn, take) {
  const el = h("select", { ...props, class: "hitl-input", onchange: () => take(picks[Number(el.value)][0]) });
  el.append(h("option", { value: -1, text: "Choose…", hidden: true }));
  el.append(...picks.map(([, text], value) => h("option", { value, text })));
  return { el, update: () => (el.value = String(picks.findIndex((_, at) => isOn(at)))) };
}
