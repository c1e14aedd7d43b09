// Conditions on rows, from a closed list: a column, an operator, a value. No expressions, which could do anything.

import { div, fillRows, h, link, named, uid, write } from "./kit.js";
import { tableCount, tableNumber } from "./table_rows.js";

/**
 * @typedef {import("./table_rows.js").TableRows} TableRows
 * @typedef {import("./table_grid.js").TableColumn} TableColumn
 */

const FILTER_ORDERED = ["int", "float", "decimal", "datetime", "date", "time", "duration"];
const FILTER_NOTHING = ["missing", "present"];
/** @type {Record<string, string>} */
const FILTER_WORDS = {
  "=": "is",
  "!=": "is not",
  "<": "less than",
  "<=": "at most",
  ">": "more than",
  ">=": "at least",
  in: "is one of",
  starts: "starts with",
  missing: "is missing",
  present: "is there",
};

/** @param {TableColumn | undefined} column */
function filterOperators(column) {
  if (!column) return ["changed", "kept", "dropped"];
  if (FILTER_ORDERED.includes(column.kind)) return [">", ">=", "<", "<=", "=", "!=", "in", ...FILTER_NOTHING];
  if (column.kind === "text") return ["contains", "starts", "=", "!=", "in", ...FILTER_NOTHING];
  if (column.kind === "other") return ["contains", ...FILTER_NOTHING];
  return ["=", "!=", ...(column.kind === "category" ? ["in", "contains"] : []), ...FILTER_NOTHING];
}

/** The values between commas; one with a comma in it stands between quotes. @param {string} text */
function filterValues(text) {
  const parts = [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]+))/g)];
  return parts.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain.trim()).filter((value, at) => value || parts[at][1] === "");
}

/** @param {string | string[]} value */
function filterWritten(value) {
  const quoted = (/** @type {string} */ each) => (/^$|^\s|^"|,|\s$/.test(each) ? `"${each.replaceAll('"', '""')}"` : each);
  return typeof value === "string" ? value : value.map(quoted).join(", ");
}

/** @param {string} by @param {TableRows} rows @param {() => void} done */
export function drawFilter(by, rows, done) {
  const column = named(h("select", { class: "hitl-input" }), "Column", by);
  const operator = named(h("select", { class: "hitl-input" }), "Condition", by);
  const value = named(h("input", { class: "hitl-input", autocomplete: "off", placeholder: "Value" }), "Value", by);
  const add = h("button", { type: "button", class: "hitl-button hitl-plain", text: "Filter" });
  const count = h("span", { class: "hitl-count", role: "status" });
  const chips = div("hitl-chips");
  const form = div("hitl-filter", column, operator, value, add, count);
  /** @type {TableColumn[]} */
  let columns = [];
  let drawn = "";

  const chosen = () => columns[Number(column.value)];
  const options = (/** @type {any} */ list, /** @type {[string, string][]} */ pairs) =>
    list.replaceChildren(...pairs.map(([key, text]) => h("option", { value: key, text })));
  const offer = () => {
    options(operator, filterOperators(chosen()).map((each) => [each, FILTER_WORDS[each] ?? each]));
    need();
  };
  const need = () => {
    value.hidden = !chosen() || FILTER_NOTHING.includes(operator.value);
    value.placeholder = operator.value === "in" ? "Value, value" : "Value";
  };
  const take = () => {
    const wanted = value.hidden ? "" : operator.value === "in" ? filterValues(value.value) : value.value;
    if (!value.hidden && wanted.length === 0) return value.focus();
    value.value = "";
    rows.choose({ where: [...rows.look.where, [chosen() ? Number(column.value) : -1, operator.value, wanted]] });
    done();
  };
  column.addEventListener("change", offer);
  operator.addEventListener("change", need);
  add.addEventListener("click", take);
  form.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") done();
    if (event.key !== "Enter" || event.target === add || event.isComposing) return;
    event.preventDefault();
    take();
  });
  return {
    el: div("hitl-filters", form, chips),
    /** @param {number} place */
    focus(place) {
      column.value = String(Math.max(place, 0));
      offer();
      (value.hidden ? operator : value).focus();
    },
    /** @param {TableColumn[]} now */
    update(now) {
      const names = JSON.stringify(now);
      if (names !== drawn) {
        [drawn, columns] = [names, now];
        options(column, [...now.map(({ name }, at) => /** @type {[string, string]} */ ([String(at), name])), ["-1", "Rows that are"]]);
        offer();
      }
      const all = rows.counts?.rows ?? 0;
      const words = rows.total === all ? tableCount(all, "row") : `${tableNumber(rows.total)} of ${tableCount(all, "row")}`;
      write(count, rows.counts ? `${words}${rows.busy ? " …" : ""}` : "Reading…");
      fillRows(chips, rows.look.where, () => h("span", { class: "hitl-chip" }), (chip, condition, at) => {
        const text = filterText(condition, columns);
        if (chip.dataset.text === text) return;
        chip.dataset.text = text;
        const word = h("span", { id: uid(), dir: "auto", text });
        const drop = () => rows.choose({ where: rows.look.where.filter((_, place) => place !== at) });
        chip.replaceChildren(word, link("Remove", word.id, drop, "×"));
      });
      chips.hidden = rows.look.where.length === 0;
    },
  };
}

/** @param {import("./table_rows.js").Condition} condition @param {TableColumn[]} columns */
function filterText([place, operator, value], columns) {
  if (place < 0) return `rows that are ${operator}`;
  return [columns[place]?.name, FILTER_WORDS[operator] ?? operator, filterWritten(value)].filter(Boolean).join(" ");
}
