// The frame of a card: title, message, status, errors, Confirm and Decline, and the one answer a call gets.
//
// A card is the part that differs. It never sees the kernel, the status or a second click: it draws `props` and the
// person's draft, and says what the answer is. The run's store keeps the draft, so it survives patches, a second view
// and a move of the cell.

import { explain, focusIn, h, uid, write, writeOrHide } from "./kit.js";
import { drawRecord } from "./record.js";
import { isDecided } from "./store.js";

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
 * }} Card
 * `seed` gives the draft when the question opens. `draw` fills the body once and returns what redraws it (the draft is
 * undefined before the question opens; the frame disables the controls). `answer` is the value to send; `confirm` the
 * text of the button where it says more than its label; `check` says why the draft cannot be sent (its place has
 * `data-wrong`); `quiet` are more buttons and the draft that each leads to; `reason` is what a decline starts
 * with, and where `needsReason` there is no decline without one.
 * @typedef {{ el: HTMLElement, confirm: () => void }} Frame  the whole card, and a press of its button
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
  accepted: "Answered",
  late: "Already answered elsewhere",
  decided: "",
  closed: "Disconnected from the kernel. This question can no longer be answered here.",
};
const FRAME_LATE = "Already answered elsewhere. This is what counts:";
const FRAME_QUIET = "The kernel is not answering, perhaps busy. An answer is sent again until it arrives.";

/**
 * Draw the call at `key` in a frame around `card`.
 * @param {import("./store.js").RunStore} store
 * @param {string} key
 * @param {Card} card
 * @returns {{ el: HTMLElement, update: () => void }} `update` brings the frame up to date with the store
 */
