// The words below a control: what the schema says about it.

import { boxText, textOf } from "./wire.js";

const HELP_LIMITS =
  "minimum exclusive_minimum maximum exclusive_maximum step min_length max_length unique pattern".split(" ");

/** @param {Record<string, any>} node */
export function helpOf(node) {
  const { kind, description, item, note, default: given } = node;
  const limits = HELP_LIMITS.filter((name) => name in node && kind !== "tuple").map(
    (name) => `${name.replace("_", " ")} ${textOf(node[name])}`,
  );
  const shown = typeof given === "string" ? given : boxText(given ?? "");
  if (!["", '""', "[]", "{}"].includes(shown) && kind !== "secret") limits.push(`default ${shown}`);
  const inner = item && (kind === "list" || kind === "dict") && helpOf({ ...item, default: null });
  return [description, limits.join(" · "), note, inner].filter(Boolean).join("\n");
}
