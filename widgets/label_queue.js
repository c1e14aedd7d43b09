// The items of a queue as the browser has them: the next ones are here before they are wanted, and what was pressed is a
// numbered log that is sent until the kernel has it on disk.
//
// What is pressed says what an item is to have: sent twice, it is done once. What no kernel has acknowledged stays in the
// tab's own store, and is sent after a reload, also to another kernel.

import { uid } from "./kit.js";

/**
 * @typedef {false | number[] | null} Mark  skipped, labels by their places, or nothing yet
 * @typedef {[at: number, mark: Mark][]} Sets
 * @typedef {{ n: number, op: string, sets: Sets, was: Sets, item?: number, note?: string }} Entry
 * @typedef {{ tree: any[], before: string, warning: string }} LabelItem
 * @typedef {{ word: string, key: string }} LabelName
 * @typedef {{ skip: string, note: string, filter: string, undo: string }} LabelKeys
 */

const LABEL_PAGE = 40; // items that are asked for at once
const LABEL_AHEAD = 12; // so many of the next ones are here, or more are asked for
const LABEL_KEPT = 400;
const LABEL_AGAIN = 3000; // ms until what could not be saved is sent again
const LABEL_PAUSE = 60_000; // somebody who was away was not slow

export class LabelQueue {
  ready = false;
  error = "";
  version = -1; // of what the kernel has, as last heard
  /** @type {Entry[]} what the kernel has not acknowledged yet */
  log = [];
  /** @type {Mark[]} */
  marks = [];
  /** @type {Record<string, string>} */
  notes = {};
  /** @type {LabelName[]} */
  labels = [];
  /** @type {LabelKeys} */
  keys = { skip: "", note: "", filter: "", undo: "" };
  /** @type {any[]} */
  guidelines = [];
  multi = false;
  at = -1; // the item that is shown; -1 where none is left
  filter = ""; // what the items are searched for
  who = uid() + Date.now();
  #serial = 0;
  #place = 0;
  /** @type {number[]} the items in the order in which they come */
  #order = [];
  /** @type {number[]} those of them that the filter finds */
  #view = [];
  /** @type {Sets[]} */
  #undo = [];
  /** @type {Map<number, LabelItem>} */
  #items = new Map();
  /** @type {number[]} */
  #times = [];
  #store = "";
  #opening = false;
  #sending = false;
  #asking = false;
  /** @type {(body: any) => Promise<any>} */
  #ask;
  /** @type {() => void} */
  #changed;

