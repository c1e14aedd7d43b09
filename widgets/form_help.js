// The words below a control: what the schema says about it.

import { boxText, textOf } from "./wire.js";

const HELP_LIMITS = {
  minimum: "At least",
  exclusive_minimum: "More than",
  maximum: "At most",
  exclusive_maximum: "Less than",
  step: "In steps of",
  min_length: "Length at least",
  max_length: "Length at most",
  pattern: "Pattern",
};

/** @param {Record<string, any>} node */
export function helpOf(node) {
  const { kind, description, item, note, unique, default: given } = node;
  const limits = Object.entries(HELP_LIMITS).map(([name, words]) => name in node && `${words} ${textOf(node[name])}`);
  if (unique) limits.push("No item twice");
  const shown = typeof given === "string" ? given : boxText(given ?? "");
  if (!["", '""', "[]", "{}"].includes(shown) && kind !== "secret") limits.push(`Default ${shown}`);
  const inner = item && (kind === "list" || kind === "dict") && helpOf({ ...item, default: null });
  return [description, limits.filter(Boolean).join(" · "), note, inner].filter(Boolean).join("\n");
}
