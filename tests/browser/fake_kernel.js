// The kernel's side of the protocol (hitl_nb/cards/_protocol.py), scripted: items go out as patches, a `hello` is answered
// with the state, the first answer to a call wins. Messages to the browser whose numbers are in `lost` do not arrive.

class FakeKernel {
  seq = 0;
  live = true;
  told = 0; // messages to the browser so far, lost ones included
  answers = []; // the answers that were given, one a call
  refuse = {}; // call id → error text, for the next answer to it
  hold = null; // how an answer is held: it can be taken back, and counts never
  ahead = undefined; // how far its clock is ahead of the browser's, in milliseconds
  silent = false; // answers are taken, and not acknowledged
  #fates = new Map(); // what became of each click
  busy = false; // a cell is running: messages from the browser wait
  #items = new Map();
  #waiting = [];

  constructor(model, { lost = [] } = {}) {
    this.model = model;
    this.lost = lost;
    model.onsent = (content) => (this.busy ? this.#waiting.push(content) : this.#handle(content));
  }

  /** Show items: new ones, or changes to known ones by key. */
  put(...items) {
    const changed = items.map((item) => ({ ...this.#items.get(item.key), ...item }));
    for (const item of changed) this.#items.set(item.key, item);
    this.seq += 1;
    this.#tell({ op: "patch", items: changed });
  }

  /** The next `count` messages to the browser do not arrive. */
  lose(count = 1) {
    for (let number = 0; number < count; number++) this.lost.push(this.told + number);
  }

  finish() {
    this.live = false;
    this.put();
  }

  resume() {
    this.busy = false;
    for (const content of this.#waiting.splice(0)) this.#handle(content);
  }

  #handle(content) {
    if (["views", "bye", "draft"].includes(content.op)) return;
    if (content.op === "failed") return; // `sent` has it; what the kernel then shows is for tests of both halves
    if (content.op !== "hello") return this.#answer(content);
    if (content.have === this.seq && content.have !== 0) return this.#tell({ op: "same" });
    this.#tell({ op: "snapshot", items: [...this.#items.values()] });
  }

  #answer({ op, call_id, click, turn, pressed, ...given }) {
    if (this.#fates.has(click)) return this.#tell(this.#fates.get(click));
    const item = [...this.#items.values()].find((known) => known.id === call_id);
    const late = item.turn.open && item.turn.token !== turn ? "It is asked anew." : null;
    const error = this.refuse[call_id] ?? (item.record ? null : item.turn.open ? late : "Somebody else is asked first.");
    delete this.refuse[call_id];
    if (op === "undo") {
      this.put({ key: item.key, held: null });
      return this.#tell({ op: "answered", call_id, click, accepted: false, error: null, undone: true });
    }
    if (this.hold && !error) return this.put({ key: item.key, held: this.hold });
    const accepted = !error && !item.record;
    const fate = { op: "answered", call_id, click, accepted, error };
    this.#fates.set(click, fate);
    if (accepted) {
      this.answers.push({ op, call_id, ...given });
      const record = {
        outcome: op === "respond" ? "answered" : "declined",
        headline: op,
        rows: [],
        footer: "by a test",
      };
      this.put({ key: item.key, status: "complete", record });
    }
    if (!this.silent) this.#tell(fate);
  }

  #tell(content) {
    if (this.lost.includes(this.told++)) return;
    const now = this.ahead === undefined ? {} : { now: Date.now() + this.ahead };
    this.model.receive({ ...content, ...now, seq: this.seq, live: this.live });
  }
}
