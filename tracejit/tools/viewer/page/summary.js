// The summary: what a call takes, where the time goes, and what to do about it.

views.summary = {
  title: "Summary",
  build(element) {
    const page = el("div", { class: "page" });
    page.append(headline(), timeBar(), advice(), loops(), facts());
    element.append(page);
  },
};

function headline() {
  const timing = doc.timing;
  const figure = (value, label, title = "") => el("div", { class: "figure", title }, el("b", {}, value), el("span", {}, label));
  const row = el("div", { class: "figures" });
  if (timing.seconds !== null) {
    row.append(figure(seconds(timing.seconds), "per call", "the least of repeated calls on this machine"));
  }
  row.append(
    figure(String(workers.length), workers.length === 1 ? "kernel" : "kernels"),
    figure(doc.ops.length.toLocaleString("en"), "ops traced"),
    figure(countOps("optimized"), "after passes")
  );
  const compiling = Object.values(timing.compile).reduce((sum, value) => sum + value, 0);
  if (compiling) row.append(figure(seconds(compiling / 1e3), "to compile"));
  const notes = [];
  if (timing.seconds > 1.5 * totalSeconds && timing.seconds > 1e-5 && totalSeconds) {
    notes.push(el("p", { class: "faint" }, `The kernels, each at its best, take ${seconds(totalSeconds)} together: something else kept this machine busy.`));
  }
  if (timing.problem) notes.push(el("p", { class: "warning" }, `Not measured: ${timing.problem}.`));
  else if (timing.made_up) {
    notes.push(el("p", { class: "faint" }, `Measured on random values for ${plural(timing.made_up, "input")}: give real ones with --args-from, or call f.view(*args).`));
  }
  return el("section", {}, row, ...notes);
}

const countOps = (id) => {
  const pass = [...doc.passes].reverse().find((one) => one.name !== "fuse");
  return id === "optimized" && pass ? pass.after.toLocaleString("en") : "–";
};

/** More kernels than this are shown by the lines that they come from. */
const FEW_KERNELS = 12;

/** One bar for the whole time, a part for each kernel; for each line of the source where kernels are many. */
function timeBar() {
  const timed = topKernels.filter((kernel) => kernel.seconds).sort((a, b) => b.seconds - a.seconds);
  if (!totalSeconds || !timed.length) return "";
  if (timed.length > FEW_KERNELS) return timeByLine(timed);
  const bar = el("div", { class: "time-bar", role: "img", "aria-label": "time by kernel" });
  const levels = new Map(doc.hints.flatMap((hint) => hint.kernels.map((name) => [name, hint.level])));
  timed.forEach((kernel, i) => {
    const part = share(kernel);
    bar.append(
      el("button", {
        type: "button", class: `part ${levels.get(kernel.name) || ""}`, style: `flex-grow:${Math.max(part, 0.002)};--tone:${i % 6}`,
        title: `${kernel.name} ${kernel.kind}: ${seconds(kernel.seconds)}, ${percent(part)}`, onclick: () => showKernel(kernel.name, "stages"),
      }, part > 0.07 ? `${kernel.name} ${percent(part)}` : "")
    );
  });
  return el("section", {}, el("h2", {}, "Where the time goes"), bar);
}

/** The bar and a table by lines of the source, of which each has the time of the kernels that are most about it. */
function timeByLine(timed) {
  const byLine = new Map();
  for (const kernel of timed) {
    const where = whereOf(kernel) || "no line";
    const line = byLine.get(where) || { where, seconds: 0, kernels: [] };
    line.seconds += kernel.seconds;
    line.kernels.push(kernel);
    byLine.set(where, line);
  }
  const lines = [...byLine.values()].sort((a, b) => b.seconds - a.seconds);
  const bar = el("div", { class: "time-bar", role: "img", "aria-label": "time by line" });
  const rows = el("tbody", {});
  lines.slice(0, FEW_KERNELS).forEach((line, i) => {
    const part = line.seconds / totalSeconds;
    const show = () => {
      showView("stages");
      lit.pin([...new Set(line.kernels.flatMap((kernel) => doc.groups[kernel.group]))]);
    };
    const said = `${line.where}: ${seconds(line.seconds)}, ${percent(part)}, ${plural(line.kernels.length, "kernel")}`;
    bar.append(el("button", { type: "button", class: "part", style: `flex-grow:${Math.max(part, 0.002)};--tone:${i % 6}`, title: said, onclick: show }, part > 0.12 ? `${line.where} ${percent(part)}` : ""));
    rows.append(el("tr", {},
      el("th", {}, el("button", { type: "button", class: "link", onclick: show }, line.where)),
      el("td", {}, seconds(line.seconds)), el("td", {}, percent(part)), el("td", {}, plural(line.kernels.length, "kernel"))));
  });
  const rest = lines.slice(FEW_KERNELS).reduce((sum, line) => sum + line.seconds, 0) / totalSeconds;
  if (rest > 0.001) bar.append(el("span", { class: "part rest", style: `flex-grow:${rest}`, title: `${plural(lines.length - FEW_KERNELS, "other line")}: ${percent(rest)}` }));
  return el("section", {}, el("h2", {}, "Where the time goes, by line"), bar, el("div", { class: "facts" }, el("table", { class: "by-line" }, rows)));
}

