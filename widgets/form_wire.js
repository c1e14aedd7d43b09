// A value as it travels (hitl_nb/_schema/_marks.py): plain JSON, and marks such as {"$": "integer", "text": "…"} for
// what JSON in a browser would damage. A mark is only shown and sent back here; nobody computes with it.

/** @typedef {any} Wire  undefined = nothing stands there */

/** Marks whose text is a literal in a JSON box, and marks that an edited text keeps. */
const WIRE_LITERALS = new Set(["integer", "float", "escaped", "number", "json"]);
const WIRE_KEPT = new Set(["decimal", "bytes", "date", "time", "datetime", "duration"]);

const isObject = (wire) => wire !== null && typeof wire === "object" && !Array.isArray(wire);
const isMark = (wire) => isObject(wire) && Object.hasOwn(wire, "$");

/** The `[key, part]` pairs of an object, in order. @returns {[string, Wire][] | undefined} undefined: it is none */
export function entriesOf(wire) {
  if (!isObject(wire)) return undefined;
  if (!isMark(wire)) return Object.entries(wire);
  return wire.$ === "object" ? wire.entries.map(([key, part]) => [textOf(key), part]) : undefined;
}

/** The object of `entries`. As a mark if JavaScript would drop, reorder or damage one of the keys. */
export function objectOf(entries) {
  const awkward = entries.some(([key]) => /^(\$|__proto__|\d+)$/.test(key) || stringOf(key) !== key);
  if (!awkward) return Object.fromEntries(entries);
  return { $: "object", entries: entries.map(([key, part]) => [stringOf(key), part]) };
}

/** A string as it travels: half a surrogate pair needs a mark. */
const stringOf = (text) => (/\p{Surrogate}/u.test(text) ? { $: "escaped", text: JSON.stringify(text) } : text);

/** Do two values look the same, to the last digit and the order of keys? */
export const sameWire = (a, b) => a === b || (a !== undefined && b !== undefined && boxText(a) === boxText(b));

/** A value as the text of a JSON box. */
export function boxText(wire, pad = "") {
  if (isMark(wire) && wire.$ !== "object") {
    if (WIRE_LITERALS.has(wire.$)) return wire.text;
    return JSON.stringify(wire.$ === "secret" || wire.$ === "opaque" ? wire : wire.text);
  }
  const part = (inner) => boxText(inner, `${pad}  `);
  if (Array.isArray(wire)) return boxBlock("[]", wire.map(part), pad);
  const parts = entriesOf(wire)?.map(([key, inner]) => `${JSON.stringify(key)}: ${part(inner)}`);
  return parts ? boxBlock("{}", parts, pad) : JSON.stringify(wire);
}

function boxBlock([open, close], parts, pad) {
  const line = open + parts.join(", ") + close;
  if (line.length < 80 && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${pad}  ${part}`).join(",\n")}\n${pad}${close}`;
}

/** A scalar as the text in an input. */
export function textOf(wire) {
  if (wire == null) return "";
  if (!isMark(wire)) return String(wire);
  return wire.$ === "escaped" ? JSON.parse(wire.text) : (wire.text ?? "");
}

/** What was typed into a control of `node`, where `from` stood. */
export function typedWire({ kind, exact }, from, text) {
  if (kind === "json" || kind === "secret") return { $: kind, text };
  if (isMark(from) && WIRE_KEPT.has(from.$)) return { ...from, text };
  if ((kind === "number" || kind === "integer") && !exact) return { $: "number", text };
  return stringOf(text);
}

/** Why a typed value cannot be sent; empty if it can. Everything else is judged by the kernel. */
export function typedFault(wire) {
  if (!isMark(wire) || !["number", "decimal", "json"].includes(wire.$)) return "";
  if (!wire.text.trim()) return "Nothing is entered here.";
  if (wire.$ !== "json") return NUMBER.test(wire.text.trim()) ? "" : "This is no number.";
  try {
    // Python's JSON has three words more than JavaScript's.
    JSON.parse(wire.text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (text) => (text[0] === '"' ? text : "0")));
    return "";
  } catch (error) {
    return `This is no JSON: ${error.message}`;
  }
}

const NUMBER = /^([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf(inity)?))$/i;
