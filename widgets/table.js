// A table to look through, thin out and correct. Rows and everything done to them are the kernel's; here is what a
// person sees of it, and the keys.

import { div, h, uid, write, writeOrHide } from "./kit.js";
import { drawAside } from "./table_aside.js";
import { drawFilter } from "./table_filter.js";
import { drawGrid } from "./table_grid.js";
import { cellKind, TableRows, tableCount, tableNumber, tableWords } from "./table_rows.js";

/**
 * @typedef {import("./table_rows.js").Counts} Counts
 * @typedef {import("./table_grid.js").TableColumn} TableColumn
 * @typedef {{ columns: TableColumn[], version: number, counts: Counts | null, drop: boolean, note?: string }} TableProps
 * @typedef {{ version: number, waiting: boolean, counts: Counts | null }} TableDraft
 */

const TABLE_KEYS =
  "Arrow keys move, Shift with them selects rows. Space keeps or drops, Enter or F2 edits, Delete makes a cell " +
  "missing, Ctrl+Z takes back, s sorts, / filters, i tells about the column.";

/** @type {import("./frame.js").Card} */
export default {
  keep: () => undefined, // the kernel's half has it
  seed: ({ version, counts }) => ({ version, counts, waiting: false }),
  answer: ({ version }) => ({ version }),
  check: (draft) =>
    draft.waiting ? { error: "What you did last is still on its way to the kernel. Confirm again.", draft } : undefined,
  confirm(label, { counts }) {
    if (!counts || !(counts.dropped || counts.changed)) return label;
    const kept = counts.dropped ? [`keep ${tableNumber(counts.kept)} of ${tableCount(counts.rows, "row")}`] : [];
    const changed = counts.changed ? [`change ${tableCount(counts.changed, "cell")}`] : [];
    return `${label}: ${[...kept, ...changed].join(", ")}`;
  },
  draw(body, change, { el, ask }) {
    const by = el.getAttribute("aria-labelledby") ?? "";
    /** @type {TableProps} */
    let props = { columns: [], version: 0, counts: null, drop: false };
    let told = "";
    let view = 0;
    let seen = -1; // the version that the kernel has told of
    const open = () => !(/** @type {HTMLFieldSetElement} */ (body).disabled);

    const rows = new TableRows(ask, () => update());
    const keysId = uid();
    const grid = drawGrid(by, { rows, drop: () => props.drop, open, moved: () => tell(), key: (event) => key(event) });
    grid.el.setAttribute("aria-describedby", keysId);
    const filter = drawFilter(by, rows, () => grid.el.focus());
    const aside = drawAside(by, rows);
    const cell = h("p", { class: "hitl-cell-line", dir: "auto" });
    const alert = h("p", { class: "hitl-error", role: "alert" });
    const button = (/** @type {string} */ text, /** @type {() => void} */ onclick) =>
      h("button", { type: "button", class: "hitl-link", text, onclick });
    const toggle = button("", () => keepChosen());
    const all = button("", () => rows.keep(0, rows.total, false));
    const none = button("", () => rows.keep(0, rows.total, true));
    const undo = button("Undo", () => rows.undo());
    const about = button("About this column", () => aside.column(grid.active.column, props.columns));
    const changes = button("", () => aside.changes());
    const tools = div("hitl-tools", toggle, all, none, undo, about, changes);
    const keys = h("p", { class: "hitl-help", id: keysId, text: TABLE_KEYS });
    const note = h("p", { class: "hitl-help" });
    body.append(filter.el, grid.el, cell, alert, tools, aside.el, note, keys);

    const keepChosen = () => {
      const [from, to] = grid.chosen();
      const row = rows.at(grid.active.row);
      if (row && props.drop && open()) rows.keep(from, to, !row.kept);
    };
    const edit = (start = /** @type {string | undefined} */ (undefined)) => {
      const [row, column] = [rows.at(grid.active.row), props.columns[grid.active.column]];
      if (!row || !column?.editable || !open() || grid.editing()) return;
      drawEditor(grid, rows, row, grid.active.column, column, start);
    };
    const key = (/** @type {KeyboardEvent} */ event) => {
      const place = grid.active.column;
      const [row, column] = [rows.at(grid.active.row), props.columns[place]];
      const plain = !event.ctrlKey && !event.metaKey;
      if (event.ctrlKey && event.key === "z") open() && rows.undo();
      else if (!plain) return false;
      else if (event.key === " ") keepChosen();
      else if (event.key === "Enter" || event.key === "F2") edit();
      else if (event.key === "Delete" && row && column?.editable && open()) rows.edit(row, place, { missing: true });
      else if (event.key === "Escape" && grid.active.anchor !== grid.active.row) grid.move(grid.active.row, place);
      else if (event.key === "s" && column) sortBy(rows, place);
      else if (event.key === "/") filter.focus(place);
      else if (event.key === "i" && column) aside.column(place, props.columns);
      else return false;
      return true;
    };
    grid.el.addEventListener("dblclick", (/** @type {MouseEvent} */ event) => {
      const header = /** @type {HTMLElement} */ (event.target).closest("[role=rowheader]");
      if (header) keepChosen();
      else edit();
    });
    grid.el.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const head = /** @type {HTMLElement} */ (event.target).closest("[role=columnheader]");
      const at = head ? [.../** @type {Element} */ (head.parentElement).children].indexOf(head) - 1 : -1;
      if (at >= 0) sortBy(rows, at);
    });

    const tell = () => {
      const [row, column] = [rows.at(grid.active.row), props.columns[grid.active.column]];
      aside.follow(grid.active.column, props.columns);
      if (!row || !column) return write(cell, row ? `Row ${row.row}${row.kept ? "" : ", dropped"}` : "");
      const now = row.cells[grid.active.column];
      const was = row.before[grid.active.column];
      const line = `Row ${row.row} · ${column.name} (${column.dtype}): `;
      write(cell, line + tableWords(now) + (was === undefined ? "" : `, was ${tableWords(was)}`));
      if (typeof now === "string" || now[0] !== "cut") return;
      const at = `${row.row} ${grid.active.column}`;
      told = at;
      rows.ask({ op: "cell", row: row.row, place: grid.active.column }).then(
        (found) => told === at && write(cell, line + tableWords(found.cell)),
        () => {},
      );
    };
    const update = () => {
      if (rows.view !== view) grid.start();
      view = rows.view;
      grid.columns(props.columns);
      grid.draw();
      filter.update(props.columns);
      tell();
      const [from, to] = grid.chosen();
      const row = rows.at(grid.active.row);
      const counts = rows.counts ?? props.counts;
      toggle.hidden = !props.drop;
      all.hidden = none.hidden = !props.drop || rows.look.where.length === 0;
      write(toggle, `${row && !row.kept ? "Keep" : "Drop"} ${to - from === 1 ? "this row" : tableCount(to - from, "row")}`);
      write(all, `Drop all ${tableNumber(rows.total)} shown`);
      write(none, `Keep all ${tableNumber(rows.total)} shown`);
      all.disabled = none.disabled = toggle.disabled = rows.total === 0 || !open();
      undo.hidden = !props.drop && !props.columns.some((column) => column.editable);
      undo.disabled = !counts?.undo || !open();
      changes.hidden = !counts?.changed;
      write(changes, `Changes (${counts?.changed ?? 0})`);
      aside.changed(rows.version);
      writeOrHide(alert, rows.error);
      writeOrHide(note, props.note ?? "");
      const draft = { version: rows.version, waiting: !rows.settled || rows.version < 0, counts: rows.counts ?? null };
      if (JSON.stringify(draft) !== JSON.stringify(sent) && rows.counts) change((sent = draft));
    };
    /** @type {TableDraft | undefined} */
    let sent;
    return (now, draft) => {
      // What is there at first was done before, and is no change that would take away what is said of it.
      if (draft && !sent) sent = { version: draft.version, waiting: draft.waiting, counts: draft.counts };
      const first = props.columns.length === 0;
      props = now;
      if (draft === undefined || props.counts === null) return;
      if (first || (now.version !== seen && now.version !== rows.version && rows.settled && !rows.busy)) rows.refresh();
      seen = now.version;
      update();
    };
  },
};

