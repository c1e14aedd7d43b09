// The value as the person has it: a tree of spots, one for each place, with what was proposed there and what stands
// there now. All views of a form share the tree; what is sent is the difference (form_edits.js).

import { boxText, entriesOf, sameWire, textOf, typedFault, typedWire } from "./form_wire.js";

/**
 * @typedef {{
 *   node: any, from: any, now: any, kept?: any, branches?: Spot[], key?: string, fromKey?: string | number,
 *   loose?: boolean, partial?: boolean, picked?: boolean, error?: string,
 * }} Spot
 * `node` of the form (hitl_nb/_schema/_node.py); `from` a wire; `now` nothing (undefined), null, a wire, the spots inside,
 * or the spot of a union's branch; `kept` what it was before it was null or left out; `fromKey` where a part stood
 * (undefined: it is new), `key` its key now, which is free to change if it is `loose`.
 */

export const isList = ({ node }) => ["list", "table", "tuple"].includes(node.kind);
export const isMap = ({ node }) => node.kind === "object" || node.kind === "dict";
export const isUnion = ({ node }) => node.kind === "union";
export const isLeaf = (spot) => !isList(spot) && !isMap(spot) && !isUnion(spot);
const isText = ({ node }) => node.kind === "text" || node.kind === "long_text";

/**
 * The spot for `wire` and all that is in it.
 * @param {{ fill?: boolean, layout?: Map<string, number | null> }} plan  `fill`: with what needs no decision
 * @returns {Spot}
 */
export function plant(node, wire, plan, path = []) {
  const spot = { node, from: wire, now: wire };
  if (wire === undefined) {
    const fills = plan.fill && node.required && (!isLeaf(spot) || node.kind === "constant");
    return fills ? fill(spot) : spot;
  }
  if (wire === null && node.nullable) return spot;
  const place = plan.layout?.get(JSON.stringify(path));
  const open = isUnion(spot) ? place != null : isList(spot) ? Array.isArray(wire) : !isMap(spot) || entriesOf(wire);
  if (place === null || !open) spot.node = { ...node, kind: "json" };
  else if (isUnion(spot)) (spot.branches = [])[place] = spot.now = plant(node.branches[place], wire, plan, path);
  else if (isList(spot)) spot.now = wire.map((part, at) => ({ ...partOf(node, at, part, plan, path), fromKey: at }));
  else if (isMap(spot)) spot.now = entryParts(node, new Map(entriesOf(wire)), plan, path);
  spot.kept = spot.now;
  return spot;
}

function entryParts(node, entries, plan, path) {
  const names = new Set(node.children?.map(([name]) => name));
  return [...new Set([...names, ...entries.keys()])].map((key) => {
    const fromKey = entries.has(key) ? key : undefined;
    const loose = node.item !== undefined && !names.has(key);
    return { ...partOf(node, key, entries.get(key), plan, path), key, fromKey, loose };
  });
}

const SPOT_BOX = { kind: "json", title: "", required: false };

function partOf({ children = [], item = SPOT_BOX }, step, wire, plan, path) {
  const [, child] = children.find(([name]) => name === step) ?? [step, item];
  return plant(child, wire, plan, [...path, step]);
}

/** A new item, or a new value of an object. */
export const newPart = ({ node }, step) => fill(partOf(node, step, undefined, { fill: true }, []));

/** Put back what stood there, or what can stand there without a decision. */
export function fill(spot) {
  const { kind, options, children = [] } = spot.node;
  if (isText(spot)) spot.kept ??= "";
  else if (kind === "constant") spot.kept ??= options[0].value;
  else if (isUnion(spot)) spot.kept ?? choose(spot, 0);
  else if (isList(spot)) spot.kept ??= kind === "tuple" ? children.map(([at]) => newPart(spot, at)) : [];
  else if (isMap(spot)) spot.kept ??= entryParts(spot.node, new Map(), { fill: true }, []);
  spot.now = spot.kept;
  return spot;
}

/** Let a union have another form; what was entered in the others stays with them. */
export function choose(spot, place) {
  const { branches, discriminator } = spot.node;
  spot.branches ??= [];
  spot.kept = spot.now = spot.branches[place] ??= fill({ node: branches[place], from: undefined, now: undefined });
  const tag = isMap(spot.now) && spot.now.now.find((part) => part.key === discriminator);
  if (tag) tag.now ??= branches[place].tags[0];
}

/** Take what was typed. Where nothing is typed nothing stands, unless a text stood there. */
export function type(spot, text) {
  const { node, from } = spot;
  const none = from === undefined || mayLeave(spot) ? undefined : node.nullable && node.kind !== "json" ? null : "";
  if (from !== undefined && text === shownText(spot, from)) spot.now = from;
  else if (!text && (isText(spot) ? from === undefined : none !== "")) spot.now = none;
  else spot.now = typedWire(node, from, text);
}

export const pick = (spot, wire) => (spot.now = sameWire(wire, spot.from) ? spot.from : wire);

/** What the control of a leaf shows. */
export const shownText = ({ node }, wire) =>
  node.kind === "json" && wire !== undefined && wire?.$ !== "json" ? boxText(wire) : textOf(wire);

/** May the key be left out? */
export const mayLeave = ({ key, node, loose }) => key !== undefined && !node.required && !loose;

/** What is wrong here: what the kernel says, or what can be seen without it. */
export function wrongWith(spot) {
  if (spot.error || spot.now === spot.from) return spot.error ?? "";
  const keys = isMap(spot) && spot.now ? spot.now.map((part) => part.key) : [];
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  return twice === undefined ? typedFault(spot.now) : `The key "${twice}" is there twice.`;
}

/** Whether anything cannot be sent; each spot says so. */
export function findFaults(root) {
  const faulty = [...spotsOf(root)].filter((spot) => {
    if (spot.partial) spot.error = "This is not complete.";
    // What has no key cannot be left out.
    else if (spot !== root && spot.now === undefined && spot.key === undefined) spot.error = "Nothing is entered here.";
    return wrongWith(spot);
  });
  return faulty.length > 0;
}

/** Every spot that stands in the value now. @returns {Generator<Spot>} */
export function* spotsOf(spot) {
  yield spot;
  if (spot.now == null || isLeaf(spot)) return;
  for (const part of isUnion(spot) ? [spot.now] : spot.now) yield* spotsOf(part);
}

/** The spot at `path`, or the last one on the way there. */
export function spotAt(spot, path) {
  if (isUnion(spot) && spot.now) return spotAt(spot.now, path);
  const [step, ...rest] = path;
  const part = !isLeaf(spot) && spot.now?.find((each, at) => step === (isMap(spot) ? each.key : at));
  return part ? spotAt(part, rest) : spot;
}
