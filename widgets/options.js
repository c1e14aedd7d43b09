// Options to choose from: radio buttons or checkboxes, each with its label and what is said about it.

import { fillRows, h, uid, write, writeOrHide } from "./kit.js";

/** @typedef {{ label: string, note?: string, hint?: string, hidden?: boolean }} Option  `hint`: the key that picks it */

/**
 * @param {"radio" | "checkbox"} type
 * @param {string} by  the ids of what labels them all
 * @param {(at: number, on: boolean) => void} take  called when a person picks or drops an option
 * @param {string} [name]  radio buttons with one name are one group, also where they stand in several places
 */
export function drawOptions(type, by, take, name = uid()) {
  const role = type === "radio" ? "radiogroup" : "group";
  const el = h("div", { class: "hitl-options", role, "aria-labelledby": by });
  const make = (/** @type {number} */ at) => {
    const noteId = uid();
    const box = h("input", { type, name, class: "hitl-box", onchange: () => take(at, box.checked) });
    const line = h("label", { class: "hitl-option-line" }, box, h("span", { class: "hitl-text", dir: "auto" }));
    const hint = h("kbd", { class: "hitl-key", "aria-hidden": "true" });
    const note = h("span", { class: "hitl-option-note", id: noteId, dir: "auto" });
    return h("div", { class: "hitl-option" }, line, hint, note);
  };
  /** @param {Option[]} options  @param {(at: number) => boolean} isOn */
  const update = (options, isOn) => {
    fillRows(el, options, make, (row, { label, note, hint, hidden = false }, at) => {
      const [line, key, about] = row.children;
      const [box, text] = line.children;
      box.checked = isOn(at);
      row.dataset.on = String(box.checked);
      row.hidden = hidden;
      write(text, label);
      writeOrHide(key, hint);
      writeOrHide(about, note);
      if (note) box.setAttribute("aria-describedby", about.id);
    });
  };
  return { el, update };
}

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
