// The rows of a table as the kernel gives them: pages on demand, one request at a time, and what was done on the way.
//
// What a person does is drawn at once and sent with the next request, numbered, so that it is done once however often it
// is sent. The newest wish wins: nobody waits for the pages that a scroll bar flew past.

import { uid } from "./kit.js";

/**
 * @typedef {string | string[]} Cell  a text, or [kind, text, …]
 * @typedef {{ row: number, label: string | null, kept: boolean, cells: Cell[], before: Record<number, Cell> }} TableRow
 * @typedef {{ rows: number, kept: number, dropped: number, changed: number, undo: number }} Counts
 * @typedef {[place: number, operator: string, value: string | string[]]} Condition  "in" has several values
 * @typedef {{ where: Condition[], sort: [number, boolean] | null }} Look
 * @typedef {{ rows: TableRow[], version: number, view: number }} Page
 */

const ROWS_PAGE = 64;

export class TableRows {
  /** @type {Look} */
  look = { where: [], sort: null };
  total = 0; // rows that meet the conditions
  version = -1; // of what was done, as last heard
  /** @type {Counts | undefined} */
  counts;
  error = ""; // why the last wish could not be granted
  busy = false;
  #who = uid();
  #serial = 0;
  #view = 0;
  #again = false;
  /** @type {any[]} what was done and is not acknowledged yet */
  #acts = [];
  /** @type {Map<number, Page>} */
  #pages = new Map();
  /** @type {Look | undefined} the last that could be shown */
  #shown;
  /** @type {[number, number]} */
  #wish = [0, 1];
  /** @type {(body: any) => Promise<any>} */
  #ask;
  /** @type {() => void} */
  #changed;

  /** @param {(body: any) => Promise<any>} ask @param {() => void} changed */
  constructor(ask, changed) {
    [this.#ask, this.#changed] = [ask, changed];
  }

  /** Is everything that was done known to the kernel? */
  get settled() {
    return this.#acts.length === 0;
  }

  /** Which rows these are: another number, and they stand elsewhere. */
  get view() {
    return this.#view;
  }

  /** The row at a place of the view, if it is here. @param {number} at @returns {TableRow | undefined} */
  at(at) {
    const page = this.#pages.get(Math.floor(at / ROWS_PAGE));
    return page?.view === this.#view ? page.rows[at % ROWS_PAGE] : undefined;
  }

  /** Want the rows from `first` to before `last`. @param {number} first @param {number} last */
  want(first, last) {
    this.#wish = [first, last];
    this.#next();
  }

  /** Look at other rows, or in another order. @param {Partial<Look>} change */
  choose(change) {
    this.look = { ...this.look, ...change };
    this.#again = true;
    this.error = "";
    this.#next();
  }

  /** The kernel has another version. */
  refresh() {
    this.version = -1;
    this.#next();
  }

  /** Keep or drop the rows from `from` to before `to` of the view. @param {number} from @param {number} to @param {boolean} on */
  keep(from, to, on) {
    for (let at = from; at < to && at < from + 1000; at++) {
      const row = this.at(at);
      if (row) row.kept = on;
    }
    this.#act({ op: "keep", view: this.#view, from, to, on });
  }

  /** @param {TableRow} row @param {number} place @param {Record<string, any>} what */
  edit(row, place, what) {
    if (what.text !== undefined) row.cells[place] = ["sent", what.text];
    this.#act({ op: "edit", row: row.row, place, ...what });
  }

  undo() {
    this.#act({ op: "undo" });
  }

  /** Something that is no page. @param {any} body */
  ask(body) {
    return this.#ask({ who: this.#who, ...body });
  }

  /** @param {any} act */
  #act(act) {
    this.error = "";
    this.#acts.push({ n: ++this.#serial, ...act });
    this.#changed();
    this.#next();
  }

  /** The first page that is wanted and not here, or old. */
  #missing() {
    const [first, last] = this.#wish;
    for (let page = Math.floor(first / ROWS_PAGE); page * ROWS_PAGE < Math.max(last, first + 1); page++) {
      const known = this.#pages.get(page);
      const past = this.version >= 0 && page * ROWS_PAGE >= this.total && page > 0;
      if (!past && (known?.view !== this.#view || known.version !== this.version)) return page;
    }
    return undefined;
  }

  async #next() {
    if (this.busy) return;
    const missing = this.#missing();
    if (missing === undefined && this.settled && !this.#again) return;
    const page = missing ?? Math.floor(this.#wish[0] / ROWS_PAGE);
    const [acts, look, again] = [[...this.#acts], this.look, this.#again];
    this.#again = false;
    this.busy = true;
    this.#changed();
    try {
      const body = { op: "page", acts, look, again, from: again ? 0 : page * ROWS_PAGE, count: ROWS_PAGE };
      this.#take(await this.ask(body), acts, look);
    } catch (error) {
      this.#fail(/** @type {Error} */ (error), look);
    }
    this.busy = false;
    this.#changed();
    this.#next();
  }

  /** @param {any} found @param {any[]} acts @param {Look} look */
  #take(found, acts, look) {
    this.#acts = this.#acts.filter((act) => !acts.includes(act));
    [this.version, this.total, this.counts] = [found.version, found.total, found.counts];
    if (found.view !== this.#view) this.#pages.clear();
    this.#view = found.view;
    this.#shown = look;
    const page = found.from / ROWS_PAGE;
    if (Number.isInteger(page)) this.#pages.set(page, { rows: found.rows, version: found.version, view: found.view });
    if (found.refused.length) {
      this.error = found.refused.map((/** @type {any} */ each) => each.why).join(" ");
      this.version = -1; // what was drawn ahead of it has to go
    }
  }

  /** @param {Error} error @param {Look} look */
  #fail(error, look) {
    this.error = error.message;
    // What cannot be looked for is not looked for again.
    if (look === this.look) this.look = this.#shown ?? { where: [], sort: null };
    if (!this.#shown) this.#wish = [0, 0];
  }
}

/** @param {Cell} cell */
export const cellKind = (cell) => (typeof cell === "string" ? "text" : cell[0] === "cut" ? cell[2] : cell[0]);
/** What a reader has to be told of its words; empty for most. @param {Cell} cell */
export const cellWarning = (cell) => (typeof cell === "string" ? "" : cell[0] === "cut" ? cell[4] : cell[2]) ?? "";
/** A cell in one line, with a sign where there is more, and before words that look like others. @param {Cell} cell */
export function cellLine(cell) {
  return cellWarning(cell) ? `⚠ ${cellPlain(cell)}` : cellPlain(cell);
}

/** @param {Cell} cell */
function cellPlain(cell) {
  const text = (typeof cell === "string" ? cell : cell[1]).replaceAll("\n", " ⏎ ");
  return typeof cell !== "string" && cell[0] === "cut" ? `${text}… (${cell[3]} characters)` : text;
}

/** A cell in words: which kind of nothing, how a text was written out. @param {Cell} cell */
export function tableWords(cell) {
  const kind = cellKind(cell);
  if (kind === "null") return `missing (${cell[1]})`;
  const isText = kind === "text" || kind === "mixed";
  const warning = cellWarning(cell);
  const text = isText ? JSON.stringify(typeof cell === "string" ? cell : cell[1]) : cellPlain(cell);
  return warning ? `${text} ⚠ ${warning}` : text;
}

/** @param {number} count */
export const tableNumber = (count) => count.toLocaleString("en-US");
/** @param {number} count @param {string} word */
export const tableCount = (count, word) => `${tableNumber(count)} ${word}${count === 1 ? "" : "s"}`;
