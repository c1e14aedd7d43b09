// What the person changed, as the edits that Python makes on the original (hitl_nb/_schema/_edits.py): taken away first,
// then put in order, then changed where it stands, so that every path means what it says when its turn comes.

import { isList, isMap, isUnion } from "./form_spot.js";
import { entriesOf, objectOf, sameWire } from "./form_wire.js";

/** @typedef {{ path: (string | number)[], op: "set" | "add" | "remove" | "move" | "unset", value?: any }} Edit */

/** @param {import("./form_spot.js").Spot} spot  @param {Edit[]} edits  @returns {Edit[]} nothing if nothing changed */
export function editsOf(spot, path = [], edits = []) {
  const { from, now } = spot;
  const edit = (op, rest = {}) => edits.push({ path, op, ...rest });
  if (now === from) return edits;
  if (now === undefined) edit("unset");
  else if (from == null || now === null) edit("set", { value: wireOf(spot) });
  else if (isList(spot)) listEdits(spot, path, edits);
  else if (isMap(spot)) mapEdits(spot, path, edits);
  else if (isUnion(spot) && now.from !== undefined) editsOf(now, path, edits);
  else if (isUnion(spot) || !sameWire(now, from)) edit("set", { value: wireOf(spot) });
  return edits;
}

/** What stands at a spot, as a whole. */
export function wireOf(spot) {
  const { now } = spot;
  if (now == null) return now;
  if (isUnion(spot)) return wireOf(now);
  if (isList(spot)) return now.map((part) => wireOf(part) ?? null);
  if (!isMap(spot)) return now;
  return objectOf(now.map((part) => [part.key, wireOf(part)]).filter(([, part]) => part !== undefined));
}

function listEdits({ from, now }, path, edits) {
  const stay = new Set(now.map((part) => part.fromKey));
  const order = from.map((_, at) => at);
  for (let at = from.length - 1; at >= 0; at--) {
    if (stay.has(at)) continue;
    edits.push({ path: [...path, at], op: "remove" });
    order.splice(at, 1);
  }
  now.forEach((part, at) => {
    if (part.fromKey === undefined) {
      edits.push({ path: [...path, at], op: "add", value: wireOf(part) ?? null });
    } else if (order[at] === part.fromKey) {
      return;
    } else {
      const was = order.indexOf(part.fromKey);
      edits.push({ path: [...path, was], op: "move", value: at });
      order.splice(was, 1);
    }
    order.splice(at, 0, part.fromKey);
  });
  now.forEach((part, at) => part.fromKey !== undefined && editsOf(part, [...path, at], edits));
}

function mapEdits(spot, path, edits) {
  const start = edits.length;
  const keys = new Set(entriesOf(spot.from).map(([key]) => key));
  const stay = spot.now.filter((part) => part.fromKey !== undefined);
  for (const key of [...keys]) {
    if (stay.some((part) => part.fromKey === key)) continue;
    edits.push({ path: [...path, key], op: "remove" });
    keys.delete(key);
  }
  for (const { key, fromKey } of stay) {
    if (key === fromKey) continue;
    if (keys.has(key)) {
      // Two keys change places, which no order of renames can do.
      edits.splice(start, edits.length, { path, op: "set", value: wireOf(spot) });
      return;
    }
    edits.push({ path: [...path, fromKey], op: "move", value: key });
    keys.delete(fromKey);
    keys.add(key);
  }
  for (const part of spot.now) editsOf(part, [...path, part.key], edits);
}
