// A time to choose, under the day that it is on. The slots come from the application, perhaps a moment later.

import { drawContext } from "./context.js";
import { arrange, h, uid, writeOrHide } from "./kit.js";
import { drawOptions } from "./options.js";

/**
 * @typedef {{ label: string, note: string, group: string }} Slot
 * @typedef {{ rows: any[], slots: Slot[], loading: boolean }} TimePickerProps
 */

/** @type {import("./frame.js").Card} */
export const timePicker = {
  seed: () => ({ chosen: null }),
  answer: ({ chosen }) => ({ chosen: [chosen] }),
  check: ({ chosen }, { slots, loading }) => {
    if (!loading && chosen !== null && chosen < slots.length) return undefined;
    return { error: loading ? "The times are still being loaded." : "Choose a time.", draft: { chosen, wrong: true } };
  },
  draw(body, change, { el }) {
    const by = el.getAttribute("aria-labelledby");
    const name = uid();
    const context = drawContext();
    const state = h("p", { class: "hitl-none", "aria-live": "polite" });
    const days = h("div", { class: "hitl-days" });
    body.append(context.el, state, days);
    /** @type {Map<string, ReturnType<typeof drawDay>>} */
    const drawn = new Map();
    return ({ rows, slots, loading }, draft) => {
      context.update(rows);
      writeOrHide(state, loading ? "Looking for free times…" : slots.length ? "" : "There is no time to choose from.");
      const groups = Map.groupBy(
        slots.map((slot, at) => ({ ...slot, at })),
        ({ group }) => group,
      );
      for (const group of groups.keys()) {
        if (!drawn.has(group))
          drawn.set(
            group,
            drawDay(group, by, name, (at) => change({ chosen: at })),
          );
      }
      arrange(
        days,
        [...groups.keys()].map((group) => drawn.get(group).el),
      );
      for (const [group, times] of groups) drawn.get(group).update(times, draft?.chosen);
      days.toggleAttribute("data-wrong", draft?.wrong === true);
    };
  },
};

function drawDay(group, by, name, take) {
  const id = uid();
  let times = [];
  const options = drawOptions("radio", group ? id : by, (at) => take(times[at].at), name);
  const el = h(
    "div",
    { class: "hitl-day" },
    h("p", { class: "hitl-day-name", id, text: group, hidden: !group }),
    options.el,
  );
  const update = (now, chosen) => {
    times = now;
    options.update(times, (at) => times[at].at === chosen);
  };
  return { el, update };
}
