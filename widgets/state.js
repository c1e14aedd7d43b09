// A shared state to edit: a field a place, rows to add, move and remove, conflicts with both values.
//
// What a person changes goes to the kernel as (path, what was shown, what it is now), never as the whole document: what
// the agent changes meanwhile elsewhere is not touched. A field in use is not written to.

import { arrange, explain, h, keyedRows, link, uid, write, writeOrHide } from "./kit.js";

/**
 * @typedef {{ kind: string, path: any[], at: string, label: string, value?: any, parts?: StateNode[], options?: any[], blank?: any }} StateNode
 * @typedef {(body: any) => Promise<any>} StateAsk
 * @typedef {{ el: HTMLElement, kind: string, update: (node: StateNode) => void }} StateField
 */

/** @param {any} store @param {string} key */
export function drawState(store, key) {
  const title = h("p", { class: "hitl-title", text: "Shared state" });
  const conflicts = h("div", { class: "hitl-state-conflicts" });
  const guess = h("p", { class: "hitl-state-guess" });
  const error = h("p", { class: "hitl-error", role: "alert" });
  const body = h("div", { class: "hitl-state-body" });
  const el = h("section", { class: "hitl-state", "aria-label": "Shared state" }, title, conflicts, body, guess, error);
  const item = () => store.items.get(key);
  const ask = async (/** @type {any} */ request) => {
    try {
      await store.ask(item(), request);
      writeOrHide(error, "");
    } catch (problem) {
      writeOrHide(error, explain(problem));
      update(); // what was refused is not what is there
    }
  };
  /** @type {StateField | undefined} */
  let root;
  const drawConflicts = keyedRows(conflicts, (/** @type {any} */ each) => each.path, (each) => stateConflict(each, ask));
  const update = () => {
    const { root: node, conflicts: open, guess: words } = item();
    if (root?.kind !== node.kind) root = undefined;
    root ??= stateField(node, ask);
    root.update(node);
    arrange(body, [root.el]);
    drawConflicts(open);
    writeOrHide(guess, words.length ? `The agent is writing: ${words[0]}` : "");
  };
  writeOrHide(error, "");
  return { el, update };
}

/** @param {any} conflict @param {StateAsk} ask */
function stateConflict({ path }, ask) {
  const id = uid();
  const head = h("p", { id });
  const take = (/** @type {string} */ side) => {
    const button = h("button", { type: "button", class: "hitl-button", "aria-describedby": id });
    button.addEventListener("click", () => ask({ do: "resolve", path, take: side }));
    return button;
  };
  const [mine, agents] = [take("mine"), take("theirs")];
  const both = h("div", { class: "hitl-actions" }, mine, agents);
  const update = (/** @type {any} */ { label, yours, theirs, was }) => {
    write(head, `You and the agent have both changed ${label} (it was ${was}). Yours stands until you decide.`);
    write(mine, `Keep mine: ${yours}`);
    write(agents, `Take the agent's: ${theirs}`);
  };
  return { el: h("div", { class: "hitl-warning", role: "group", "aria-labelledby": id }, head, both), update };
}

/** @param {StateNode} node @param {StateAsk} ask @returns {StateField} */
function stateField(node, ask) {
  if (node.kind === "object") return stateObject(ask);
  if (node.kind === "rows") return stateRows(ask);
  return stateLeaf(node, ask);
}

/**
 * Let `parts` be drawn in `el`, each kept as long as its place and kind stay.
 * @param {Map<string, StateField>} drawn @param {StateNode[]} parts @param {StateAsk} ask
 */
function stateParts(drawn, parts, ask) {
  const fields = parts.map((part) => {
    const key = `${part.kind} ${JSON.stringify(part.path)}`;
    const field = drawn.get(key) ?? stateField(part, ask);
    drawn.set(key, field);
    field.update(part);
    return field;
  });
  for (const [key, field] of drawn) if (!fields.includes(field)) drawn.delete(key);
  return fields;
}

/** @param {StateAsk} ask @returns {StateField} */
function stateObject(ask) {
  const legend = h("legend", { class: "hitl-label" });
  const inside = h("div", { class: "hitl-state-fields" });
  const el = h("fieldset", { class: "hitl-state-object" }, legend, inside);
  const drawn = new Map();
  const update = (/** @type {StateNode} */ node) => {
    writeOrHide(legend, node.label);
    arrange(inside, stateParts(drawn, node.parts ?? [], ask).map((field) => field.el));
  };
  return { el, kind: "object", update };
}

