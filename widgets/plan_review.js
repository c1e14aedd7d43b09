// A plan to put in order: its steps are ticked, moved, reworded and added, with the mouse or by keys alone.

import { drawContext } from "./context.js";
import { arrange, div, h, keepFocus, uid, write, writeOrHide } from "./kit.js";

/**
 * @typedef {{ label: string, checked: boolean, edit: boolean, note: string | null, steps: PlanStep[] | null }} PlanStep
 * @typedef {{ rows: any[], steps: PlanStep[], order: boolean, add: boolean }} PlanProps
 * @typedef {{ key: string, at: number | null, text: string | null, on: boolean, steps: PlanNode[] | null }} PlanNode
 *   `at`: its place among the steps as they were proposed (null: it is new), where `key` says under which it was;
 *   `text`: what it says where that is other
 * @typedef {{ steps: PlanNode[] }} PlanDraft
 * @typedef {{ node: PlanNode, step: PlanStep | null, list: PlanNode[], place: number, number: string, parent: PlanSpot | null }} PlanSpot
 */

const PLAN_KEYS =
  "Arrow keys go from step to step, Alt with them moves a step: up, down, right under the one above, left out again. " +
  "Space ticks, Enter rewords, Insert adds one behind, Delete takes a new one out.";

/** @param {PlanStep[]} steps @param {string} above @returns {PlanNode[]} */
const planNodes = (steps, above = "") =>
  steps.map(({ checked, steps: inner }, at) => {
    const key = `${above}${at}`;
    return { key, at, text: null, on: checked, steps: inner && planNodes(inner, `${key}.`) };
  });

/** Is this draft one of these steps? @param {any} nodes @param {PlanStep[]} steps @returns {boolean} */
function planFits(nodes, steps) {
  if (!Array.isArray(nodes)) return false;
  const here = [...planWalk(nodes, new Map())].filter(({ node }) => node.at !== null).map(({ node }) => node.key);
  return JSON.stringify(here.sort()) === JSON.stringify([...planKeyed(steps).keys()].sort());
}

/** The steps as they were proposed, by key. @param {PlanStep[]} steps @returns {Map<string, PlanStep>} */
function planKeyed(steps, above = "") {
  const pairs = steps.map((step, at) => [[`${above}${at}`, step], ...planKeyed(step.steps ?? [], `${above}${at}.`)]);
  return new Map(/** @type {[string, PlanStep][]} */ (pairs.flat()));
}

/**
 * Every step, with those below it.
 * @param {PlanNode[]} nodes @param {Map<string, PlanStep>} steps @param {PlanSpot | null} parent
 * @returns {Generator<PlanSpot>}
 */
function* planWalk(nodes, steps, parent = null) {
  for (const [place, node] of nodes.entries()) {
    const step = node.at === null ? null : (steps.get(node.key) ?? null);
    const number = `${parent ? `${parent.number}.` : ""}${place + 1}`;
    const spot = { node, step, list: nodes, place, number, parent };
    yield spot;
    if (node.steps) yield* planWalk(node.steps, steps, spot);
  }
}

/** Where a step was proposed: the key of the one above it. @param {string} key */
const planHome = (key) => key.slice(0, Math.max(0, key.lastIndexOf(".")));
/** Its number there. @param {string} key */
const planNumber = (key) => key.split(".").map((at) => Number(at) + 1).join(".");

/** @param {PlanDraft} draft @param {PlanProps} props */
const planSpots = (draft, { steps }) => [...planWalk(draft.steps, planKeyed(steps))];
/** What a step says now. @param {PlanSpot} spot */
const planText = ({ node, step }) => node.text ?? step?.label ?? "";
/** @param {PlanDraft} draft @param {PlanProps} props */
const planTouched = (draft, { steps }) => JSON.stringify(draft.steps) !== JSON.stringify(planNodes(steps));

/**
 * The steps that have stayed while others were moved around them: the longest part that is in order.
 * @param {PlanNode[]} nodes @param {string} home the key of the step that they belong to
 */
function planStayed(nodes, home) {
  const old = nodes.filter(({ at, key }) => at !== null && planHome(key) === home);
  /** @type {PlanNode[][]} */
  const chains = [];
  for (const [place, node] of old.entries()) {
    const before = chains.slice(0, place).filter((chain) => Number(chain[chain.length - 1].at) < Number(node.at));
    chains.push([...before.reduce((best, chain) => (chain.length > best.length ? chain : best), []), node]);
  }
  return new Set(chains.reduce((best, chain) => (chain.length >= best.length ? chain : best), []));
}