function advice() {
  const section = el("section", {}, el("h2", {}, "What to look at"));
  if (!doc.hints.length) {
    section.append(el("p", { class: "faint" }, doc.timing.seconds === null ? "Without measured times there is no advice." : "Nothing stands out."));
    return section;
  }
  for (const hint of doc.hints) {
    const line = hint.line ? sourceLine(hint.file, hint.line) : null;
    const buttons = hint.kernel
      ? [["stages", "see what it became"], ["kernels", "its numbers"], ["graph", "in the graph"]].map(([view, text]) =>
          el("button", { type: "button", class: "link", onclick: () => showKernel(hint.kernel, view) }, text))
      : [];
    section.append(
      el("article", { class: `hint ${hint.level}`, "data-kernel": hint.kernel },
        el("div", { class: "hint-share" }, el("b", {}, hint.share ? percent(hint.share) : ""), hint.share ? el("span", { class: "faint" }, "of the time") : null, hint.kernels.length > 1 ? el("span", { class: "faint" }, `in ${hint.kernels.length} kernels`) : null),
        el("div", { class: "hint-body" },
          el("h3", {}, hint.title, hint.where ? el("span", { class: "where" }, hint.where) : null),
          line === null ? null : codeLine(line, hint.line),
          el("p", {}, hint.text),
          el("div", { class: "links" }, ...buttons)))
    );
  }
  return section;
}

/** The loops of the source: compiled, or unrolled for a reason. */
function loops() {
  if (!doc.loops.length) return "";
  const section = el("section", { class: "loops" }, el("h2", {}, "Loops in the source"));
  for (const loop of doc.loops) {
    const line = sourceLine(loop.file, loop.line);
    section.append(
      el("article", { class: `hint ${loop.outcome === "unrolled" ? "bad" : "note"}` },
        el("div", { class: "hint-body" },
          el("h3", {}, loop.outcome === "unrolled" ? "Unrolled" : "Compiled", el("span", { class: "where" }, loop.where)),
          line === null ? null : codeLine(line, loop.line),
          el("p", {}, loop.reason)))
    );
  }
  return section;
}

function codeLine(text, number) {
  const node = el("pre", { class: "code-line" });
  node.innerHTML = `<span class="number">${number}</span>${colored(text.trim(), "python")}`;
  return node;
}

function facts() {
  const section = el("section", { class: "facts" });
  const table = (title, rows) => el("div", {}, el("h2", {}, title), el("table", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, value)))));
  if (doc.machine) {
    const m = doc.machine;
    section.append(
      table("This machine, measured", [
        ["processor", `${m.cpu}, ${(m.clock / 1e9).toFixed(1)} GHz, ${plural(m.threads, "thread")}`],
        ["vectors", `${m.vector_bits} bits`],
        ...m.bytes.map(([level, size, rate]) => [`copying in ${level}`, `${bytes(rate)}/s`]),
        ["multiply-adds, float64", `${scaled(m.flops.f64[0], "FLOP/s")}, all threads ${scaled(m.flops.f64[1], "FLOP/s")}`],
        ["multiply-adds, float32", `${scaled(m.flops.f32[0], "FLOP/s")}, all threads ${scaled(m.flops.f32[1], "FLOP/s")}`],
      ])
    );
  }
  const phases = Object.entries(doc.timing.compile);
  if (phases.length) section.append(table("Compiling", phases.map(([name, value]) => [name, seconds(value / 1e3)])));
  return section;
}
