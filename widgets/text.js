// A question that is answered in words.

import { drawContext } from "./context.js";
import { drawWords } from "./words.js";

/** @typedef {{ rows: any[], long: boolean, placeholder: string, initial: string }} TextProps */

/** @type {import("./frame.js").Card} */
export default {
  seed: ({ initial = "" }) => ({ text: initial }),
  keep: ({ text }) => ({ text }),
  answer: ({ text }) => ({ text }),
  check: ({ text }) => (text.trim() ? undefined : { error: "Nothing is written yet.", draft: { text, wrong: true } }),
  draw(body, change, { confirm }) {
    const context = drawContext();
    body.append(context.el);
    /** @type {ReturnType<typeof drawWords> | undefined} */
    let words;
    let was = "";
    return ({ rows, long, placeholder, initial = "" }, draft, phase) => {
      context.update(rows);
      words ??= drawWords(body, { long, label: "Your answer", change: (text) => change({ text }), send: confirm });
      words.update(draft?.text ?? initial, placeholder);
      // A refused answer leads back to the box.
      words.el.toggleAttribute("data-wrong", draft?.wrong === true || (was === "sending" && phase === ""));
      was = phase;
    };
  },
};
