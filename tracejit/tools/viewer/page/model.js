// The document, what follows from it, and what is lit: the set of ops that somebody points at or has pinned.

const doc = JSON.parse(document.getElementById("document").textContent);
for (const stage of doc.stages) stage.lines = stage.lines.map((text) => doc.texts[text]);

/** A new element: el("div", {class: "row", onclick: f}, child, "text", ...). */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escapeText = (text) => text.replace(/[&<>]/g, (c) => escapes[c]);

// -- ops and groups ---------------------------------------------------------------------------------

/** An op: [name, file, line, of a gradient, the pass it went away in]. */
const OP = { name: 0, file: 1, line: 2, gradient: 3, removed: 4 };

/** For each op, the groups that it is in. */
const groupsOf = doc.ops.map(() => []);
doc.groups.forEach((ops, group) => ops.forEach((op) => groupsOf[op].push(group)));

/** Per file: from line number to the ops of that line. */
const opsOfLine = doc.files.map(() => new Map());
doc.ops.forEach((op, number) => {
  if (op[OP.file] < 0) return;
  const lines = opsOfLine[op[OP.file]];
  if (!lines.has(op[OP.line])) lines.set(op[OP.line], []);
  lines.get(op[OP.line]).push(number);
});

const kernelNamed = new Map(doc.kernels.map((kernel) => [kernel.name, kernel]));
/** Kernels that do the work: loops are the sum of theirs. */
const workers = doc.kernels.filter((kernel) => !isLoop(kernel));
function isLoop(kernel) {
  return (kernel.kind === "loop" || kernel.kind === "branch") && kernel.estimate === undefined;
}
/** The measured seconds of the kernels at the top, together. */
const totalSeconds = doc.kernels.reduce((sum, k) => sum + (k.parent === null ? k.seconds || 0 : 0), 0);

/** Kernels and loops that are in no other loop: their times add up. */
const topKernels = doc.kernels.filter((kernel) => kernel.parent === null);

/** Per file: from line number to its part of the measured time; a kernel's is shared by the lines it is made of. */
const heatOfLine = doc.files.map(() => new Map());
for (const kernel of topKernels) {
  const ops = doc.groups[kernel.group].filter((op) => doc.ops[op][OP.file] >= 0);
  const real = ops.filter((op) => !/^(reshape|broadcast|slice|full|iota|cast|flip|copy)$/.test(doc.ops[op][OP.name]));
  const counted = real.length ? real : ops;
  for (const op of counted) {
    const [, file, line] = doc.ops[op];
    const heat = heatOfLine[file];
    if (totalSeconds) heat.set(line, (heat.get(line) || 0) + (kernel.seconds || 0) / counted.length / totalSeconds);
  }
}

// -- what is lit ------------------------------------------------------------------------------------

const lit = {
  /** Per group: 2 where it is about lit ops alone, 1 where about others too, 0 where about none. */
  level: new Uint8Array(doc.groups.length),
  ops: [],
  chosen: new Set(),
  pinned: null,
  watchers: [],

  /** Light the ops that a hand points at; a pin stays. */
  point(ops) {
    if (!this.pinned) this.show(ops);
  },

  /** Keep `ops` lit, and bring them into view everywhere but in `from`; nothing takes the pin away. */
  pin(ops, from = null) {
    this.pinned = ops && ops.length ? ops : null;
    this.show(this.pinned || []);
    for (const watcher of this.watchers) if (this.pinned && watcher.reveal && watcher !== from) watcher.reveal();
    document.body.classList.toggle("pinned", Boolean(this.pinned));
    describe(this.ops);
  },

  show(ops) {
    if (ops.length === this.ops.length && ops.every((op, i) => op === this.ops[i])) return;
    this.ops = ops;
    this.level.fill(0);
    const chosen = (this.chosen = new Set(ops));
    const touched = new Set();
    for (const op of ops) for (const group of groupsOf[op]) touched.add(group);
    for (const group of touched) {
      this.level[group] = doc.groups[group].every((op) => chosen.has(op)) ? 2 : 1;
    }
    for (const watcher of this.watchers) watcher.relight();
    describe(ops);
  },
};

