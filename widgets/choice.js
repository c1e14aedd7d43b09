// One or several of a few options, or of many with a filter. The keys 1 to 9 pick while nobody is typing; where one key
// decides, each option is a button, and 1 to 9 and A to Z press them.

import { drawContext } from "./context.js";
import { h, named, write, writeOrHide } from "./kit.js";
import { drawOptions } from "./options.js";
import { keyAt, oneKey, placeOf, rests } from "./pace.js";

/**
 * @typedef {{
 *   rows: any[], columns?: string[], options: { label: string, note: string, cells?: string[] }[], multiple: boolean, min: number | null, max: number | null, keys?: boolean,
 * }} ChoiceProps
 * @typedef {{ chosen: number[], wrong?: boolean }} ChoiceDraft
 */

const CHOICE_TYPED = "input:not([type=radio], [type=checkbox]), textarea, select";
const CHOICE_FEW = 5; // more than these get a filter

/** @type {import("./frame.js").Card} */
export default {
  seed: () => ({ chosen: [] }),
  keep: ({ chosen }) => (chosen.length ? { chosen } : undefined),
  answer: ({ chosen }) => ({ chosen: [...chosen].sort((a, b) => a - b) }),
  check: ({ chosen }, props) => {
    const [least, most] = choiceLimits(props);
    if (chosen.length >= least && chosen.length <= most) return undefined;
    return { error: choiceWords(props), draft: { chosen, wrong: true } };
  },
  confirm: (label, { chosen }, { multiple, options, keys }) =>
    keys ? "" : multiple ? `${label} ${chosen.length} of ${options.length}` : label,
  draw(body, change, { el, confirm }) {
    const by = el.getAttribute("aria-labelledby") ?? "";
    const context = drawContext();
    const filter = named(h("input", { class: "hitl-input", type: "search", placeholder: "Filter" }), "Filter", by);
    const asked = h("span", { class: "hitl-count" });
    const list = h("div", { class: "hitl-choices" });
    body.append(context.el, h("div", { class: "hitl-tools" }, asked, filter), list);
    /** @type {ReturnType<typeof drawOptions> | undefined} */
    let options;
    /** @type {[ChoiceProps | undefined, ChoiceDraft | undefined]} */
    let last = [undefined, undefined];
    const take = (/** @type {number} */ at, /** @type {boolean} */ on) => {
      const [props, draft] = last;
      const others = props?.multiple ? (draft?.chosen ?? []).filter((each) => each !== at) : [];
      change({ chosen: on ? [...others, at] : others });
    };
    const press = (/** @type {number} */ at) => {
      if (rests(el)) return;
      change({ chosen: [at] });
      confirm();
    };
    oneKey(el, (key) => {
      const at = placeOf(key);
      const there = last[0]?.keys === true && choiceShown(last[0].options[at], filter.value);
      if (there && !body.matches(":disabled")) press(at);
      return there;
    });
    el.addEventListener("keydown", (event) => {
      const at = Number(event.key) - 1;
      const [props, draft] = last;
      const typing = /** @type {Element} */ (event.target).matches(CHOICE_TYPED);
      const other = typing || event.ctrlKey || event.metaKey || event.altKey || body.matches(":disabled");
      if (other || !props || props.keys || !draft || !(at in props.options) || at >= 9) return;
      take(at, !props.multiple || !draft.chosen.includes(at));
    });
    const redraw = () => {
      const [props, draft] = last;
      if (!props || !options) return;
      const shown = props.options.map((option, at) => ({
        ...option,
        hint: at < 9 || props.keys ? keyAt(at) : "",
        hidden: !choiceShown(option, filter.value),
      }));
      options.update(shown, (at) => draft?.chosen.includes(at) ?? false, props.columns);
    };
    filter.addEventListener("input", redraw);
    return (props, draft) => {
      last = [props, draft];
      context.update(props.rows);
      options ??= drawOptions(props.keys ? "button" : props.multiple ? "checkbox" : "radio", by, props.keys ? press : take);
      if (!options.el.isConnected) list.append(options.el);
      list.toggleAttribute("data-wrong", draft?.wrong === true);
      write(asked, choiceWords(props));
      filter.hidden = props.options.length <= CHOICE_FEW;
      redraw();
    };
  },
};

/** Is an option among those that are looked for? @param {ChoiceProps["options"][0] | undefined} option @param {string} filter */
const choiceShown = (option, filter) =>
  option !== undefined &&
  [option.label, option.note, ...(option.cells ?? [])].join("\n").toLowerCase().includes(filter.trim().toLowerCase());

/** @param {ChoiceProps} props */
const choiceLimits = ({ multiple, min, max, options }) =>
  multiple ? [min ?? 0, max ?? options.length] : [min ?? 1, 1];

/** @param {ChoiceProps} props */
function choiceWords(props) {
  if (props.keys) return "Press one, or its key: it is sent at once.";
  const [least, most] = choiceLimits(props);
  const all = most >= props.options.length;
  if (least === most) return least === 1 ? "Choose one." : `Choose exactly ${least}.`;
  if (least === 0) return all ? "Choose any." : `Choose up to ${most}.`;
  return all ? `Choose at least ${least}.` : `Choose ${least} to ${most}.`;
}