export function drawFrame(store, key, card) {
  const part = frameParts();
  const call = () => /** @type {Item} */ (store.items.get(key));
  const drawCard = frameDrawer(part, call, store, card);
  frameAnswers(part, call, store, card);
  const update = () => {
    const state = frameState(call(), store);
    const was = part.el.dataset.state;
    part.el.dataset.state = state;
    frameHead(part, call());
    if (state === "decided") return frameDecided(part, call().record, store.held(key));
    const several = call().turn?.several === true;
    part.body.dataset.card = call().card; // where the styles of another package's card end
    if (!several && frameFault(part, drawCard) && call().status === "executing") store.report(call(), part.fault);
    // Where several are asked each has a card with all of it.
    part.el.toggleAttribute("data-several", several);
    // What is in use will be shut, and the page must not take the next key for its own.
    if (was === "open" && state === "turn" && part.el.matches(":focus-within")) part.el.focus({ preventScroll: true });
    frameControls(part, call(), state, card);
    frameTell(part, call(), state, store);
    if (was === "sending" && state === "open") frameFindWrong(part);
  };
  return { el: part.el, update };
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
  const frame = { el: part.el, confirm: () => part.confirm.click() };
  const quiet = frameQuiet(part, call, store, card);
  return () => {
    const { key, status, props, confirm } = call();
    const held = store.held(key);
    write(part.confirm, confirm);
    if (status === "executing") held.draft ??= card.seed(props);
    const draw = (redraw ??= card.draw(part.body, (draft) => store.hold(key, { draft, error: "" }), frame));
    draw(props, held.draft, held.phase);
    quiet();
    if (held.draft !== undefined && card.confirm) write(part.confirm, card.confirm(confirm, held.draft, props));
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
      if (led) store.hold(call().key, { draft: led[1], error: "" });
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
    if (frameState(call(), store) !== "open") return;
    if (part.body.matches(":focus-within")) part.confirm.focus(); // what is in use will be shut
    try {
      store.answer(key, { ...message(), call_id: id, turn: call().turn.token });
    } catch (error) {
      store.hold(key, { error: explain(error) });
    }
  };
  part.confirm.addEventListener("click", () => {
    const open = frameState(call(), store) === "open";
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
  part.decline.addEventListener("click", () => (part.reason.value ||= card.reason?.(store.held(key).draft) ?? ""));
  part.reason.value = store.held(key).reason;
  part.reason.addEventListener("input", () => (store.held(key).reason = part.reason.value));
}

/** @returns {keyof typeof FRAME_STATUS} */
/** @param {Item} call @param {RunStore} store @returns {State} */
function frameState(call, store) {
  if (isDecided(call)) return "decided";
  if (store.link === "closed") return "closed";
  if (call.status !== "executing") return "writing";
  return store.held(call.key).phase || (call.turn?.open ? "open" : "turn");
}

function frameParts() {
  const button = (/** @type {Record<string, any>} */ props) => h("button", { type: "button", ...props });
  const [titleId, reasonId] = [uid(), uid()];
  const part = {
    title: h("div", { class: "hitl-title", id: titleId, dir: "auto" }),
    tool: h("code", { class: "hitl-tool" }),
    ask: h("p", { class: "hitl-ask", dir: "auto" }),
    warning: h("p", { class: "hitl-warning" }),
    about: h("p", { class: "hitl-about" }),
    late: h("p", { class: "hitl-late", role: "status", hidden: true }),
    body: h("fieldset", { class: "hitl-body" }),
    error: h("p", { class: "hitl-error", role: "alert" }),
    confirm: button({ class: "hitl-button hitl-primary" }),
    decline: button({ class: "hitl-button" }),
    reason: h("input", { class: "hitl-input", id: reasonId, type: "text", autocomplete: "off" }),
    declineNow: button({ class: "hitl-button" }),
    back: button({ class: "hitl-button hitl-plain", text: "Back" }),
    status: h("p", { class: "hitl-status", role: "status" }),
  };
  const reasonLabel = h("label", { class: "hitl-label", for: reasonId });
  const choices = h("div", { class: "hitl-actions" }, part.confirm, part.decline);
  const declining = h("div", { class: "hitl-actions hitl-declining", hidden: true }, reasonLabel, part.reason);
  declining.append(part.declineNow, part.back);
  const foot = h("div", { class: "hitl-foot" }, choices, declining, part.status);
  const rest = h("div", { class: "hitl-rest" }, part.body, part.error, foot);
  const head = h("div", { class: "hitl-head" }, part.title, part.tool);
  const labelled = { role: "group", "aria-labelledby": titleId, tabindex: "-1" };
  const el = h("section", { class: "hitl-card", ...labelled }, head, part.ask, part.warning, part.about, rest);
  return { ...part, el, rest, choices, declining, reasonLabel, ...frameNotes() };
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
function frameHead(part, { title, name, message, warning, about, record }) {
  write(part.title, title || name);
  writeOrHide(part.tool, title && title !== name ? name : "");
  writeOrHide(part.ask, message);
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
  for (const control of [part.confirm, part.decline, part.declineNow, part.back, part.reason, ...part.quiet]) {
    control.disabled = shut || (control === part.confirm && part.fault !== "");
    // While an answer travels the button keeps its focus, so that an error finds the person where they were.
    if (busy) control.setAttribute("aria-disabled", "true");
    else control.removeAttribute("aria-disabled");
  }
  part.decline.hidden = call.decline == null;
  write(part.reasonLabel, card.needsReason?.(call.props) ? "Reason" : "Reason (optional)");
  write(part.decline, call.decline);
  write(part.declineNow, call.decline);
}

/** Take the person to what is wrong, if they are at this card. @param {Parts} part */
function frameFindWrong(part) {
  const wrong = part.body.querySelector("[data-wrong]");
  if (wrong && part.el.matches(":focus-within")) focusIn(wrong);
}

/** @param {Parts} part @param {Item} call @param {State} state @param {RunStore} store */
function frameTell(part, call, state, store) {
  const error = part.fault ? `This card could not be drawn: ${part.fault}` : store.held(call.key).error || call.error;
  writeOrHide(part.error, state === "sending" ? "" : error);
  const quiet = store.link === "quiet" && state !== "accepted" && state !== "late";
  const words = state === "open" || state === "turn" ? call.turn?.words : FRAME_STATUS[state];
  write(part.status, quiet ? FRAME_QUIET : words);
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
    if (event.key === "Escape" && !part.back.ariaDisabled) ask(false);
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
  if (focused) part.el.focus({ preventScroll: true }); // the button they pressed is gone
}
