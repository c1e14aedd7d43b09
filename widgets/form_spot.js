// The value as the person has it: a tree of spots, one for each place, with what was proposed there and what stands
// there now. What is sent is the difference.

import { boxText, entriesOf, sameWire, textOf, typedFault, typedWire } from "./wire.js";

/**
 * @typedef {import("./wire.js").Wire} Wire
 * @typedef {(string | number)[]} Path
 * @typedef {"list" | "table" | "tuple"} ListKind
 * @typedef {"object" | "dict"} MapKind
 * @typedef {"text" | "long_text" | "number" | "integer" | "boolean" | "choice" | "date" | "time" | "datetime" | "duration"
 *   | "secret" | "constant" | "json"} LeafKind
 * @typedef {NodeOf<ListKind | MapKind | LeafKind | "union">} FormNode
 * @typedef {{ fill?: boolean, layout?: Map<string, number | null> }} Plan  `layout`: the branch at each place of a union
 */

/**
 * A place of the form (hitl_nb/_schema/_node.py; what is empty is left out).
 * @template {string} K
 * @typedef {{
 *   kind: K, title?: string, description?: string, required: boolean, nullable?: boolean, default?: Wire, note?: string,
 *   options?: { value: Wire, label: string }[], exact?: boolean, children?: [string | number, FormNode][],
 *   item?: FormNode, branches?: FormNode[], discriminator?: string, tags?: Wire[],
 *   minimum?: Wire, maximum?: Wire, exclusive_minimum?: Wire, exclusive_maximum?: Wire, step?: Wire,
 *   min_length?: number, max_length?: number, unique?: boolean, pattern?: string,
 * }} NodeOf
 */

/**
 * A spot has a `node` of the form, a wire `from`, and `now`: undefined (nothing there), null, a wire, the spots inside,
 * or the spot of a union's branch; `kept` is what that was before it was null or left out. A part has a `fromKey`, where
 * it stood (undefined: it is new), and in an object a `key`, which may change if it is `loose`.
 * @typedef {{
 *   from: Wire, kept?: any, fromKey?: string | number, key?: string, loose?: boolean,
 *   error?: string, partial?: boolean, picked?: boolean, begun?: boolean,
 * }} AnySpot
 * @typedef {AnySpot & { node: NodeOf<ListKind>, now: Spot[] | null | undefined }} ListSpot
 * @typedef {AnySpot & { node: NodeOf<MapKind>, now: Entry[] | null | undefined }} MapSpot
 * @typedef {AnySpot & { node: NodeOf<"union">, now: Spot | null | undefined, branches?: Spot[] }} UnionSpot
 * @typedef {AnySpot & { node: NodeOf<LeafKind>, now: Wire }} LeafSpot
 * @typedef {ListSpot | MapSpot | UnionSpot | LeafSpot} Spot
 * @typedef {Spot & { key: string }} Entry
 */

/** @param {Spot} spot @returns {spot is ListSpot} */
export const isList = (spot) => ["list", "table", "tuple"].includes(spot.node.kind);
/** @param {Spot} spot @returns {spot is MapSpot} */
export const isMap = (spot) => spot.node.kind === "object" || spot.node.kind === "dict";
/** @param {Spot} spot @returns {spot is UnionSpot} */
export const isUnion = (spot) => spot.node.kind === "union";
/** @param {Spot} spot @returns {spot is LeafSpot} */
export const isLeaf = (spot) => !isList(spot) && !isMap(spot) && !isUnion(spot);
/** @param {Spot} spot */
export const isText = ({ node }) => node.kind === "text" || node.kind === "long_text";

/**
 * The spot for `wire` and all that is in it; if `plan.fill`, also for what needs no decision.
 * @param {FormNode} node
 * @param {Wire} wire
 * @param {Plan} plan
 * @param {Path} path
 * @returns {Spot}
 */
