// The cards that a run can draw. The linker writes this file anew, from the Python classes that are there.

/** @type {Map<string, import("./frame.js").Card>} our own, by name */
export const CARDS = new Map();

/** @type {Map<string, string>} those of other packages, each as the text of a module */
export const OTHERS = new Map();