/** Say in the status line what is lit. */
function describe(ops) {
  const status = document.getElementById("status");
  if (!ops.length) {
    status.textContent = "Point at a line to see what it became. Click to keep it lit and bring it into view; Esc lets go.";
    return;
  }
  const names = new Map();
  for (const op of ops) names.set(doc.ops[op][OP.name], (names.get(doc.ops[op][OP.name]) || 0) + 1);
  const shown = [...names].slice(0, 8).map(([name, count]) => (count > 1 ? `${name} ×${count}` : name));
  const more = names.size > 8 ? ` and ${names.size - 8} more` : "";
  const lines = new Set(ops.filter((op) => doc.ops[op][OP.file] >= 0).map((op) => placeText(doc.ops[op][OP.file], doc.ops[op][OP.line])));
  const where = lines.size === 0 ? "" : lines.size <= 3 ? ` from ${[...lines].join(", ")}` : ` from ${lines.size} lines`;
  const gone = new Map();
  for (const op of ops) if (doc.ops[op][OP.removed]) gone.set(doc.ops[op][OP.removed], (gone.get(doc.ops[op][OP.removed]) || 0) + 1);
  const removed = [...gone].map(([pass, count]) => `${count} went away in ${pass}`).join(", ");
  const kernels = workers.filter((kernel) => lit.level[kernel.group]).map((kernel) => kernel.name);
  const into = kernels.length ? ` → ${kernels.slice(0, 6).join(", ")}${kernels.length > 6 ? ", …" : ""}` : "";
  const gradient = ops.every((op) => doc.ops[op][OP.gradient]) ? "gradient: " : "";
  status.textContent = `${lit.pinned ? "Pinned: " : ""}${gradient}${shown.join(", ")}${more}${where}${into}${removed ? ` · ${removed}` : ""}`;
}

const placeText = (file, line) => (file < 0 ? "" : `${doc.files[file].name}:${line}`);

/** The text of a line of the user's, null where it is not in the page. */
function sourceLine(file, line) {
  const known = doc.files[file];
  return known && known.lines[line - known.first] !== undefined ? known.lines[line - known.first] : null;
}

// -- numbers ----------------------------------------------------------------------------------------

/** A number with a unit: scaled(0.00123, "s") is "1.23 ms". */
function scaled(value, unit) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return `0 ${unit}`;
  const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const [scale, prefix] = steps.find(([size]) => Math.abs(value) >= size * 0.9995) || [1e-9, "n"];
  const number = value / scale;
  return `${number >= 99.95 ? number.toFixed(0) : number >= 9.995 ? number.toFixed(1) : number.toFixed(2)} ${prefix}${unit}`;
}
const seconds = (value) => scaled(value, "s");
const bytes = (value) => scaled(value, "B");
const percent = (value) => (value >= 0.0995 ? `${Math.round(value * 100)}%` : `${(value * 100).toFixed(1)}%`);
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const share = (kernel) => (totalSeconds ? (kernel.seconds || 0) / totalSeconds : 0);

// -- the views --------------------------------------------------------------------------------------

/** The views by id: {title, build(element), shown()}. A view is built when it is first shown. */
const views = {};

function showView(id) {
  for (const [name, view] of Object.entries(views)) {
    const chosen = name === id;
    view.tab.setAttribute("aria-selected", chosen);
    view.element.hidden = !chosen;
    if (!chosen) continue;
    if (!view.built) {
      view.built = true;
      view.build(view.element);
    }
    if (view.shown) view.shown();
  }
}

/** Pin a kernel's ops and show them in the view `id`. */
function showKernel(name, id) {
  showView(id);
  const kernel = kernelNamed.get(name);
  lit.pin(doc.groups[kernel.group]);
}
