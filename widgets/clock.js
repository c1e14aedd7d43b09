// Time that runs out: until when a question is open, and until when an answer can be taken back. By the kernel's clock.

import { h, write, writeOrHide } from "./kit.js";

/** @typedef {{ words: string, until: number }} Until  `until`: milliseconds since 1970 */

/** Seconds as a person reads them. @param {number} ms */
export function clockWords(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (seconds < 60) return `${seconds} s`;
  if (minutes < 60) return `${minutes}:${String(seconds % 60).padStart(2, "0")} min`;
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/**
 * What the foot of a card says about time: how much is left, and a button that takes an answer back.
 * @param {import("./store.js").RunStore} store
 * @param {() => import("./store.js").Item} call
 */
export function drawClock(store, call) {
  const left = h("span", { class: "hitl-left", hidden: true });
  const undo = h("button", { type: "button", class: "hitl-button", title: "Ctrl or ⌘ with Z" });
  const el = h("div", { class: "hitl-actions hitl-undo", hidden: true }, undo);
  undo.addEventListener("click", () => undo.ariaDisabled || store.undo(call()));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const update = () => {
    clearTimeout(timer);
    const { held, deadline } = call();
    const runs = held ?? deadline;
    el.hidden = !held;
    left.hidden = true;
    if (!runs) return;
    const ms = store.left(runs.until);
    if (held) {
      write(undo, `Undo (${clockWords(ms)})`);
      undo.toggleAttribute("aria-disabled", false);
      if (ms <= 0 || store.held(call().key).undoing) undo.setAttribute("aria-disabled", "true");
    } else {
      writeOrHide(left, ms > 0 ? `${deadline.words} in ${clockWords(ms)}` : "Time is up…");
      left.toggleAttribute("data-soon", ms < 10_000);
    }
    // A long time is said in minutes, and need not be written anew each second.
    if (ms > 0) timer = setTimeout(() => el.isConnected && update(), ms > 3_660_000 ? 30_000 : ms % 1000 || 1000);
  };
  return { el, left, undo, update };
}
