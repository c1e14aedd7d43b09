// A decided call: what was asked and what was decided, quiet, and the same in words as in marks.

import { fillRows, h, write, writeOrHide } from "./kit.js";

/**
 * @typedef {{ mark: "on" | "off" | "", label: string, text: string }} RecordRow
 * @typedef {{ outcome: string, headline: string, rows: RecordRow[], footer: string }} CallRecord
 */

// One sign an outcome, besides colour: a decision must be readable in print and by the colour-blind.
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
const ROW_SIGNS = { on: ["✓", "chosen: "], off: ["–", "left out: "] };

/** Draw a record once; it never changes. @param {CallRecord} record */
export function drawRecord({ outcome, headline, rows, footer }) {
  const sign = h("span", { class: "hitl-sign", "aria-hidden": "true", text: OUTCOME_SIGNS[outcome] ?? "•" });
  const list = h("ul", { class: "hitl-record-rows", role: "list" });
  fillRows(list, rows, () => h("li", { class: "hitl-record-row" }), fillRecordRow);
  const foot = h("p", { class: "hitl-record-foot" });
  list.hidden = rows.length === 0;
  writeOrHide(foot, footer);
  const head = h("p", { class: "hitl-headline" }, sign, h("span", { text: headline, dir: "auto" }));
  return h("div", { class: "hitl-record", "data-outcome": outcome }, head, list, foot);
}

function fillRecordRow(child, { mark, label, text }) {
  const [sign, spoken] = ROW_SIGNS[mark] ?? ["", ""];
  const name = h("span", { class: "hitl-row-label", dir: "auto" });
  const value = h("span", { class: "hitl-row-text", dir: "auto" });
  write(name, label);
  writeOrHide(value, text);
  child.dataset.mark = mark;
  if (sign) child.append(h("span", { class: "hitl-row-sign", "aria-hidden": "true", text: sign }));
  if (sign) child.append(h("span", { class: "hitl-spoken", text: spoken }));
  child.append(name, value);
}
