// A decided call: what was asked and what was decided, quiet, and the same in words as in marks.

import { h } from "./kit.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {{ mark: "on" | "off" | "", label: string, text: string, tree?: import("./tree.js").TreeNode[] }} RecordRow
 * @typedef {{ outcome: string, headline: string, rows: RecordRow[], footer: string, again?: string }} CallRecord
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
  aborted: "■",
  superseded: "↷",
  parked: "⏸",
};
const RECORD_LONG = 200; // characters
/** @type {Record<string, string[]>} */
const ROW_SIGNS = { on: ["✓", "chosen: "], off: ["–", "left out: "] };

/** Draw a record once; it never changes. @param {CallRecord} record */
export function drawRecord({ outcome, headline, rows, footer, again }) {
  const approved = outcome === "answered" || outcome === "edited";
  const sign = h("span", { class: "hitl-sign", "aria-hidden": "true", text: OUTCOME_SIGNS[outcome] ?? "•" });
  const head = h("p", { class: "hitl-headline" }, sign, h("span", { class: "hitl-text", text: headline, dir: "auto" }));
  const list = h("ul", { class: "hitl-rows", role: "list", hidden: rows.length === 0 });
  // Nothing was chosen where nothing was approved: no ticks there.
  list.append(...rows.map((row) => recordRow(row, approved ? row.mark : "")));
  const foot = h("p", { class: "hitl-decided-foot", text: footer, hidden: !footer });
  const parts = again ? [head, list, recordAgain(again), foot] : [head, list, foot];
  return h("div", { class: "hitl-decided", "data-approved": String(approved) }, ...parts);
}

/** What has expired is over; how it is asked again is said where one looks for it. @param {string} again */
function recordAgain(again) {
  const [said, line] = again.split(/(?<=: )(?=await )/);
  const code = h("code", { class: "hitl-again-line", text: line ?? "", hidden: !line });
  const summary = h("summary", { class: "hitl-button", text: "Ask again" });
  return h("details", { class: "hitl-again" }, summary, h("p", {}, said, code));
}

/** @param {RecordRow} row @param {RecordRow["mark"]} mark */
function recordRow({ label, text, tree }, mark) {
  const row = h("li", { class: "hitl-row", "data-mark": mark });
  const [sign, spoken] = ROW_SIGNS[mark] ?? [];
  if (sign) row.append(h("span", { class: "hitl-row-sign", "aria-hidden": "true", text: sign }));
  if (sign) row.append(h("span", { class: "hitl-spoken", text: spoken }));
  if (label) row.append(h("span", { class: "hitl-row-label", text: label, dir: "auto" }));
  // What may have to be scrolled can be reached by keyboard.
  const long = text.length > RECORD_LONG;
  const said = h("div", { class: "hitl-row-text hitl-tree", dir: "auto", tabindex: long ? "0" : null });
  drawTree(said, tree ?? [text]);
  row.append(said);
  return row;
}
