// A queue of items: one key gives a label and shows the next. Everything that is pressed counts, in order, but for a key
// that is held down.

import { arrange, div, h, uid, write, writeOrHide } from "./kit.js";
import { LabelQueue } from "./label_queue.js";
import { drawTree } from "./tree.js";

/**
 * @typedef {import("./label_queue.js").Mark} Mark
 * @typedef {{ total: number, version: number, store: string }} LabelProps
 * @typedef {{ ready: boolean, version: number, who: string, log: any[], labelled: number, skipped: number, left: number, sure: boolean }} LabelDraft
 */

/** @type {Record<string, string>} */
const LABEL_SIGNS = { Backspace: "⌫" };

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ ready: false, version: -1, who: "", log: [], labelled: 0, skipped: 0, left: 0, sure: false }),
  answer: ({ version, who, log }) => ({ version, who, log }),
  check(draft) {
    if (!draft.ready) return { error: "The items are still on their way.", draft };
    if (draft.left === 0 || draft.sure) return undefined;
    const none = draft.left === 1 ? "1 item has no label yet" : `${labelNumber(draft.left)} items have no label yet`;
    return { error: `${none}. Confirm once more to hand in the others as they are.`, draft: { ...draft, sure: true } };
  },
  confirm(label, { ready, labelled, skipped, left }) {
    if (!ready) return label;
    const parts = [`${labelNumber(labelled)} labelled`];
    if (skipped) parts.push(`${labelNumber(skipped)} skipped`);
    if (left) parts.push(`${labelNumber(left)} left out`);
    return `${label}: ${parts.join(", ")}`;
  },
  draw(body, change, { el, ask }) {
    const part = labelParts(body);
    const queue = new LabelQueue(ask, () => update());
    /** @type {number[]} what is chosen of several, and not given yet */
    let chosen = [];
    let chosenAt = -1;
    let begun = false;
    /** @type {string | undefined} */
    let told;
    const open = () => !(/** @type {HTMLFieldSetElement} */ (body).disabled) && queue.ready;

    /** @param {() => boolean | void} act */
    const act = (act) => {
      if (!open()) return;
      const had = el.matches(":focus-within");
      if (act() === false) return;
      begun = true;
      update();
      if (!had) return;
      if (queue.at >= 0) part.stage.focus({ preventScroll: true });
      else /** @type {HTMLElement | null} */ (el.querySelector(".hitl-primary"))?.focus({ preventScroll: true });
    };
    const give = (/** @type {Mark} */ mark) => {
      const words = labelWords(mark, queue);
      if (!queue.mark(mark)) return false;
      chosen = [];
      write(part.said, `${words}. ${labelPlace(queue)}`);
    };
    const press = (/** @type {number} */ place) => {
      if (!queue.multi) return give([place]);
      if (!queue.item) return false;
      chosen = chosen.includes(place) ? chosen.filter((each) => each !== place) : [...chosen, place].sort((a, b) => a - b);
    };
    const undo = () => {
      const done = queue.undo();
      if (done) write(part.said, `Taken back. ${labelPlace(queue)}`);
      return done;
    };
    const openNote = () => {
      if (queue.at < 0) return;
      part.noteBox.hidden = false;
      part.note.value = queue.notes[queue.at] ?? "";
      part.note.focus();
    };
    /** Hide a box, and lead whoever is in it back to the item. @param {HTMLElement} box */
    const shut = (box) => {
      const had = box.contains(document.activeElement);
      box.hidden = true;
      update();
      if (had) part.stage.focus({ preventScroll: true });
    };
    const closeNote = (/** @type {boolean} */ keep) => {
      if (part.noteBox.hidden) return;
      if (keep && open()) queue.note(part.note.value.trim());
      shut(part.noteBox);
    };
    const openFilter = () => {
      part.filterBox.hidden = false;
      part.filter.value = queue.filter;
      part.filter.focus();
    };
    const find = () => {
      if (part.filter.value) queue.find(part.filter.value).then(() => part.stage.focus({ preventScroll: true }), labelNothing);
      else closeFilter();
    };
    const closeFilter = () => {
      if (queue.filter) queue.unfilter();
      shut(part.filterBox);
    };

    const key = (/** @type {KeyboardEvent} */ event) => {
      const name = event.key;
      if ((event.ctrlKey || event.metaKey) && name === "z") return act(undo), true;
      if (event.ctrlKey || event.metaKey || event.altKey) return false;
      // On a keyboard of another script the place of the key counts.
      const plain = event.code.replace(/^(Key|Digit|Numpad)/, "").toLowerCase();
      const known = (/** @type {string} */ key) => queue.labels.findIndex((label) => label.key === key);
      const place = /^[^\x20-\x7e]$/u.test(name) && known(name) < 0 ? known(plain) : known(name);
      const onButton = event.target instanceof HTMLButtonElement;
      if (place >= 0) act(() => press(place));
      else if (name === queue.keys.skip) act(() => give(false));
      else if (name === queue.keys.undo) act(undo);
      else if (name === queue.keys.note) openNote();
      else if (name === queue.keys.filter) openFilter();
      else if (name === "Enter" && queue.multi && !onButton) act(() => give(chosen));
      else if (name === "ArrowLeft") act(() => queue.move(-1));
      else if (name === "ArrowRight") act(() => queue.move(1));
      else return false;
      return true;
    };
    el.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.defaultPrevented || event.isComposing || event.repeat || !open() || !body.isConnected) return;
      // A key that comes as the card does was meant for what stood here before.
      if (labelTypes(event.target) || (!begun && el.hasAttribute("data-resting"))) return;
      if (key(event)) event.preventDefault();
    });
    part.skip.addEventListener("click", () => act(() => give(false)));
    part.give.addEventListener("click", () => act(() => give(chosen)));
    part.undo.addEventListener("click", () => act(undo));
    part.back.addEventListener("click", () => act(() => queue.move(-1)));
    part.on.addEventListener("click", () => act(() => queue.move(1)));
    part.noteOpen.addEventListener("click", openNote);
    part.filterOpen.addEventListener("click", openFilter);
    part.filterEnd.addEventListener("click", closeFilter);
    labelBox(part.note, () => closeNote(true), () => closeNote(false));
    part.note.addEventListener("blur", () => closeNote(true));
    labelBox(part.filter, find, closeFilter);

    const update = () => {
      if (queue.at !== chosenAt) chosen = /** @type {number[]} */ (queue.marks[(chosenAt = queue.at)] || []);
      const item = queue.item;
      write(part.place, labelPlace(queue));
      drawTree(part.tree, item?.tree ?? (queue.at >= 0 || !queue.ready ? [["em", {}, "Loading…"]] : labelDone(queue)));
      writeOrHide(part.warning, item?.warning);
      writeOrHide(part.before, item?.before);
      const note = queue.notes[queue.at];
      writeOrHide(part.noted, note && `Note: ${note}`);
      drawLabels(part, queue, queue.multi ? chosen : queue.marks[queue.at] || [], press, act);
      labelKey(part.skip, "Skip", queue.keys.skip);
      labelKey(part.undo, "Undo", queue.keys.undo);
      labelKey(part.noteOpen, "Note", queue.keys.note);
      labelKey(part.filterOpen, "Filter", queue.keys.filter);
      part.give.hidden = !queue.multi;
      labelKey(part.give, chosen.length ? "Go on" : "None of them", "Enter");
      part.skip.disabled = part.give.disabled = part.noteOpen.disabled = !item;
      part.undo.disabled = !queue.canUndo;
      drawFound(part, queue, act);
      const counts = queue.counts();
      labelProgress(part, queue, counts);
      part.guide.hidden = queue.guidelines.length === 0;
      if (part.guideTree.dataset.version !== String(queue.guidelines.length)) drawTree(part.guideTree, queue.guidelines);
      part.guideTree.dataset.version = String(queue.guidelines.length);
      writeOrHide(part.error, queue.error);
      if (!queue.ready) return;
      const { who, log } = queue;
      const draft = { ready: true, version: queue.version + log.length, who, log: [...log], ...counts, sure: false };
      const now = `${draft.version} ${log.length} ${counts.left}`;
      if (now !== told) change(((told = now), draft));
    };
    update();
    return (/** @type {LabelProps} */ props, /** @type {LabelDraft | undefined} */ draft) => {
      if (draft === undefined || props.total === 0) return;
      if (!queue.ready || (queue.settled && props.version > queue.version)) queue.open(props.store);
    };
  },
};