/** @type {import("./frame.js").Card} */
export default {
  seed: ({ steps }) => ({ steps: planNodes(steps) }),
  resume: ({ steps }, kept) => (planFits(kept.steps, steps) ? kept : { steps: planNodes(steps) }),
  answer: ({ steps }) => ({ steps }),
  confirm(label, draft, props) {
    const spots = planSpots(draft, props);
    return `${label} ${spots.filter(({ node }) => node.on).length} of ${spots.length} steps`;
  },
  check(draft, props) {
    const empty = planSpots(draft, props).find((spot) => !planText(spot).trim());
    return empty && { error: `Step ${empty.number} has no words. Write them, or take it back.`, draft };
  },
  quiet: [(draft, props) => planTouched(draft, props) && ["As proposed", { steps: planNodes(props.steps) }]],
  draw(body, change) {
    const context = drawContext();
    const count = h("span", { class: "hitl-count" });
    const tools = div("hitl-tools", count, planButton("Select all", () => all(true)), planButton("Select none", () => all(false)));
    const root = h("ol", { class: "hitl-plan-steps", role: "list" });
    const more = planButton("Add a step", () => act({ op: "add", key: "" }));
    const keysId = uid();
    const keys = h("p", { class: "hitl-help", id: keysId, text: PLAN_KEYS });
    const said = h("p", { class: "hitl-spoken", role: "status" });
    body.append(context.el, tools, root, more, keys, said);

    /** @type {Map<string, ReturnType<typeof planRow>>} */
    const rows = new Map();
    /** @type {PlanProps} */
    let props = { rows: [], steps: [], order: false, add: false };
    /** @type {PlanDraft} */
    let now = { steps: [] };
    let editing = "";
    let before = /** @type {string | null} */ (null); // what the step said when it began to be edited
    const open = () => !(/** @type {HTMLFieldSetElement} */ (body).disabled);
    const spots = () => planSpots(now, props);

    const all = (/** @type {boolean} */ on) => {
      for (const { node } of spots()) node.on = on;
      change({ ...now });
    };
    /** @param {{ op: string, key: string, by?: number, text?: string, on?: boolean }} what */
    const act = ({ op, key, by: step = 0, text = "", on = false }) => {
      if (!open()) return;
      now = structuredClone(now);
      const found = spots().find(({ node }) => node.key === key);
      let focus = "";
      if (op === "add") focus = add(found);
      else if (!found) return;
      else if (op === "tick") planTick(now.steps, found.node, on);
      else if (op === "write") found.node.text = found.step?.label === text ? null : text;
      else if (op === "move") move(found, step);
      else if (op === "in") into(found);
      else if (op === "out") out(found);
      else if (op === "drop") focus = drop(found);
      if (["move", "in", "out"].includes(op)) keepFocus([rows.get(key)?.box], () => change(now));
      else change(now);
      if (focus) rows.get(focus)?.focus();
      else if (op === "drop") more.focus();
    };
    const add = (/** @type {PlanSpot | undefined} */ behind) => {
      const key = uid();
      const node = { key, at: null, text: "", on: true, steps: null };
      (behind?.list ?? now.steps).splice(behind ? behind.place + 1 : now.steps.length, 0, node);
      [editing, before] = [key, null];
      return key;
    };
    const move = (/** @type {PlanSpot} */ { node, list, place }, /** @type {number} */ step) => {
      const to = place + step;
      if (to < 0 || to >= list.length || !props.order) return;
      list.splice(to, 0, ...list.splice(place, 1));
      tell(node);
    };
    /** Under the step above, as its last one; that one is ticked if it is. */
    const into = (/** @type {PlanSpot} */ { node, list, place }) => {
      const above = list[place - 1]?.steps;
      if (!above || !props.order) return;
      above.push(...list.splice(place, 1));
      if (node.on) planTickAbove(now.steps, node);
      tell(node);
    };
    /** Out of the step that it belongs to, behind that one. */
    const out = (/** @type {PlanSpot} */ { node, list, place, parent }) => {
      if (!parent || !props.order) return;
      parent.list.splice(parent.place + 1, 0, ...list.splice(place, 1));
      tell(node);
    };
    const tell = (/** @type {PlanNode} */ moved) => {
      const spot = spots().find(({ node }) => node === moved);
      write(said, "");
      write(said, spot?.parent ? `Now ${spot.number}, in step ${spot.parent.number}` : `Now ${spot?.number} of ${now.steps.length}`);
    };
    const drop = (/** @type {PlanSpot} */ { node, list, place }) => {
      if (node.at !== null) return node.key;
      list.splice(place, 1);
      editing = "";
      return (list[place] ?? list[place - 1])?.key ?? "";
    };
    const edit = (/** @type {PlanSpot} */ spot) => {
      if (spot.step && !spot.step.edit) return;
      [editing, before] = [spot.node.key, planText(spot)];
      change({ ...now });
      rows.get(editing)?.focus();
    };
    /** Leave the box: what was written stays, or goes. @param {PlanSpot} spot @param {boolean} stays */
    const leave = (spot, stays) => {
      if (spot.node.at === null && !(stays ? planText(spot) : before)) return act({ op: "drop", key: spot.node.key });
      editing = "";
      if (stays) change({ ...now });
      else act({ op: "write", key: spot.node.key, text: before ?? "" });
      rows.get(spot.node.key)?.focus();
    };
    root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const row = /** @type {HTMLElement} */ (event.target).closest("li");
      const spot = spots().find(({ node }) => node.key === row?.dataset.key);
      if (spot && !event.isComposing && !event.ctrlKey && !event.metaKey && key(event, spot)) event.preventDefault();
    });
    const key = (/** @type {KeyboardEvent} */ event, /** @type {PlanSpot} */ spot) => {
      const { target, altKey } = event;
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
      if (step && altKey) return (act({ op: "move", key: spot.node.key, by: step }), true);
      // Taken whether or not it can be: Alt with the left arrow leaves the page.
      const side = { ArrowLeft: "out", ArrowRight: "in" }[event.key];
      if (side && altKey) return (act({ op: side, key: spot.node.key }), true);
      if (target instanceof HTMLInputElement && target.type === "text") {
        if (event.key === "Enter") return (leave(spot, true), true);
        return event.key === "Escape" && (leave(spot, false), true);
      }
      if (altKey || !(target instanceof HTMLInputElement)) return false;
      const list = spots();
      const at = list.findIndex(({ node }) => node === spot.node);
      if (step) rows.get(list[at + step]?.node.key)?.focus();
      else if (event.key === "Enter" || event.key === "F2") edit(spot);
      else if (event.key === "Insert" && props.add) act({ op: "add", key: spot.node.key });
      else if (event.key === "Delete" && spot.node.at === null) act({ op: "drop", key: spot.node.key });
      else return false;
      return true;
    };

    /** @param {HTMLElement} list @param {PlanNode[]} nodes @param {Map<PlanNode, PlanSpot>} spots @param {string} home */
    const fill = (list, nodes, spots, home) => {
      const stayed = planStayed(nodes, home);
      const els = nodes.map((node) => {
        const spot = /** @type {PlanSpot} */ (spots.get(node));
        const row = rows.get(node.key) ?? planRow(node.key, keysId, act, (key) => edit(/** @type {PlanSpot} */ (find(key))));
        rows.set(node.key, row);
        row.update(spot, { order: props.order, editing: editing === node.key, moved: node.at !== null && !stayed.has(node) });
        if (node.steps) fill(row.inner, node.steps, spots, node.key);
        row.inner.hidden = !node.steps?.length;
        return row.el;
      });
      arrange(list, els);
    };
    const find = (/** @type {string} */ key) => spots().find(({ node }) => node.key === key);

    return (given, draft) => {
      props = given;
      now = draft ?? { steps: planNodes(props.steps) };
      context.update(props.rows);
      const shown = new Map(spots().map((spot) => [spot.node, spot]));
      fill(root, now.steps, shown, "");
      const seen = new Set([...shown.keys()].map(({ key }) => key));
      for (const key of rows.keys()) if (!seen.has(key)) rows.delete(key);
      const total = shown.size;
      write(count, `${total} ${total === 1 ? "step" : "steps"}`);
      tools.hidden = total < 2;
      more.hidden = !props.add;
      keys.hidden = total === 0;
    };
  },
};

