// What has parts: the fields of an object, and whatever can be added, taken away and put in order.

import { drawField } from "./form_field.js";
import { isMap, newPart } from "./form_spot.js";
import { arrange, div, h, keepFocus, link, named, remembered, uid, write } from "./kit.js";

/**
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {import("./form_spot.js").ListSpot} ListSpot
 * @typedef {import("./form_spot.js").MapSpot} MapSpot
 * @typedef {import("./form_field.js").View} View
 */

/** @param {View} view @param {ListSpot | MapSpot} spot @param {string} by */
export function drawParts(view, spot, by) {
  const fields = div("hitl-fields");
  const list = h("ol", { class: "hitl-items", role: "list" });
  const rows = drawRows(view, spot, by, list, (part, lead, tools) =>
    h("li", { class: "hitl-item" }, lead, drawField(view, part, `${by} ${lead.id}`), tools),
  );
  const field = remembered((/** @type {Spot} */ part) => drawField(view, part));
  const update = () => {
    arrange(fields, isMap(spot) && spot.now ? spot.now.filter((part) => !part.loose).map(field) : []);
    rows.update();
  };
  return { el: div("hitl-parts", fields, list, rows.add), update };
}

/**
 * Keep one row in `list` for every item or entry, drawn by `drawRow(part, its number or key, its buttons)`.
 * @param {View} view
 * @param {ListSpot | MapSpot} spot
 * @param {string} by
 * @param {HTMLElement} list
 * @param {(part: Spot, lead: HTMLElement, tools: HTMLElement) => HTMLElement} drawRow
 */
export function drawRows(view, spot, by, list, drawRow) {
  const { item, children = [] } = spot.node;
  const map = isMap(spot);
  const parts = () => /** @type {Spot[]} */ (spot.now);
  const fixed = map ? 0 : children.length; // the first of a tuple stay there
  const add = link("Add", by, () => {
    parts().push(map ? { ...newPart(spot), key: "", loose: true } : newPart(spot, parts().length));
    view.touch(spot);
    const control = list.lastElementChild?.querySelector(":is(input, textarea, select):not([type=checkbox])");
    /** @type {HTMLElement | null | undefined} */ (control)?.focus();
  });
  const row = remembered((/** @type {Spot} */ part) => {
    const oninput = () => ((part.key = lead.value), view.touch(spot));
    const lead = map
      ? named(h("input", { class: "hitl-input", value: part.key, oninput }), "Key", by)
      : h("span", { class: "hitl-number", id: uid() });
    const tool = (/** @type {string} */ sign, /** @type {string} */ text, /** @type {number} */ step) => {
      const change = () => {
        const at = parts().indexOf(part);
        parts().splice(at, 1);
        if (step) parts().splice(at + step, 0, part);
        view.touch(spot);
      };
      const near = () => [el, el.nextElementSibling, el.previousElementSibling, add];
      return link(text, `${by} ${lead.id}`, () => keepFocus(near(), change), sign);
    };
    const [up, down, remove] = [tool("↑", "Move up", -1), tool("↓", "Move down", 1), tool("×", "Remove", 0)];
    const tools = h("span", { class: "hitl-row-tools" }, ...(map ? [] : [up, down]), remove);
    const place = (/** @type {number} */ at, /** @type {number} */ count) => {
      if (map) lead.ariaLabel = `Key ${part.key}`;
      else write(lead, at + 1);
      tools.hidden = at < fixed;
      up.disabled = at <= fixed;
      down.disabled = at === count - 1;
    };
    const el = drawRow(part, lead, tools);
    return { el, place };
  });
  const update = () => {
    const rows = (parts() ?? []).filter((part) => !map || part.loose).map(row);
    const els = rows.map(({ el }) => el);
    arrange(list, els);
    rows.forEach(({ place }, at) => place(at, rows.length));
    list.hidden = rows.length === 0;
    add.hidden = !item || spot.now == null;
  };
  return { add, update };
}