const labelNothing = () => {};
/** @param {EventTarget | null} target */
const labelTypes = (target) => target instanceof Element && target.matches("input, textarea, select");
/** @param {number} count */
const labelNumber = (count) => count.toLocaleString("en-US");

/** @param {LabelQueue} queue */
function labelPlace(queue) {
  if (!queue.ready) return "";
  const among = queue.filter ? ` found with “${queue.filter}”` : "";
  if (queue.at < 0) return queue.filter ? `No item without a label${among}` : "All items are labelled";
  const mark = queue.marks[queue.at];
  const has = mark === null ? "" : ` · ${labelWords(mark, queue)}`;
  return `Item ${labelNumber(queue.place)} of ${labelNumber(queue.total)}${among}${has}`;
}

/** @param {Mark} mark @param {LabelQueue} queue */
function labelWords(mark, queue) {
  if (!mark) return mark === false ? "skipped" : "no label";
  return mark.map((place) => queue.labels[place].word).join(", ") || "none of them";
}

/** @param {LabelQueue} queue @returns {any[]} */
function labelDone(queue) {
  if (queue.filter) return [["em", {}, "Nothing is left here. End the filter to go on."]];
  return [["em", {}, "Nothing is left. Confirm hands the labels in; Undo, or the arrows, lead back."]];
}