/**
 * Tick a step and what is below it; a step that is ticked ticks those above it.
 * @param {PlanNode[]} nodes @param {PlanNode} wanted @param {boolean} on
 * @returns {boolean} whether it is among them
 */
function planTick(nodes, wanted, on) {
  const below = (/** @type {PlanNode} */ node) => {
    node.on = on;
    node.steps?.forEach(below);
  };
  return nodes.some((node) => {
    if (node === wanted) return (below(node), true);
    const inside = planTick(node.steps ?? [], wanted, on);
    if (inside && on) node.on = true;
    return inside;
  });
}

/** Tick the steps above one. @param {PlanNode[]} nodes @param {PlanNode} wanted @returns {boolean} whether it is among them */
function planTickAbove(nodes, wanted) {
  return nodes.some((node) => {
    if (node === wanted) return true;
    const inside = planTickAbove(node.steps ?? [], wanted);
    if (inside) node.on = true;
    return inside;
  });
}

/** @param {string} text @param {() => void} onclick */
const planButton = (text, onclick) => h("button", { type: "button", class: "hitl-link", text, onclick });

/**
 * One step, with those below it.
 * @param {string} key
 * @param {string} keysId
 * @param {(what: { op: string, key: string, by?: number, text?: string, on?: boolean }) => void} act
 * @param {(key: string) => void} edit
 */
