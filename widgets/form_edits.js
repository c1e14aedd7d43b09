// What the person changed, as the edits that Python makes on the original (hitl_nb/_schema/_edits.py): what is gone, then
// the order, then what changed where it stands, so that every path is right when its turn comes.

import { isList, isMap, isUnion } from "./form_spot.js";
import { entriesOf, objectOf, sameWire } from "./wire.js";

/** @returns {{ path: (string | number)[], op: string, value?: any }[]} */
export function editsOf(spot, path = [], edits = []) {
  const { from, now } = spot;
  const set = () => edits.push({ path, op: "set", value: wireOf(spot) });
  if (now === from) return edits;
  if (now === undefined) edits.push({ path, op: "unset" });
  else if (from == null || now === null) set();
  else if (isList(spot)) listEdits(spot, path, edits);
  else if (isMap(spot)) mapEdits(spot, path, edits, set);
  else if (isUnion(spot) && now.from !== undefined) editsOf(now, path, edits);
  else if (isUnion(spot) || !sameWire(now, from)) set();
  return edits;
}

function wireOf(spot) {
  const { now } = spot;
  if (now == null) return now;
  if (isUnion(spot)) return wireOf(now);
  if (isList(spot)) return now.map((part) => wireOf(part) ?? null);
  if (!isMap(spot)) return now;
  return objectOf(now.map((part) => [part.key, wireOf(part)]).filter(([, wire]) => wire !== undefined));
}

function listEdits({ from, now }, path, edits) {
  const stay = new Set(now.map((part) => part.fromKey));
  const order = [...from.keys()].filter((at) => stay.has(at));
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

function mapEdits(spot, path, edits, set) {
  const start = edits.length;
  const stay = new Map(spot.now.map((part) => [part.fromKey, part.key]));
  const keys = new Set(entriesOf(spot.from).map(([key]) => key));
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
  for (const part of spot.now) editsOf(part, [...path, part.key], edits);
}
