// A list of flat objects as a table, made for hundreds of rows: find some, pick some, set or remove them together.

import { drawField, follow } from "./form_field.js";
import { drawSelect } from "./form_leaf.js";
import { button, drawRows } from "./form_rows.js";
import { isLeaf, isMap, mayLeave, pick, plant, shownText, spotsOf, type } from "./form_spot.js";
import { h, named, uid, write } from "./kit.js";
import { reveal } from "./visible.js";

const TABLE_EMS = { boolean: 7, integer: 7, number: 7, choice: 9, text: 14 };
const TABLE_FILTER = 6; // rows from which on a filter is worth its place

/** @param {import("./form_field.js").View} view  @returns {import("./form_field.js").Drawn} */
export function drawTable(view, spot, { by }) {
  const columns = columnsOf(spot);
  const parts = () => spot.now ?? [];
  const shown = () => parts().filter((row) => !filter.value || rowText(row).includes(filter.value.toLowerCase()));
  const picked = () => shown().filter((row) => row.picked);
  const filter = named(h("input", { class: "hitl-input", type: "search", placeholder: "Filter" }), "Filter", by);
  const count = h("span", { class: "hitl-count", "aria-live": "polite" });
  const tick = (text, names, which) => {
    const onchange = ({ target }) => (which().forEach((row) => (row.picked = target.checked)), view.touch(spot));
    return named(h("input", { type: "checkbox", class: "hitl-box", onchange }), text, names);
  };
  const remove = button("Remove", by, () => {
    const gone = new Set(picked());
    spot.now.splice(0, Infinity, ...spot.now.filter((row) => !gone.has(row)));
    view.touch(spot);
    rows.add.focus();
  });
  const bulk = h("div", { class: "hitl-bulk" }, drawBulk(view, columns, by, picked), remove);
  const all = tick("Select all", by, shown);
  const body = h("div", { class: "hitl-tbody", role: "rowgroup" });
  const table = named(tableFrame(columns, all, body), "", by);
  const boxes = new Map();
  const rows = drawRows(view, spot, by, body, (row, lead, tools) => {
    const box = tick("Select", `${by} ${lead.id}`, () => [row]);
    const el = tableRow(view, row, columns, h("div", { role: "rowheader" }, box, lead), lead.id, tools);
    boxes.set(row, [box, el]);
    return el;
  });
  const update = () => {
    rows.update();
    const [visible, chosen] = [new Set(shown()), picked().length];
    for (const row of parts()) {
      const [box, el] = boxes.get(row);
      box.checked = row.picked === true;
      el.hidden = !visible.has(row);
    }
    const of = visible.size < parts().length ? `${visible.size} of ` : "";
    write(count, `${of}${parts().length} rows${chosen ? `, ${chosen} selected` : ""}`);
    all.checked = chosen > 0 && chosen === visible.size;
    all.indeterminate = chosen > 0 && !all.checked;
    bulk.hidden = chosen === 0;
    filter.hidden = parts().length < TABLE_FILTER && !filter.value;
    tools.hidden = table.hidden = parts().length === 0;
  };
  filter.addEventListener("input", update);
  const tools = h("div", { class: "hitl-tools" }, count, filter, bulk);
  return { el: h("div", { class: "hitl-grid" }, tools, h("div", { class: "hitl-scroll" }, table), rows.add), update };
}

const rowText = (row) =>
  [...spotsOf(row)].filter(isLeaf).map((cell) => shownText(cell, cell.now)).join("\n").toLowerCase();

/** The columns of the form, and one for every further key, so that nothing of a row is hidden. */
function columnsOf({ node, now }) {
  const columns = new Map(node.item.children);
  for (const row of (now ?? []).filter(isMap)) {
    for (const cell of row.now) if (!columns.has(cell.key)) columns.set(cell.key, cell.node);
  }
  return [...columns].map(([key, cell]) => ({ key, node: cell, title: reveal(cell.title || key), id: uid() }));
}

function tableFrame(columns, all, body) {
  const head = h("div", { class: "hitl-tr hitl-th", role: "row" }, h("div", { role: "columnheader" }, all));
  for (const { id, title, node } of columns) {
    const help = h("span", { class: "hitl-help", text: reveal(node.description ?? ""), dir: "auto" });
    head.append(h("div", { role: "columnheader" }, h("span", { id, text: title, dir: "auto" }), help));
  }
  const table = h("div", { class: "hitl-table", role: "table" }, h("div", { role: "rowgroup" }, head), body);
  const ems = columns.map(({ node }) => TABLE_EMS[node.kind] ?? 11);
  table.style.setProperty("--hitl-columns", ems.map((em) => `minmax(${em}em, ${em}fr)`).join(" "));
  table.style.minWidth = `${ems.reduce((sum, em) => sum + em + 1, 9)}em`;
  return table;
}

function tableRow(view, row, columns, lead, number, tools) {
  const whole = h("div", { class: "hitl-whole", role: "cell" });
  const cells = columns.map(({ key, id }) => {
    const part = isMap(row) && row.now.find((each) => each.key === key);
    const el = part ? drawField(view, part, `${id} ${number}`, true) : h("div");
    el.setAttribute("role", "cell");
    return el;
  });
  const el = h("div", { class: "hitl-tr", role: "row" }, lead, ...(isMap(row) ? cells : []), h("div", { role: "cell" }, tools), whole);
  if (isMap(row)) return follow(view, row, el, () => {}, { main: whole });
  whole.append(drawField(view, row, number));
  return el;
}

/** Set one column of all picked rows. */
function drawBulk(view, columns, by, picked) {
  const choices = columns.filter(({ node }) => !["union", "constant"].includes(node.kind)).map((each) => [each, each.title]);
  const slot = h("span", { class: "hitl-slot" });
  let [[column]] = choices, spot;
  const draw = () => {
    spot = { ...plant(column.node, undefined, { layout: new Map() }), key: column.key };
    slot.replaceChildren(drawField(view, spot, `${select.el.id} ${by}`, true));
  };
  const put = (cell) => {
    if (spot.now == null || ["choice", "boolean"].includes(column.node.kind)) pick(cell, spot.now);
    else type(cell, shownText(spot, spot.now));
  };
  const select = drawSelect(choices, {}, () => choices.findIndex(([each]) => each === column), (next) => ((column = next), draw()));
  named(select.el, "Column", by);
  draw();
  const apply = button("Apply", by, () => {
    if (spot.now === undefined && !mayLeave(spot)) return slot.querySelector("input, textarea, select").focus();
    for (const row of picked().filter(isMap)) put(row.now.find(({ key }) => key === column.key));
    view.touch();
  });
  return h("span", {}, "Set ", select.el, " to ", slot, apply);
}
