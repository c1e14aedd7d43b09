// The value as the person has it: a tree of spots, one for every place of the value, each with what was proposed there
// and what stands there now. All views of a form share one tree; what is sent is the difference (form_edits.js).

import { boxText, entriesOf, sameWire, textOf, typedFault, typedWire } from "./form_wire.js";

/**
 * @typedef {Record<string, any>} FormNode  see hitl_nb/_schema/_node.py
 * @typedef {{
 *   node: FormNode, from: any, now: any, kept?: any, key?: string, fromKey?: string | number, loose?: boolean,
 *   branches?: Map<number, Spot>, partial?: boolean, picked?: boolean, error: string,
 * }} Spot
 * `now` is undefined where nothing stands, null, a wire, or what stands inside: a list of spots, the spot of a union's
 * branch. `kept` is what it was before it was null or left out. `fromKey` is where a part stood (undefined = new), `key`
 * its key now. A `loose` part can be taken away. `partial` is a date that is half typed. `picked` marks a row.
 */

export const BOX = { kind: "json", title: "", required: false };
const SPOT_LISTS = new Set(["list", "table", "tuple"]);
const SPOT_MAPS = new Set(["object", "dict"]);

export const isList = ({ node }) => SPOT_LISTS.has(node.kind);
export const isMap = ({ node }) => SPOT_MAPS.has(node.kind);
export const isUnion = ({ node }) => node.kind === "union";
const fillsItself = (spot) => isList(spot) || isMap(spot) || isUnion(spot) || spot.node.kind === "constant";

/**
 * The spot for `wire` (undefined = nothing) and all that is in it.
 * @param {{ fill: boolean, layout: Map<string, number | null> }} plan  `fill`: whatever must be there and needs no
 *   decision is there from the start
 * @returns {Spot}
 */
export function plant(node, wire, plan, path = []) {
  const place = plan.layout.get(JSON.stringify(path));
  /** @type {Spot} */
  const spot = { node, from: wire, now: wire, error: "" };
  if (wire === undefined) return plan.fill && node.required && fillsItself(spot) ? fill(spot) : spot;
  if (wire === null && node.nullable) return spot;
  const open = isUnion(spot) ? place != null : isList(spot) ? Array.isArray(wire) : !isMap(spot) || entriesOf(wire);
  if (place === null || !open) spot.node = { ...node, kind: "json" };
  else if (isUnion(spot)) spot.now = branchOf(spot, place, () => plant(node.branches[place], wire, plan, path));
  else if (isList(spot)) spot.now = wire.map((part, at) => ({ ...partOf(node, at, part, plan, path), fromKey: at }));
  else if (isMap(spot)) spot.now = plantMap(node, new Map(entriesOf(wire)), plan, path);
  spot.kept = spot.now;
  return spot;
}

function plantMap(node, entries, plan, path) {
  const names = (node.children ?? []).map(([name]) => name);
  return [...new Set([...names, ...entries.keys()])].map((key) => {
    const part = partOf(node, key, entries.get(key), plan, path);
    return { ...part, key, fromKey: entries.has(key) ? key : undefined, loose: Boolean(node.item) && !names.includes(key) };
  });
}

function partOf(node, step, wire, plan, path) {
  const child = node.children?.find(([name]) => name === step)?.[1];
  return plant(child ?? node.item ?? BOX, wire, plan, [...path, step]);
}

const branchOf = (spot, place, make) => {
  spot.branches ??= new Map();
  if (!spot.branches.has(place)) spot.branches.set(place, make());
  return spot.branches.get(place);
};

const SPOT_PLAN = { fill: true, layout: new Map() };

/** A new item of a list, or a new value of an object. */
export const newPart = (spot, step) => fill(partOf(spot.node, step, undefined, SPOT_PLAN, []));

/** Put back what stood there, or what can stand there without a decision. */
export function fill(spot) {
  const { kind, options, children = [] } = spot.node;
  if (kind === "text" || kind === "long_text") spot.kept ??= "";
  else if (kind === "constant") spot.kept ??= options[0].value;
  else if (isUnion(spot)) spot.kept ?? choose(spot, 0);
  else if (kind === "tuple") spot.kept ??= children.map(([at]) => newPart(spot, at));
  else if (isList(spot)) spot.kept ??= [];
  else if (isMap(spot)) spot.kept ??= plantMap(spot.node, new Map(), SPOT_PLAN, []);
  spot.now = spot.kept;
  return spot;
}

/** Let a union take another form; what was entered in the others stays with them. */
export function choose(spot, place) {
  const branch = spot.node.branches[place];
  const make = () => fill({ node: branch, from: undefined, now: undefined, error: "" });
  spot.kept = spot.now = branchOf(spot, place, make);
  const tag = isMap(spot.now) && spot.now.now.find((part) => part.key === spot.node.discriminator);
  if (tag) tag.now ??= branch.tags[0];
}

/** What was typed. Where nothing is typed nothing stands, unless it is a text that was there. */
export function type(spot, text) {
  const { node, from } = spot;
  const isText = node.kind === "text" || node.kind === "long_text";
  const none = from === undefined || mayLeave(spot) ? undefined : node.nullable && node.kind !== "json" ? null : "";
  if (from !== undefined && text === shownText(spot, from)) spot.now = from;
  else if (!text && (isText ? from === undefined : none !== "")) spot.now = none;
  else spot.now = typedWire(node, from, text);
}

/** Pick a value as it is. */
export const pick = (spot, wire) => (spot.now = sameWire(wire, spot.from) ? spot.from : wire);

/** The text of a spot in an input. */
export const shownText = ({ node }, wire) =>
  node.kind !== "json" || wire === undefined || wire?.$ === "json" ? textOf(wire) : boxText(wire);

/** May the key be left out? */
export const mayLeave = ({ key, node, loose }) => key !== undefined && !node.required && !loose;

/** Why what stands here cannot be sent. */
export function faultOf(spot) {
  if (spot.partial) return "This is not complete.";
  if (spot.now === undefined && spot.key === undefined) return "Nothing is entered here."; // an item cannot be left out
  return typedFault(spot.now);
}

/** Every spot that stands in the value now. @returns {Generator<Spot>} */
export function* spotsOf(spot) {
  yield spot;
  if (isUnion(spot) && spot.now) yield* spotsOf(spot.now);
  else if (Array.isArray(spot.now) && (isList(spot) || isMap(spot))) for (const part of spot.now) yield* spotsOf(part);
}

/** The spot at `path`, or the last one on the way there. */
export function spotAt(spot, [step, ...rest]) {
  if (isUnion(spot) && spot.now) return spotAt(spot.now, step === undefined ? [] : [step, ...rest]);
  if (step === undefined || spot.now == null || !(isList(spot) || isMap(spot))) return spot;
  const part = isMap(spot) ? spot.now.find((each) => each.key === step) : spot.now[step];
  return part ? spotAt(part, rest) : spot;
}
