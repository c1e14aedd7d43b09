// The frame of a card: title, message, status, errors, Confirm, Decline and Cancel, and the one answer a call gets.
//
// A card is the part that differs. It never sees the kernel, the status or a second click: it draws `props` and the
// person's draft, and says what the answer is. The run's store keeps the draft, so it survives patches, a second view
// and a move of the cell.

import { drawClock } from "./clock.js";
import { keepDraft, resumeDraft } from "./draft.js";
import { explain, focusIn, h, uid, write, writeOrHide } from "./kit.js";
import { enter, oneKey, paceKeys, restful, rests, showKey } from "./pace.js";
import { drawRecord } from "./record.js";
import { isDecided } from "./store.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {{
 *   seed: (props: any) => any,
 *   draw: (body: HTMLElement, change: (draft: any) => void, frame: Frame) => (props: any, draft: any, phase: string) => void,
 *   answer: (draft: any, props: any) => any,
 *   confirm?: (label: string, draft: any, props: any) => string,
 *   check?: (draft: any, props: any) => { error: string, draft: any } | undefined,
 *   quiet?: ((draft: any, props: any) => [text: string, draft: any] | false | undefined)[],
 *   reason?: (draft: any) => string,
 *   needsReason?: (props: any) => boolean,
 *   keep?: (draft: any) => any,
 *   resume?: (props: any, kept: any) => any,
 *   keys?: (props: any) => [confirm: string, decline: string] | undefined,
 * }} Card
 * `seed` gives the draft when the question opens. `draw` fills the body once and returns what redraws it (the draft is
 * undefined before the question opens; the frame disables the controls). `answer` is the value to send; `confirm` the
 * text of the button where it says more than its label ("": there is no such button); `check` says why the draft cannot
 * be sent (its place has `data-wrong`); `quiet` are more buttons and the draft that each leads to; `reason` is what a
 * decline starts with, and where `needsReason` there is no decline without one. `keep` gives what of a draft outlives a
 * reload, as plain JSON without a secret (default: the draft itself), and `resume` the draft that comes of it. `keys` are
 * the two that press Confirm and Decline.
 * @typedef {{ el: HTMLElement, confirm: () => void, ask: (body: any) => Promise<any> }} Frame  the whole card, a press of
 * its button, and a question to the kernel's half of it (`Card.reply`)
 * @typedef {ReturnType<typeof frameParts>} Parts
 * @typedef {import("./store.js").Item} Item
 * @typedef {import("./store.js").RunStore} RunStore
 * @typedef {keyof typeof FRAME_STATUS} State
 */

const FRAME_STATUS = {
  writing: "The model is still writing…",
  open: "", // the kernel's words: who is asked
  turn: "", // likewise: who else
  sending: "Sending…",
  held: "", // what was answered, and can be taken back
  accepted: "Answered",
  late: "Already answered elsewhere",
  decided: "",
  closed: "", // by what is there
};
const FRAME_LATE = "Already answered elsewhere. This is what counts:";
const FRAME_KEPT = "what was begun here is back; it is not sent yet";
const FRAME_QUIET = "is not answering, perhaps busy. An answer is sent again until it arrives.";
const FRAME_CLOSED = "This question can no longer be answered here.";

/**
 * Draw the call at `key` in a frame around `card`.
 * @param {import("./store.js").RunStore} store
 * @param {string} key
 * @param {Card} card
 * @returns {{ el: HTMLElement, update: () => void, rest: () => void, state: string }} `update` brings the frame up to
 * date with the store; after `rest` nothing is decided for a moment; `state` is where it is
 */
export function drawFrame(store, key, card) {
  const part = frameParts();
  part.el.dataset.key = key;
  const call = () => /** @type {Item} */ (store.items.get(key));
  const drawCard = frameDrawer(part, call, store, card);
  const clock = drawClock(store, call);
  part.foot.prepend(clock.el);
  part.foot.append(clock.left);
  frameAnswers(part, call, store, card);
  part.el.addEventListener("hitl-look", (/** @type {CustomEvent} */ { detail }) => store.look(call(), detail));
  const update = () => {
    const state = frameState(call(), store);
    const was = drawn.state;
    if (state !== was) part.el.dataset.state = drawn.state = state;
    if (state === "open" && was !== "open" && was !== "sending") rest();
    frameHead(part, call());
    if (state === "decided") return frameDecided(part, call().record, store.held(key));
    const several = call().turn?.several === true;
    part.body.dataset.card = call().card; // where the styles of another package's card end
    if (!several && frameFault(part, drawCard) && call().status === "executing") store.report(call(), part.fault);
    // Where several are asked each has a card with all of it.
    part.el.toggleAttribute("data-several", several);
    // What is in use will be shut, and the page must not take the next key for its own.
    if (was === "open" && state === "turn" && part.el.matches(":focus-within")) part.el.focus({ preventScroll: true });
    const here = part.el.matches(":focus-within");
    if (state === "held" && was !== state) frameHeld(part, here, call());
    frameControls(part, call(), state, card);
    frameTell(part, call(), state, store);
    clock.update();
    if (was === "held" && state !== was) frameBack(part, here, state, store.held(key));
    if (was === "sending" && state === "open") frameFindWrong(part);
  };
  const rest = restful(part.el, update);
  const drawn = { el: part.el, update, rest, state: "" };
  return drawn;
}

