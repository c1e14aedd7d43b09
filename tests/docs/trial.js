// Cards on a page of their own, without a kernel. `RUN` is the module that notebooks get; `EXAMPLES` were made by Python
// when the page was built: each card, and for the answers that could be foreseen the record and what the cell gives.

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The kernel's side, for one card. */
class Trial {
  constructor(model, example, said) {
    Object.assign(this, { model, example, said, seq: 1, item: example.item, fates: new Map() });
    model.onsent = (content) => this.heard(content);
  }

  heard({ op, have, call_id, click, turn, pressed, ...given }) {
    if (op === "hello") return this.tell(have === this.seq ? { op: "same" } : { op: "snapshot", items: [this.item] });
    if (op === "ask") return this.tell({ op: "reply", call_id, ask: given.ask, error: "No Python runs on this page." });
    if (op !== "respond" && op !== "decline") return;
    if (!this.fates.has(click)) {
      const known = this.example.outcomes.find(({ message }) => same(message, { op, ...given }));
      this.item = known ? known.item : this.free({ op, ...given });
      this.said.textContent = known ? known.said : "";
      this.fates.set(click, { op: "answered", call_id, click, accepted: true, error: null });
      this.seq += 1;
      this.tell({ op: "patch", items: [this.item] });
    }
    this.tell(this.fates.get(click));
  }

  /** An answer that nobody foresaw: what would go to the kernel, and no record made up. */
  free(message) {
    const rows = [{ label: "sent", text: JSON.stringify(message), mark: "" }];
    const footer = "this page has no Python; in a notebook the code goes on with this answer";
    const record = { outcome: message.op === "decline" ? "declined" : "edited", headline: "This goes to the kernel", rows, footer };
    return { ...this.item, status: "complete", props: {}, record };
  }

  tell(content) {
    this.model.receive({ ...content, seq: this.seq, live: true });
  }
}

async function widget() {
  const url = URL.createObjectURL(new Blob([RUN], { type: "text/javascript" }));
  const { default: made } = await import(url);
  return typeof made === "function" ? made() : made;
}

async function draw(example, place) {
  place.replaceChildren();
  const el = place.appendChild(document.createElement("div"));
  const said = place.appendChild(Object.assign(document.createElement("pre"), { className: "said" }));
  const run = await widget();
  const model = new FakeModel();
  new Trial(model, example, said);
  const signal = new AbortController().signal;
  await run.initialize({ model: model.proxy(), signal });
  await run.render({ model: model.proxy(), el, signal });
}

addEventListener("message", ({ data }) => {
  if (typeof data?.dark === "boolean") document.documentElement.style.colorScheme = data.dark ? "dark" : "light";
});

addEventListener("DOMContentLoaded", async () => {
  for (const example of EXAMPLES) {
    const section = document.body.appendChild(document.createElement("section"));
    section.append(Object.assign(document.createElement("h2"), { textContent: example.title }));
    if (example.code) section.append(Object.assign(document.createElement("pre"), { textContent: example.code }));
    const place = document.createElement("div");
    section.append(place);
    if (example.outcomes.length) {
      const again = Object.assign(document.createElement("button"), { textContent: "Again", className: "again" });
      again.addEventListener("click", () => draw(example, place));
      section.append(again);
    }
    await draw(example, place);
  }
  document.body.dataset.ready = "";
  parent.postMessage("cards", "*");
});
