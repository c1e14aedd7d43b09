// Are the controls of a page the same elements after a redraw that nobody in front of it has asked for, with the focus,
// the caret and the half-typed text that they had? The redraws are snapshots of the kernel, as a reconnection brings them.

const CONTROL = "input, textarea, select, option, button, summary, a[href], [tabindex='0'], output";
const TYPED = "textarea, input:not([type=checkbox], [type=radio], [type=date], [type=time], [type=datetime-local])";
const HALF = "half";

const labelOf = (id) => document.getElementById(id)?.textContent ?? "";

/** The accessible name, as far as our own pages need it. */
function nameOf(el) {
  const by = el.getAttribute("aria-labelledby")?.split(" ") ?? [];
  if (by.length) return by.map((id) => (id === el.id ? el.ariaLabel : labelOf(id))).join(" ");
  const labels = [...(el.labels ?? [])].map((label) => label.textContent).join(" ");
  return el.ariaLabel ?? (labels || (el.matches("select, textarea") ? "" : el.textContent) || el.title || el.placeholder || "");
}

/** What can be seen and used, by card, role, name and number: two of one name are told apart by their order. */
function controlsOf(root) {
  const found = new Map();
  for (const el of root.querySelectorAll(CONTROL)) {
    const shown = el.closest("select") ?? el;
    if (!shown.checkVisibility() || el.closest(".hitl-decided")) continue;
    const card = el.closest(".hitl-card, .hitl-state, .hitl-chat-head, .hitl-chat-composer, .hitl-message, .hitl-tool-call");
    const role = el.getAttribute("role") ?? `${el.localName} ${el.type ?? ""}`;
    const inside = el.localName === "option" ? `${nameOf(shown)} > ` : "";
    const called = [card?.dataset.key ?? card?.className ?? "", role, inside + nameOf(el)].join(" · ");
    let nth = 1;
    while (found.has(`${called} #${nth}`)) nth += 1;
    found.set(`${called} #${nth}`, el);
  }
  return found;
}

const caretOf = (el) => (el.matches(TYPED) ? [el.value, el.selectionStart, el.selectionEnd] : [el.value, el.checked]);

/** What a person does at `el`: goes there, types half a word, and puts the caret into it. @returns what undoes it */
function beginAt(el) {
  const was = el.value;
  el.focus();
  if (!el.matches(TYPED) || el.readOnly || el.disabled || document.activeElement !== el) return () => {};
  el.select();
  document.execCommand("insertText", false, el.type === "number" ? "42" : HALF);
  if (el.selectionStart !== null) el.setSelectionRange(1, 3);
  return () => {
    if (!el.isConnected) return;
    el.focus();
    el.value = was;
    el.dispatchEvent(new Event("input", { bubbles: true }));
  };
}

/** The kernel says all of it once more, each item as `change` makes it. */
function tellAgain(model, change = (item) => item) {
  const { seq, live, items } = model.shown;
  model.receive({ op: "snapshot", seq, live, items: [...items.values()].map((item) => change(structuredClone(item))) });
}

const words = (item, changes) => (item.type === "call" && !item.record ? { ...item, ...changes } : item);
const props = (item, change) => (item.props ? words(item, { props: { ...item.props, ...change(item.props) } }) : item);
const leaves = (node) => (node.parts ? node.parts.flatMap(leaves) : [node]);
const ROW = { label: "Told meanwhile", text: "The price has changed.", long: false };

/** What happens in life, by name: each gives an item as it is then. */
const CAUSES = {
  "the same once more": (item) => item,
  "a word about it": (item) => words(item, { about: "Compared by identity.", warning: "Look twice.", message: "Once more?" }),
  "somebody looks at it": (item) => words(item, { shared: true, message: `${item.message} – ada is looking` }),
  "a deadline": (item) => words(item, { deadline: { words: "Expires", until: Date.now() + 90_000 } }),
  "the kernel refuses": (item) =>
    props(words(item, { error: "No, thank you." }), ({ errors }) => (errors ? { errors: [{ path: [], message: "No." }] } : {})),
  "the agent writes": (item) => {
    if (item.type === "state") for (const leaf of leaves(item.root)) if (leaf.kind === "text") leaf.value += "!";
    return item;
  },
  "the agent puts rows into another order": (item) => {
    if (item.type === "state") for (const node of item.root.parts) if (node.kind === "rows") node.parts.reverse();
    return item;
  },
  "both have changed the same": ({ conflicts, ...item }) => {
    if (!conflicts) return item;
    const made = { path: "days", label: "days", yours: "4", theirs: "5", was: "3" };
    return { ...item, conflicts: [...conflicts.map((each) => ({ ...each, theirs: `${each.theirs}!` })), made] };
  },
  "there is more to say to the agent": ({ suggestions, attached, ...item }) =>
    suggestions
      ? { ...item, suggestions: [{ title: "Hm", message: "Hm" }, ...suggestions], attached: ["one more", ...attached] }
      : item,
  "a question of the table says more": (item) =>
    props(item, ({ groups }) => {
      const rows = (group) => group.rows.map((row) => ({ ...row, cells: row.cells.map(() => ({ text: "more" })) }));
      return groups ? { groups: groups.map((group) => ({ ...group, rows: rows(group) })) } : {};
    }),
  "the agent goes on": (item) => {
    if (item.type === "message") return { ...item, tree: [...item.tree, ["p", {}, "And more."]], streaming: true };
    return item.type === "tool" ? { ...item, state: "done", seconds: 3 } : item;
  },
  "more is known": (item) => props(item, ({ rows }) => (Array.isArray(rows) ? { rows: [...rows, ROW] } : {})),
};