/**
 * What draws the card's own part, and the button's text with it.
 * @param {Parts} part
 * @param {() => Item} call
 * @param {RunStore} store
 * @param {Card} card
 */
function frameDrawer(part, call, store, card) {
  /** @type {ReturnType<Card["draw"]> | undefined} */
  let redraw;
  const ask = (/** @type {any} */ body) => store.ask(call(), body);
  const frame = { el: part.el, confirm: () => part.confirm.click(), ask };
  const quiet = frameQuiet(part, call, store, card);
  const keep = () => frameKeep(call(), store, card);
  return () => {
    const { key, status, props, confirm } = call();
    const held = store.held(key);
    writeOrHide(part.confirm, confirm);
    part.el.toggleAttribute("data-keys", props?.keys === true);
    const keys = card.keys?.(props) ?? ["", ""];
    [part.confirm, part.decline].forEach((button, at) => showKey(button, keys[at]));
    if (status === "executing") held.draft ??= resumeDraft(card, props, held.kept?.draft);
    const change = (/** @type {any} */ draft) => {
      store.hold(key, { draft, error: "" });
      keep();
    };
    const draw = (redraw ??= card.draw(part.body, change, frame));
    draw(props, held.draft, held.phase);
    quiet();
    if (held.draft !== undefined && card.confirm) writeOrHide(part.confirm, card.confirm(confirm, held.draft, props));
  };
}

/**
 * The card's quiet buttons; each leads to another draft.
 * @param {Parts} part
 * @param {() => Item} call
 * @param {RunStore} store
 * @param {Card} card
 * @returns {() => void} what brings them up to date
 */
function frameQuiet(part, call, store, card) {
  const buttons = (card.quiet ?? []).map((step) => {
    const next = () => store.held(call().key).draft !== undefined && step(store.held(call().key).draft, call().props);
    const el = h("button", { type: "button", class: "hitl-button hitl-plain" });
    el.addEventListener("click", () => {
      if (frameState(call(), store) !== "open") return;
      const led = next();
      if (led) store.hold(call().key, { draft: led[1], error: "" }), frameKeep(call(), store, card);
      if (el.hidden && !part.body.matches(":focus-within")) part.confirm.focus();
    });
    part.choices.append(el);
    part.quiet.push(el);
    return () => writeOrHide(el, (next() || [""])[0]);
  });
  return () => buttons.forEach((update) => update());
}

/**
 * Let a click, or Enter after a reason, send the one answer of an open call.
 * @param {Parts} part
 * @param {() => Item} call
 * @param {RunStore} store
 * @param {Card} card
 */
function frameAnswers(part, call, store, card) {
  const { key, id } = call();
  const send = (/** @type {() => { op: string, [field: string]: any }} */ message) => {
    if (frameState(call(), store) !== "open" || rests(part.el)) return;
    if (part.body.matches(":focus-within")) (part.confirm.hidden ? part.el : part.confirm).focus(); // what is in use will be shut
    try {
      store.answer(key, { ...message(), call_id: id, turn: call().turn.token });
    } catch (error) {
      store.hold(key, { error: explain(error) });
    }
  };
  part.confirm.addEventListener("click", () => {
    const open = frameState(call(), store) === "open" && !rests(part.el);
    const wrong = open ? card.check?.(store.held(key).draft, call().props) : undefined;
    if (wrong) return (store.hold(key, wrong), frameFindWrong(part));
    send(() => ({ op: "respond", value: card.answer(store.held(key).draft, call().props) }));
  });
  frameDecline(part, () => {
    const reason = part.reason.value.trim();
    if (reason || !card.needsReason?.(call().props)) return send(() => ({ op: "decline", reason }));
    store.hold(key, { error: "Please say why." });
    part.reason.focus();
  });
  part.cancel.addEventListener("click", () => send(() => ({ op: "cancel" })));
  part.decline.addEventListener("click", () => (part.reason.value ||= card.reason?.(store.held(key).draft) ?? ""));
  oneKey(part.el, (pressed) => {
    const at = (card.keys?.(call().props) ?? ["", ""]).indexOf(pressed);
    if (at < 0 || frameState(call(), store) !== "open" || !part.declining.hidden) return false;
    if (at === 0) part.confirm.click();
    else send(() => ({ op: "decline", reason: card.reason?.(store.held(key).draft) ?? "" }));
    return true;
  });
  paceKeys(part.el, () => (part.declining.hidden ? part.confirm : part.declineNow).click());
  part.reason.value = store.held(key).reason ||= String(store.held(key).kept?.reason ?? "");
  part.reason.addEventListener("input", () => {
    store.held(key).reason = part.reason.value;
    frameKeep(call(), store, card);
  });
}

