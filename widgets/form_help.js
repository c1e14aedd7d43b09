// The words below a control: what the schema says about it.

import { boxText, sameWire, textOf } from "./wire.js";

/** @type {[name: string, words: (limit: string, what: string) => string][]} */
const HELP_LIMITS = [
  ["minimum", (limit) => `at least ${limit}`],
  ["exclusive_minimum", (limit) => `more than ${limit}`],
  ["maximum", (limit) => `at most ${limit}`],
  ["exclusive_maximum", (limit) => `less than ${limit}`],
  ["step", (limit) => `in steps of ${limit}`],
  ["min_length", (limit, what) => `at least ${limit} ${what}${limit === "1" ? "" : "s"}`],
  ["max_length", (limit, what) => `at most ${limit} ${what}${limit === "1" ? "" : "s"}`],
  ["unique", () => "each only once"],
  ["pattern", (limit) => `of the form ${limit}`],
];

/** @param {import("./form_spot.js").FormNode} node @returns {string} */
export function helpOf(node) {
  const { kind, description, item, note, default: given } = node;
  // Boxes to tick, which say it themselves.
  const some = kind === "list" && node.unique && ["choice", "constant"].includes(item?.kind ?? "");
  const what = ["list", "table", "dict"].includes(kind) ? "item" : "character";
  const known = /** @type {Record<string, any>} */ (node);
  const said = HELP_LIMITS.filter(([name]) => name in node && kind !== "tuple" && !(some && name === "unique"));
  const limits = said.map(([name, words]) => words(textOf(known[name]), what));
  const yes = typeof given === "boolean" ? (given ? "yes" : "no") : given;
  const label = node.options?.find(({ value }) => sameWire(value, given))?.label;
  const shown = label ?? (typeof yes === "string" ? yes : boxText(yes ?? ""));
  if (!some && !["", '""', "[]", "{}"].includes(shown) && kind !== "secret") limits.push(`default ${shown}`);
  const inner = item && (kind === "list" || kind === "dict") && helpOf({ ...item, default: null });
  return [description, limits.join(" · "), note, inner].filter(Boolean).join("\n");
}
