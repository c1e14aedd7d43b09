// What every card shares: making elements, and keeping text on screen without disturbing the reader.
//
// Whatever comes from a model, a tool or the kernel is drawn with `textContent` only; there is no way to markup here.

const kitSalt = Math.random().toString(36).slice(2, 8); // every run has its own copy of this module in the page
let kitSerial = 0;

/** An id that no other element of the page has. */
export const uid = () => `hitl-${kitSalt}-${++kitSerial}`;

/**
 * Make an element. `text` becomes its text, `on…` a listener, anything else an attribute (true = present, false or
 * null = absent).
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string)} children
 * @returns {any} the element; any, because the tag is the caller's knowledge
 */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "text") el.textContent = value;
    else if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children);
  return el;
}

/** A plain box that looks like `look`. @param {string} look @param {...(Node | string)} children */
export const div = (look, ...children) => h("div", { class: look }, ...children);

/**
 * Set an element's text. Growing text is appended to, so a selection in it survives a stream; no change, no touch.
 * @param {HTMLElement} el
 * @param {unknown} text
 */
export function write(el, text) {
  const next = text == null ? "" : String(text);
  const node = /** @type {Text | null} */ (el.firstChild);
  const now = node?.data ?? "";
  if (next === now) return;
  if (node && next.startsWith(now)) node.appendData(next.slice(now.length));
  else el.textContent = next;
}

/** Set an element's text, and hide the element when there is none. @param {HTMLElement} el @param {unknown} text */
export function writeOrHide(el, text) {
  write(el, text);
  el.hidden = !text;
}

/**
 * Let `parent` hold exactly `rows`, one child each, in order. Children are reused by position, so focus stays.
 * @template T
 * @param {HTMLElement} parent
 * @param {T[]} rows
 * @param {(index: number) => HTMLElement} make  a new, empty child
 * @param {(child: any, row: T, index: number) => void} fill  puts a row into its child
 */
export function fillRows(parent, rows, make, fill) {
  while (parent.children.length > rows.length) parent.lastElementChild?.remove();
  while (parent.children.length < rows.length) parent.append(make(parent.children.length));
  rows.forEach((row, index) => fill(parent.children[index], row, index));
}

/**
 * `make`, which for the same object gives what it gave before.
 * @template {WeakKey} K
 * @template T
 * @param {(key: K) => T} make
 * @returns {(key: K) => T}
 */
export function remembered(make) {
  /** @type {WeakMap<K, T>} */
  const made = new WeakMap();
  return (key) => /** @type {T} */ (made.get(key) ?? made.set(key, make(key)).get(key));
}

/**
 * Let `parent` hold exactly `els`, in order. Only what is out of place is moved: a moved element loses the focus, and a
 * press on it. What has the focus stays, and the others go around it.
 * @param {HTMLElement} parent
 * @param {Element[]} els
 */
export function arrange(parent, els) {
  let before = parent.firstElementChild;
  const at = document.activeElement;
  const used = parent.contains(at) ? els.find((el) => el.parentElement === parent && el.contains(at)) : undefined;
  for (const el of els) {
    while (el === used && before && before !== used) {
      const next = before.nextElementSibling;
      parent.append(before);
      before = next;
    }
    if (el === before) before = before.nextElementSibling;
    else parent.insertBefore(el, before);
  }
  while (before) {
    const next = before.nextElementSibling;
    before.remove();
    before = next;
  }
}

/**
 * What lets `parent` hold exactly the rows that it gets, one element each, in order. A row that comes again, by its key,
 * has the same element, whatever has come or gone around it: somebody may be about to press it.
 * @template T
 * @param {HTMLElement} parent
 * @param {(row: T) => string} keyOf
 * @param {(row: T) => { el: HTMLElement, update: (row: T) => void }} make
 * @returns {(rows: T[]) => void}
 */
export function keyedRows(parent, keyOf, make) {
  /** @type {Map<string, ReturnType<typeof make>>} */
  let drawn = new Map();
  return (rows) => {
    const before = drawn;
    drawn = new Map();
    for (const row of rows) {
      let key = keyOf(row);
      while (drawn.has(key)) key += "\n"; // two that are called the same
      const part = before.get(key) ?? make(row);
      drawn.set(key, part);
      part.update(row);
    }
    arrange(parent, [...drawn.values()].map(({ el }) => el));
  };
}

const KIT_CONTROLS = ":is(input, textarea, select, button):not(:disabled, [hidden], [hidden] *)";

/**
 * Give the focus to the first control in one of `places` (null = none).
 * @param {...(Element | null | undefined)} places
 * @returns {boolean} whether there is one
 */
export function focusIn(...places) {
  const here = places.filter((place) => place != null).filter((place) => place.isConnected);
  const controls = here.map((place) => (place.matches(KIT_CONTROLS) ? place : place.querySelector(KIT_CONTROLS)));
  const first = /** @type {HTMLElement | undefined} */ (controls.find(Boolean) ?? undefined);
  first?.focus();
  return first !== undefined;
}

/**
 * Do what may move or hide the control in use, and keep the focus there, else in the first of `places` with a control.
 * @param {(Element | null | undefined)[]} places
 * @param {() => void} act
 */
export function keepFocus(places, act) {
  const had = /** @type {any} */ (document.activeElement);
  act();
  if (had?.isConnected && had.matches(KIT_CONTROLS)) had.focus({ preventScroll: true });
  else focusIn(...places);
}

/**
 * Let `el` be called by `text` (if any) and by what stands at the ids `by`.
 * @template {HTMLElement} E
 * @param {E} el
 * @param {string} text
 * @param {string} by
 * @returns {E}
 */
export function named(el, text, by) {
  el.id ||= uid();
  if (text) el.ariaLabel = text;
  el.setAttribute("aria-labelledby", text ? `${el.id} ${by}` : by);
  return el;
}

/**
 * A quiet button, called by `text` and the ids `by`, or by a sign in the place of the text.
 * @param {string} text
 * @param {string} by
 * @param {(event: Event) => void} onclick
 */
export function link(text, by, onclick, sign = "") {
  const look = sign ? { class: "hitl-icon", text: sign, title: text } : { class: "hitl-link", text };
  return named(h("button", { type: "button", onclick, ...look }), text, by);
}

/**
 * The message of an error, its stack (without the host's part) in the console, where developers look.
 * @param {any} error  whatever was thrown
 */
export function explain(error) {
  const lines = String(error?.stack ?? error).split("\n");
  const host = lines.findIndex((line) => line.includes("anywidget"));
  console.error(lines.slice(0, host < 0 ? 8 : host).join("\n"));
  return String(error?.message ?? error);
}
