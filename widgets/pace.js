// One decision after the other: when a card may be answered, where the focus goes afterwards, how far one has come.

import { h, write } from "./kit.js";

const PACE_REST = 300; // a key or click that comes sooner was meant for what stood here before
const PACE_TYPED = "input:not([type=radio], [type=checkbox], [type=button]), textarea, select";
const PACE_ENTRY = ":is(input, textarea, select):not(:disabled, [hidden], [hidden] *)";

/** Is somebody typing there? @param {EventTarget | null} target */
const isTyping = (target) => target instanceof Element && target.matches(PACE_TYPED);

/**
 * Let a card rest: for a moment after it was drawn or moved no key and no click decides anything.
 * @param {HTMLElement} el
 * @param {() => void} update  brings it up to date, when it begins and ends
 * @returns {() => void} what lets it rest
 */
export function restful(el, update) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    el.toggleAttribute("data-resting", true);
    timer = setTimeout(() => {
      el.toggleAttribute("data-resting", false);
      if (el.isConnected) update();
    }, PACE_REST);
  };
}

/** @param {HTMLElement} el */
export const rests = (el) => el.hasAttribute("data-resting");

/**
 * The keys of a card: Ctrl or ⌘ with Enter confirms from anywhere in it, Escape leaves it. A key that is held down
 * decides nothing.
 * @param {HTMLElement} el
 * @param {() => void} confirm
 */
export function paceKeys(el, confirm) {
  const held = (/** @type {KeyboardEvent} */ event) => {
    if (!event.repeat || (isTyping(event.target) && event.key !== "Enter")) return;
    if (event.target instanceof HTMLTextAreaElement && !event.ctrlKey && !event.metaKey) return;
    if (["Tab", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  el.addEventListener("keydown", held, { capture: true });
  el.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault(); // a focused button would be pressed as well
      confirm();
    }
    if (event.key === "Escape" && !(isTyping(event.target) && /** @type {any} */ (event.target).value)) paceLeave(el);
  });
}

/** The keys that choose, in their order. */
const PACE_KEYS = [..."123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

/** The key of the option at a place; "" where there are no more. @param {number} at */
export const keyAt = (at) => PACE_KEYS[at] ?? "";

/** The place of a key among them; -1 if it is none. @param {string} key */
export const placeOf = (key) => PACE_KEYS.indexOf(key);

/**
 * Let one key decide: not while somebody types, while the card rests, or where the risk is high.
 * @param {HTMLElement} el  the whole card
 * @param {(key: string) => boolean} act  gets a digit or letter, upper case, and gives whether it means anything
 */
export function oneKey(el, act) {
  el.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || rests(el) || isRisky(el)) return;
    // On a keyboard of another script the place of the key counts.
    const key = /^[\x20-\x7e]$/.test(event.key) ? event.key : event.code.replace(/^(Key|Digit|Numpad)/, "");
    if (key.length === 1 && act(key.toUpperCase())) event.preventDefault();
  });
}

/** Write on a button which key presses it. @param {HTMLElement} button @param {string} key */
export function showKey(button, key) {
  if ((button.dataset.key ?? "") === key) return;
  if (key) button.setAttribute("aria-keyshortcuts", key);
  else button.removeAttribute("aria-keyshortcuts");
  button.dataset.key = key;
}

/** @param {HTMLElement} el */
const isRisky = (el) => el.querySelector(".hitl-risk[data-risk=high]:not([hidden])") !== null;

/** @param {HTMLElement} el */
function paceLeave(el) {
  /** @type {HTMLElement | null} */ (el.closest(".jp-Cell, .cell"))?.focus();
  const at = document.activeElement;
  if (at instanceof HTMLElement && el.contains(at)) at.blur();
}

/** Go to where an open card is answered, and bring it into sight; one of high risk takes no key at once. @param {HTMLElement} el */
export function enter(el) {
  // In a box a key would be a letter and no decision; a card may say itself where its keys are pressed.
  const entry = el.hasAttribute("data-keys") ? "[data-enter]" : `:is([data-enter], ${PACE_ENTRY})`;
  const first = isRisky(el) ? null : el.querySelector(`.hitl-body ${entry}`);
  const button = isRisky(el) ? null : el.querySelector(".hitl-primary:not(:disabled, [hidden])");
  /** @type {HTMLElement} */ (first ?? button ?? el).focus({ preventScroll: true });
  el.scrollIntoView({ block: "nearest" });
}

