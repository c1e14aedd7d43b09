// One run as the browser knows it: what the kernel said, and what the person holds until the kernel has it.
//
// The notebook server drops messages above a rate limit, so nothing here is a one-shot: everything on screen has a
// sequence number that is asked for again, and an answer is sent again until the kernel acknowledges it.

import { uid } from "./kit.js";
import { grownNodes } from "./tree.js";

/**
 * @typedef {{ key: string, type: string, [field: string]: any }} Item  One thing on screen, as the kernel sent it.
 * @typedef {"" | "sending" | "accepted" | "late"} Phase  Where the person's answer to one call is.
 * @typedef {{ op: string, seq: number, live: boolean, [field: string]: any }} Message  What the kernel says.
 * @typedef {{ op: string, [field: string]: any }} Sent  What it is told.
 * @typedef {(name: string, handler: (content: any) => void) => void} Listen
 * @typedef {{ send: (content: object) => void, on: Listen, off: Listen, comm_live?: boolean, place?: string }} Model  anywidget's.
 * @typedef {{ draft: any, reason: string, phase: Phase, error: string, mended?: string, chat?: any, undoing?: boolean, kept?: any }} Held  What the
 * person holds for one call; `kept` is what they had begun before this page was there.
 */

const POLL_MS = 2000; // between polls of a live run
const RETRY_MS = 5000; // a poll without an answer is asked again
const UNSEEN_MS = [1000, 5000]; // where nothing is drawn: at first, when a cell may wait for a card that is gone; then
const UNSEEN_LONG = 15_000;
const KEEP_MS = 400; // what is being typed is kept in one piece
const QUIET_AFTER = 3; // unanswered polls before the cards say so

/** What the kernel knows this page by: a reload is another page of the same tab, and takes its place. */
const STORE_PAGE = { page: uid() + Date.now(), tab: storeTab(), born: performance.timeOrigin };

function storeTab() {
  const key = "hitl_nb:tab";
  try {
    if (!sessionStorage.getItem(key)) sessionStorage.setItem(key, `${Math.random()}${Date.now()}`);
    return sessionStorage.getItem(key);
  } catch {
    return null; // a frame without storage of its own
  }
}

/**
 * Whether a view may be behind JupyterLab's "Show more outputs" (of a cell that has more than fifty); if a question waits
 * there, the link says so.
 * @param {boolean} waits
 */
function storeBehind(waits) {
  const links = [...document.querySelectorAll(".jp-TrimmedOutputs :is(a, button)")];
  for (const link of links) {
    if (!waits || link.querySelector(".hitl-behind")) continue;
    const words = document.createElement("strong");
    words.className = "hitl-behind";
    words.textContent = "A question waits for you here: ";
    link.prepend(words);
  }
  return links.length > 0;
}

/** Is nothing left to answer at this item? @param {Item} item */
export const isDecided = (item) => Boolean(item.record) || item.status === "complete";

export class RunStore {
  /** @type {Map<string, Item>} in the order of the screen */
  items = new Map();
  /** @type {"open" | "quiet" | "closed"} closed = the comm is gone; quiet = no answer for a while, perhaps only busy */
  link = "open";
  heard = false; // has the kernel ever said anything?
  place = "kernel"; // what answers, to a person
  #skew = Infinity; // how far this clock is ahead of the kernel's, at most
  #have = 0;
  #live = true;
  #asked = false;
  #misses = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Map<string, Held>} */
  #held = new Map();
  /** @type {Map<string, Sent>} answers to send again until they are acknowledged, by item key */
  #outbox = new Map();
  /** @type {Map<string, string>} the click that is not acknowledged yet, by item key; its call may be decided by now */
  #clicks = new Map();
  /** @type {Map<string, { key: string, message: Sent, done: (found: any) => void, failed: (why: Error) => void }>} */
  #asking = new Map();
  /** @type {Map<string, { item: Item, give: () => object, timer: ReturnType<typeof setTimeout> }>} to be kept soon, by item key */
  #keeping = new Map();
  /** @type {Map<string, string>} the draft that was sent last, by item key */
  #kept = new Map();
  /** @type {Map<string, string>} the card that could not be drawn, by item key */
  #reported = new Map();
  /** @type {Set<(keys?: Set<string>) => void>} */
  #watchers = new Set();
  #gone = Date.now(); // since when nothing is drawn here
  /** @type {Model | undefined} */
  #model;

