// Many open questions as one table: each is approved, declined, or left open. Nothing is ticked beforehand.

import { div, fillRows, h, keyedRows, uid, write, writeOrHide } from "./kit.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {{ id: string, cells: (import("./context.js").ContextRow | null)[], why: string }} BatchRow
 * @typedef {{ title: string, high: boolean, columns: string[], rows: BatchRow[] }} BatchGroup
 * @typedef {{ groups: BatchGroup[] }} BatchProps
 * @typedef {{ approve: string[], decline: string[] }} BatchDraft
 */

/** What may be approved together: what is of high risk is ticked one by one. @param {BatchProps} props */
const batchTogether = ({ groups }) =>
  groups.flatMap(({ high, rows }) => (high ? [] : rows.filter(({ why }) => !why).map(({ id }) => id)));
/** @param {BatchProps} props */
const batchAll = ({ groups }) => groups.flatMap(({ rows }) => rows.map(({ id }) => id));

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ approve: [], decline: [] }),
  answer: ({ approve, decline }) => ({ approve, decline }),
  confirm(label, { approve, decline }, { groups }) {
    /** @type {BatchGroup[]} */
    const all = groups;
    const high = all.filter((group) => group.high).flatMap(({ rows }) => rows.filter(({ id }) => approve.includes(id)));
    const told = high.length ? ` (${high.length} of high risk)` : "";
    const words = [approve.length && `approve ${approve.length}${told}`, decline.length && `decline ${decline.length}`];
    const said = words.filter(Boolean).join(", ");
    return said ? said[0].toUpperCase() + said.slice(1) : label;
  },
  check: (draft) =>
    draft.approve.length + draft.decline.length ? undefined : { error: "Approve or decline at least one of them.", draft },
  draw(body, change) {
    /** @type {BatchDraft} */
    let now = { approve: [], decline: [] };
    /** @type {BatchProps | undefined} */
    let drawn;
    const button = (/** @type {() => void} */ onclick) => h("button", { type: "button", class: "hitl-link", onclick });
    const yes = button(() => drawn && change({ approve: union(now.approve, batchTogether(drawn)), decline: now.decline.filter((id) => !batchTogether(/** @type {BatchProps} */ (drawn)).includes(id)) }));
    const no = button(() => drawn && change({ approve: [], decline: batchAll(drawn) }));
    const none = button(() => change({ approve: [], decline: [] }));
    const tools = div("hitl-tools", h("span", { class: "hitl-count" }), yes, no, none);
    const list = div("hitl-batch");
    body.append(tools, list);
    const set = (/** @type {string} */ id, /** @type {"approve" | "decline"} */ word, /** @type {boolean} */ on) => {
      const rest = { approve: now.approve.filter((each) => each !== id), decline: now.decline.filter((each) => each !== id) };
      if (on) rest[word] = [...rest[word], id];
      change(rest);
    };
    const drawGroups = keyedRows(list, batchKey, () => batchTable(set, () => now));
    body.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const at = /** @type {HTMLInputElement} */ (event.target);
      if (!step || !at.dataset.word) return;
      const boxes = [.../** @type {NodeListOf<HTMLInputElement>} */ (body.querySelectorAll(`[data-word=${at.dataset.word}]`))];
      boxes[boxes.indexOf(at) + step]?.focus();
      event.preventDefault();
    });
    return (props, draft) => {
      now = draft ?? now;
      drawn = props;
      drawGroups(props.groups);
      const [together, everything] = [batchTogether(props).length, batchAll(props).length];
      write(tools.firstChild, `${everything} ${everything === 1 ? "question" : "questions"}`);
      write(yes, `Approve all ${together}${together < everything ? " that are not of high risk" : ""}`);
      write(no, `Decline all ${everything}`);
      write(none, "None");
      yes.hidden = together < 2;
      no.hidden = everything < 2;
      none.hidden = !now.approve.length && !now.decline.length;
    };
  },
};

/** @param {string[]} first @param {string[]} second */
const union = (first, second) => [...new Set([...first, ...second])];

/** What a group is called, within one card. @param {BatchGroup} group */
const batchKey = ({ title, high }) => `${high} ${title}`;

/**
 * @param {(id: string, word: "approve" | "decline", on: boolean) => void} set
 * @param {() => BatchDraft} now
 */
function batchTable(set, now) {
  const titleId = uid();
  const name = h("caption", { class: "hitl-batch-title", id: titleId, dir: "auto" });
  const head = h("tr");
  const body = h("tbody");
  const lines = keyedRows(body, (/** @type {BatchRow} */ row) => row.id, ({ id }) => batchLine(id, titleId, set, now));
  const table = h("table", { class: "hitl-batch-table" }, name, h("thead", {}, head), body);
  const el = h("div", { class: "hitl-batch-group", tabindex: "0", role: "region", "aria-labelledby": titleId }, table);
  const update = (/** @type {BatchGroup} */ { title, high, columns, rows }) => {
    el.dataset.high = String(high);
    write(name, `${title}${high ? " – high risk" : ""}`);
    fillRows(head, ["Approve", "Decline", ...columns], () => h("th", { scope: "col", dir: "auto" }), write);
    lines(rows);
  };
  return { el, update };
}

/**
 * One question.
 * @param {string} id
 * @param {string} titleId  what the table is called
 * @param {(id: string, word: "approve" | "decline", on: boolean) => void} set
 * @param {() => BatchDraft} now
 */
function batchLine(id, titleId, set, now) {
  const nameId = uid();
  const boxes = /** @type {const} */ (["approve", "decline"]).map((word) => {
    const box = h("input", { type: "checkbox", class: "hitl-box", "data-word": word, "aria-labelledby": `${nameId}-${word} ${titleId} ${nameId}` });
    box.addEventListener("change", () => set(id, word, box.checked));
    return box;
  });
  const el = h("tr", {}, ...boxes.map((box) => batchBox(box, nameId)));
  /** @type {HTMLElement[]} */
  let cells = [];
  const why = h("p", { class: "hitl-change" });
  const update = (/** @type {BatchRow} */ row) => {
    const [approve, decline] = boxes;
    approve.checked = now().approve.includes(id);
    decline.checked = now().decline.includes(id);
    approve.disabled = Boolean(row.why);
    el.dataset.chosen = approve.checked ? "on" : decline.checked ? "off" : "";
    while (cells.length > row.cells.length) cells.pop()?.remove();
    while (cells.length < row.cells.length) el.append((cells = [...cells, batchCell()])[cells.length - 1]);
    row.cells.forEach((cell, at) => drawTree(/** @type {Element} */ (cells[at].firstChild), cell ? (cell.tree ?? [cell.text ?? ""]) : []));
    (cells[0] ?? el.firstChild).id = nameId;
    writeOrHide(why, row.why);
    cells[cells.length - 1]?.append(why);
  };
  return { el, update };
}

/** @param {HTMLElement} box @param {string} nameId */
function batchBox(box, nameId) {
  const word = box.dataset.word ?? "";
  return h("td", { class: "hitl-batch-box" }, box, h("span", { class: "hitl-spoken", id: `${nameId}-${word}`, text: word }));
}

const batchCell = () => h("td", { class: "hitl-batch-cell" }, h("div", { dir: "auto", class: "hitl-tree" }));
