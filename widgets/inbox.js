// The inbox as a page: the widget of a run without a notebook, its filters, and how it is connected.
//
// To the widget this is anywidget's model: what it sends goes up by POST, what it hears comes down as server-sent events.
// Both may fail at any time; the run's store asks again, and sends an answer again until it is acknowledged.

import { fillRows, h, write, writeOrHide } from "./kit.js";
import run from "./run.js";

/**
 * @typedef {{ user: string, open: number, high: number, to: [shown: string, to: string, open: number][] }} Counts
 * @typedef {(content?: any) => void} Handler
 */

const INBOX_AGAIN = 3000;
const INBOX_ORDERS = [
  ["oldest", "Oldest first"],
  ["newest", "Newest first"],
  ["riskiest", "Riskiest first"],
];

const query = new URLSearchParams(location.search);
query.set("page", inboxName());

/** A name that no other page has; `crypto.randomUUID` is there by https only. */
function inboxName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// -- what is around the cards

const who = h("p", { class: "hitl-inbox-who" });
const count = h("p", { class: "hitl-inbox-count", role: "status" });
const fault = h("p", { class: "hitl-inbox-fault", role: "alert", hidden: true });
const none = h("p", { class: "hitl-inbox-none", text: "Nothing is open.", hidden: true });
const order = h("select", { name: "order" });
const to = h("select", { name: "to" });
const filters = h("form", { class: "hitl-inbox-filters", method: "get" });
const cards = h("main", {});
const together = h("button", { type: "button", class: "hitl-inbox-together", text: "Decide several at one table", hidden: true });
const names = h("datalist", { id: "hitl-inbox-names" });

order.append(...INBOX_ORDERS.map(([value, text]) => h("option", { value, text, selected: query.get("order") === value })));
filters.append(h("label", { text: "For " }, to), h("label", { text: "Order " }, order));
const job = query.get("job");
if (job) {
  filters.append(h("input", { type: "hidden", name: "job", value: job }));
  const all = new URLSearchParams(location.search);
  all.delete("job");
  filters.append(h("a", { href: `?${all}`, text: `Only of the job ${job}: show all` }));
}
filters.append(together);
filters.addEventListener("change", () => filters.requestSubmit());
document.body.append(
  h("header", {}, h("h1", { text: "Inbox" }), count, who, filters),
  fault,
  none,
  cards,
  names,
);

/** @param {Counts} counts */
function drawCounts({ user, open, high, to: everybody }) {
  document.title = open ? `(${open}) Inbox` : "Inbox";
  write(who, user);
  write(count, `${open} open${high ? `, ${high} of high risk` : ""}`);
  none.hidden = open > 0;
  together.hidden = open < 2;
  const called = [user, ...everybody.map(([, value]) => value)].filter(Boolean);
  fillRows(names, called, () => h("option"), (option, value) => (option.value = value));
  const mine = query.get("to") ?? "";
  const all = everybody.reduce((sum, [, , each]) => sum + each, 0);
  /** @type {[string, string, number | undefined][]} */
  const options = [["Everybody", "", all], ...everybody.filter(([, value]) => value)];
  if (!options.some(([, value]) => value === mine)) options.push([mine, mine, undefined]);
  if (to === document.activeElement) return; // it may be open
  fillRows(to, options, () => h("option"), (option, [shown, value, each]) => {
    option.value = value;
    write(option, each === undefined ? shown : `${shown} (${each})`);
    option.selected = value === mine;
  });
}

// -- the model

class PageModel {
  comm_live = true;
  place = "inbox";
  /** @type {Map<string, Set<Handler>>} */
  #handlers = new Map();

