// Beside a table, when asked for: what a column holds, and the list of all changes.

import { div, fillRows, h, link, uid, write } from "./kit.js";
import { tableCount, tableNumber, tableWords } from "./table_rows.js";

/**
 * @typedef {import("./table_rows.js").TableRows} TableRows
 * @typedef {import("./table_grid.js").TableColumn} TableColumn
 */

/** @param {string} by @param {TableRows} rows */
export function drawAside(by, rows) {
  const title = h("b", { id: uid(), dir: "auto" });
  const facts = h("ul", { class: "hitl-facts", "aria-labelledby": title.id });
  const bars = div("hitl-bars");
  bars.setAttribute("aria-hidden", "true"); // the ends and the mean are said in words
  const close = link("Close", title.id, () => show(""), "×");
  const more = h("button", { type: "button", class: "hitl-link", text: "More" });
  const el = h("section", { class: "hitl-aside", "aria-labelledby": title.id, hidden: true });
  el.append(div("hitl-tools", title, close), facts, bars, more);
  let shown = ""; // "changes", or the place of a column
  let version = -1;

  const lines = (/** @type {string[]} */ texts) =>
    fillRows(facts, texts, () => h("li", { dir: "auto" }), (line, text) => write(line, text));
  const show = (/** @type {string} */ what) => {
    shown = what;
    el.hidden = what === "";
    bars.hidden = more.hidden = true;
    lines([]);
  };
  const fail = (/** @type {Error} */ error) => lines([error.message]);

  /** @param {number} place @param {TableColumn[]} columns */
  const column = (place, columns) => {
    if (!columns[place]) return;
    show(String(place));
    write(title, `${columns[place].name} (${columns[place].dtype})`);
    lines(["Reading…"]);
    rows.ask({ op: "summary", place }).then((found) => shown === String(place) && tellColumn(found), fail);
  };
  const tellColumn = (/** @type {any} */ found) => {
    const ends = found.least === undefined ? [] : [`least ${tableWords(found.least)}`, `most ${tableWords(found.most)}`];
    const mean = found.mean === undefined ? [] : [`mean ${found.mean}`];
    lines([`${tableNumber(found.missing)} of ${tableCount(found.rows, "row")} missing`, ...ends, ...mean]);
    bars.hidden = !found.histogram;
    const most = Math.max(1, ...(found.histogram ?? []));
    fillRows(bars, found.histogram ?? [], () => h("span"), (bar, count) => {
      bar.style.height = `${Math.max(count ? 2 : 0, Math.round((count / most) * 48))}px`;
    });
  };
  const changes = (first = 0) => {
    if (first === 0) show("changes");
    write(title, "Changes");
    rows.ask({ op: "changes", from: first, count: 100 }).then((found) => {
      if (shown !== "changes") return;
      const texts = found.rows.map(changeText);
      const before = first ? [...facts.children].map((line) => line.textContent ?? "") : [];
      lines([...before, ...texts]);
      more.hidden = first + texts.length >= found.total;
      more.onclick = () => changes(first + texts.length);
    }, fail);
  };
  return {
    el,
    column,
    changes: () => (shown === "changes" ? show("") : changes()),
    /** Tell of another column. @param {number} place @param {TableColumn[]} columns */
    follow(place, columns) {
      if (shown !== "" && shown !== "changes" && shown !== String(place) && place >= 0) column(place, columns);
    },
    /** @param {number} now */
    changed(now) {
      if (now !== version && now >= 0 && shown === "changes") changes();
      if (now >= 0) version = now;
    },
  };
}

/** @param {any} change */
const changeText = ({ row, label, column, before, after }) =>
  `row ${row}${label === null ? "" : ` (${label})`} · ${column}: ${tableWords(before)} → ${tableWords(after)}`;
