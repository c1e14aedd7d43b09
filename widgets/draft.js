// What a person has begun at a card and not sent: the kernel holds it while the question is open, so that it is there
// again after a reload, or in a second tab. It is never an answer.

import { explain } from "./kit.js";

/** @typedef {import("./frame.js").Card} Card */

/** @param {Card} card @param {any} draft @returns {any} plain JSON; undefined if nothing has been begun */
export const keepDraft = (card, draft) => (card.keep ? card.keep(draft) : draft);

/**
 * The draft that a question opens with: what was kept, else the card's own.
 * @param {Card} card
 * @param {any} props
 * @param {any} kept
 */
export function resumeDraft(card, props, kept) {
  if (kept === undefined || kept === null) return card.seed(props);
  try {
    return card.resume ? card.resume(props, kept) : typeof kept === "object" && !Array.isArray(kept) ? { ...card.seed(props), ...kept } : kept;
  } catch (error) {
    explain(error); // of another version of the card, perhaps: what is lost is typed again
    return card.seed(props);
  }
}
