// The kernels: what each does and takes, against what the machine could do, and why not better.

const COLUMNS = [
  ["name", "kernel", (k) => k.name, "text"],
  ["kind", "kind", (k) => k.kind, "text"],
  ["where", "source", (k) => whereOf(k), "text"],
  ["seconds", "measured", (k) => k.seconds, seconds],
  ["share", "share", (k) => share(k), percent],
  ["runs", "runs", (k) => k.runs, (n) => n.toLocaleString("en")],
  ["estimate", "estimated", (k) => k.estimate ?? null, seconds],
  ["floor", "at best", (k) => k.floor ?? null, seconds],
  ["bytes", "bytes", (k) => k.bytes, bytes],
  ["flops", "flops", (k) => k.flops, (n) => scaled(n, "")],
  ["intensity", "flops/byte", (k) => k.intensity, (n) => n.toPrecision(2)],
  ["speed", "reached", (k) => reached(k), (n) => (n > 1 ? ">100%" : percent(n))],
];
const HELP = {
  seconds: "time in one call, all runs together", share: "part of the time of all kernels", runs: "how often one call runs it",
  estimate: "what the compiler thought it would take", floor: "the roofline: moving its bytes or doing its arithmetic, whichever takes longer",
  bytes: "each distinct element read or written once", flops: "operations with floating results; exp and the like count as one",
  intensity: "arithmetic intensity", speed: "at best / measured: how near it is to the roofline",
};

/** How near a kernel is to the roofline. */
const reached = (kernel) => (kernel.floor && kernel.seconds ? kernel.floor / kernel.seconds : null);

/** The line that most of a kernel's ops are on. */
function whereOf(kernel) {
  if (kernel.where === undefined) {
    const counts = new Map();
    for (const op of doc.groups[kernel.group]) {
      const [, file, line] = doc.ops[op];
      if (file >= 0) counts.set(placeText(file, line), (counts.get(placeText(file, line)) || 0) + 1);
    }
    kernel.where = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
  }
  return kernel.where;
}

views.kernels = {
  title: "Kernels",
  build(element) {
    this.sort = { key: totalSeconds ? "seconds" : "name", down: Boolean(totalSeconds) };
    this.table = el("table", { class: "kernels" });
    this.detail = el("div", { class: "kernel-detail" });
    const plot = el("div", { class: "roofline" });
    element.append(el("div", { class: "kernel-page" }, el("div", { class: "kernel-top" }, plot, this.detail), el("div", { class: "table-holder" }, this.table)));
    this.plot = plot;
    this.roofline = drawRoofline(plot, (kernel) => this.choose(kernel));
    this.fill();
    this.choose([...workers].sort((a, b) => (b.seconds || 0) - (a.seconds || 0))[0], false);
    lit.watchers.push(this);
  },

  fill() {
    const { key, down } = this.sort;
    const value = COLUMNS.find(([name]) => name === key)[2];
    const rows = doc.kernels.map((kernel, i) => [kernel, value(kernel), i]);
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : (a ?? -1) - (b ?? -1));
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[1], b[1]) || a[2] - b[2]);
    const head = el("tr", {}, ...COLUMNS.map(([name, title]) =>
      el("th", { class: COLUMNS.find(([n]) => n === name)[3] === "text" ? "" : "number", title: HELP[name], "aria-sort": name === key ? (down ? "descending" : "ascending") : "none" },
        el("button", { type: "button", onclick: () => this.sortBy(name) }, title))));
    const body = el("tbody", {});
    const longest = Math.max(...workers.map((kernel) => kernel.seconds || 0), 1e-12);
    for (const [kernel] of rows) {
      const row = el("tr", { "data-kernel": kernel.name, class: kernel.parent ? "inner" : "", onclick: () => this.choose(kernel), onmouseenter: () => lit.point(doc.groups[kernel.group]), onmouseleave: () => lit.point([]) });
      for (const [name, , get, format] of COLUMNS) {
        const found = get(kernel);
        const text = found === null || found === undefined ? "–" : format === "text" ? found : format(found);
        const cell = el("td", { class: format === "text" ? "" : "number" }, text);
        if (name === "seconds" && kernel.seconds) cell.append(el("span", { class: "meter", style: `--part:${((kernel.seconds / longest) * 100).toFixed(1)}%` }));
        if (name === "speed" && found !== null) cell.classList.add(found > 0.5 ? "good" : found > 0.2 ? "fair" : "poor");
        row.append(cell);
      }
      body.append(row);
    }
    this.table.replaceChildren(el("thead", {}, head), body);
    this.mark();
  },

  sortBy(key) {
    const text = COLUMNS.find(([name]) => name === key)[3] === "text";
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : !text };
    this.fill();
  },

  choose(kernel, pin = true) {
    if (!kernel) return;
    this.chosen = kernel;
    this.detail.replaceChildren(kernelCard(kernel));
    this.mark();
    if (pin) lit.pin(doc.groups[kernel.group], this);
  },

  mark() {
    for (const row of this.table.querySelectorAll("tbody tr")) row.setAttribute("aria-selected", row.dataset.kernel === this.chosen?.name);
    this.roofline?.choose(this.chosen);
  },

  relight() {
    if (this.element.hidden) return;
    for (const row of this.table.querySelectorAll("tbody tr")) {
      row.classList.toggle("lit", lit.ops.length > 0 && lit.level[kernelNamed.get(row.dataset.kernel).group] > 0);
    }
  },

  reveal() {
    const kernel = doc.kernels.find((one) => lit.level[one.group] === 2 && !isLoop(one)) || doc.kernels.find((one) => lit.level[one.group]);
    if (!kernel) return;
    this.choose(kernel, false);
    this.table.querySelector(`[data-kernel="${kernel.name}"]`)?.scrollIntoView({ block: "nearest" });
  },

  shown() {
    this.roofline?.resize();
    if (lit.pinned) this.reveal();
    this.relight();
  },
};