/** @param {TableRows} rows @param {number} place */
function sortBy(rows, place) {
  const sort = rows.look.sort;
  if (sort?.[0] !== place) rows.choose({ sort: [place, false] });
  else rows.choose({ sort: sort[1] ? null : [place, true] });
}

/**
 * Edit one cell in its place: Enter, Tab and leaving take what was typed, Escape does not.
 * @param {import("./table_grid.js").Grid} grid
 * @param {TableRows} rows
 * @param {import("./table_rows.js").TableRow} row
 * @param {number} place
 * @param {TableColumn} column
 * @param {string} [start]
 */
function drawEditor(grid, rows, row, place, column, start) {
  const cell = row.cells[place];
  const kind = cellKind(cell);
  const text = kind === "null" ? "" : typeof cell === "string" ? cell : cell[1];
  if (typeof cell !== "string" && cell[0] === "cut") return; // too long for a box of one line
  const list = column.kind === "bool" ? ["True", "False"] : column.choices;
  const box = list.length
    ? h("select", { class: "hitl-input" }, ...list.map((choice, at) => h("option", { value: at, text: choice })))
    : h(column.kind === "text" ? "textarea" : "input", { class: "hitl-input", rows: 1, autocomplete: "off" });
  box.ariaLabel = `${column.name}, row ${row.row}`;
  if (list.length) box.selectedIndex = list.indexOf(text);
  else box.value = start ?? text;
  box.rows = Math.min(box.value.split("\n").length, 6);
  const was = box.value;
  const end = (/** @type {boolean} */ take) => {
    if (!grid.editing()) return;
    const now = box.value;
    grid.unplace();
    if (!take || (now === was && kind !== "null") || (kind === "null" && now === "" && column.kind !== "text")) return;
    if (list.length && column.kind !== "bool") rows.edit(row, place, { choice: Number(now) });
    else rows.edit(row, place, { text: list.length ? list[now] : now, escaped: kind === "escaped" });
  };
  box.addEventListener("blur", () => end(true));
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    event.stopPropagation();
    const step = { Enter: [1, 0], Tab: [0, event.shiftKey ? -1 : 1] }[event.key];
    if (event.key === "Enter" && event.shiftKey) return; // another line
    if (event.key === "Escape") end(false);
    else if (step) {
      end(true);
      grid.move(grid.active.row + step[0], grid.active.column + step[1]);
    } else return;
    event.preventDefault();
  });
  grid.place(box);
  if (!list.length) box.select();
}
