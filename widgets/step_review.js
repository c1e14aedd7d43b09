// The steps of a plan, to be approved one by one; drawn from the first word the model writes.

import { fillRows, h, uid, write, writeOrHide } from "./kit.js";

/**
 * @typedef {{ label: string, checked: boolean, note: string | null }} Step
 * @typedef {{ steps: Step[] }} StepReviewProps
 * @typedef {boolean[]} StepChoice  one a step
 */

/**
 * The person's choice, or what the model proposes where there is none (yet).
 * @param {StepChoice | undefined} draft @param {Step[]} steps @returns {StepChoice}
 */
const stepChoice = (draft, steps) => steps.map((step, index) => draft?.[index] ?? step.checked);

/** @type {import("./frame.js").Card} */
export default {
  seed: ({ steps }) => stepChoice(undefined, steps),
  answer: (draft, { steps }) => ({ checked: stepChoice(draft, steps) }),
  confirm: (label, draft, { steps }) => {
    return `${label} ${stepChoice(draft, steps).filter(Boolean).length} of ${steps.length}`;
  },
  draw(body, change) {
    /** @type {StepChoice} */
    let choice = [];
    const toggle = (/** @type {number} */ index) => change(choice.map((on, at) => (at === index ? !on : on)));
    const all = (/** @type {boolean} */ on) => change(choice.map(() => on));
    const list = h("ol", { class: "hitl-steps", role: "list" });
    const count = h("span", { class: "hitl-count" });
    const tools = h(
      "div",
      { class: "hitl-tools" },
      count,
      stepButton("Select all", () => all(true)),
    );
    tools.append(stepButton("Select none", () => all(false)));
    body.append(tools, list);
    return ({ steps }, draft) => {
      choice = stepChoice(draft, steps);
      tools.hidden = steps.length < 2;
      write(count, `${steps.length} steps`);
      fillRows(
        list,
        steps,
        (index) => stepRow(() => toggle(index)),
        (row, step, at) => fillStep(row, step, choice[at], at),
      );
    };
  },
};

/** @param {string} text @param {() => void} onclick */
const stepButton = (text, onclick) => h("button", { type: "button", class: "hitl-link", text, onclick });

/** @param {() => void} onchange */
function stepRow(onchange) {
  const noteId = uid();
  const box = h("input", { type: "checkbox", class: "hitl-box", "aria-describedby": noteId, onchange });
  const label = h("span", { class: "hitl-step-label", dir: "auto" });
  const note = h("span", { class: "hitl-step-note", id: noteId, dir: "auto" });
  return h("li", { class: "hitl-step" }, h("label", { class: "hitl-step-line" }, box, label), note);
}

/** @param {any} row  as `stepRow` made it @param {Step} step @param {boolean} checked @param {number} at */
function fillStep(row, step, checked, at) {
  const [line, note] = row.children;
  const [box, label] = line.children;
  box.checked = checked;
  box.ariaLabel = step.label ? null : `Step ${at + 1}, without words yet`;
  row.dataset.checked = checked;
  write(label, step.label);
  writeOrHide(note, step.note);
}
