// One run as the browser knows it: what the kernel said, and what the person holds until the kernel has it.
//
// The notebook server drops messages above a rate limit, so nothing here is a one-shot: everything on screen has a
// sequence number that is asked for again, and an answer is sent again until the kernel acknowledges it.

import { uid } from "./kit.js";

/**
 * @typedef {{ key: string, type: string, [field: string]: any }} Item  One thing on screen, as the kernel sent it.
 * @typedef {"" | "sending" | "accepted" | "late"} Phase  Where the person's answer to one call is.
 * @typedef {{ op: string, seq: number, live: boolean, [field: string]: any }} Message  What the kernel says.
 * @typedef {{ op: string, [field: string]: any }} Sent  What it is told.
 * @typedef {(name: string, handler: (content: any) => void) => void} Listen
 * @typedef {{ send: (content: object) => void, on: Listen, off: Listen, comm_live?: boolean }} Model  anywidget's.
 * @typedef {{ draft: any, reason: string, phase: Phase, error: string }} Held  What the person holds for one call.
 */

const POLL_MS = 2000; // between polls of a live run
const RETRY_MS = 5000; // a poll without an answer is asked again
const QUIET_AFTER = 3; // unanswered polls before the cards say so

/** Is nothing left to answer at this item? @param {Item} item */
export const isDecided = (item) => Boolean(item.record) || item.status === "complete";

export class RunStore {
  /** @type {Map<string, Item>} in the order of the screen */
  items = new Map();
  /** @type {"open" | "quiet" | "closed"} closed = the comm is gone; quiet = no answer for a while, perhaps only busy */
  link = "open";
  heard = false; // has the kernel ever said anything?
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
  /** @type {Map<string, string>} the card that could not be drawn, by item key */
  #reported = new Map();
  /** @type {Set<(keys?: Set<string>) => void>} */
  #watchers = new Set();
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
    model.on("msg:custom", receive);
    model.on("comm_live_update", relink);
    document.addEventListener("visibilitychange", () => this.#timer ?? this.#beat(), { signal });
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
    signal.addEventListener("abort", () => this.#watchers.delete(watcher));
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
    Object.assign(this.held(key), change);
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
    this.#outbox.set(key, { ...message, click });
    this.#clicks.set(key, click);
    this.hold(key, { phase: "sending", error: "" });
    this.#send(this.#outbox.get(key));
    if (!this.#timer) this.#later(POLL_MS);
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

  /** @param {Message} message */
  #receive(message) {
    const { op, seq, live } = message;
    this.#misses = 0;
    this.heard = true;
    this.#relink("open");
    if (op === "answered") this.#settle(message);
    if (op === "snapshot" || (op === "patch" && seq === this.#have + 1)) this.#apply(message);
    if (seq > this.#have) return this.#asked || this.#ask(); // a gap; an outstanding poll already brings the rest
    if (seq === this.#have) this.#live = live; // in step only: "over" from beyond a gap would end the polls
    const answer = op === "snapshot" || op === "same";
    if (answer) this.#asked = false;
    if (answer || !this.#timer) this.#later(POLL_MS);
  }

  /** @param {Message} message */
  #apply({ op, seq, items }) {
    this.#have = seq;
    const before = this.items;
    if (op === "snapshot") this.items = new Map();
    for (const item of items) {
      const was = before.get(item.key);
      this.items.set(item.key, item);
      if (isDecided(item)) this.#forget(item.key);
      else if (this.#held.has(item.key)) this.#reopen(item, was);
    }
    this.#notify(op === "patch" ? items.map((/** @type {Item} */ item) => item.key) : undefined);
  }

  /** @param {Message} message */
  #settle({ call_id, click, accepted, error }) {
    const item = [...this.items.values()].find((each) => each.type === "call" && each.id === call_id);
    if (!item) return;
    // A click that is not ours was made in another tab: its person is told there.
    const ours = click != null && this.#clicks.get(item.key) === click;
    if (ours) this.#clicks.delete(item.key), this.#outbox.delete(item.key);
    if (accepted && !isDecided(item)) this.hold(item.key, { phase: "accepted", error: "" });
    else if (accepted || !ours) return;
    else if (error && !isDecided(item)) this.hold(item.key, { phase: "", error });
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
    this.#send({ op: "hello", have: this.#have });
  }

  #beat() {
    this.#timer = undefined;
    if (this.#asked && ++this.#misses >= QUIET_AFTER) this.#relink("quiet");
    this.#asked = false;
    const watching = this.#live && document.visibilityState !== "hidden";
    if (this.link !== "closed" && (watching || this.#outbox.size)) this.#ask();
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
