// "Reply in words": a person's own words, in the place of whatever a card asks for.

import { keepDraft, resumeDraft } from "./draft.js";
import { h } from "./kit.js";
import { drawWords } from "./words.js";

/** @typedef {NonNullable<import("./frame.js").Card["quiet"]>[number]} Quiet */

/**
 * `card`, and where `props.instead` is true also a box for words. Its draft is `{ draft, instead }`: the card's own, and
 * the words (undefined: none are wanted).
 * @param {import("./frame.js").Card} card
 * @returns {import("./frame.js").Card}
 */
export const withInstead = (card) => ({
  ...card,
  seed: (props) => ({ draft: card.seed(props) }),
  keep: ({ draft, instead }) => {
    const kept = keepDraft(card, draft);
    return kept === undefined && instead === undefined ? undefined : { draft: kept, instead };
  },
  resume: (props, { draft, instead }) => ({ draft: resumeDraft(card, props, draft), instead }),
  answer: ({ draft, instead }, props) => (instead === undefined ? card.answer(draft, props) : { instead }),
  confirm: (label, { draft, instead }, props) =>
    instead === undefined ? (card.confirm?.(label, draft, props) ?? label) : "Send reply",
  check: ({ draft, instead }, props) => {
    if (instead?.trim() === "") return { error: "Nothing is written yet.", draft: { draft, instead } };
    const found = instead === undefined ? card.check?.(draft, props) : undefined;
    return found && { ...found, draft: { draft: found.draft } };
  },
  quiet: [
    ...(card.quiet ?? []).map(steppedIn),
    ({ draft, instead }, props) =>
      props.instead === true &&
      (instead === undefined ? ["Reply in words", { draft, instead: "" }] : ["Back", { draft }]),
  ],
  draw(body, change, frame) {
    let [draft, instead] = /** @type {any[]} */ ([]);
    const own = h("fieldset", { class: "hitl-own" });
    body.append(own);
    const redraw = card.draw(own, (next) => change({ draft: next, instead }), frame);
    const write = (/** @type {string} */ text) => change({ draft, instead: text });
    const words = drawWords(body, { long: true, label: "Your reply", change: write, send: frame.confirm });
    return (props, held, phase) => {
      const opens = held?.instead !== undefined && instead === undefined;
      [draft, instead] = [held?.draft, held?.instead];
      redraw(props, draft, phase);
      own.disabled = instead !== undefined; // what is proposed stays in sight
      words.el.hidden = !own.disabled;
      words.update(instead ?? "");
      if (opens) words.box.focus();
    };
  },
});

/** A quiet button of the card inside, there while no words are wanted. @param {Quiet} step @returns {Quiet} */
const steppedIn = (step) => ({ draft, instead }, props) => {
  const next = instead === undefined && step(draft, props);
  return next && [next[0], { draft: next[1] }];
};
