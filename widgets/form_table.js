// A list of flat objects as a table, made for hundreds of rows: find, pick, set or remove some together.

import { drawField, follow } from "./form_field.js";
import { drawRows } from "./form_rows.js";
import { isLeaf, isMap, mayLeave, pick, plant, shownText, spotsOf, type } from "./form_spot.js";
import { div, h, link, named, uid, write } from "./kit.js";

/**
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {import("./form_field.js").View} View
 * @typedef {{ key: string, node: import("./form_spot.js").FormNode, id: string }} Column
 */

/** @param {View} view @param {import("./form_spot.js").ListSpot} spot @param {string} by */
export function drawTable(view, spot, by) {
  /** @type {Column[]} */
  const columns = (spot.node.item?.children ?? []).map(([key, node]) => ({ key: String(key), node, id: uid() }));
  const parts = () => spot.now ?? [];
  const shown = () => {
    const wanted = filter.value.toLowerCase();
    const has = (/** @type {Spot} */ cell) => isLeaf(cell) && shownText(cell, cell.now).toLowerCase().includes(wanted);
    return parts().filter((row) => !wanted || row.fromKey === undefined || [...spotsOf(row)].some(has));
  };
  const picked = () => shown().filter((row) => row.picked);
  const tick = (/** @type {string} */ text, /** @type {string} */ names, /** @type {() => Spot[]} */ which) => {
    const onchange = () => (which().forEach((row) => (row.picked = box.checked)), view.touch(spot));
    const box = named(h("input", { type: "checkbox", class: "hitl-box", onchange }), text, names);
    return box;
  };
  const filter = named(h("input", { class: "hitl-input", type: "search", placeholder: "Filter" }), "Filter", by);
  const count = h("span", { class: "hitl-count", "aria-live": "polite" });
  const remove = link("Remove selected", by, () => {
    const gone = picked();
    parts().splice(0, Infinity, ...parts().filter((row) => !gone.includes(row)));
    view.touch(spot);
    rows.add.focus();
  });
  const tools = div("hitl-tools", count, filter, remove);
  const all = tick("Select all", by, shown);
  const heads = columns.map(({ id, node, key }) => {
    const help = h("span", { class: "hitl-help", text: node.description });
    return h("div", { role: "columnheader" }, h("span", { id, text: node.title || key }), help);
  });
  const set = h("div", { class: "hitl-tr hitl-set", role: "row" });
  const head = h("div", { class: "hitl-thead", role: "rowgroup" }, tableRow("hitl-th", [all], heads), set);
  const body = h("div", { role: "rowgroup" });
  const table = named(h("div", { class: "hitl-table", role: "table" }, head, body), "", by);
  const widths = columns.map(({ node }) => (node.kind === "text" ? "minmax(12em, 2fr)" : "minmax(8em, 1fr)"));
  table.style.setProperty("--hitl-columns", widths.join(" "));

  let last = 0; // selected rows, as last seen
  const drawn = new Map();
  const rows = drawRows(view, spot, by, body, (row, lead, buttons) => {
    const box = tick("Select", `${by} ${lead.id}`, () => [row]);
    const el = drawRow(view, row, columns, [box, lead], buttons);
    drawn.set(row, [box, el]);
    return el;
  });
  const update = () => {
    rows.update();
    const [visible, chosen, total] = [new Set(shown()), picked().length, parts().length];
    for (const row of parts()) {
      const [box, el] = drawn.get(row);
      box.checked = row.picked === true;
      el.hidden = !visible.has(row);
    }
    write(count, `${visible.size} of ${total} rows, ${chosen} selected`);
    all.checked = chosen > 0 && chosen === visible.size;
    all.indeterminate = chosen > 0 && !all.checked;
    set.hidden = remove.hidden = chosen === 0;
    filter.hidden = total < 6 && !filter.value; // a few are found without
    tools.hidden = filter.hidden && chosen === 0;
    table.hidden = total === 0;
    if (chosen === last) return;
    last = chosen;
    set.replaceChildren(...setCells(view, columns, picked));
  };
  filter.addEventListener("input", update);
  return { el: div("hitl-grid", tools, div("hitl-scroll", table), rows.add), update };
}

/** @param {...(Node | string)} content */
const tableCell = (...content) => h("div", { role: "cell" }, ...content);
/** @param {string} look @param {Node[]} lead @param {Node[]} cells @param {Node | string} tools */
const tableRow = (look, lead, cells, tools = "") =>
  h("div", { class: `hitl-tr ${look}`, role: "row" }, tableCell(...lead), ...cells, tableCell(tools));

/** @param {View} view @param {Spot} spot @param {string} by */
const fieldCell = (view, spot, by) => Object.assign(drawField(view, spot, by, true), { role: "cell" });

/**
 * One field a column; a whole form if the row holds anything else.
 * @param {View} view
 * @param {Spot} row
 * @param {Column[]} columns
 * @param {HTMLElement[]} lead
 * @param {HTMLElement} tools
 */
function drawRow(view, row, columns, lead, tools) {
  const number = lead[1].id;
  if (!isMap(row) || !row.now || row.now.length > columns.length) {
    return tableRow("hitl-whole", lead, [tableCell(drawField(view, row, number))], tools);
  }
  const cells = row.now.map((part, at) => fieldCell(view, part, `${columns[at].id} ${number}`));
  const el = tableRow("", lead, cells, tools);
  return follow(view, row, el, el.lastElementChild, () => {});
}

/**
 * One control a column: what is entered there goes to every picked row.
 * @param {View} view
 * @param {Column[]} columns
 * @param {() => Spot[]} picked
 */
function setCells(view, columns, picked) {
  const name = h("span", { id: uid(), text: "Set" });
  const cells = columns.map(({ key, node, id }) => {
    const spot = { ...plant(node, undefined, {}), key };
    if (!isLeaf(spot) || node.kind === "constant") return tableCell();
    const take = (/** @type {any} */ cell) => {
      const nothing = spot.now === undefined && mayLeave(cell);
      if (node.options || node.kind === "boolean" || spot.now === null || nothing) pick(cell, spot.now);
      else type(cell, shownText(spot, spot.now));
      cell.error = "";
    };
    const touch = () => {
      for (const row of picked().filter(isMap)) take(row.now?.find((part) => part.key === key));
      view.touch();
    };
    return fieldCell({ ...view, touch }, spot, `${name.id} ${id}`);
  });
  return [tableCell(name), ...cells];
}
