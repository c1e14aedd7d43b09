// The words below a control: what the schema says about it.

import { boxText, textOf } from "./form_wire.js";

const HELP_UNITS = { list: " items", table: " rows", tuple: " items", dict: " keys" };
const HELP_FORMATS = ["date-time", "datetime", "date", "time", "password", "textarea"]; // the control says it

/** @param {Record<string, any>} node */
export function helpOf(node) {
  const { kind, description, note, item, format } = node;
  const inner = (kind === "list" || kind === "dict") && item ? helpOf({ ...item, default: null }) : "";
  const form = format && !HELP_FORMATS.includes(format) ? `Format: ${format}.` : "";
  return [description, [...limitsOf(node), form, note].filter(Boolean).join(" "), inner].filter(Boolean).join("\n");
}

function limitsOf({ kind, default: given, step, pattern, unique, ...node }) {
  const [least, most] = [node.minimum, node.maximum].map(textOf);
  const unit = HELP_UNITS[kind] ?? " characters";
  return [
    least && most ? `${least} to ${most}.` : least ? `At least ${least}.` : most ? `At most ${most}.` : "",
    node.exclusive_minimum == null ? "" : `More than ${textOf(node.exclusive_minimum)}.`,
    node.exclusive_maximum == null ? "" : `Less than ${textOf(node.exclusive_maximum)}.`,
    step == null ? "" : `A multiple of ${textOf(step)}.`,
    node.min_length ? `At least ${node.min_length}${unit}.` : "",
    node.max_length == null ? "" : `At most ${node.max_length}${unit}.`,
    unique ? "None twice." : "",
    pattern ? `Pattern: ${pattern}` : "",
    given == null || kind === "secret" ? "" : `Default: ${typeof given === "string" ? given || '""' : boxText(given)}`,
  ];
}
