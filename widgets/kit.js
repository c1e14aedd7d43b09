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

/** Set an element's text. Growing text is appended to, so a selection in it survives a stream; no change, no touch. */
export function write(el, text) {
  const next = text == null ? "" : String(text);
  const node = el.firstChild;
  const now = node?.data ?? "";
  if (next === now) return;
  if (node && next.startsWith(now)) node.appendData(next.slice(now.length));
  else el.textContent = next;
}

/** Set an element's text, and hide the element when there is none. */
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

/** The message of an error, its stack (without the host's part) in the console, where developers look. */
export function explain(error) {
  const lines = String(error?.stack ?? error).split("\n");
  const host = lines.findIndex((line) => line.includes("anywidget"));
  console.error(lines.slice(0, host < 0 ? 8 : host).join("\n"));
  return String(error?.message ?? error);
}
