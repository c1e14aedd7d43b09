// A question that is answered by one of a few buttons, or in words.

import { drawContext } from "./context.js";
import { fillRows, h, write } from "./kit.js";
import { keyAt, oneKey, placeOf, rests, showKey } from "./pace.js";
import { drawWords } from "./words.js";

/**
 * @typedef {{ rows: any[], choices: string[], label: string, keys?: boolean }} ReplyProps
 * @typedef {{ text: string, choice?: number, wrong?: boolean }} ReplyDraft  `choice`: the button that was pressed
 */

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ text: "" }),
  keep: ({ text }) => (text ? { text } : undefined), // never the button that was pressed: that is an answer
  answer: ({ text, choice }) => (choice === undefined ? { text } : { choice }),
  check: ({ text, choice }) => {
    if (choice !== undefined || text.trim()) return undefined;
    return { error: "Nothing is written yet.", draft: { text, wrong: true } };
  },
  draw(body, change, { el, confirm }) {
    const context = drawContext();
    const by = el.getAttribute("aria-labelledby");
    const buttons = h("div", { class: "hitl-actions", role: "group", "aria-labelledby": by });
    body.append(context.el, buttons);
    let [text, was] = ["", ""];
    const press = (/** @type {number} */ choice) => {
      if (rests(el)) return;
      change({ text, choice });
      confirm();
    };
    let count = 0; // of the buttons that have a key
    oneKey(el, (key) => {
      const at = placeOf(key);
      if (at < 0 || at >= count || body.matches(":disabled")) return false;
      press(at);
      return true;
    });
    const words = drawWords(body, { long: true, label: "", change: (text) => change({ text }), send: confirm });
    return ({ rows, choices, label, keys }, draft, phase) => {
      text = draft?.text ?? "";
      // A button that was refused is no longer pressed: Send sends the words.
      if (was === "sending" && phase === "") delete draft.choice;
      was = phase;
      context.update(rows);
      buttons.hidden = choices.length === 0;
      count = keys ? Math.min(choices.length, 9) : 0;
      fillRows(buttons, choices, (at) => replyButton(() => press(at)), (button, text, at) => {
        write(button, text);
        showKey(button, at < count ? keyAt(at) : "");
      });
      words.update(text, "", label);
      words.el.toggleAttribute("data-wrong", draft?.wrong === true);
    };
  },
};

/** @param {() => void} onclick */
const replyButton = (onclick) => h("button", { type: "button", class: "hitl-button", dir: "auto", onclick });
