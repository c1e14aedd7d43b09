// A text with marks, or a value, as the kernel has taken it apart: a tree of texts, made into elements here.
//
// Nothing is parsed and nothing is fetched. What has not changed is not touched, so a selection survives a stream.

import { h, named, uid } from "./kit.js";

/**
 * @typedef {string | [tag: string, attributes: Record<string, any>, ...children: any[]]} TreeNode
 * @typedef {[keep: number, into: string | Grown | null, rest: TreeNode[]]} Grown  what has changed in a list of nodes:
 *   so many are as before, the next one has grown, and these follow
 */

const TREE_PLAIN = new Set("p ul blockquote thead tbody tr em strong s br hr code dt dd".split(" "));
/** @type {WeakMap<Element, TreeNode[]>} what an element shows */
const treeShown = new WeakMap();
/** @type {WeakMap<Node, Element>} where the children of a node stand, if not in its own element */
const treeInside = new WeakMap();

/** The nodes that were, with what has changed. @param {TreeNode[]} was @param {Grown} grown @returns {TreeNode[]} */
export function grownNodes(was, [keep, into, rest]) {
  const nodes = was.slice(0, keep);
  const last = was[keep];
  if (typeof into === "string") nodes.push(last + into);
  else if (into) nodes.push([last[0], /** @type {any} */ (last[1]), ...grownNodes(/** @type {any} */ (last.slice(2)), into)]);
  return [...nodes, ...rest];
}

/** Let `el` show exactly these nodes. @param {Element} el @param {TreeNode[]} nodes */
export function drawTree(el, nodes) {
  const was = treeShown.get(el) ?? [];
  nodes.forEach((node, at) => {
    const [old, place] = [was[at], /** @type {any} */ (el.childNodes[at])];
    if (old === node) return;
    if (typeof node === "string" && typeof old === "string" && node.startsWith(old))
      place.appendData(node.slice(old.length));
    else if (typeof node !== "string" && typeof old === "object" && treeAlike(old, node))
      drawTree(treeInside.get(place) ?? place, node.slice(2));
    else if (place) place.replaceWith(treeElement(node));
    else el.append(treeElement(node));
  });
  while (el.childNodes.length > nodes.length) el.lastChild?.remove();
  treeShown.set(el, nodes);
}

/** @param {any[]} old @param {any[]} node */
function treeAlike([oldTag, old], [tag, attributes]) {
  const names = Object.keys(attributes);
  return oldTag === tag && names.length === Object.keys(old).length && names.every((each) => old[each] === attributes[each]);
}

/** @param {TreeNode} node @returns {Node} */
function treeElement(node) {
  if (typeof node === "string") return new Text(node);
  const [tag, attributes, ...children] = node;
  const make = TREE_PLAIN.has(tag) ? h : TREE_MAKERS[tag];
  if (!make) return treeElement(["plain", {}, ...children]); // a tag of a later version
  const el = make === h ? h(tag) : make(attributes, children);
  if (tag !== "img") drawTree(treeInside.get(el) ?? el, children);
  return el;
}

/** @type {Record<string, (attributes: any, children: TreeNode[]) => HTMLElement>} */
const TREE_MAKERS = {
  h: ({ level }) => h("div", { class: "hitl-h", role: "heading", "aria-level": level + 2, "data-level": level }),
  plain: () => h("p", { class: "hitl-plain" }),
  span: ({ look }) => h("span", { class: `hitl-look-${look}` }),
  ol: () => h("ol"),
  li: ({ value }) => h("li", { value }),
  dl: () => h("dl", { class: "hitl-outline" }),
  th: ({ align }) => h("th", { scope: "col", "data-align": align }),
  td: ({ align }) => h("td", { "data-align": align }),
  a: treeLink,
  img: treePicture,
  pre: treeCode,
  table: treeTable,
  del: () => treeMarked("del", "removed: "),
  ins: () => treeMarked("ins", "added: "),
};

/** A link, and where it goes. @param {any} attributes @param {TreeNode[]} children */
function treeLink({ href, to }, children) {
  const away = { href, rel: "noreferrer noopener", target: "_blank" };
  const link = href ? h("a", away) : h("span");
  const shown = children.length === 1 && children[0] === to;
  const el = h("span", { class: "hitl-a" }, link);
  if (!shown) el.append(h("span", { class: "hitl-to", text: ` (${to})` }));
  treeInside.set(el, link);
  return el;
}

/** A picture that is in the text itself; of any other the words, and where it would have come from. */
/** @param {any} attributes @param {TreeNode[]} children */
function treePicture({ src, to }, children) {
  const words = children.filter((child) => typeof child === "string").join("");
  if (src) return h("img", { class: "hitl-picture", src, alt: words });
  const called = words ? ` “${words}”` : "";
  return h("span", { class: "hitl-to", text: `[picture${called}, not loaded: ${to}]` });
}

/** @param {any} attributes */
function treeCode({ lang }) {
  const inner = h("code");
  const copy = h("button", { type: "button", class: "hitl-link hitl-copy", text: "Copy" });
  copy.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(inner.textContent);
    copy.textContent = "Copied";
  });
  const head = h("div", { class: "hitl-code-head" }, h("span", { text: lang ?? "" }), copy);
  const el = h("div", { class: "hitl-code" }, head, h("pre", {}, inner));
  treeInside.set(el, inner);
  return el;
}

const TREE_TALL = 12; // rows
const TREE_WIDE = 5; // columns

/** A table, in a box to scroll where it may be too large, with the pages of a long one. @param {any} attributes */
function treeTable({ rows, columns = 0, first, last, page, pages, at }) {
  const words = rows === undefined ? "Table" : `Table, ${treeNumber(rows)} rows`;
  const inner = h("table", { "aria-label": words });
  const large = rows === undefined || rows > TREE_TALL || columns > TREE_WIDE;
  const reachable = large ? { tabindex: "0", role: "region", "aria-label": words } : {};
  const box = h("div", { class: "hitl-table-box", ...reachable }, inner);
  const el = h("div", { class: "hitl-table-view" }, box);
  treeInside.set(el, inner);
  if (pages) el.append(treePages(/** @type {any} */ ({ rows, first, last, page, pages, at })));
  return el;
}

/** @param {{ rows: number, first: number, last: number, page: number, pages: number, at?: string }} shown */
function treePages({ rows, first, last, page, pages, at }) {
  const id = uid();
  const words = `Rows ${treeNumber(first)}–${treeNumber(last)} of ${treeNumber(rows)}`;
  const line = h("div", { class: "hitl-pages" }, h("span", { id, text: words }));
  if (at === undefined) return line;
  const turn = (/** @type {string} */ text, /** @type {number} */ to) => {
    const detail = { at, page: to };
    const onclick = () => line.dispatchEvent(new CustomEvent("hitl-look", { bubbles: true, detail }));
    const button = h("button", { type: "button", class: "hitl-link", disabled: to < 0 || to >= pages || to === page, onclick, text });
    line.append(named(button, text, id));
  };
  turn("First", 0);
  turn("Previous", page - 1);
  turn("Next", page + 1);
  turn("Last", pages - 1);
  return line;
}

/** @param {number} count */
const treeNumber = (count) => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");

/** @param {"del" | "ins"} tag @param {string} spoken */
function treeMarked(tag, spoken) {
  const inner = h("span");
  const el = h(tag, {}, h("span", { class: "hitl-spoken", text: spoken }), inner);
  treeInside.set(el, inner);
  return el;
}
