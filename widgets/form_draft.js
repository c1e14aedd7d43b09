// A half-filled form in a few words, to be kept while its question is open: what stands at each place where something was
// changed. What the schema calls a secret stays in the page.

import { editsOf } from "./form_edits.js";
import { choose, fill, isLeaf, isList, isMap, isUnion, newPart } from "./form_spot.js";

/**
 * @typedef {import("./form_spot.js").Spot} Spot
 * @typedef {{ out?: true, now?: any, branch?: number, kept?: Kept, parts?: KeptPart[] }} Kept  one of these; undefined: as
 * it was
 * @typedef {{ key?: string, loose?: boolean, from?: string | number, kept?: Kept }} KeptPart  `key`: its name in an object
 */

/** What was changed at a spot and below it. @param {Spot} spot @returns {Kept | undefined} */
export function keptOf(spot) {
  const { node, from, now } = spot;
  if (now === from || node.kind === "secret") return undefined;
  if (now === undefined) return { out: true };
  if (now === null || isLeaf(spot)) return { now };
  if (isUnion(spot)) return { branch: spot.branches?.indexOf(now), kept: keptOf(now) };
  const parts = /** @type {any[]} */ (now).map((part) => {
    const { key, loose, fromKey } = part;
    return { ...(isMap(spot) ? { key, loose } : {}), from: fromKey, kept: keptOf(part) };
  });
  const begun = parts.some(({ kept, loose, from: was }) => kept || (loose && was === undefined)); // a key without a value
  return begun || editsOf(spot).length ? { parts } : undefined;
}

/** Put back what was kept into a spot as it was proposed. @param {Spot} spot @param {Kept} [kept] */
export function putBack(spot, kept) {
  if (!kept) return;
  if (kept.out) spot.now = undefined;
  else if ("now" in kept) spot.now = kept.now;
  else if (isUnion(spot)) {
    choose(spot, kept.branch ?? 0);
    if (spot.now) putBack(spot.now, kept.kept);
  } else if (!isLeaf(spot) && kept.parts) {
    const were = /** @type {any[]} */ (spot.now ?? fill(spot).now ?? []);
    const parts = kept.parts.map(({ key, loose, from, kept: inside }, at) => {
      const was = were.find((part) => part.fromKey === from && (from !== undefined || (key !== undefined && part.key === key)));
      const part = was ?? { ...newPart(spot, key ?? at), ...(key === undefined ? {} : { key, loose }) };
      if (was && key !== undefined) part.key = key;
      putBack(part, inside);
      return part;
    });
    spot.kept = spot.now = /** @type {any} */ (parts);
  }
}
