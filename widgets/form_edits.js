// What the person changed, as the edits that Python makes on the original (hitl_nb/_schema/_edits.py): what is gone, then
// the order, then what changed where it stands, so that every path is right when its turn comes.

import { isList, isMap, isUnion } from "./form_spot.js";
import { entriesOf, objectOf, sameWire } from "./wire.js";

/**
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {import("./form_spot.js").Path} Path
 * @typedef {import("./wire.js").Wire} Wire
 * @typedef {{ path: Path, op: string, value?: Wire }} Edit
 */

/** @param {Spot} spot @param {Path} path @param {Edit[]} edits */
export function editsOf(spot, path = [], edits = []) {
  const { from, now } = spot;
  const set = () => edits.push({ path, op: "set", value: wireOf(spot) });
  if (now === from) return edits;
  if (now === undefined) edits.push({ path, op: "unset" });
  else if (from == null || now === null) set();
  else if (isList(spot)) listEdits(from, spot.now ?? [], path, edits);
  else if (isMap(spot)) mapEdits(from, spot.now ?? [], path, edits, set);
  else if (isUnion(spot) && spot.now?.from !== undefined) editsOf(spot.now, path, edits);
  else if (isUnion(spot) || !sameWire(now, from)) set();
  return edits;
}

/** @param {Spot} spot @returns {Wire} */
function wireOf(spot) {
  if (spot.now == null) return spot.now;
  if (isUnion(spot)) return wireOf(spot.now);
  if (isList(spot)) return spot.now.map((part) => wireOf(part) ?? null);
  if (!isMap(spot)) return spot.now;
  return objectOf(spot.now.map((part) => pairOf(part)).filter(([, wire]) => wire !== undefined));
}

/** @param {import("./form_spot.js").Entry} part @returns {[string, Wire]} */
const pairOf = (part) => [part.key, wireOf(part)];

/** @param {Wire[]} from @param {Spot[]} now @param {Path} path @param {Edit[]} edits */
function listEdits(from, now, path, edits) {
  const stay = new Set(now.map((part) => part.fromKey));
  const order = /** @type {Spot["fromKey"][]} */ ([...from.keys()]).filter((at) => stay.has(at));
  for (let at = from.length; at--;) if (!stay.has(at)) edits.push({ path: [...path, at], op: "remove" });
  now.forEach((part, at) => {
    const was = part.fromKey === undefined ? -1 : order.indexOf(part.fromKey, at);
    if (was === at) return;
    if (was < 0) edits.push({ path: [...path, at], op: "add", value: wireOf(part) ?? null });
    else edits.push({ path: [...path, was], op: "move", value: at }) && order.splice(was, 1);
    order.splice(at, 0, part.fromKey);
  });
  now.forEach((part, at) => part.fromKey !== undefined && editsOf(part, [...path, at], edits));
}

/**
 * @param {Wire} from
 * @param {import("./form_spot.js").Entry[]} now
 * @param {Path} path
 * @param {Edit[]} edits
 * @param {() => void} set
 */
function mapEdits(from, now, path, edits, set) {
  const start = edits.length;
  const stay = new Map(now.map((part) => [part.fromKey, part.key]));
  /** @type {Set<string | number>} */
  const keys = new Set(entriesOf(from)?.map(([key]) => key));
  for (const key of keys) {
    if (!stay.has(key)) keys.delete(key) && edits.push({ path: [...path, key], op: "remove" });
  }
  for (const [old, key] of stay) {
    if (old === undefined || old === key) continue;
    if (keys.has(key)) return edits.splice(start) && set(); // two keys that change places
    edits.push({ path: [...path, old], op: "move", value: key });
    keys.delete(old);
    keys.add(key);
  }
  for (const part of now) editsOf(part, [...path, part.key], edits);
}
