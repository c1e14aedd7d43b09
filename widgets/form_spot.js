// The value as the person has it: a tree of spots, one for each place, with what was proposed there and what stands
// there now. What is sent is the difference.

import { boxText, entriesOf, sameWire, textOf, typedFault, typedWire } from "./wire.js";

// A spot has a `node` of the form, a wire `from`, and `now`: undefined (nothing there), null, a wire, the spots inside, or
// the spot of a union's branch; `kept` is what that was before it was null or left out. A part has a `fromKey`, where it
// stood (undefined: it is new), and in an object a `key`, which may change if it is `loose`.

export const isList = ({ node }) => ["list", "table", "tuple"].includes(node.kind);
export const isMap = ({ node }) => node.kind === "object" || node.kind === "dict";
export const isUnion = ({ node }) => node.kind === "union";
export const isLeaf = (spot) => !isList(spot) && !isMap(spot) && !isUnion(spot);
export const isText = ({ node }) => node.kind === "text" || node.kind === "long_text";

/** The spot for `wire` and all that is in it; if `plan.fill`, also for what needs no decision. */
export function plant(node, wire, plan, path = []) {
  const spot = { node, from: wire, now: wire };
  const fills = plan.fill && node.required && (!isLeaf(spot) || node.kind === "constant");
  if (wire === undefined) return fills ? fill(spot) : spot;
  if (wire === null && node.nullable) return spot;
  const place = plan.layout?.get(JSON.stringify(path));
  const open = isUnion(spot) ? place != null : isList(spot) ? Array.isArray(wire) : !isMap(spot) || entriesOf(wire);
  if (place === null || !open) spot.node = { ...node, kind: "json" };
  else if (isUnion(spot)) (spot.branches = [])[place] = spot.now = plant(node.branches[place], wire, plan, path);
  else if (isList(spot)) spot.now = wire.map((part, at) => ({ ...partOf(node, at, part, plan, path), fromKey: at }));
  else if (isMap(spot)) spot.now = entryParts(node, entriesOf(wire), plan, path);
  spot.kept = spot.now;
  return spot;
}

function entryParts(node, entries, plan, path) {
  const fixed = node.children?.map(([name]) => name) ?? [];
  const wires = new Map(entries);
  return [...new Set([...fixed, ...wires.keys()])].map((key) => {
    const loose = node.item !== undefined && !fixed.includes(key);
    const part = partOf(node, key, wires.get(key), plan, path);
    return { ...part, key, fromKey: wires.has(key) ? key : undefined, loose };
  });
}

const SPOT_BOX = { kind: "json", required: false };

function partOf({ children = [], item = SPOT_BOX }, step, wire, plan, path) {
  const [, child] = children.find(([name]) => name === step) ?? [step, item];
  return plant(child, wire, plan, [...path, step]);
}

export const newPart = ({ node }, step) => fill(partOf(node, step, undefined, { fill: true }, []));

/** Put back what stood there, or what can stand there without a decision. */
export function fill(spot) {
  const { kind, options, children = [] } = spot.node;
  if (isText(spot)) spot.kept ??= "";
  else if (kind === "constant") spot.kept ??= options[0].value;
  else if (isUnion(spot)) spot.kept ?? choose(spot, 0);
  else if (isList(spot)) spot.kept ??= kind === "tuple" ? children.map(([at]) => newPart(spot, at)) : [];
  else if (isMap(spot)) spot.kept ??= entryParts(spot.node, [], { fill: true }, []);
  spot.now = spot.kept;
  return spot;
}

/** Let a union have another form; what was entered in the others stays with them. */
export function choose(spot, place) {
  const { branches, discriminator } = spot.node;
  spot.branches ??= [];
  spot.kept = spot.now = spot.branches[place] ??= fill({ node: branches[place], from: undefined, now: undefined });
  const tag = isMap(spot.now) && spot.now.now.find(({ key }) => key === discriminator);
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

export const shownText = ({ node }, wire) =>
  node.kind === "json" && wire !== undefined && wire?.$ !== "json" ? boxText(wire) : textOf(wire);

export const mayLeave = ({ key, node, loose }) => key !== undefined && !node.required && !loose;

/** What is wrong here: what the kernel says, or what can be seen without it. */
export function wrongWith(spot) {
  if (spot.error || spot.now === spot.from) return spot.error ?? "";
  const keys = (isMap(spot) && spot.now?.map(({ key }) => key)) || [];
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  return twice === undefined ? typedFault(spot.now) : `The key "${twice}" is there twice.`;
}

/** Whether anything cannot be sent; each spot then says so. */
export function findFaults(root) {
  const faulty = [...spotsOf(root)].filter((spot) => {
    if (spot.partial) spot.error = "This is not complete.";
    // An item cannot be left out.
    else if (spot !== root && spot.now === undefined && spot.key === undefined) spot.error = "Nothing is entered here.";
    return wrongWith(spot);
  });
  return faulty.length > 0;
}

export function* spotsOf(spot) {
  yield spot;
  if (spot.now != null && !isLeaf(spot)) for (const part of [spot.now].flat()) yield* spotsOf(part);
}

/** The spot at `path`, or the last one on the way there. */
export function spotAt(spot, path) {
  if (isUnion(spot) && spot.now) return spotAt(spot.now, path);
  const part = !isLeaf(spot) && spot.now?.find((each, at) => path[0] === (isMap(spot) ? each.key : at));
  return part ? spotAt(part, path.slice(1)) : spot;
}
