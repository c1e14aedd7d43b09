// A value as it travels (hitl_nb/_schema/_marks.py): plain JSON, and marks such as {"$": "integer", "text": "…"} for
// what a browser would damage. Marks are only shown and sent back. undefined: nothing is there.

/**
 * @typedef {any} Wire  JSON, a mark, or undefined: its kinds are told apart here and nowhere else
 * @typedef {{ $: string, text: string, entries?: [Wire, Wire][] }} Mark
 * @typedef {[string, Wire]} Pair
 */

const WIRE_LITERALS = new Set(["integer", "float", "escaped", "number", "json"]); // their text is JSON
const WIRE_KEPT = new Set(["decimal", "bytes", "date", "time", "datetime", "duration"]); // and so they stay when edited

/** @param {Wire} wire */
const isObject = (wire) => wire !== null && typeof wire === "object" && !Array.isArray(wire);
/** @param {Wire} wire @returns {wire is Mark} */
const isMark = (wire) => isObject(wire) && Object.hasOwn(wire, "$");

/**
 * The `[key, part]` pairs of an object, in order; undefined if it is none.
 * @param {Wire} wire
 * @returns {Pair[] | undefined}
 */
export function entriesOf(wire) {
  if (!isMark(wire)) return isObject(wire) ? Object.entries(wire) : undefined;
  return wire.entries?.map(([key, part]) => [textOf(key), part]);
}

/**
 * The object of `entries`; a mark if JavaScript would drop, reorder or damage one of the keys.
 * @param {Pair[]} entries
 */
export function objectOf(entries) {
  const plain = entries.every(([key]) => !/^(\$|__proto__|\d+)$/.test(key) && stringOf(key) === key);
  if (plain) return Object.fromEntries(entries);
  return { $: "object", entries: entries.map(([key, part]) => [stringOf(key), part]) };
}

/** Half a surrogate pair needs a mark. @param {string} text */
const stringOf = (text) => (/\p{Surrogate}/u.test(text) ? { $: "escaped", text: JSON.stringify(text) } : text);

/** Do two values look the same, to the last digit and the order of keys? @param {Wire} a @param {Wire} b */
export const sameWire = (a, b) => a === b || (a !== undefined && b !== undefined && boxText(a) === boxText(b));

/** A value as the text of a JSON box. @param {Wire} wire @returns {string} */
export function boxText(wire, pad = "\n") {
  const inner = `${pad}  `;
  const block = (/** @type {string} */ open, /** @type {string[]} */ parts, /** @type {string} */ close) => {
    const line = open + parts.join(", ") + close;
    return line.length < 80 && !line.includes("\n") ? line : open + inner + parts.join(`,${inner}`) + pad + close;
  };
  if (Array.isArray(wire))
    return block(
      "[",
      wire.map((/** @type {Wire} */ part) => boxText(part, inner)),
      "]",
    );
  const parts = (isMark(wire) ? wire.entries : entriesOf(wire))?.map(
    ([key, part]) => `${keyText(key)}: ${boxText(part, inner)}`,
  );
  if (parts) return block("{", parts, "}");
  if (WIRE_LITERALS.has(wire?.$)) return wire.text;
  return JSON.stringify(isMark(wire) && wire.$ !== "secret" && wire.$ !== "opaque" ? wire.text : wire);
}

/** A key as JSON text; one that hides something is written out by the kernel. @param {Wire} key @returns {string} */
const keyText = (key) => (isMark(key) && key.$ === "escaped" ? key.text : JSON.stringify(textOf(key)));

/** A scalar as the text in an input. @param {Wire} wire @returns {string} */
export function textOf(wire) {
  if (!isMark(wire)) return String(wire ?? "");
  return wire.$ === "escaped" ? JSON.parse(wire.text) : (wire.text ?? "");
}

/**
 * What was typed into a control of a node, where `from` stood.
 * @param {{ kind: string, exact?: boolean }} node
 * @param {Wire} from
 * @param {string} text
 * @returns {Wire}
 */
export function typedWire({ kind, exact }, from, text) {
  if (kind === "json" || kind === "secret") return { $: kind, text };
  if (WIRE_KEPT.has(from?.$)) return { ...from, text };
  return (kind === "number" || kind === "integer") && !exact ? { $: "number", text } : stringOf(text);
}

/** Why a value cannot be sent, or nothing; everything else is for the kernel to judge. @param {Wire} wire */
export function typedFault(wire) {
  if (!["number", "decimal", "json"].includes(wire?.$)) return "";
  const text = wire.text.trim();
  if (!text) return "Nothing is entered here.";
  if (wire.$ !== "json") return WIRE_NUMBER.test(text) ? "" : "This is not a number.";
  try {
    // Python's JSON has three words more than JavaScript's; they keep their length, so that a place is a place.
    const asNumber = (/** @type {string} */ part) => (part[0] === '"' ? part : "0".padEnd(part.length));
    JSON.parse(wire.text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, asNumber));
    return "";
  } catch (error) {
    const [, line, column] = /line (\d+) column (\d+)/.exec(/** @type {Error} */ (error).message) ?? [];
    return `This is not JSON: ${line ? `look at line ${line}, character ${column}` : "a bracket or a quote may be missing"}.`;
  }
}

const WIRE_NUMBER = /^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf(inity)?)$/i;
