// A grid of rows as long as they come: what is seen is drawn, the rest is the length of the scroll bar.

import { fillRows, h, uid, write } from "./kit.js";
import { cellKind, cellLine, cellWarning } from "./table_rows.js";

/**
 * @typedef {import("./table_rows.js").TableRows} TableRows
 * @typedef {import("./table_rows.js").TableRow} TableRow
 * @typedef {{ name: string, dtype: string, kind: string, editable: boolean, choices: string[] }} TableColumn
 * @typedef {ReturnType<typeof drawGrid>} Grid
 * @typedef {{ rows: TableRows, drop: () => boolean, open: () => boolean, moved: () => void, key: (event: KeyboardEvent) => boolean }} GridHost
 */

const GRID_ROW = 26; // pixels
const GRID_SEEN = 12; // rows
const GRID_LONGEST = 4_000_000; // pixels: browsers cap an element's height, Firefox near 17.9 million
const GRID_RIGHT = new Set(["int", "float", "decimal", "duration"]);
/** @type {Record<string, string>} */
const GRID_WIDTHS = { int: "7em", float: "9em", bool: "5.5em", category: "9em", text: "13em", datetime: "17em" };

/**
 * @param {string} by  ids of what names the grid
 * @param {GridHost} host
 */
export function drawGrid(by, host) {
  const id = uid();
  const head = h("div", { class: "hitl-grid-head", role: "rowgroup" });
  const heads = h("div", { class: "hitl-grid-row", role: "row", "aria-rowindex": 1 });
  const body = h("div", { class: "hitl-grid-body", role: "rowgroup" });
  const rest = h("div", { "aria-hidden": "true" });
  const el = h("div", { class: "hitl-sheet", role: "grid", tabindex: 0, "aria-labelledby": by }, head, body, rest);
  el.setAttribute("aria-multiselectable", "true");
  head.append(heads);
  /** @type {TableColumn[]} */
  let columns = [];
  const active = { row: 0, column: 0, anchor: 0 };
  let top = 0; // the first row that is seen
  let placed = 0; // where the scroll bar was put
  /** @type {HTMLElement | undefined} */
  let editor;

  const last = () => Math.max(0, host.rows.total - GRID_SEEN);
  const reach = () => Math.max(1, el.scrollHeight - el.clientHeight);
  const scrollTo = (/** @type {number} */ row) => {
    top = Math.min(Math.max(0, row), last());
    el.scrollTop = last() ? (top / last()) * reach() : 0;
    placed = el.scrollTop;
    draw();
  };
  el.addEventListener("scroll", () => {
    if (editor || Math.abs(el.scrollTop - placed) < 2) return;
    placed = el.scrollTop;
    top = Math.round((el.scrollTop / reach()) * last());
    draw();
  });
  el.addEventListener(
    "wheel",
    (/** @type {WheelEvent} */ event) => {
      if (event.ctrlKey || event.shiftKey || editor || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      const wanted = top + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / GRID_ROW));
      const next = Math.min(Math.max(0, wanted), last());
      if (next === top) return; // the page scrolls on
      event.preventDefault();
      scrollTo(next);
    },
    { passive: false },
  );

  const move = (/** @type {number} */ row, /** @type {number} */ column, extend = false) => {
    active.row = Math.min(Math.max(0, row), Math.max(0, host.rows.total - 1));
    active.column = Math.min(Math.max(-1, column), columns.length - 1);
    if (!extend) active.anchor = active.row;
    if (active.row < top) scrollTo(active.row);
    else if (active.row >= top + GRID_SEEN) scrollTo(active.row - GRID_SEEN + 1);
    else draw();
    body.children[active.row - top]?.children[active.column + 1]?.scrollIntoView({ block: "nearest", inline: "nearest" });
    host.moved();
  };
  /** @type {Record<string, (event: KeyboardEvent) => [number, number]>} */
  const steps = {
    ArrowUp: () => [active.row - 1, active.column],
    ArrowDown: () => [active.row + 1, active.column],
    ArrowLeft: () => [active.row, active.column - 1],
    ArrowRight: () => [active.row, active.column + 1],
    PageUp: () => [active.row - GRID_SEEN, active.column],
    PageDown: () => [active.row + GRID_SEEN, active.column],
    Home: ({ ctrlKey }) => (ctrlKey ? [0, active.column] : [active.row, -1]),
    End: ({ ctrlKey }) => (ctrlKey ? [host.rows.total - 1, active.column] : [active.row, columns.length - 1]),
  };
  el.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== el || event.altKey || event.metaKey) return;
    const step = steps[event.key];
    if (step) move(...step(event), event.shiftKey);
    else if (!host.key(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  body.addEventListener("mousedown", (/** @type {MouseEvent} */ event) => {
    const cell = /** @type {HTMLElement} */ (event.target).closest("[role=gridcell], [role=rowheader]");
    if (!cell || editor) return;
    event.preventDefault();
    el.focus({ preventScroll: true });
    const at = [...body.children].indexOf(/** @type {Element} */ (cell.parentElement));
    move(top + at, [.../** @type {Element} */ (cell.parentElement).children].indexOf(cell) - 1, event.shiftKey);
  });

  const fillHead = () => {
    const texts = [{ name: "Row", dtype: "", kind: "", editable: false }, ...columns];
    fillRows(heads, texts, () => h("div", { role: "columnheader" }), (/** @type {HTMLElement} */ cell, column, at) => {
      const sort = host.rows.look.sort;
      const mine = sort !== null && sort[0] === at - 1;
      cell.setAttribute("aria-colindex", String(at + 1));
      cell.setAttribute("aria-sort", mine ? (sort[1] ? "descending" : "ascending") : "none");
      cell.title = column.dtype ? `${column.name} (${column.dtype})${column.editable ? ", can be edited" : ""}` : "";
      cell.dir = "auto";
      const sign = (column.editable ? " ✎" : "") + (mine ? (sort[1] ? " ▼" : " ▲") : "");
      write(cell, column.name + sign);
      cell.toggleAttribute("data-right", GRID_RIGHT.has(column.kind));
    });
  };
  const draw = () => {
    if (editor) return;
    const { rows } = host;
    const seen = Math.min(GRID_SEEN, rows.total);
    top = Math.min(top, last());
    active.row = Math.min(active.row, Math.max(0, rows.total - 1));
    const height = Math.min(rows.total * GRID_ROW, GRID_LONGEST);
    rest.style.height = `${Math.max(0, height - seen * GRID_ROW)}px`;
    el.setAttribute("aria-rowcount", String(rows.total + 1));
    el.setAttribute("aria-colcount", String(columns.length + 1));
    const [from, to] = [Math.min(active.anchor, active.row), Math.max(active.anchor, active.row)];
    fillRows(body, Array.from({ length: seen }, (_, at) => top + at), gridRow, (/** @type {HTMLElement} */ line, at, slot) => {
      const row = rows.at(at);
      line.setAttribute("aria-rowindex", String(at + 2));
      line.setAttribute("aria-selected", String(at >= from && at <= to && row !== undefined));
      line.toggleAttribute("data-dropped", row?.kept === false);
      line.toggleAttribute("data-waiting", row === undefined);
      const number = row === undefined ? "…" : row.label === null ? String(row.row) : `${row.row} · ${row.label}`;
      const cells = [...columns.keys()];
      fillRows(line, [-1, ...cells], gridCell, (/** @type {HTMLElement} */ cell, place) => {
        cell.id = `${id}-${slot}-${place + 1}`;
        cell.setAttribute("aria-colindex", String(place + 2));
        cell.toggleAttribute("data-active", at === active.row && place === active.column);
        if (place < 0) return write(cell, host.drop() && row ? `${row.kept ? "✓" : "✕"} ${number}` : number);
        fillCell(cell, row, place, columns[place]);
      });
    });
    const cell = rows.total ? body.children[active.row - top]?.children[active.column + 1] : undefined;
    el.setAttribute("aria-activedescendant", cell?.id ?? "");
    rows.want(top, Math.min(rows.total || 1, top + 2 * GRID_SEEN));
  };
  return {
    el,
    active,
    draw,
    move,
    /** Other rows, from the first on. */
    start() {
      [active.row, active.anchor] = [0, 0];
      scrollTo(0);
    },
    /** @param {TableColumn[]} now */
    columns(now) {
      if (JSON.stringify(now) !== JSON.stringify(columns)) {
        columns = now;
        const widths = columns.map(({ kind }) => GRID_WIDTHS[kind] ?? "12em");
        el.style.setProperty("--hitl-columns", ["8em", ...widths].join(" "));
      }
      fillHead();
    },
    /** The rows that are chosen, as first and before last. @returns {[number, number]} */
    chosen: () => [Math.min(active.anchor, active.row), Math.max(active.anchor, active.row) + 1],
    /** Put an editor into the active cell, until it is taken away. @param {HTMLElement} control */
    place(control) {
      const cell = body.children[active.row - top]?.children[active.column + 1];
      if (!cell) return;
      cell.replaceChildren(control);
      editor = control;
      control.focus();
    },
    /** Take the editor away. */
    unplace() {
      if (!editor) return;
      const had = editor.matches(":focus");
      const gone = editor;
      editor = undefined;
      gone.parentElement?.replaceChildren();
      if (had) el.focus({ preventScroll: true });
      draw();
    },
    editing: () => editor !== undefined,
  };
}

const gridRow = () => h("div", { class: "hitl-grid-row", role: "row" });
/** @param {number} at */
const gridCell = (at) => h("div", { role: at === 0 ? "rowheader" : "gridcell", dir: "auto" });

/** @param {HTMLElement} cell @param {TableRow | undefined} row @param {number} place @param {TableColumn} column */
function fillCell(cell, row, place, column) {
  const before = row?.before[place];
  const text = row === undefined ? "" : cellLine(row.cells[place]);
  const kind = row === undefined ? "" : cellKind(row.cells[place]);
  cell.dataset.kind = kind;
  cell.title = row === undefined ? "" : cellWarning(row.cells[place]);
  cell.toggleAttribute("data-right", GRID_RIGHT.has(column.kind));
  cell.toggleAttribute("data-changed", before !== undefined);
  cell.setAttribute("aria-readonly", String(!column.editable));
  if (before === undefined) {
    if (cell.childElementCount) cell.replaceChildren();
    return write(cell, text);
  }
  const [now, was] = [cell.querySelector("b"), cell.querySelector("s")];
  // The same elements again: a double click on one that is replaced in between is none.
  if (now && was) write(now, text), write(was, cellLine(before));
  else cell.replaceChildren(h("b", { text }), " ", h("s", { text: cellLine(before) }));
}