/** @param {StateAsk} ask @returns {StateField} */
function stateRows(ask) {
  const legend = h("legend", { class: "hitl-label" });
  const list = h("ol", { class: "hitl-state-rows" });
  const add = h("button", { type: "button", class: "hitl-link", text: "Add" });
  const el = h("fieldset", { class: "hitl-state-object" }, legend, list, add);
  const drawn = new Map();
  /** @type {Map<StateField, HTMLElement>} */
  const lines = new Map();
  /** @type {StateNode} */
  let now;
  const change = (/** @type {any[]} */ value) => ask({ do: "set", path: now.path, base: now.value, value });
  add.addEventListener("click", () => change([...now.value, now.blank]));
  const moved = (/** @type {number} */ at, /** @type {number} */ by) => {
    const value = [...now.value];
    const to = at + by;
    if (to >= 0 && to < value.length) [value[at], value[to]] = [value[to], value[at]];
    return change(value);
  };
  const line = (/** @type {StateField} */ field) => {
    const acts = h("div", { class: "hitl-state-acts" });
    const name = h("span", { class: "hitl-spoken", id: uid() });
    const row = h("li", { class: "hitl-state-row" }, name, field.el, acts);
    acts.append(
      link("Move up", name.id, () => moved(place(row), -1), "↑"),
      link("Move down", name.id, () => moved(place(row), 1), "↓"),
      link("Remove", name.id, () => change(now.value.filter((/** @type {any} */ _, /** @type {number} */ at) => at !== place(row))), "✕"),
    );
    return row;
  };
  const place = (/** @type {Element} */ row) => [...list.children].indexOf(row);
  const update = (/** @type {StateNode} */ node) => {
    now = node;
    writeOrHide(legend, node.label);
    const fields = stateParts(drawn, node.parts ?? [], ask);
    arrange(list, fields.map((field) => stateLine(lines, field, line)));
    [...list.children].forEach((row, at) => write(/** @type {HTMLElement} */ (row.firstChild), `${node.label || "Row"} ${at + 1}`));
    for (const field of lines.keys()) if (!fields.includes(field)) lines.delete(field);
    add.ariaLabel = `Add to ${node.label || "the list"}`;
  };
  return { el, kind: "rows", update };
}

/** @param {Map<StateField, HTMLElement>} lines @param {StateField} field @param {(field: StateField) => HTMLElement} make */
function stateLine(lines, field, make) {
  const line = lines.get(field) ?? make(field);
  lines.set(field, line);
  return line;
}

/** @param {StateNode} first @param {StateAsk} ask @returns {StateField} */
function stateLeaf(first, ask) {
  const { kind } = first;
  const id = uid();
  const label = h("label", { class: "hitl-label", for: id });
  const options = (first.options ?? []).map((value) => h("option", { text: String(value) }));
  const input =
    kind === "bool"
      ? h("input", { id, type: "checkbox", class: "hitl-box" })
      : kind === "choice"
        ? h("select", { id, class: "hitl-input" }, ...options)
        : kind === "number"
          ? h("input", { id, type: "number", step: "any", class: "hitl-input" })
          : h("textarea", { id, rows: 1, class: "hitl-input", dir: "auto" });
  const el = h("div", { class: "hitl-state-leaf", "data-kind": kind }, label, input);
  let now = first;
  const read = () => {
    if (kind === "bool") return input.checked;
    if (kind === "choice") return (first.options ?? [])[input.selectedIndex];
    if (kind === "number") return input.value === "" ? null : Number(input.value);
    if (kind !== "json") return input.value;
    try {
      return JSON.parse(input.value || "null");
    } catch {
      return input.value;
    }
  };
  const show = () => {
    const { value } = now;
    if (kind === "bool") input.checked = value === true;
    else if (kind === "choice") input.selectedIndex = (first.options ?? []).indexOf(value);
    else input.value = value == null ? "" : kind === "json" ? JSON.stringify(value) : String(value);
  };
  let base = first.value; // what stood there when the person began
  input.addEventListener("focus", () => (base = now.value));
  input.addEventListener("change", async () => {
    const value = read();
    if (JSON.stringify(value) === JSON.stringify(base)) return;
    const was = base;
    base = value;
    await ask({ do: "set", path: now.path, base: was, value });
  });
  input.addEventListener("blur", () => setTimeout(show, 400)); // by then the kernel has said what counts
  const update = (/** @type {StateNode} */ node) => {
    now = node;
    write(label, node.label);
    label.hidden = !node.label;
    if (!node.label) input.ariaLabel = node.at;
    if (document.activeElement !== input || kind === "bool" || kind === "choice") show();
  };
  return { el, kind, update };
}