/** @param {HTMLElement} body */
function labelParts(body) {
  const button = (/** @type {string} */ look, /** @type {string} */ text = "") =>
    h("button", { type: "button", class: look, text });
  const [noteId, filterId, stageId] = [uid(), uid(), uid()];
  const part = {
    guideTree: div("hitl-tree hitl-queue-guide"),
    place: h("p", { class: "hitl-queue-place", id: stageId }),
    tree: h("div", { class: "hitl-tree hitl-queue-item", dir: "auto", "aria-live": "polite" }),
    warning: h("p", { class: "hitl-warning" }),
    before: h("p", { class: "hitl-queue-before", dir: "auto" }),
    noted: h("p", { class: "hitl-queue-before", dir: "auto" }),
    labels: div("hitl-queue-labels"),
    give: button("hitl-link"),
    skip: button("hitl-link"),
    undo: button("hitl-link"),
    noteOpen: button("hitl-link"),
    filterOpen: button("hitl-link"),
    back: button("hitl-link", "← Back"),
    on: button("hitl-link", "On →"),
    note: h("input", { type: "text", class: "hitl-input", id: noteId, autocomplete: "off", maxlength: 2000 }),
    filter: h("input", { type: "text", class: "hitl-input", id: filterId, autocomplete: "off" }),
    found: h("span", { role: "status" }),
    foundLabels: div("hitl-queue-all"),
    left: /** @type {number[]} */ ([]), // the items that its buttons are about
    filterEnd: button("hitl-link", "End the filter"),
    bar: h("progress", { class: "hitl-queue-bar", "aria-label": "Items done" }),
    far: h("span"),
    saved: h("span"),
    said: h("span", { class: "hitl-spoken", role: "status" }),
    error: h("p", { class: "hitl-error", role: "alert" }),
  };
  const guide = h("details", { class: "hitl-queue-guidelines", open: true }, h("summary", { text: "Guidelines" }), part.guideTree);
  const look = { class: "hitl-queue-stage", tabindex: "0", role: "group", "aria-labelledby": stageId, "data-enter": true };
  const stage = h("div", look, part.tree, part.warning, part.before, part.noted);
  const tools = div("hitl-tools", part.give, part.skip, part.undo, part.noteOpen, part.filterOpen, part.back, part.on);
  const noteBox = h("div", { class: "hitl-queue-box", hidden: true }, h("label", { for: noteId, text: "Note (Enter keeps it)" }), part.note);
  const find = h("label", { for: filterId, text: "Only items with this text (Enter finds them)" });
  const filterBox = h("div", { class: "hitl-queue-box", hidden: true }, find, part.filter, part.found, part.foundLabels, part.filterEnd);
  const progress = div("hitl-queue-far", part.bar, part.far, part.saved, part.said);
  body.append(guide, part.place, stage, part.labels, tools, noteBox, filterBox, part.error, progress);
  return { ...part, guide, stage, noteBox, filterBox };
}