/** Where the answer is shut for a moment, the focus need not stay. */
const SHUT = {
  "it is somebody else's turn": (item) => words(item, { turn: { ...item.turn, open: false, words: "Waiting for Bob" } }),
  "it is held": (item) => words(item, { held: { words: "Approved", until: Date.now() + 3000 } }),
};

/** Those that can be used just now. */
const usableIn = (root) => new Map([...controlsOf(root)].filter(([, el]) => !el.matches(":disabled, :disabled *")));

/** What is not as it was: those that were replaced, and where somebody was at work. */
function faultsOf(root, before, cause, at = undefined, caret = undefined) {
  const faults = [];
  const after = controlsOf(root);
  for (const [key, el] of before) {
    const hidden = after.has(key) && after.get(key) !== el && !(el.closest("select") ?? el).checkVisibility();
    if (!el.isConnected || hidden) faults.push(`${cause}: replaced: ${key}`);
  }
  if (!at) return faults;
  const [, el] = at;
  if (document.activeElement !== el) faults.push(`${cause}: no focus any more: ${at[0]}`);
  if (JSON.stringify(caretOf(el)) !== caret) faults.push(`${cause}: ${caret} is ${JSON.stringify(caretOf(el))}: ${at[0]}`);
  return faults;
}

/** Be at each control in turn, and let everything happen there. @returns how many there were, and what went wrong */
function disturb(model, extra = {}) {
  const root = document.getElementById("el");
  const faults = new Set();
  let gone = 0;
  const asItWas = new Map(model.shown.items);
  const back = () => tellAgain(model, (item) => structuredClone(asItWas.get(item.key)));
  const keys = [...controlsOf(root)].filter(([, el]) => !el.matches("option, output")).map(([key]) => key);
  for (const key of keys) {
    const el = controlsOf(root).get(key);
    if (!el || el.matches(":disabled")) continue;
    const undo = beginAt(el);
    if (document.activeElement !== el) continue;
    gone += 1;
    for (const [cause, change] of Object.entries({ ...CAUSES, ...extra })) {
      const before = usableIn(root);
      const caret = JSON.stringify(caretOf(el));
      tellAgain(model, change);
      for (const fault of faultsOf(root, before, cause, [key, el], caret)) faults.add(fault);
      back();
      for (const fault of faultsOf(root, before, `${cause}, and back`, [key, el], caret)) faults.add(fault);
      el.focus();
    }
    undo();
  }
  for (const [cause, change] of Object.entries(SHUT)) {
    const before = usableIn(root);
    tellAgain(model, change);
    back();
    for (const fault of faultsOf(root, before, cause)) faults.add(fault);
  }
  return { gone, faults: [...faults] };
}

let began; // where somebody is, and what was there

/** Be at one control, the first one to type in if there is any. @returns whether there is one */
function beginSomewhere() {
  const root = document.getElementById("el");
  const all = [...usableIn(root)].filter(([, el]) => !el.matches("option, output"));
  const at = all.find(([, el]) => el.matches(TYPED) && !el.readOnly) ?? all[0];
  if (!at) return false;
  const undo = beginAt(at[1]);
  began = { root, at, undo, before: usableIn(root), caret: JSON.stringify(caretOf(at[1])) };
  return document.activeElement === at[1];
}

/** @returns {string[]} what is not as it was when that began */
const lostSince = (cause) => faultsOf(began.root, began.before, cause, began.at, began.caret);

/** Another question above, and something said below. */
function tellMore(model) {
  const { seq, live, items } = model.shown;
  const more = { ...structuredClone(CAUSES_CALL), key: "above", id: "above" };
  model.receive({ op: "snapshot", seq, live, items: [more, ...items.values(), { key: "below", type: "note", level: "info", text: "Said." }] });
}

const CAUSES_CALL = {
  ...{ type: "call", card: "plain", name: "wipe", title: "Wipe", message: "Wipe it?", status: "executing", warning: null },
  ...{ turn: { token: "t1", open: true, several: false, words: "Waiting for you" }, about: null, error: null, record: null },
  ...{ confirm: "Confirm", decline: "Decline", props: { rows: [] } },
};

// -- a press: what is pressed gets the click, whatever is drawn between its two halves

let pressed = [];

/** Note every click, and keep it from doing anything. */
function catchClicks() {
  const signal = (catchClicks.end = new AbortController()).signal;
  for (const type of ["click", "dblclick"])
    addEventListener(
      type,
      (event) => {
        pressed.push([type, event.target]);
        event.preventDefault();
        event.stopImmediatePropagation();
      },
      { capture: true, signal },
    );
}

/** The next thing to press, brought into sight, and where it is. */
function* toPress(root) {
  for (const [key, el] of usableIn(root)) {
    if (!el.matches("button, summary, a, input[type=checkbox], input[type=radio]")) continue;
    el.scrollIntoView({ block: "center" });
    const { left, top, width, height } = el.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    if (!el.contains(document.elementFromPoint(x, y))) continue; // under something else
    toPress.el = el;
    pressed = [];
    yield { key, x, y };
  }
}

const arrived = () => pressed.map(([type, target]) => (toPress.el.contains(target) ? type : `${type} elsewhere`));
