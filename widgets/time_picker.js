// A time to choose, under the day that it is on. The slots come from the application, perhaps a moment later.

import { drawContext } from "./context.js";
import { arrange, div, h, uid, writeOrHide } from "./kit.js";
import { drawOptions } from "./options.js";

/**
 * @typedef {{ label: string, note: string, group: string }} Slot
 * @typedef {{ rows: any[], slots: Slot[], loading: boolean }} TimePickerProps
 */

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ chosen: null }),
  keep: ({ chosen }) => (chosen === null ? undefined : { chosen }),
  answer: ({ chosen }) => ({ chosen: [chosen] }),
  check: ({ chosen }, { slots, loading }) => {
    if (!loading && chosen !== null && chosen < slots.length) return undefined;
    return { error: loading ? "The times are still being loaded." : "Choose a time.", draft: { chosen, wrong: true } };
  },
  draw(body, change, { el }) {
    const by = el.getAttribute("aria-labelledby") ?? "";
    const name = uid();
    const context = drawContext();
    const state = h("p", { class: "hitl-none", "aria-live": "polite" });
    const days = div("hitl-days");
    body.append(context.el, state, days);
    /** @type {Map<string, ReturnType<typeof drawDay>>} */
    const drawn = new Map();
    const take = (/** @type {number} */ at) => change({ chosen: at });
    return ({ rows, slots, loading }, draft) => {
      context.update(rows);
      writeOrHide(state, loading ? "Looking for free times…" : slots.length ? "" : "There is no time to choose from.");
      const groups = [...new Set(slots.map((/** @type {Slot} */ { group }) => group))];
      const shown = groups.map((group) => drawn.get(group) ?? drawDay(group, by, name, take));
      shown.forEach((day, at) => {
        drawn.set(groups[at], day);
        day.update(slots, draft?.chosen);
      });
      const els = shown.map(({ el }) => el);
      arrange(days, els);
      days.toggleAttribute("data-wrong", draft?.wrong === true);
    };
  },
};

/**
 * The slots of one group; all days are one group of radio buttons, called `name`.
 * @param {string} group
 * @param {string} by
 * @param {string} name
 * @param {(at: number) => void} take
 */
function drawDay(group, by, name, take) {
  const heading = h("p", { class: "hitl-day-name", id: uid(), text: group, hidden: !group });
  /** @type {number[]} */
  let places = [];
  const options = drawOptions("radio", group ? heading.id : by, (at) => take(places[at]), name);
  const update = (/** @type {Slot[]} */ slots, /** @type {number | null | undefined} */ chosen) => {
    places = [...slots.keys()].filter((at) => slots[at].group === group);
    const times = places.map((at) => slots[at]);
    options.update(times, (at) => places[at] === chosen);
  };
  return { el: div("hitl-day", heading, options.el), update };
}
