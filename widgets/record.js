// A decided call: what was asked and what was decided, quiet, and the same in words as in marks.

import { h } from "./kit.js";

/**
 * @typedef {{ mark: "on" | "off" | "", label: string, text: string }} RecordRow
 * @typedef {{ outcome: string, headline: string, rows: RecordRow[], footer: string }} CallRecord
 */

// One sign an outcome, besides colour: a decision must be readable in print and by the colour-blind.
/** @type {Record<string, string>} */
const OUTCOME_SIGNS = {
  answered: "✓",
  edited: "✎",
  declined: "✕",
  cancelled: "⊘",
  expired: "◷",
  invalid: "!",
  aborted: "⊘",
  superseded: "↷",
};
const RECORD_LONG = 200; // characters
/** @type {Record<string, string[]>} */
const ROW_SIGNS = { on: ["✓", "chosen: "], off: ["–", "left out: "] };

/** Draw a record once; it never changes. @param {CallRecord} record */
export function drawRecord({ outcome, headline, rows, footer }) {
  const approved = outcome === "answered" || outcome === "edited";
  const sign = h("span", { class: "hitl-sign", "aria-hidden": "true", text: OUTCOME_SIGNS[outcome] ?? "•" });
  const head = h("p", { class: "hitl-headline" }, sign, h("span", { class: "hitl-text", text: headline, dir: "auto" }));
  const list = h("ul", { class: "hitl-rows", role: "list", hidden: rows.length === 0 });
  // Nothing was chosen where nothing was approved: no ticks there.
  list.append(...rows.map((row) => recordRow(row, approved ? row.mark : "")));
  const foot = h("p", { class: "hitl-decided-foot", text: footer, hidden: !footer });
  return h("div", { class: "hitl-decided", "data-approved": String(approved) }, head, list, foot);
}

/** @param {RecordRow} row @param {RecordRow["mark"]} mark */
function recordRow({ label, text }, mark) {
  const row = h("li", { class: "hitl-row", "data-mark": mark });
  const [sign, spoken] = ROW_SIGNS[mark] ?? [];
  if (sign) row.append(h("span", { class: "hitl-row-sign", "aria-hidden": "true", text: sign }));
  if (sign) row.append(h("span", { class: "hitl-spoken", text: spoken }));
  if (label) row.append(h("span", { class: "hitl-row-label", text: label, dir: "auto" }));
  // What may have to be scrolled can be reached by keyboard.
  row.append(
    h("span", { class: "hitl-row-text", text, dir: "auto", tabindex: text.length > RECORD_LONG ? "0" : null }),
  );
  return row;
}