export function plant(node, wire, plan, path = []) {
  const spot = /** @type {any} */ ({ node, from: wire, now: wire });
  const fills = plan.fill && node.required && (!isLeaf(spot) || node.kind === "constant");
  if (wire === undefined) return fills ? fill(spot) : spot;
  if (wire === null && node.nullable) return spot;
  const place = plan.layout?.get(JSON.stringify(path));
  const open = isUnion(spot) ? place != null : isList(spot) ? Array.isArray(wire) : !isMap(spot) || entriesOf(wire);
  if (place === null || !open) spot.node = { ...node, kind: "json" };
  else if (isUnion(spot)) plantBranch(spot, /** @type {number} */ (place), wire, plan, path);
  else if (isList(spot)) spot.now = wire.map(listPart);
  else if (isMap(spot)) spot.now = entryParts(node, entriesOf(wire) ?? [], plan, path);
  spot.kept = spot.now;
  return spot;

  /** @param {Wire} part @param {number} at */
  function listPart(part, at) {
    return { ...partOf(node, at, part, plan, path), fromKey: at };
  }
}

/** @param {UnionSpot} spot @param {number} place @param {Wire} wire @param {Plan} plan @param {Path} path */
function plantBranch(spot, place, wire, plan, path) {
  spot.branches = [];
  spot.branches[place] = spot.now = plant(branchesOf(spot)[place], wire, plan, path);
}

/** @param {UnionSpot} spot @returns {FormNode[]} */
export const branchesOf = ({ node }) => node.branches ?? [];

/** @param {FormNode} node @param {[string, Wire][]} entries @param {Plan} plan @param {Path} path @returns {Entry[]} */
function entryParts(node, entries, plan, path) {
  const fixed = node.children?.map(([name]) => String(name)) ?? [];
  const wires = new Map(entries);
  return [...new Set([...fixed, ...wires.keys()])].map((key) => {
    const loose = node.item !== undefined && !fixed.includes(key);
    const part = partOf(node, key, wires.get(key), plan, path);
    return { ...part, key, fromKey: wires.has(key) ? key : undefined, loose };
  });
}

/** @type {FormNode} */
const SPOT_BOX = { kind: "json", required: false };

/** @param {FormNode} node @param {string | number} step @param {Wire} wire @param {Plan} plan @param {Path} path */
function partOf({ children = [], item = SPOT_BOX }, step, wire, plan, path) {
  const [, child] = children.find(([name]) => name === step) ?? [step, item];
  return plant(child, wire, plan, [...path, step]);
}

/**
 * A part that was not there; -1 is no place that is known.
 * @param {ListSpot | MapSpot} spot
 * @param {string | number} step
 */
export const newPart = ({ node }, step = -1) => fill(partOf(node, step, undefined, { fill: true }, []));

/**
 * Put back what stood there, or what can stand there without a decision.
 * @template {Spot} S
 * @param {S} spot
 */
export function fill(spot) {
  const { kind, options, children = [] } = spot.node;
  if (isText(spot)) spot.kept ??= "";
  else if (kind === "constant") spot.kept ??= options?.[0].value;
  else if (isUnion(spot)) spot.kept ?? choose(spot, 0);
  else if (isList(spot)) spot.kept ??= kind === "tuple" ? children.map(([at]) => newPart(spot, at)) : [];
  else if (isMap(spot)) spot.kept ??= entryParts(spot.node, [], { fill: true }, []);
  spot.now = spot.kept;
  return spot;
}

/**
 * Let a union have another form; what was entered in the others stays with them.
 * @param {UnionSpot} spot
 * @param {number} place
 */
export function choose(spot, place) {
  const node = branchesOf(spot)[place];
  const now = ((spot.branches ??= [])[place] ??= fill(/** @type {Spot} */ ({ node, from: undefined, now: undefined })));
  spot.kept = spot.now = now;
  const tag = isMap(now) && now.now?.find(({ key }) => key === spot.node.discriminator);
  if (tag) tag.now ??= node.tags?.[0];
}

/**
 * Take what was typed. Where nothing is typed nothing stands, unless a text stood there.
 * @param {LeafSpot} spot
 * @param {string} text
 */
export function type(spot, text) {
  const { node, from } = spot;
  const none = from === undefined || mayLeave(spot) ? undefined : node.nullable && node.kind !== "json" ? null : "";
  if (from !== undefined && text === shownText(spot, from)) spot.now = from;
  else if (!text && (isText(spot) ? from === undefined : none !== "")) spot.now = none;
  else spot.now = typedWire(node, from, text);
}

