// What the journeys need of JupyterLab's own objects, by names that read in Python: `lab.run("ask")`.

window.lab = (() => {
  const panel = () => window.jupyterapp?.shell?.currentWidget;
  const cells = () => panel()?.content?.widgets ?? [];
  const cell = (name) => cells().find(({ model }) => model.sharedModel.id === name);
  const before = new Map(); // the execution count that a cell had when it was started

  const text = ({ output_type, text, data, ename, evalue }) => {
    if (output_type === "error") return `${ename}: ${evalue}`;
    const said = text ?? data["text/plain"] ?? "";
    return Array.isArray(said) ? said.join("") : said;
  };
  // Before 4.2 a cell's model does not tell whether it runs; its prompt does.
  const state = (name) =>
    cell(name).model.executionState ?? (cell(name).promptNode?.textContent.includes("*") ? "running" : "idle");
  const taken = (name) =>
    state(name) === "running" || cell(name).model.executionCount !== (before.get(name) ?? null);

  return {
    // A promise that is returned would make Playwright wait for a cell that waits for a click.
    command(name) {
      window.jupyterapp.commands.execute(name);
    },
    run(name) {
      const { content } = panel();
      before.set(name, cell(name).model.executionCount);
      content.activeCellIndex = content.widgets.indexOf(cell(name));
      window.jupyterapp.commands.execute("notebook:run-cell");
    },
    begun: taken,
    /** Make a cell the active one, and execute a command on it. */
    on(name, command) {
      const { content } = panel();
      content.activeCellIndex = content.widgets.indexOf(cell(name));
      window.jupyterapp.commands.execute(command);
    },
    scrollTo(name) {
      const { content } = panel();
      content.scrollToItem(content.widgets.indexOf(cell(name)), "start");
    },
    trusts: (name) => cell(name).model.trusted,
    has: (name) => cell(name) !== undefined,
    finished(name) {
      return state(name) === "idle" && cell(name).model.executionCount !== null;
    },
    output: (name) => cell(name).model.outputs.toJSON().map(text).join("\n"),
    texts() {
      const code = cells().filter(({ model }) => model.type === "code");
      return Object.fromEntries(code.map(({ model }) => [model.sharedModel.id, this.output(model.sharedModel.id)]));
    },
    outputs: (name) => cell(name).model.outputs.length,
    counts() {
      const code = cells().filter(({ model }) => model.type === "code");
      return Object.fromEntries(code.map(({ model }) => [model.sharedModel.id, model.executionCount]));
    },
    isShown() {
      for (const { node, model } of cells()) node.dataset.cell = model.sharedModel.id;
      return cells().length > 0;
    },
    kernelIs(...states) {
      const kernel = panel()?.sessionContext?.session?.kernel;
      return this.isShown() && kernel?.connectionStatus === "connected" && states.includes(kernel.status);
    },
    /** Note when the page is about to connect anew: what is run before that is lost in Lab 4.0, though the kernel is idle. */
    watchRestart() {
      this.restarted = false;
      panel().sessionContext.connectionStatusChanged.connect((_, status) => {
        this.restarted ||= status !== "connected";
      });
    },
    save: () => panel().context.save(),
    shutDown: () => panel().sessionContext.shutdown(),
  };
})();