/** A box of one line: Enter takes what was typed, Escape does not. @param {HTMLElement} box @param {() => void} take @param {() => void} leave */
function labelBox(box, take, leave) {
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    const act = { Enter: take, Escape: leave }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
}

/** A button with its key on it, unless it is called like that. @param {HTMLElement} button @param {string} text @param {string} key */
function labelKey(button, text, key, word = "") {
  const [words, sign] = button.children.length ? button.children : [h("span"), h("kbd", { "aria-hidden": "true" })];
  if (!words.parentElement) button.replaceChildren(words, sign);
  write(/** @type {HTMLElement} */ (words), text);
  writeOrHide(/** @type {HTMLElement} */ (sign), key === word ? "" : (LABEL_SIGNS[key] ?? key));
  if (key) button.setAttribute("aria-keyshortcuts", key);
}

/**
 * @param {ReturnType<typeof labelParts>} part
 * @param {LabelQueue} queue
 * @param {number[]} marked
 * @param {(place: number) => boolean | void} press
 * @param {(act: () => boolean | void) => void} act
 */
function drawLabels(part, queue, marked, press, act) {
  while (part.labels.children.length < queue.labels.length) {
    const place = part.labels.children.length;
    const onclick = () => act(() => press(place));
    part.labels.append(h("button", { type: "button", class: "hitl-queue-label", dir: "auto", onclick }));
  }
  queue.labels.forEach(({ word, key }, place) => {
    const button = /** @type {HTMLButtonElement} */ (part.labels.children[place]);
    labelKey(button, word, key, word);
    button.setAttribute("aria-pressed", String(marked.includes(place)));
    button.disabled = !queue.item;
  });
}

/**
 * @param {ReturnType<typeof labelParts>} part
 * @param {LabelQueue} queue
 * @param {(act: () => boolean | void) => void} act
 */
function drawFound(part, queue, act) {
  const left = queue.filter ? queue.unmarked() : [];
  const items = queue.total === 1 ? "1 item" : `${labelNumber(queue.total)} items`;
  write(part.found, queue.filter ? `${items}, ${labelNumber(left.length)} without a label` : "");
  part.left = left;
  const all = queue.labels.map((_, place) => {
    // The same buttons in every drawing: a press on one that is replaced meanwhile is lost, and so is the focus.
    const onclick = () => act(() => queue.all(part.left, [place]));
    return part.foundLabels.children[place] ?? h("button", { type: "button", class: "hitl-link", onclick });
  });
  arrange(part.foundLabels, all);
  part.foundLabels.hidden = left.length === 0;
  queue.labels.forEach(({ word }, place) => {
    const which = left.length === 1 ? "it" : `all ${labelNumber(left.length)}`;
    write(/** @type {HTMLElement} */ (all[place]), `Label ${which} ${word}`);
  });
}

/**
 * @param {ReturnType<typeof labelParts>} part
 * @param {LabelQueue} queue
 * @param {{ labelled: number, skipped: number, left: number }} counts
 */
function labelProgress(part, queue, { labelled, skipped, left }) {
  const [total, rate] = [queue.marks.length, queue.rate()];
  const bar = /** @type {HTMLProgressElement} */ (part.bar);
  bar.max = total || 1;
  bar.value = total - left;
  const parts = [`${labelNumber(labelled)} of ${labelNumber(total)} labelled`];
  if (skipped) parts.push(`${labelNumber(skipped)} skipped`);
  if (rate) parts.push(`${Math.round(rate)} a minute`);
  if (rate && left) parts.push(left / rate < 1 ? "less than a minute left" : `about ${Math.round(left / rate)} min left`);
  write(part.far, queue.ready ? parts.join(" · ") : "");
  write(part.saved, queue.log.length ? `${labelNumber(queue.log.length)} not saved yet` : queue.ready ? "all saved" : "");
}