/** Have what was begun kept by the kernel. @param {Item} item @param {RunStore} store @param {Card} card */
function frameKeep(item, store, card) {
  const { draft, reason } = store.held(item.key);
  store.keep(item, () => ({ draft: keepDraft(card, draft), reason: reason || undefined }));
}

/** @param {Item} call @param {RunStore} store @returns {State} */
function frameState(call, store) {
  if (isDecided(call)) return "decided";
  if (store.link === "closed") return "closed";
  if (call.status !== "executing") return "writing";
  if (call.held) return "held";
  return store.held(call.key).phase || (call.turn?.open ? "open" : "turn");
}

function frameParts() {
  const button = (/** @type {Record<string, any>} */ props) => h("button", { type: "button", ...props });
  const [titleId, reasonId] = [uid(), uid()];
  const part = {
    title: h("div", { class: "hitl-title", id: titleId, dir: "auto" }),
    tool: h("code", { class: "hitl-tool" }),
    ask: h("div", { class: "hitl-ask hitl-tree", dir: "auto" }),
    warning: h("p", { class: "hitl-warning" }),
    about: h("p", { class: "hitl-about" }),
    late: h("p", { class: "hitl-late", role: "status", hidden: true }),
    body: h("fieldset", { class: "hitl-body" }),
    error: h("p", { class: "hitl-error", role: "alert" }),
    confirm: button({ class: "hitl-button hitl-primary" }),
    decline: button({ class: "hitl-button" }),
    cancel: button({ class: "hitl-button hitl-plain" }),
    reason: h("input", { class: "hitl-input", id: reasonId, type: "text", autocomplete: "off" }),
    declineNow: button({ class: "hitl-button" }),
    back: button({ class: "hitl-button hitl-plain", text: "Back" }),
    status: h("p", { class: "hitl-status", role: "status" }),
  };
  const reasonLabel = h("label", { class: "hitl-label", for: reasonId });
  const choices = h("div", { class: "hitl-actions" }, part.confirm, part.decline, part.cancel);
  const declining = h("div", { class: "hitl-actions hitl-declining", hidden: true }, reasonLabel, part.reason);
  declining.append(part.declineNow, part.back);
  const foot = h("div", { class: "hitl-foot" }, choices, declining, part.status);
  const rest = h("div", { class: "hitl-rest" }, part.body, part.error, foot);
  const head = h("div", { class: "hitl-head" }, part.title, part.tool);
  const labelled = { role: "group", "aria-labelledby": titleId, tabindex: "-1" };
  const el = h("section", { class: "hitl-card", ...labelled }, head, part.ask, part.warning, part.about, rest);
  return { ...part, el, rest, foot, choices, declining, reasonLabel, ...frameNotes() };
}

/** What is known about the parts, beside what they look like. */
const frameNotes = () => ({
  /** @type {HTMLButtonElement[]} */
  quiet: [],
  fault: "",
  thrown: "",
  /** @type {import("./record.js").CallRecord | undefined} */
  record: undefined,
});

/** @param {Parts} part @param {Item} item */
function frameHead(part, { name, title, head, tag, message, says, warning, about, record }) {
  drawTree(part.title, head ?? [title || name]);
  writeOrHide(part.tool, tag ?? (title && title !== name ? name : ""));
  const words = says ?? (message ? [["plain", {}, message]] : []);
  drawTree(part.ask, words);
  part.ask.hidden = words.length === 0;
  writeOrHide(part.warning, warning);
  writeOrHide(part.about, record ? "" : about); // a record has it among its rows
}

/**
 * Draw, and on an error say which; Confirm then stays shut, because nobody can approve what is not shown.
 * @param {Parts} part
 * @param {() => void} draw
 * @returns {boolean} whether there is an error
 */
function frameFault(part, draw) {
  try {
    draw();
    part.fault = part.thrown = "";
  } catch (error) {
    if (part.thrown !== String(error)) part.fault = explain(error); // said once, however often it is tried
    part.thrown = String(error);
  }
  part.body.hidden = part.fault !== "";
  return part.body.hidden;
}

