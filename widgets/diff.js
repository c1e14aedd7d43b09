// A change to a text, hunk by hunk: each is taken, left or edited. What is the same is folded, and can be unfolded.

import { drawContext } from "./context.js";
import { arrange, div, h, uid, write } from "./kit.js";

/**
 * @typedef {[look: string, text: string][]} DiffLine
 * @typedef {{ same: boolean, first: [number, number], gone: DiffLine[], new: DiffLine[], text: string | null }} DiffBlock
 * @typedef {boolean | string} DiffChoice  taken, left, or what stands there instead
 * @typedef {{ rows: any[], blocks: DiffBlock[] }} DiffProps
 * @typedef {{ choices: DiffChoice[] }} DiffDraft
 */

const DIFF_AROUND = 3; // lines of what is the same, beside a change

/** @param {DiffProps} props */
const diffChanges = ({ blocks }) => blocks.filter((block) => !block.same);
/** @param {DiffChoice} choice @param {DiffProps} props */
const diffAll = (choice, props) => ({ choices: diffChanges(props).map(() => choice) });

/** @type {import("./frame.js").Card} */
export default {
  seed: (props) => diffAll(true, props),
  resume: (props, kept) => (kept.choices?.length === diffChanges(props).length ? kept : diffAll(true, props)),
  answer: ({ choices }) => ({ choices }),
  confirm(label, { choices }) {
    const taken = choices.filter((/** @type {DiffChoice} */ choice) => choice !== false).length;
    return taken === choices.length ? label : `${label} ${taken} of ${choices.length} changes`;
  },
  quiet: [
    (/** @type {DiffDraft} */ { choices }, props) => choices.length > 1 && choices.some(Boolean) && ["Leave all", diffAll(false, props)],
    (/** @type {DiffDraft} */ { choices }, props) => choices.length > 1 && choices.includes(false) && ["Take all", diffAll(true, props)],
  ],
  draw(body, change) {
    const context = drawContext();
    const list = div("hitl-diff");
    body.append(context.el, list);
    /** @type {DiffProps | undefined} */
    let drawn;
    /** @type {DiffDraft | undefined} */
    let now;
    /** @type {{ el: HTMLElement, update: (choice: DiffChoice | undefined) => void }[]} */
    let changes = [];

    const choose = (/** @type {number} */ at, /** @type {DiffChoice} */ choice) => {
      if (now) change({ choices: now.choices.map((each, place) => (place === at ? choice : each)) });
    };
    const build = (/** @type {DiffProps} */ props) => {
      const total = diffChanges(props).length;
      let at = 0;
      changes = [];
      const els = props.blocks.map((block, place) => {
        if (block.same) return diffSame(block, place === 0, place === props.blocks.length - 1);
        const mine = at++;
        const made = diffChange(block, mine, total, (choice) => choose(mine, choice));
        changes.push(made);
        return made.el;
      });
      arrange(list, els.length ? els : [h("p", { class: "hitl-help", text: "Nothing is changed." })]);
    };
    return (props, draft) => {
      context.update(props.rows);
      if (JSON.stringify(drawn?.blocks) !== JSON.stringify(props.blocks)) build(props);
      drawn = props;
      now = draft;
      changes.forEach(({ update }, at) => update(draft?.choices[at]));
    };
  },
};

/** @param {string} sign @param {number | null} old @param {number | null} now @param {DiffLine} line */
function diffLine(sign, old, now, line) {
  const parts = line.map(([look, text]) =>
    look === "end" ? h("i", { text: " (no line end)" }) : h("span", { class: look && `hitl-look-${look}`, text }),
  );
  const number = (/** @type {number | null} */ value) => h("span", { class: "hitl-diff-number", "aria-hidden": "true", text: value ?? "" });
  const spoken = { "+": "added: ", "-": "removed: " }[sign];
  const says = spoken ? [h("span", { class: "hitl-spoken", text: spoken })] : [];
  const mark = h("span", { class: "hitl-diff-sign", "aria-hidden": "true", text: sign });
  return h("div", { class: "hitl-diff-line", "data-sign": sign }, number(old), number(now), mark, ...says, h("code", {}, ...parts));
}

/** @param {DiffBlock} block @param {boolean} first @param {boolean} last */
function diffSame(block, first, last) {
  const lines = block.new.map((line, at) => diffLine(" ", block.first[0] + at, block.first[1] + at, line));
  const [head, tail] = [first ? 0 : DIFF_AROUND, last ? 0 : DIFF_AROUND];
  const el = div("hitl-diff-same", ...lines);
  const folded = lines.length - head - tail;
  if (folded < 2) return el;
  const hidden = lines.slice(head, lines.length - tail);
  const open = h("button", { type: "button", class: "hitl-link", text: `Show ${folded} lines that stay` });
  hidden.forEach((line) => (line.hidden = true));
  open.addEventListener("click", () => {
    hidden.forEach((line) => (line.hidden = false));
    open.remove();
  });
  hidden[0].before(open);
  return el;
}

/**
 * @param {DiffBlock} block
 * @param {number} at
 * @param {number} total
 * @param {(choice: DiffChoice) => void} choose
 */
function diffChange(block, at, total, choose) {
  const [id, boxId] = [uid(), uid()];
  const box = h("input", { type: "checkbox", class: "hitl-box", id });
  const name = h("label", { for: id, text: `Change ${at + 1} of ${total}` });
  const edit = h("button", { type: "button", class: "hitl-link", hidden: block.text === null });
  const gone = block.gone.map((line, place) => diffLine("-", block.first[0] + place, null, line));
  const came = div("hitl-diff-new", ...block.new.map((line, place) => diffLine("+", null, block.first[1] + place, line)));
  const text = h("textarea", { id: boxId, class: "hitl-input", spellcheck: "false", hidden: true });
  text.ariaLabel = `Change ${at + 1} of ${total}, edited`;
  const head = div("hitl-diff-head", box, name, edit);
  const el = h("section", { class: "hitl-diff-change", "aria-label": `Change ${at + 1}` }, head, ...gone, came, text);
  /** @type {DiffChoice | undefined} */
  let now;
  box.addEventListener("change", () => choose(box.checked));
  edit.addEventListener("click", () => {
    const begins = typeof now !== "string";
    choose(begins ? (block.text ?? "") : true);
    (begins ? text : edit).focus();
  });
  text.addEventListener("input", () => choose(text.value));
  return {
    el,
    update(/** @type {DiffChoice | undefined} */ choice) {
      now = choice;
      const edited = typeof choice === "string";
      box.checked = choice !== false;
      box.disabled = edited;
      el.toggleAttribute("data-left", choice === false);
      write(name, `Change ${at + 1} of ${total}${choice === false ? ", left out" : ""}`);
      text.hidden = !edited;
      came.hidden = edited;
      write(edit, edited ? "Take it as proposed" : "Edit");
      if (!edited) return;
      if (text.value !== choice) text.value = choice;
      text.rows = Math.min(Math.max(choice.split("\n").length, 2), 24);
    },
  };
}