  /** @param {(body: any) => Promise<any>} ask @param {() => void} changed */
  constructor(ask, changed) {
    [this.#ask, this.#changed] = [ask, changed];
  }

  /** Ask for everything but the items; again, where it was changed elsewhere. @param {string} store */
  async open(store) {
    if (this.#opening) return;
    this.#opening = true;
    try {
      this.#store = `hitl_nb:labels:${store}`;
      const first = !this.ready;
      const kept = first ? this.#kept() : { who: "", log: [] };
      const found = await this.#ask({ op: "open", kept: kept.who });
      const { marks, notes, labels, keys, guidelines, multi, version } = found;
      Object.assign(this, { marks, notes, labels, keys, guidelines, multi, version, ready: true, error: "" });
      this.#undo = found.undo;
      this.#order = found.order ?? marks.map((/** @type {Mark} */ _, /** @type {number} */ at) => at);
      if (!this.filter) this.#view = this.#order;
      // What was pressed meanwhile is not in what the kernel has told.
      for (const entry of this.log) this.#set(entry);
      if (first) this.#restore(kept.log.filter(({ n }) => n > found.have));
      if (first) this.#from(0);
    } catch (error) {
      this.error = /** @type {Error} */ (error).message;
    }
    this.#opening = false;
    this.#changed();
    this.#want();
  }

  get total() {
    return this.#view.length;
  }

  /** Where the item that is shown stands among those that come, from 1. */
  get place() {
    return this.#place + 1;
  }

  /** What is to be drawn now, if it is here. */
  get item() {
    return this.#items.get(this.at);
  }

  /** Does the kernel have everything? */
  get settled() {
    return this.log.length === 0 && !this.#sending;
  }

  get canUndo() {
    return this.#undo.length > 0;
  }

  counts() {
    const skipped = this.marks.filter((mark) => mark === false).length;
    const left = this.marks.filter((mark) => mark === null).length;
    return { labelled: this.marks.length - skipped - left, skipped, left };
  }

  /** Items of those that the filter finds which have nothing yet. */
  unmarked() {
    return this.#view.filter((at) => this.marks[at] === null);
  }

  /** Items a minute, lately; 0 where that cannot be said yet. */
  rate() {
    const times = this.#times.slice(-20);
    const spans = times.slice(1).map((time, at) => Math.min(time - times[at], LABEL_PAUSE));
    const minutes = spans.reduce((sum, span) => sum + span, 0) / 60_000;
    return spans.length > 1 && minutes > 0 ? spans.length / minutes : 0;
  }

  // -- what is pressed ------------------------------------------------------------------------------------------------

  /** Give the item that is shown what it is to have, and go on. @param {Mark} mark */
  mark(mark) {
    if (!this.item) return false; // what nobody has seen has no label
    this.#push(mark === false ? "skip" : "label", [[this.at, mark]]);
    this.#times.push(Date.now());
    this.#from(this.#place);
    this.#want();
    return true;
  }

  /** Give all items that the filter finds, and that have nothing yet, the same. @param {number[]} places @param {Mark} mark */
  all(places, mark) {
    if (places.length === 0) return;
    this.#push("all", places.map((at) => [at, mark]));
    this.#from(this.#place);
    this.#want();
  }

  /** Take back what was done last, and show where. */
  undo() {
    const step = this.#undo.pop();
    if (!step) return false;
    this.#push("undo", step);
    if (!this.#view.includes(step[0][0])) this.unfilter();
    this.#show(this.#view.indexOf(step[0][0]));
    return true;
  }

  /** @param {string} note */
  note(note) {
    if (this.at < 0 || (this.notes[this.at] ?? "") === note) return;
    this.#push("note", [], { item: this.at, note });
  }

  /** Look at the item before, or behind. @param {number} step */
  move(step) {
    const from = this.at < 0 ? this.#view.length : this.#place;
    if (this.#view[from + step] !== undefined) this.#show(from + step);
  }

  /** Only those with a text in them. @param {string} text */
  async find(text) {
    const { at } = await this.#ask({ op: "find", text });
    const found = new Set(at);
    this.filter = text;
    this.#view = this.#order.filter((/** @type {number} */ each) => found.has(each));
    this.#from(0);
    this.#changed();
    this.#want();
  }

  unfilter() {
    const at = this.at;
    this.filter = "";
    this.#view = this.#order;
    if (at >= 0) this.#show(this.#view.indexOf(at));
    else this.#from(0);
  }

  // -- the log --------------------------------------------------------------------------------------------------------

  /** @param {string} op @param {Sets} sets @param {{ item?: number, note?: string }} [more] */
  #push(op, sets, more = {}) {
    const was = /** @type {Sets} */ (sets.map(([at]) => [at, this.marks[at]]));
    if (op !== "undo" && sets.length) this.#undo.push(was);
    const entry = { n: ++this.#serial, op, sets, was, ...more };
    this.log.push(entry);
    this.#set(entry);
    this.#keep();
    this.#send();
  }

  /** @param {Entry} entry */
  #set({ sets, item, note }) {
    for (const [at, mark] of sets) this.marks[at] = mark;
    if (item !== undefined && note !== undefined) this.notes[item] = note;
  }

  async #send() {
    if (this.#sending || this.log.length === 0) return;
    this.#sending = true;
    let again = true;
    try {
      const log = this.log.map(({ n, op, sets, item, note }) => ({ n, op, sets, item, note }));
      const { have, version, refused } = await this.#ask({ op: "log", who: this.who, log });
      this.log = this.log.filter(({ n }) => n > have);
      this.version = version;
      this.error = refused.join(" ");
      this.#keep();
    } catch (error) {
      this.error = `Not saved yet: ${/** @type {Error} */ (error).message}`;
      again = false;
      setTimeout(() => this.#send(), LABEL_AGAIN);
    }
    this.#sending = false;
    this.#changed();
    if (again) this.#send();
  }

  /** Have what is not acknowledged outlive this page. */
  #keep() {
    try {
      if (this.log.length) sessionStorage.setItem(this.#store, JSON.stringify({ who: this.who, log: this.log }));
      else sessionStorage.removeItem(this.#store);
    } catch {
      // a frame without storage of its own
    }
  }

  /** What the page before this one did not get rid of. @returns {{ who: string, log: Entry[] }} */
  #kept() {
    try {
      return JSON.parse(sessionStorage.getItem(this.#store) ?? "") || { who: "", log: [] };
    } catch {
      return { who: "", log: [] };
    }
  }

  /** Press it once more, but for items that have got something else since. @param {Entry[]} kept */
  #restore(kept) {
    for (const { op, sets, was, item, note } of kept) {
      const as = was.every(([at, mark]) => JSON.stringify(this.marks[at]) === JSON.stringify(mark));
      if (as && op === "undo") this.#undo.pop();
      if (as) this.#push(op, sets, { item, note });
    }
    this.#keep();
  }

  // -- the items ------------------------------------------------------------------------------------------------------

  /** Go to the next item that has nothing yet, from a place on and then from the start. @param {number} place */
  #from(place) {
    const open = (/** @type {number} */ each) => this.marks[this.#view[each]] === null;
    for (let step = 0; step < this.#view.length; step++) {
      const each = (place + step) % this.#view.length;
      if (open(each)) return this.#show(each);
    }
    this.at = -1;
  }

  /** @param {number} place */
  #show(place) {
    this.#place = place;
    this.at = this.#view[place] ?? -1;
    this.#want();
  }

  /** The item that is shown, and those that come next. */
  #ahead() {
    const found = this.at < 0 ? [] : [this.at];
    for (let place = this.#place + 1; place < this.#view.length && found.length < LABEL_PAGE; place++)
      if (this.marks[this.#view[place]] === null) found.push(this.#view[place]);
    return found;
  }

  /** Those that Undo and the arrow lead back to. */
  #behind() {
    const steps = this.#undo.slice(-LABEL_AHEAD).map(([[at]]) => at);
    return [this.#view[this.#place - 1], this.#view[this.#view.length - 1], ...steps].filter((at) => at !== undefined);
  }

  async #want() {
    if (this.#asking || !this.ready) return;
    const [ahead, behind] = [this.#ahead(), this.#behind()];
    if ([...ahead.slice(0, LABEL_AHEAD), ...behind].every((at) => this.#items.has(at))) return;
    const wanted = [...new Set([...ahead.slice(0, LABEL_AHEAD), ...behind, ...ahead])];
    this.#asking = true;
    try {
      const missing = wanted.filter((at) => !this.#items.has(at));
      const { items } = await this.#ask({ op: "items", at: missing });
      for (const [at, item] of Object.entries(items)) this.#items.set(Number(at), item);
      for (const at of this.#items.keys()) {
        if (this.#items.size <= LABEL_KEPT) break;
        if (!wanted.includes(at)) this.#items.delete(at);
      }
    } catch (error) {
      this.error = /** @type {Error} */ (error).message;
      this.#asking = false;
      return this.#changed();
    }
    this.#asking = false;
    this.#changed();
    this.#want();
  }
}
