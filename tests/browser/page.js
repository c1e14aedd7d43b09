// Mount the linked widget as anywidget does: from a blob: URL, `initialize` once, `render` for each view.

async function importLinked(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  URL.revokeObjectURL(url);
  return typeof widget === "function" ? await widget() : widget;
}

/** @returns the fake model, its views and what ends them */
async function mount({ into = ["el"], kernel = undefined } = {}) {
  const widget = await importLinked(await (await fetch("/run.js")).text());
  const model = new FakeModel();
  const ends = { model: new AbortController(), views: [] };
  const mounted = { model, widget, ends };
  if (kernel) mounted.kernel = new FakeKernel(model, kernel);
  await widget.initialize({ model: model.proxy(), signal: ends.model.signal });
  mounted.addView = async (id) => {
    const end = new AbortController();
    ends.views.push(end);
    const el = document.getElementById(id);
    await widget.render({ model: model.proxy(), el, signal: end.signal });
  };
  for (const id of into) await mounted.addView(id);
  return mounted;
}

/** End a run as anywidget does when its model is destroyed. @returns the listeners that are left */
function unmount({ model, ends }) {
  for (const end of [...ends.views, ends.model]) end.abort();
  for (const id of ["el", "el2"]) document.getElementById(id).replaceChildren();
  return model.listeners;
}

// What a person or a kernel does to reach a state (states.py).
const acts = {
  focus: ({ el }) => el.querySelectorAll("input[type=checkbox]")[1].focus({ focusVisible: true }),
  none: ({ el }) => pressButton(el, "Select none"),
  decline: ({ el }) => pressButton(el, "Decline"),
  confirm: ({ el }) => el.querySelector(".hitl-primary").click(),
  busy: ({ kernel }) => (kernel.busy = true),
  refuse: ({ kernel, items }) =>
    (kernel.refuse[items[0].id] = "2 of the 3 steps need the third: tick “Wipe the old flight computer”, too."),
  refuse_turn: ({ kernel, items }) =>
    (kernel.refuse[items[0].id] = "`pay` is put to a rule first. It can be answered here if they pass."),
  lose_race: ({ kernel, model, items }) => {
    const rows = [{ mark: "", label: "", text: "Book two seats" }];
    const record = { outcome: "declined", headline: "Declined: the window is closed", rows, footer: "by Bob" };
    kernel.put({ key: items[0].key, status: "complete", record });
    const { call_id, click } = model.sent.findLast(({ op }) => op === "respond");
    model.receive({ op: "answered", call_id, click, accepted: false, error: null, seq: kernel.seq, live: true });
  },
  disconnect: ({ model }) => model.disconnect(),
  edit: ({ el }) => typeInto(el.querySelectorAll(".hitl-form textarea")[1], "Flight plan, corrected"),
  fault: ({ el }) => {
    typeInto(el.querySelector("[data-kind=integer]"), "three");
    typeInto(el.querySelector("[data-kind=json]"), "[1, 2");
  },
  again: ({ el }) => el.querySelector(".hitl-again > summary").click(),
  held: ({ kernel, items }) =>
    kernel.put({ key: items[0].key, held: { words: "Approved", until: Date.now() + 3000 } }),
  deadline: ({ kernel, items }) =>
    kernel.put({ key: items[0].key, deadline: { words: "Expires", until: Date.now() + 263_000 } }),
  deadline_soon: ({ kernel, items }) =>
    kernel.put({ key: items[0].key, deadline: { words: "Goes to Grace", until: Date.now() + 9_000 } }),
  instead: ({ el }) => pressButton(el, "Reply in words"),
  pick: ({ el }) => [0, 2, 3].forEach((at) => el.querySelectorAll(".hitl-table .hitl-box")[at + 1].click()),
  add: ({ el }) => pressButton(el, "Add"),
  reword: ({ el }) => pressButton(el, "✎"),
  key: ({ el }) => el.querySelectorAll(".hitl-option input")[1].click(),
};

const pressButton = (el, text) =>
  [...el.querySelectorAll("button")].find((button) => button.textContent === text).click();

function typeInto(control, text) {
  control.value = text;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Show one state of states.py in an empty page. */
async function show(name, theme) {
  document.body.dataset.jpThemeLight = String(!theme.endsWith("dark"));
  if (theme.startsWith("system")) document.documentElement.style.colorScheme = theme.slice("system-".length);
  else await addStylesheet(`/${theme}.css`);
  const { items, acts: wanted = [] } = (await (await fetch("/states.json")).json())[name];
  await bring(await mount({ kernel: {} }), items, wanted);
  document.body.dataset.shown = "true";
}

/** Bring what is mounted into a state. */
async function bring(mounted, items, wanted) {
  mounted.kernel.put(...items);
  const el = document.getElementById("el");
  // A card that has just been drawn decides nothing.
  while (wanted.length && el.querySelector("[data-resting]")) await new Promise((done) => setTimeout(done, 50));
  for (const act of wanted) acts[act]({ ...mounted, items, el });
}

function addStylesheet(href) {
  return new Promise((resolve) => {
    document.head.prepend(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: resolve }));
  });
}

/** By hand: a list of all states. */
async function showIndex() {
  const names = Object.keys(await (await fetch("/states.json")).json());
  for (const theme of ["light", "dark", "system-light", "system-dark"]) {
    const line = document.createElement("p");
    for (const name of names) {
      const text = `${name} (${theme})`;
      line.append(
        Object.assign(document.createElement("a"), { textContent: text, href: `?state=${name}&theme=${theme}` }),
        " ",
      );
    }
    document.body.append(line);
  }
}

const asked = new URLSearchParams(location.search);
if (asked.has("state"))
  addEventListener("DOMContentLoaded", () => show(asked.get("state"), asked.get("theme") ?? "light"));
else if (asked.has("index")) addEventListener("DOMContentLoaded", showIndex);

/** The contrast ratio (WCAG 2.2) of every visible text of enabled elements below `root`. @returns {[string, number][]} */
function contrasts(root) {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (colours) => {
    pixel.fillStyle = "#fff";
    for (const colour of colours) ((pixel.fillStyle = colour), pixel.fillRect(0, 0, 1, 1));
    return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = (el) => (el ? [...grounds(el.parentElement), getComputedStyle(el).backgroundColor] : []);
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const el = texts.currentNode.parentElement;
    if (!el.checkVisibility() || el.closest(":disabled, [aria-disabled=true]")) continue;
    const [ground, ink] = [paint(grounds(el)), paint([...grounds(el), getComputedStyle(el).color])].map(luminance);
    found.push([texts.currentNode.data, (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05)]);
  }
  return found;
}

/** Does `el` stand out of its run? */
function overflows(el) {
  const run = document.querySelector(".hitl-run").getBoundingClientRect();
  return !el.matches(".hitl-spoken") && el.getBoundingClientRect().right > run.right + 1;
}