/**
 * @typedef {{ el: HTMLElement, rest?: () => void, state?: string, folded?: boolean, aside?: boolean }} PaceNode  what rests is a card;
 *   what is folded stands nowhere, so that a page with a thousand of them is as quick as one with ten
 */

/**
 * The cards of one view, in order: the focus goes on from a card that was answered here, and what was decided folds.
 * @param {HTMLElement} list
 * @param {() => boolean} counted  does what is around it say how many wait?
 */
export function drawPace(list, counted) {
  const words = h("span", { role: "status" });
  const more = h("button", { type: "button", class: "hitl-link", "aria-expanded": "false" });
  const el = h("div", { class: "hitl-pace", hidden: true }, words, more);
  let unfolded = false;
  /** @type {number[]} when something was decided while one looked on */
  const times = [];
  let known = 0;
  /** @type {WeakMap<HTMLElement, number>} */
  const tops = new WeakMap();

  const update = (/** @type {PaceNode[]} */ nodes) => {
    const cards = nodes.filter((node) => node.rest);
    const onlyCards = nodes.every((node) => node.rest || node.aside);
    const decided = cards.filter((node) => node.state === "decided");
    const waiting = cards.filter((node) => node.state === "open");
    if (decided.length > known && known + decided.length > 0) times.push(Date.now());
    known = decided.length;
    const folds = onlyCards && decided.length > PACE_KEPT;
    const here = document.activeElement?.closest(".hitl-card");
    const out = decided.filter((node, nth) => {
      const was = node.folded === true;
      node.folded = folds && !unfolded && nth < decided.length - PACE_KEPT && node.el !== here;
      if (node.folded && !was) node.el.remove();
      return was && !node.folded;
    });
    if (out.length > 0) list.dispatchEvent(new CustomEvent("hitl-fold"));
    el.hidden &&= !folds && !(onlyCards && waiting.length > 1 && !counted()); // once there it stays: what is below would move
    write(words, paceWords(decided.length, waiting.length, times.slice(-20), counted()));
    more.hidden = !folds;
    more.ariaExpanded = String(unfolded);
    write(more, unfolded ? "Fold what was decided" : "Show all that was decided");
    moved(waiting);
    follow(cards, waiting);
  };

  /** A card that has moved rests. @param {PaceNode[]} waiting */
  const moved = (waiting) => {
    for (const node of waiting.slice(0, 50)) {
      const top = node.el.offsetTop;
      const was = tops.get(node.el);
      tops.set(node.el, top);
      if (was !== undefined && Math.abs(top - was) > 4) node.rest?.();
    }
  };

  /** @param {{ el: HTMLElement }[]} cards  @param {{ el: HTMLElement }[]} waiting */
  const follow = (cards, waiting) => {
    const from = cards.find((node) => node.el === document.activeElement && node.el.hasAttribute("data-answered"));
    if (!from || waiting.length === 0) return;
    const behind = cards.slice(cards.indexOf(from)).find((node) => waiting.includes(node));
    from.el.removeAttribute("data-answered");
    enter((behind ?? waiting[0]).el);
  };

  list.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || isTyping(event.target)) return;
    const until = (/** @type {HTMLElement} */ el) => Number(el.dataset.until);
    const held = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(".hitl-card[data-state=held]"))];
    const last = held.sort((a, b) => until(a) - until(b)).pop();
    if (last) event.preventDefault();
    /** @type {HTMLElement | null | undefined} */ (last?.querySelector(".hitl-undo button"))?.click();
  });
  more.addEventListener("click", () => {
    unfolded = !unfolded;
    list.dispatchEvent(new CustomEvent("hitl-fold"));
  });
  return { el, update };
}

const PACE_KEPT = 2; // records that stay unfolded

/** @param {number} decided @param {number} waiting @param {number[]} times @param {boolean} counted */
function paceWords(decided, waiting, times, counted) {
  const words = [];
  if (!counted && (waiting > 1 || decided === 0)) words.push(`${waiting} waiting`);
  if (decided > 0) words.push(`${decided} decided`);
  const minutes = (times[times.length - 1] - times[0]) / 60_000;
  const rate = (times.length - 1) / minutes;
  if (times.length > 2 && minutes > 0) words.push(`${rate >= 10 ? Math.round(rate) : rate.toFixed(1)} a minute`);
  if (times.length > 2 && waiting > 1 && rate > 0) {
    const left = waiting / rate;
    words.push(left < 1 ? "less than a minute left" : `about ${Math.round(left)} min left`);
  }
  return words.join(" · ");
}
