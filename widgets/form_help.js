// The words below a control: what the schema says about it.

import { boxText, textOf } from "./form_wire.js";

const HELP_UNITS = { list: "items", table: "rows", tuple: "items", dict: "keys" };

/** @param {Record<string, any>} node */
export function helpOf(node) {
  const { kind, description, item, note, pattern, unique, default: given } = node;
  const unit = HELP_UNITS[kind] ?? "characters";
  const limit = (name, words, after = "") => node[name] != null && `${words} ${textOf(node[name])}${after}.`;
  const limits = [
    limit("minimum", "At least"),
    limit("exclusive_minimum", "More than"),
    limit("maximum", "At most"),
    limit("exclusive_maximum", "Less than"),
    limit("step", "A multiple of"),
    limit("min_length", "At least", ` ${unit}`),
    limit("max_length", "At most", ` ${unit}`),
    unique && "No item twice.",
    pattern && `Pattern: ${pattern}`,
    given != null && kind !== "secret" && `Default: ${given && typeof given === "string" ? given : boxText(given)}`,
  ];
  const inner = item && (kind === "list" || kind === "dict") && helpOf({ ...item, default: null });
  return [description, limits.filter(Boolean).join(" "), note, inner].filter(Boolean).join("\n");
}