  /**
   * Listen to the kernel and ask for the state. Ends, without a trace, with `signal`.
   * @param {Model} model
   * @param {AbortSignal} signal
   */
  connect(model, signal) {
    const receive = (/** @type {Message} */ content) => this.#receive(content);
    // anywidget hands out a proxy without `comm_live`; the event fires only when a comm is lost.
    const relink = () => this.#relink(model.comm_live === true ? "open" : "closed");
    this.#model = model;
    this.place = model.place ?? this.place;
    model.on("msg:custom", receive);
    model.on("comm_live_update", relink);
    document.addEventListener("visibilitychange", () => (this.#keepNow(), this.#timer ?? this.#beat()), { signal });
    addEventListener("pagehide", () => (this.#keepNow(), this.#send({ op: "bye", ...STORE_PAGE })), { signal });
    addEventListener("pageshow", (event) => event.persisted && this.#ask(), { signal });
    signal.addEventListener("abort", () => {
      model.off("msg:custom", receive);
      model.off("comm_live_update", relink);
      this.#relink("closed");
    });
    this.#ask();
  }

  /**
   * Call `watcher` with the keys that changed (none = anything may have) until `signal` ends.
   * @param {(keys?: Set<string>) => void} watcher
   * @param {AbortSignal} signal
   */
  watch(watcher, signal) {
    this.#watchers.add(watcher);
    signal.addEventListener("abort", () => this.#watchers.delete(watcher) && this.#counted());
    this.#counted();
  }

  /** Tell at once that something is drawn here now, or nothing any more. */
  #counted() {
    if (this.#watchers.size > 1) return;
    if (this.#watchers.size === 0) this.#gone = Date.now();
    if (!this.#model || this.link === "closed" || !this.#live) return;
    this.#send({ op: "views", ...this.#sight() });
    if (!this.#asked) this.#rest();
  }

  /** Scrolled away, collapsed or in a hidden tab, a view is a view: the host ends it with the output it stands in. */
  #sight() {
    const views = this.#watchers.size;
    const behind = !views && storeBehind([...this.items.values()].some((item) => item.type === "call" && !isDecided(item)));
    return { ...STORE_PAGE, age: performance.now(), views, behind, gone: views ? null : this.#gone };
  }

  /**
   * What the person holds for the call at `key`; shared by all views of the run.
   * @param {string} key
   * @returns {Held}
   */
  held(key) {
    if (!this.#held.has(key)) this.#held.set(key, { draft: undefined, reason: "", phase: "", error: "" });
    return /** @type {Held} */ (this.#held.get(key));
  }

  /** Change what the person holds for the call at `key`. @param {string} key @param {Partial<Held>} change */
  hold(key, change) {
    const held = Object.assign(this.held(key), change);
    // What was wrong with an answer is no longer said once the person has changed it.
    if (change.draft !== undefined && !change.error) held.mended = this.items.get(key)?.error ?? "";
    this.#notify([key]);
  }

  /**
   * Send the answer of an open call; the polls repeat it until the kernel acknowledges, unchanged: with the turn that it
   * was drawn for, whoever is being asked by then, and as the same click, so that it does not count as a second one.
   * @param {string} key
   * @param {{ op: string, call_id: string, [field: string]: any }} message
   */
  answer(key, message) {
    const click = uid();
    if (this.items.get(key)?.shared) this.#keepNow(key); // whoever asks may refuse it, and then it is not typed again
    const at = Date.now() - (this.#skew === Infinity ? 0 : this.#skew); // by the kernel's clock
    this.#outbox.set(key, { ...message, click, pressed: at });
    this.#clicks.set(key, click);
    this.hold(key, { phase: "sending", error: "" });
    this.#send(this.#outbox.get(key));
    if (!this.#timer) this.#later(POLL_MS);
  }

  /**
   * Take back an answer that is held. It is not sent again from now on, and this is, until the kernel has it.
   * @param {Item} item
   */
  undo({ key, id, turn }) {
    const click = uid();
    this.#outbox.set(key, { op: "undo", call_id: id, turn: turn.token, click });
    this.#clicks.set(key, click);
    this.hold(key, { undoing: true, phase: "" });
    this.#send(this.#outbox.get(key));
    if (!this.#timer) this.#later(POLL_MS);
  }

  /** Milliseconds until a time of the kernel's clock. @param {number} until */
  left(until) {
    return until - Date.now() + (this.#skew === Infinity ? 0 : this.#skew);
  }

  /**
   * Ask the kernel for another page of a table; which one is open it keeps.
   * @param {Item} item
   * @param {{ at: string, page: number }} place
   */
  look({ id }, { at, page }) {
    this.#send({ op: "look", call_id: id, at, page });
  }

  /**
   * Have the kernel hold what was begun at an open call, in a moment; it is no answer.
   * @param {Item} item
   * @param {() => object} give  gives it, as plain JSON
   */
  keep(item, give) {
    clearTimeout(this.#keeping.get(item.key)?.timer);
    const timer = setTimeout(() => this.#keepNow(item.key), KEEP_MS);
    this.#keeping.set(item.key, { item, give, timer });
  }

  /** @param {string[]} keys */
  #keepNow(...keys) {
    for (const key of keys.length ? keys : [...this.#keeping.keys()]) {
      const { item, give, timer } = this.#keeping.get(key) ?? {};
      clearTimeout(timer);
      this.#keeping.delete(key);
      const now = this.items.get(key);
      if (!item || !give || !now?.turn?.open || isDecided(now)) continue;
      const draft = give();
      const text = JSON.stringify(draft);
      if (text === (this.#kept.get(key) ?? "{}")) continue;
      this.#kept.set(key, text);
      this.#send({ op: "draft", call_id: now.id, turn: now.turn.token, draft });
    }
  }

  /**
   * Tell the kernel, once a card, that it cannot be drawn here: it has another one.
   * @param {Item} item
   * @param {string} error
   */
  report({ key, id, card }, error) {
    if (this.#reported.get(key) === card) return;
    this.#reported.set(key, card);
    this.#send({ op: "failed", call_id: id, card, error });
  }

  /**
   * Ask the kernel's half of a card; the polls repeat it until there is a reply, under the same name.
   * @param {Item} item
   * @param {any} body
   * @returns {Promise<any>} what it gives; nothing ever comes once the call is decided, or the kernel is gone
   */
  ask({ key, id, turn }, body) {
    const ask = uid();
    const message = { op: "ask", call_id: id, ask, turn: turn?.token ?? "", body };
    return new Promise((done, failed) => {
      this.#asking.set(ask, { key, message, done, failed });
      this.#send(message);
      if (!this.#timer) this.#later(POLL_MS);
    });
  }

  /** @param {Message} message */
  #reply({ ask, body, error }) {
    const asked = this.#asking.get(ask);
    this.#asking.delete(ask);
    if (error === undefined) asked?.done(body);
    else asked?.failed(new Error(error));
  }

  /** @param {Message} message */
  #receive(message) {
    const { op, seq, live } = message;
    this.#misses = 0;
    this.heard = true;
    if (message.now) this.#skew = Math.min(this.#skew, Date.now() - message.now);
    this.#relink("open");
    if (op === "answered") this.#settle(message);
    if (op === "reply") this.#reply(message);
    if (op === "snapshot" || (op === "patch" && seq === this.#have + 1)) this.#apply(message);
    if (seq > this.#have) return this.#asked || this.#ask(); // a gap; an outstanding poll already brings the rest
    if (seq === this.#have) this.#live = live; // in step only: "over" from beyond a gap would end the polls
    const answer = op === "snapshot" || op === "same";
    if (answer) this.#asked = false;
    if (answer || !this.#timer) this.#rest();
  }

  /** @param {Message} message */
  #apply({ op, seq, items }) {
    this.#have = seq;
    const before = this.items;
    if (op === "snapshot") this.items = new Map();
    for (const item of items) {
      const was = before.get(item.key);
      if (item.grown) item.tree = grownNodes(was?.tree ?? [], item.grown);
      this.items.set(item.key, item);
      if (item.draft && !this.#held.has(item.key)) this.held(item.key).kept = item.draft;
      if (isDecided(item)) this.#forget(item.key);
      else if (this.#held.has(item.key)) this.#reopen(item, was);
    }
    this.#notify(op === "patch" ? items.map((/** @type {Item} */ item) => item.key) : undefined);
  }

  /** @param {Message} message */
  #settle({ call_id, click, accepted, error, undone, late }) {
    const item = [...this.items.values()].find((each) => each.type === "call" && each.id === call_id);
    if (!item) return;
    // A click that is not ours was made in another tab: its person is told there.
    const ours = click != null && this.#clicks.get(item.key) === click;
    if (ours) this.#clicks.delete(item.key), this.#outbox.delete(item.key);
    if (accepted && !isDecided(item)) this.hold(item.key, { phase: "accepted", error: "" });
    else if (accepted || !ours) return;
    else if (undone) this.hold(item.key, { phase: "", error: "" });
    else if (error && !late && !isDecided(item)) this.hold(item.key, { phase: "", error });
    else this.hold(item.key, { phase: "late", error: error ?? "" }); // what became of the call is in its item
  }

  /**
   * Take back what is over: as the kernel shows the call, it can be answered again.
   * @param {Item} item
   * @param {Item | undefined} was
   */
  #reopen({ key, turn }, was) {
    const held = this.held(key);
    if (held.phase === "accepted" || held.phase === "late") held.phase = "";
    if (turn?.token !== was?.turn?.token) held.error = ""; // it was about another turn
  }

  /** Keep nothing for a decided call but that an answer came too late. @param {string} key */
  #forget(key) {
    this.#outbox.delete(key);
    for (const [ask, asked] of this.#asking) if (asked.key === key) this.#asking.delete(ask);
    if (this.#held.get(key)?.phase !== "late") this.#held.delete(key);
    else this.hold(key, { draft: undefined, reason: "" });
  }

  /** @param {RunStore["link"]} link */
  #relink(link) {
    if (this.link === link) return;
    this.link = link;
    this.#notify();
  }

  /** @param {string[]} [keys] */
  #notify(keys) {
    const changed = keys && new Set(keys);
    for (const watcher of this.#watchers) watcher(changed);
  }

  #ask() {
    this.#asked = true;
    this.#later(RETRY_MS);
    for (const message of this.#outbox.values()) this.#send(message);
    for (const { message } of this.#asking.values()) this.#send(message);
    this.#send({ op: "hello", have: this.#have, ...this.#sight() });
  }

  /** Ask again in a while. */
  #rest() {
    this.#later(this.#watchers.size ? POLL_MS : UNSEEN_MS[Number(Date.now() - this.#gone > UNSEEN_LONG)]);
  }

  #beat() {
    this.#timer = undefined;
    if (this.#asked && ++this.#misses >= QUIET_AFTER) this.#relink("quiet");
    this.#asked = false;
    const watching = this.#live && document.visibilityState !== "hidden";
    if (this.link !== "closed" && (watching || this.#outbox.size || this.#asking.size)) this.#ask();
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#beat(), ms);
  }

  /** @param {Sent | undefined} message */
  #send(message) {
    try {
      if (message) this.#model?.send(message);
    } catch {
      this.#relink("closed"); // a disposed comm throws instead of sending
    }
  }
}
