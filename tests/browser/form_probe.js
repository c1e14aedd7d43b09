// Use every control of a form once, as a test wants to: change it, send, look at what was sent, undo.

const probed = {
  /** All controls that hold a value: one of each group of radio buttons, no keys, filters or ticks of rows. */
  controls() {
    const all = [...document.querySelectorAll("#el .hitl-form :is(input, select, textarea):not(:disabled)")];
    const seen = new Set();
    return all.filter((el) => {
      if (!el.checkVisibility() || el.type === "search") return false;
      if (/^(Key|Select|What is here)\b/.test(el.ariaLabel) || el.closest(".hitl-set")) return false;
      if (el.type !== "radio") return true;
      return !seen.has(el.name) && seen.add(el.name);
    });
  },

  /** Change a control to anything else that it can hold. */
  change(el) {
    if (el.type === "checkbox") return el.click();
    if (el.type === "radio") {
      const group = [...document.getElementsByName(el.name)];
      return group.find((radio) => !radio.checked).click();
    }
    if (el.localName === "select") {
      el.value = [...el.options].find((option) => !option.selected && !option.hidden).value;
      return el.dispatchEvent(new Event("change", { bubbles: true }));
    }
    probed.type(el, probed.other(el));
  },

  type(el, text) {
    el.value = text;
    el.dispatchEvent(new Event("input", { bubbles: true }));
  },

  /** Another number than `before` that keeps the limit which was told. */
  within(before, said) {
    const [, side, end] = /^At (most|least) (-?\d+)\.$/.exec(said) ?? [];
    if (side === undefined) return undefined;
    return before === end ? `${Number(end) + (side === "most" ? -1 : 1)}` : end;
  },

  other({ type, value, dataset: { kind } }) {
    if (type === "date") return value === "2021-01-31" ? "2021-02-01" : "2021-01-31";
    if (type === "time") return value === "11:11" ? "11:12" : "11:11";
    if (type === "datetime-local") return "2021-01-31T11:11";
    if (kind === "integer") return `${value}1`;
    if (kind === "number") return /^-?[\d.]+$/.test(value) ? `${value}1`.replace(/^(-?\d+)1$/, "$1.5") : "0.5";
    if (kind === "json") return value ? `[${value}]` : "[1]";
    if (kind === "duration") return value === "PT1H" ? "PT2H" : "PT1H";
    return `${value} ☃`;
  },

  /** The ids (of radio buttons the names) of all controls that can be used now. */
  wanted() {
    const all = [...document.querySelectorAll("#el .hitl-body :is(input, select, textarea, button):not(:disabled)")];
    return all.filter((el) => el.checkVisibility()).map((el) => el.name || el.id);
  },

  press(text) {
    const button = [...document.querySelectorAll("#el .hitl-actions button")].find(
      (each) => each.textContent === text && !each.hidden,
    );
    button?.click();
    return button !== undefined;
  },

  /** Send, be refused, and say what was sent; nothing if it was not. */
  send() {
    const { kernel, model } = run;
    const before = model.sent.length;
    kernel.refuse.call_c1 = "Not now.";
    if (!probed.press("Confirm")) probed.press("Confirm changes");
    return model.sent.slice(before).find((message) => message.op === "respond")?.value;
  },

  /** What each control sends, or says instead, and whether Reset takes it back. */
  each() {
    return probed.controls().map((_, at) => {
      const el = probed.controls()[at];
      const [kind, name] = [el.dataset.kind ?? el.type, el.labels?.[0]?.textContent ?? ""];
      const said = () => document.querySelector("#el [data-wrong] .hitl-wrong")?.textContent;
      const before = el.value;
      probed.change(el);
      let sent = probed.send();
      const within = probed.within(before, said());
      if (!sent && within !== undefined) sent = (probed.type(el, within), probed.send());
      const words = said();
      const reset = probed.press("Reset");
      return { kind, name, sent, said: words, reset, after: probed.send() };
    });
  },
};