function planRow(key, keysId, act, edit) {
  const [boxId, noteId, wasId] = [uid(), uid(), uid()];
  const box = h("input", { type: "checkbox", class: "hitl-box", id: boxId, "aria-describedby": `${wasId} ${noteId} ${keysId}` });
  const number = h("span", { class: "hitl-plan-number" });
  const text = h("span", { class: "hitl-plan-text", dir: "auto" });
  const label = h("label", { class: "hitl-plan-label", for: boxId }, number, text);
  const words = h("input", { type: "text", class: "hitl-input", dir: "auto", autocomplete: "off" });
  const button = (/** @type {string} */ says, /** @type {string} */ sign, /** @type {() => void} */ onclick) => {
    const made = h("button", { type: "button", class: "hitl-icon", title: says, text: sign });
    made.addEventListener("click", onclick);
    return made;
  };
  const reword = button("Reword", "✎", () => edit(key));
  const up = button("Move up", "↑", () => act({ op: "move", key, by: -1 }));
  const down = button("Move down", "↓", () => act({ op: "move", key, by: 1 }));
  const into = button("Move in", "→", () => act({ op: "in", key }));
  const out = button("Move out", "←", () => act({ op: "out", key }));
  const drop = button("Take out", "✕", () => act({ op: "drop", key }));
  const line = div("hitl-plan-line", box, label, words, div("hitl-plan-buttons", drop, reword, out, into, up, down));
  const was = h("span", { class: "hitl-change", id: wasId, dir: "auto" });
  const note = h("span", { class: "hitl-step-note", id: noteId, dir: "auto" });
  const inner = h("ol", { class: "hitl-plan-steps", role: "list" });
  const el = h("li", { class: "hitl-plan-step", "data-key": key }, line, was, note, inner);
  box.addEventListener("change", () => act({ op: "tick", key, on: box.checked }));
  words.addEventListener("input", () => act({ op: "write", key, text: words.value }));
  return {
    el,
    box,
    inner,
    focus: () => (words.hidden ? box : words).focus(),
    update(/** @type {PlanSpot} */ spot, /** @type {{ order: boolean, editing: boolean, moved: boolean }} */ { order, editing, moved }) {
      const { node, step, list, place, parent } = spot;
      const says = planText(spot);
      box.checked = node.on;
      el.dataset.on = String(node.on);
      write(number, `${spot.number}.`);
      write(text, says);
      text.hidden = editing;
      box.ariaLabel = says ? null : `Step ${spot.number}, without words yet`;
      words.hidden = !editing;
      words.ariaLabel = `Words of step ${spot.number}`;
      if (words.value !== says) words.value = says;
      words.toggleAttribute("data-wrong", !says.trim());
      reword.hidden = editing || !(step?.edit ?? true);
      up.hidden = down.hidden = !order || list.length < 2;
      up.disabled = place === 0;
      down.disabled = place === list.length - 1;
      into.hidden = !order || !list[place - 1]?.steps;
      out.hidden = !order || !parent;
      drop.hidden = node.at !== null;
      for (const each of [reword, into, out, up, down, drop]) each.ariaLabel = `${each.title} step ${spot.number}`;
      const told = [node.at === null && "new", node.text !== null && step && `was: ${step.label}`, moved && `was number ${planNumber(node.key)}`];
      writeOrHide(was, told.filter(Boolean).join(" · "));
      writeOrHide(note, step?.note ?? "");
    },
  };
}