/** All that is known of one kernel. */
function kernelCard(kernel) {
  const stage = doc.stages.find((one) => one.id === "loops");
  const next = Math.min(...doc.kernels.map((one) => one.at.loops).filter((at) => at > kernel.at.loops), stage.lines.length);
  const text = el("pre", { class: "nest" });
  text.innerHTML = stage.lines.slice(kernel.at.loops, Math.min(next, kernel.at.loops + 60)).map((line) => colored(line, "ir")).join("\n");
  const why = [];
  const reason = (title, good, texts) => why.push(el("div", { class: `why ${texts.length ? "no" : "yes"}` }, el("b", {}, texts.length ? title : good), ...texts.map((one) => el("p", {}, one))));
  if (!isLoop(kernel)) {
    reason("Not fused with its inputs", "Fused with all it reads", kernel.fused.map((one) => (one.with ? `${one.op} reads ${one.value} of ${one.with}: ${one.why}` : one.why)));
    reason("Not vectorised, or only in part", "Vectorised", kernel.vectorised ? [kernel.vectorised] : []);
    reason("On one thread", "Shared among threads", kernel.threaded ? [kernel.threaded] : []);
  }
  const rate = kernel.seconds ? `${bytes(kernel.bytes / kernel.seconds)}/s, ${scaled(kernel.flops / kernel.seconds, "FLOP/s")}` : "";
  const best = kernel.floor ? `at best ${seconds(kernel.floor)} (${kernel.limit === "memory" ? "its bytes" : "its arithmetic"})` : "";
  return el("article", { class: "card" },
    el("h2", {}, kernel.name, " ", el("span", { class: "faint" }, kernel.kind), whereOf(kernel) ? el("span", { class: "where" }, whereOf(kernel)) : null),
    el("p", { class: "faint" }, [kernel.seconds ? seconds(kernel.seconds) : "", best, rate].filter(Boolean).join(" · ")),
    text, el("div", { class: "whys" }, ...why),
    el("div", { class: "links" },
      el("button", { type: "button", class: "link", onclick: () => showKernel(kernel.name, "stages") }, "see what it became"),
      el("button", { type: "button", class: "link", onclick: () => showKernel(kernel.name, "graph") }, "in the graph")));
}
