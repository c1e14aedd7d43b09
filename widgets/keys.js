// Keys that are pressed in a card, and what JupyterLab would make of them: "d d" on a checkbox deletes the cell, "0 0"
// restarts the kernel, Ctrl+Enter runs the cell again.
//
// Lumino, which both JupyterLab and Notebook 7 are built on, leaves a key alone where the focused element says so. Said
// of everything in a card it would keep back saving and the palette as well, so it is said anew for each key.

const KEYS_LUMINO = "data-lm-suppress-shortcuts";

/** What harms nothing, and is looked for everywhere: save, find (and on), the palette, the sidebar. */
const KEYS_PASS = new Set(["s", "S", "f", "g", "G", "C", "b"]);

/**
 * Keep a key in the list of cards that it was pressed in, or let the host have it.
 * @param {HTMLElement} list
 * @param {KeyboardEvent} event
 */
export function keepKey(list, event) {
  const target = /** @type {Node} */ (event.composedPath()[0]);
  if (!(target instanceof Element) || !list.contains(target)) return;
  const passes = (event.ctrlKey || event.metaKey) && !event.altKey && KEYS_PASS.has(event.key);
  target.toggleAttribute(KEYS_LUMINO, !passes);
}
