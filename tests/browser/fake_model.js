// anywidget's model without Jupyter: what a widget may call, and what a test may look at. Nothing more.

class FakeModel {
  sent = []; // what the browser sent, oldest first
  comm_live = true;
  shown = { seq: 0, live: true, items: new Map() }; // what the kernel has shown so far
  #handlers = new Set();

  /** A proxy of its own for each of `initialize` and `render`, without `comm_live`: as anywidget 0.11 does. */
  proxy() {
    return {
      get: () => undefined,
      set: () => {},
      save_changes: () => {},
      send: (content) => this.#send(structuredClone(content)),
      on: (name, handler) => this.#handlers.add({ name, handler }),
      off: (name, handler) => {
        for (const known of this.#handlers)
          if (known.name === name && known.handler === handler) this.#handlers.delete(known);
      },
    };
  }

  get listeners() {
    return this.#handlers.size;
  }

  /** A message from the kernel. */
  receive(content) {
    const { op, seq, live, items = [] } = content;
    Object.assign(this.shown, { seq, live });
    if (op === "snapshot") this.shown.items.clear();
    for (const item of items) this.shown.items.set(item.key, structuredClone(item));
    this.#fire("msg:custom", structuredClone(content));
  }

  /** The kernel restarts, or the comm is closed. */
  disconnect() {
    this.comm_live = false;
    this.#fire("comm_live_update");
  }

  onsent = () => {};

  #send(content) {
    if (!this.comm_live) throw new Error("Cannot send"); // as a disposed comm does
    this.sent.push(content);
    this.onsent(content);
  }

  #fire(name, content) {
    for (const known of [...this.#handlers]) if (known.name === name) known.handler(content);
  }
}