/** Take what was picked. @param {LeafSpot} spot @param {Wire} wire */
export const pick = (spot, wire) => (spot.now = sameWire(wire, spot.from) ? spot.from : wire);

/** A wire as the text in the control of a spot. @param {LeafSpot} spot @param {Wire} wire */
export const shownText = ({ node }, wire) =>
  node.kind === "json" && wire !== undefined && wire?.$ !== "json" ? boxText(wire) : textOf(wire);

/** Whether nothing may stand here. @param {Spot} spot */
export const mayLeave = ({ key, node, loose }) => key !== undefined && !node.required && !loose;

/** What is wrong here: what the kernel says, or what can be seen without it. @param {Spot} spot */
export function wrongWith(spot) {
  if (spot.error || spot.now === spot.from) return spot.error ?? "";
  const keys = (isMap(spot) && spot.now?.map(({ key }) => key)) || [];
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  if (twice !== undefined) return `The key "${twice}" is there twice.`;
  return typedFault(spot.now) || (isLeaf(spot) ? limitFault(spot) || lengthFault(spot) : countFault(spot));
}

/** @param {Spot} spot @param {number} count @param {string} what */
function boundFault({ node, begun }, count, what) {
  const { min_length: least = 0, max_length: most = Infinity } = node;
  if (count === 0 && !begun) return ""; // nobody has come here yet
  const words = (/** @type {number} */ limit) => `${limit} ${what}${limit === 1 ? "" : "s"}.`;
  return count < least ? `At least ${words(least)}` : count > most ? `At most ${words(most)}` : "";
}

/** A text is counted as Python does, by its characters. @param {LeafSpot} spot */
function lengthFault(spot) {
  if (!isText(spot) || spot.now == null) return "";
  return boundFault(spot, [...textOf(spot.now)].length, "character");
}

/** @param {Spot} spot */
function countFault(spot) {
  const counted = (isList(spot) && spot.node.kind !== "tuple") || spot.node.kind === "dict";
  return counted && Array.isArray(spot.now) ? boundFault(spot, spot.now.length, "item") : "";
}

/** What the browser can know of a number that is beyond its limits: the kernel knows all of them. @param {LeafSpot} spot */
function limitFault({ node, now }) {
  if ((node.kind !== "number" && node.kind !== "integer") || node.exact || !["number", undefined].includes(now?.$)) return "";
  const value = Number(textOf(now));
  const limit = (/** @type {Wire} */ wire) => (typeof wire === "number" ? wire : NaN); // a comparison with NaN is false
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return "";
  if (node.kind === "integer" && !Number.isInteger(value)) return "A whole number, please.";
  if (value < limit(node.minimum)) return `At least ${node.minimum}.`;
  if (value > limit(node.maximum)) return `At most ${node.maximum}.`;
  if (value <= limit(node.exclusive_minimum)) return `More than ${node.exclusive_minimum}.`;
  if (value >= limit(node.exclusive_maximum)) return `Less than ${node.exclusive_maximum}.`;
  if (Number.isInteger(node.step) && Number.isInteger(value) && value % limit(node.step)) return `In steps of ${node.step}.`;
  return "";
}

/** Whether anything cannot be sent; each spot then says so. @param {Spot} root */
export function findFaults(root) {
  const faulty = [...spotsOf(root)].filter((spot) => {
    spot.begun = true;
    if (spot.partial) spot.error = "This is not complete.";
    // An item cannot be left out.
    else if (spot !== root && spot.now === undefined && spot.key === undefined) spot.error = "Nothing is entered here.";
    return wrongWith(spot);
  });
  return faulty.length > 0;
}

/** A spot and all that are in it. @param {Spot} spot @returns {Generator<Spot>} */
export function* spotsOf(spot) {
  yield spot;
  if (spot.now != null && !isLeaf(spot)) for (const part of [spot.now].flat()) yield* spotsOf(part);
}

/** The spot at `path`, or the last one on the way there. @param {Spot} spot @param {Path} path @returns {Spot} */
export function spotAt(spot, path) {
  if (isUnion(spot)) return spot.now ? spotAt(spot.now, path) : spot;
  const part = !isLeaf(spot) && spot.now?.find((each, at) => path[0] === (isMap(spot) ? each.key : at));
  return part ? spotAt(part, path.slice(1)) : spot;
}