/** @param {Parts} part @param {Item} call @param {State} state @param {Card} card */
function frameControls(part, call, state, card) {
  const shut = state === "writing" || state === "closed" || state === "turn";
  const busy = state !== "open" && !shut;
  part.body.disabled = state !== "open";
  part.reason.readOnly = busy;
  for (const control of [part.confirm, part.decline, part.cancel, part.declineNow, part.back, part.reason, ...part.quiet]) {
    control.disabled = shut || (control === part.confirm && (part.fault !== "" || Boolean(call.unread)));
    // While an answer travels the button keeps its focus, so that an error finds the person where they were.
    const waits = rests(part.el) && control !== part.reason && control !== part.back;
    if (busy || waits) control.setAttribute("aria-disabled", "true");
    else control.removeAttribute("aria-disabled");
  }
  part.decline.hidden = call.decline == null;
  writeOrHide(part.cancel, call.cancel);
  write(part.reasonLabel, card.needsReason?.(call.props) ? "Reason" : "Reason (optional)");
  write(part.decline, call.decline);
  write(part.declineNow, call.decline);
}

/** An answer is held from now on: the focus may go on. @param {Parts} part @param {boolean} here @param {Item} call */
function frameHeld(part, here, { held }) {
  part.el.dataset.until = String(held.until);
  part.el.toggleAttribute("data-answered", here);
  if (here) part.el.focus({ preventScroll: true }); // the buttons are gone
}

/**
 * An answer was taken back: the person is where they had entered it.
 * @param {Parts} part
 * @param {boolean} here
 * @param {State} state
 * @param {import("./store.js").Held} held
 */
function frameBack(part, here, state, held) {
  part.el.removeAttribute("data-answered");
  if (state === "open" && (here || held.undoing)) enter(part.el);
  held.undoing = false;
}

/** Take the person to what is wrong, if they are at this card. @param {Parts} part */
function frameFindWrong(part) {
  const wrong = part.body.querySelector("[data-wrong]");
  if (wrong && part.el.matches(":focus-within")) focusIn(wrong);
}

/** What was answered, once. @param {string} words */
const frameAnswered = (words) => (words.startsWith(FRAME_STATUS.accepted) ? words : `${FRAME_STATUS.accepted}: ${words}`);

/** What is wrong, until the person has changed it. @param {Item} call @param {import("./store.js").Held} held */
const frameError = ({ error }, held) => held.error || (error === held.mended ? "" : error);

/** @param {Parts} part @param {Item} call @param {State} state @param {RunStore} store */
function frameTell(part, call, state, store) {
  const error = part.fault ? `This card could not be drawn: ${part.fault}` : frameError(call, store.held(call.key));
  writeOrHide(part.error, state === "sending" ? "" : error);
  const quiet = store.link === "quiet" && state !== "accepted" && state !== "late";
  const waiting = state === "open" || state === "turn";
  const closed = `Disconnected from the ${store.place}. ${FRAME_CLOSED}`;
  const said = state === "held" ? frameAnswered(call.held.words) : state === "closed" ? closed : FRAME_STATUS[state];
  const words = (state === "open" && call.unread) || (waiting ? call.turn?.words : said);
  const { kept } = store.held(call.key);
  const before = state === "open" && kept ? FRAME_KEPT : "";
  write(part.status, quiet ? `The ${store.place} ${FRAME_QUIET}` : [words, before].filter(Boolean).join(" · "));
}

/**
 * Decline asks for an optional reason in place of the buttons: Enter sends, Escape goes back.
 * @param {Parts} part
 * @param {() => void} send
 */
function frameDecline(part, send) {
  const ask = (/** @type {boolean} */ open) => {
    part.declining.hidden = !open;
    part.choices.hidden = open;
    (open ? part.reason : part.decline).focus();
  };
  part.decline.addEventListener("click", () => part.decline.ariaDisabled || ask(true));
  part.back.addEventListener("click", () => part.back.ariaDisabled || ask(false));
  part.declineNow.addEventListener("click", send);
  part.declining.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && event.target === part.reason) send();
    if (event.key !== "Escape" || part.back.ariaDisabled) return;
    event.preventDefault(); // one step back, and not out of the card
    ask(false);
  });
}

/**
 * @param {Parts} part
 * @param {import("./record.js").CallRecord | undefined} record
 * @param {import("./store.js").Held} held
 */
function frameDecided(part, record, { phase, error }) {
  writeOrHide(part.late, phase === "late" ? error || FRAME_LATE : "");
  if (part.record === record && record !== undefined) return;
  part.record = record;
  const focused = part.el.matches(":focus-within");
  part.rest.replaceChildren(part.late, record ? drawRecord(record) : h("p", { class: "hitl-status", text: "Answered" }));
  part.el.toggleAttribute("data-answered", focused); // here: the focus goes on from it
  if (focused) part.el.focus({ preventScroll: true }); // the button they pressed is gone
}
