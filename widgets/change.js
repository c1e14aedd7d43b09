// What a person has changed, to be seen before they confirm it: 9 → 4, or what is gone from a longer text and what is
// new in it.

import { isLeaf, isMap, isUnion, shownText } from "./form_spot.js";
import { boxText, sameWire } from "./wire.js";

/**
 * @typedef {import("./tree.js").TreeNode} TreeNode
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {import("./wire.js").Wire} Wire
 */

const CHANGE_SHORT = 40; // characters that are read at a glance
const CHANGE_WORK = 250_000; // comparisons of words; beyond that the whole middle is exchanged

/** What has changed at this place itself, as nodes of a tree; none if nothing has. @param {Spot} spot @returns {TreeNode[]} */
export function changeAt(spot) {
  const { from, now } = spot;
  if (from === undefined || now === from || isUnion(spot)) return [];
  if (isLeaf(spot)) return sameWire(from, now) ? [] : changeNodes(changeWords(spot, from), changeWords(spot, now));
  if (!Array.isArray(now)) return [changeBox(from), " → ", now === null ? "none" : "left out"];
  const stay = new Set(now.map(({ fromKey }) => fromKey));
  const parts = Array.isArray(from) ? [...from.entries()] : isMap(spot) ? Object.entries(from ?? {}) : [];
  const gone = parts.filter(([key]) => !stay.has(key) && key !== "$");
  return gone.flatMap(([, part], at) => [at ? ", " : "removed: ", ["del", {}, changeBox(part)]]);
}

/** Every change below `spot`, with its place. @param {Spot} spot @returns {[place: string, TreeNode[]][]} */
export function changesIn(spot, place = "") {
  const here = changeAt(spot);
  /** @type {[string, TreeNode[]][]} */
  const found = here.length ? [[place || "all", here]] : [];
  const { now } = spot;
  if (isUnion(spot)) return spot.now ? [...found, ...changesIn(spot.now, place)] : found;
  if (isLeaf(spot) || !Array.isArray(now)) return found;
  for (const [at, part] of now.entries()) {
    const name = isMap(spot) ? `${place && `${place}.`}${part.key}` : `${place}[${at}]`;
    if (part.from === undefined && part.now !== undefined) found.push([name, ["added"]]);
    else found.push(...changesIn(part, name));
  }
  return found;
}

/** @param {Wire} wire @returns {string} */
const changeBox = (wire) => (typeof wire === "string" ? wire : boxText(wire));

/** A value of this place in words. @param {import("./form_spot.js").LeafSpot} spot @param {Wire} wire */
function changeWords(spot, wire) {
  if (wire === undefined) return "left out";
  if (wire === null) return "none";
  if (wire?.$ === "secret") return "unchanged";
  const option = spot.node.options?.find(({ value }) => sameWire(value, wire));
  if (option) return option.label;
  if (typeof wire === "boolean") return wire ? "yes" : "no";
  return spot.node.kind === "secret" ? "**********" : shownText(spot, wire) || "nothing";
}

/** @param {string} before @param {string} after @returns {TreeNode[]} */
export function changeNodes(before, after) {
  if (Math.max(before.length, after.length) <= CHANGE_SHORT && !`${before}${after}`.includes("\n"))
    return [before, " → ", after];
  const [old, now] = [before, after].map((text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  let [start, end] = [0, 0];
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start++;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const middle = changeMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const [head, tail] = [old.slice(0, start).join(""), old.slice(old.length - end).join("")];
  return [["plain", {}, ...(head ? [head] : []), ...middle, ...(tail ? [tail] : [])]];
}

/** By the longest common sequence of words. @param {string[]} old @param {string[]} now @returns {TreeNode[]} */
function changeMiddle(old, now) {
  if (old.length * now.length > CHANGE_WORK) return changeMarks([["del", old.join("")], ["ins", now.join("")]]);
  const width = now.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a--)
    for (let b = now.length - 1; b >= 0; b--)
      longest[a * width + b] =
        old[a] === now[b]
          ? longest[(a + 1) * width + b + 1] + 1
          : Math.max(longest[(a + 1) * width + b], longest[a * width + b + 1]);
  /** @type {["" | "del" | "ins", string][]} */
  const parts = [];
  for (let [a, b] = [0, 0]; a < old.length || b < now.length; ) {
    const down = a < old.length && (b >= now.length || longest[(a + 1) * width + b] >= longest[a * width + b + 1]);
    if (a < old.length && b < now.length && old[a] === now[b]) (parts.push(["", old[a]]), a++, b++);
    else if (down) parts.push(["del", old[a++]]);
    else parts.push(["ins", now[b++]]);
  }
  return changeMarks(parts);
}

/** Parts of one kind that stand beside each other are one. @param {["" | "del" | "ins", string][]} parts */
function changeMarks(parts) {
  /** @type {["" | "del" | "ins", string][]} */
  const joined = [];
  for (const [kind, text] of parts) {
    const last = joined.at(-1);
    if (last?.[0] === kind) last[1] += text;
    else joined.push([kind, text]);
  }
  return joined.filter(([, text]) => text).map(([kind, text]) => /** @type {TreeNode} */ (kind ? [kind, {}, text] : text));
}
