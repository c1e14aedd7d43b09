// Many open questions as one table: each is approved, declined, or left open. Nothing is ticked beforehand.

import { div, h, uid, write } from "./kit.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {{ id: string, cells: (import("./context.js").ContextRow | null)[], why: string }} BatchRow
 * @typedef {{ title: string, high: boolean, columns: string[], rows: BatchRow[] }} BatchGroup
 * @typedef {{ groups: BatchGroup[] }} BatchProps
 * @typedef {{ approve: string[], decline: string[] }} BatchDraft
 */

/** What may be approved together: what is of high risk is ticked one by one. @param {BatchProps} props */
const batchTogether = ({ groups }) =>
  groups.flatMap(({ high, rows }) => (high ? [] : rows.filter(({ why }) => !why).map(({ id }) => id)));
/** @param {BatchProps} props */
const batchAll = ({ groups }) => groups.flatMap(({ rows }) => rows.map(({ id }) => id));

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ approve: [], decline: [] }),
  answer: ({ approve, decline }) => ({ approve, decline }),
  confirm(label, { approve, decline }, { groups }) {
    /** @type {BatchGroup[]} */
    const all = groups;
    const high = all.filter((group) => group.high).flatMap(({ rows }) => rows.filter(({ id }) => approve.includes(id)));
    const told = high.length ? ` (${high.length} of high risk)` : "";
    const words = [approve.length && `approve ${approve.length}${told}`, decline.length && `decline ${decline.length}`];
    const said = words.filter(Boolean).join(", ");
    return said ? said[0].toUpperCase() + said.slice(1) : label;
  },
  check: (draft) =>
    draft.approve.length + draft.decline.length ? undefined : { error: "Approve or decline at least one of them.", draft },
  draw(body, change) {
    /** @type {BatchDraft} */
    let now = { approve: [], decline: [] };
    /** @type {BatchProps | undefined} */
    let drawn;
    /** @type {(() => void)[]} */
    let updates = [];
    const button = (/** @type {() => void} */ onclick) => h("button", { type: "button", class: "hitl-link", onclick });
    const yes = button(() => drawn && change({ approve: union(now.approve, batchTogether(drawn)), decline: now.decline.filter((id) => !batchTogether(/** @type {BatchProps} */ (drawn)).includes(id)) }));
    const no = button(() => drawn && change({ approve: [], decline: batchAll(drawn) }));
    const none = button(() => change({ approve: [], decline: [] }));
    const tools = div("hitl-tools", h("span", { class: "hitl-count" }), yes, no, none);
    const list = div("hitl-batch");
    body.append(tools, list);
    const set = (/** @type {string} */ id, /** @type {"approve" | "decline"} */ word, /** @type {boolean} */ on) => {
      const rest = { approve: now.approve.filter((each) => each !== id), decline: now.decline.filter((each) => each !== id) };
      if (on) rest[word] = [...rest[word], id];
      change(rest);
    };
    body.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const at = /** @type {HTMLInputElement} */ (event.target);
      if (!step || !at.dataset.word) return;
      const boxes = [.../** @type {NodeListOf<HTMLInputElement>} */ (body.querySelectorAll(`[data-word=${at.dataset.word}]`))];
      boxes[boxes.indexOf(at) + step]?.focus();
      event.preventDefault();
    });
    return (props, draft) => {
      now = draft ?? now;
      if (JSON.stringify(drawn) !== JSON.stringify(props)) {
        const made = props.groups.map((/** @type {BatchGroup} */ group) => batchTable(group, set, () => now));
        updates = made.flatMap((/** @type {any} */ each) => each.updates);
        list.replaceChildren(...made.map((/** @type {any} */ each) => each.el));
      }
      drawn = props;
      const [together, everything] = [batchTogether(props).length, batchAll(props).length];
      write(tools.firstChild, `${everything} ${everything === 1 ? "question" : "questions"}`);
      write(yes, `Approve all ${together}${together < everything ? " that are not of high risk" : ""}`);
      write(no, `Decline all ${everything}`);
      write(none, "None");
      yes.hidden = together < 2;
      no.hidden = everything < 2;
      none.hidden = !now.approve.length && !now.decline.length;
      updates.forEach((update) => update());
    };
  },
};

/** @param {string[]} first @param {string[]} second */
const union = (first, second) => [...new Set([...first, ...second])];

/**
 * @param {BatchGroup} group
 * @param {(id: string, word: "approve" | "decline", on: boolean) => void} set
 * @param {() => BatchDraft} now
 */
function batchTable({ title, high, columns, rows }, set, now) {
  /** @type {(() => void)[]} */
  const updates = [];
  const titleId = uid();
  const head = h("tr", {}, ...["Approve", "Decline", ...columns].map((text) => h("th", { scope: "col", dir: "auto", text })));
  const body = rows.map((row) => {
    const nameId = uid();
    const line = h("tr", {});
    for (const word of /** @type {const} */ (["approve", "decline"])) {
      const box = h("input", { type: "checkbox", class: "hitl-box", "data-word": word, "aria-labelledby": `${nameId}-${word} ${titleId} ${nameId}` });
      const spoken = h("span", { class: "hitl-spoken", id: `${nameId}-${word}`, text: word });
      box.disabled = word === "approve" && Boolean(row.why);
      box.addEventListener("change", () => set(row.id, word, box.checked));
      updates.push(() => {
        box.checked = now()[word].includes(row.id);
        line.dataset.chosen = now().approve.includes(row.id) ? "on" : now().decline.includes(row.id) ? "off" : "";
      });
      line.append(h("td", { class: "hitl-batch-box" }, box, spoken));
    }
    const cells = row.cells.map((cell) => {
      const text = h("div", { dir: "auto", class: "hitl-tree" });
      if (cell) drawTree(text, cell.tree ?? [cell.text ?? ""]);
      return h("td", { class: "hitl-batch-cell" }, text);
    });
    (cells[0] ?? line.firstChild).id = nameId;
    if (row.why) cells[cells.length - 1]?.append(h("p", { class: "hitl-change", text: row.why }));
    line.append(...cells);
    return line;
  });
  const name = h("caption", { class: "hitl-batch-title", id: titleId, dir: "auto", text: `${title}${high ? " – high risk" : ""}` });
  const table = h("table", { class: "hitl-batch-table" }, name, h("thead", {}, head), h("tbody", {}, ...body));
  return { el: h("div", { class: "hitl-batch-group", "data-high": String(high), tabindex: "0", role: "region", "aria-labelledby": titleId }, table), updates };
}