  /** @param {string} name @param {Handler} handler */
  on(name, handler) {
    if (!this.#handlers.has(name)) this.#handlers.set(name, new Set());
    this.#handlers.get(name)?.add(handler);
  }

  /** @param {string} name @param {Handler} handler */
  off(name, handler) {
    this.#handlers.get(name)?.delete(handler);
  }

  /** @param {any} content */
  hear(content) {
    for (const handler of [...(this.#handlers.get("msg:custom") ?? [])]) handler(content);
  }

  /** @param {object} content */
  send(content) {
    void post(content);
  }
}

const model = new PageModel();

/** What does not arrive is sent again by the store. @param {object} content */
async function post(content) {
  try {
    const headers = { "Content-Type": "application/json" };
    const options = { method: "POST", headers, body: JSON.stringify(content), redirect: /** @type {const} */ ("manual") };
    const { status, type } = await fetch(`send?${query}`, options);
    if (status === 413) writeOrHide(fault, "Your answer is too large to be sent.");
    // A gateway sends whoever is logged out to another page.
    else if (status === 401 || status === 403 || type === "opaqueredirect") loggedOut();
  } catch {
    // no network: told by the events
  }
}

function loggedOut() {
  writeOrHide(fault, "You are not logged in any more. What you have typed is still here; log in in another tab.");
}

// -- who is at it: said to the others, once a minute

const INBOX_AT = 60_000;
let at = { key: "", until: 0 };

for (const act of ["pointerdown", "keydown", "focusin"])
  cards.addEventListener(act, (/** @type {Event} */ event) => {
    const card = /** @type {Element} */ (event.target).closest(".hitl-card");
    const key = (card instanceof HTMLElement && !card.matches("[data-state=decided]") && card.dataset.key) || "";
    if (!key || (key === at.key && Date.now() < at.until)) return;
    at = { key, until: Date.now() + INBOX_AT };
    model.send({ op: "at", call_id: key });
  });

// -- many at one table: the kernel's half makes it of what is open now, and it comes as a card

together.addEventListener("click", () => {
  writeOrHide(fault, "");
  model.send({ op: "together" });
  const look = new MutationObserver(() => {
    const table = cards.querySelector(".hitl-card:not([data-state=decided]) .hitl-body[data-card=batch_review]");
    if (!table) return;
    look.disconnect();
    const card = /** @type {HTMLElement} */ (table.closest(".hitl-card"));
    card.scrollIntoView({ block: "start" });
    card.focus({ preventScroll: true });
  });
  look.observe(cards, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-card"] });
});

// -- a question is given to somebody, and others can answer it all the same

/** @param {HTMLElement} card */
function offerToGive(card) {
  const open = h("button", { type: "button", class: "hitl-link", text: "Give to…" });
  const name = h("input", { class: "hitl-input", list: names.id, maxlength: "200", autocomplete: "off", placeholder: "a name, a team", "aria-label": "Give this question to" });
  const give = h("button", { type: "submit", class: "hitl-button", text: "Give" });
  const back = h("button", { type: "button", class: "hitl-button hitl-plain", text: "Back" });
  const form = h("form", { class: "hitl-inbox-give-form", hidden: true }, name, give, back);
  const turn = (/** @type {boolean} */ giving) => {
    [open.hidden, form.hidden] = [giving, !giving];
    (giving ? name : open).focus();
  };
  const shut = () => turn(false);
  open.addEventListener("click", () => turn(true));
  back.addEventListener("click", shut);
  form.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") shut();
    event.stopPropagation(); // no key of the card's
  });
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    model.send({ op: "give", call_id: card.dataset.key, to: name.value });
    name.value = "";
    shut();
  });
  card.append(h("div", { class: "hitl-inbox-give" }, open, form));
}

new MutationObserver(() => {
  for (const card of /** @type {NodeListOf<HTMLElement>} */ (cards.querySelectorAll(".hitl-card"))) {
    const offered = card.querySelector(":scope > .hitl-inbox-give");
    const may = !card.matches("[data-state=decided]") && !card.querySelector(".hitl-body[data-card=batch_review]");
    if (may && !offered) offerToGive(card);
    else if (!may) offered?.remove();
  }
}).observe(cards, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-state", "data-card"] });

/** @param {() => void} opened */
function connect(opened) {
  const source = new EventSource(`events?${query}`);
  source.addEventListener("open", () => {
    writeOrHide(fault, "");
    opened();
  });
  source.addEventListener("message", ({ data }) => model.hear(JSON.parse(data)));
  source.addEventListener("told", ({ data }) => writeOrHide(fault, JSON.parse(data)));
  source.addEventListener("counts", ({ data }) => drawCounts(JSON.parse(data)));
  source.addEventListener("error", () => {
    writeOrHide(fault, "Not connected just now. What you have typed is kept, and sent once the inbox is there again.");
    if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
    setTimeout(() => connect(opened), INBOX_AGAIN);
  });
}

const widget = await run();
let begun = false;
connect(() => {
  if (begun) return;
  const { signal } = new AbortController();
  begun = true;
  widget.initialize({ model, el: cards, signal });
  widget.render({ model, el: cards, signal });
});
