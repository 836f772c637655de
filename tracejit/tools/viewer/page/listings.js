// Listings: the source and the stages side by side. A listing draws only the lines that are in view, so a
// stage may have a hundred thousand of them.

const LINE = 18;
const AHEAD = 12;

/** A scrolling list of lines. `lines` and `groups` go together; `decorate(i)` is markup put before line i. */
class Listing {
  constructor({ id, title, about, language, lines, groups, first = 1, decorate = null, opsAt = null }) {
    Object.assign(this, { id, title, about, language, decorate, first });
    this.opsAt = opsAt || ((i) => doc.groups[this.groups[i]]);
    this.body = el("div", { class: "lines" });
    this.scroller = el("div", { class: "scroller", tabindex: 0, "aria-label": title }, this.body);
    this.marks = el("div", { class: "marks" });
    this.head = el("div", { class: "pane-head" }, el("b", {}, title), el("span", { class: "faint" }, about || ""));
    this.element = el("section", { class: "pane", "data-pane": id }, this.head, el("div", { class: "pane-body" }, this.scroller, this.marks));
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.scroller.addEventListener("mousemove", (event) => this.pointed(event));
    this.scroller.addEventListener("mouseleave", () => lit.point([]));
    this.scroller.addEventListener("click", (event) => this.clicked(event));
    this.found = new Set();
    this.set(lines, groups);
    lit.watchers.push(this);
  }

  set(lines, groups, first = this.first) {
    this.lines = lines;
    this.groups = groups;
    this.first = first;
    this.digits = String(first + lines.length).length;
    const longest = lines.reduce((most, line) => Math.max(most, line.length), 0);
    this.body.style.height = `${lines.length * LINE}px`;
    this.body.style.width = `calc(${Math.min(longest, 4000) + this.digits + 4}ch + ${this.decorate ? 36 : 0}px)`;
    this.drawn = null;
  }

  levelOf(i) {
    return this.groups ? lit.level[this.groups[i]] : this.levelOfLine(i);
  }

  classesOf(i) {
    const level = this.levelOf(i);
    return `row${level === 2 ? " lit" : level === 1 ? " related" : ""}${this.found.has(i) ? " found" : ""}`;
  }

  /** Draw the lines in view. */
  draw(force = false) {
    const height = this.scroller.clientHeight;
    if (!height) return;
    const from = Math.max(0, Math.floor(this.scroller.scrollTop / LINE) - AHEAD);
    const to = Math.min(this.lines.length, Math.ceil((this.scroller.scrollTop + height) / LINE) + AHEAD);
    const key = `${from}-${to}`;
    if (key === this.drawn && !force) return;
    this.drawn = key;
    const rows = [];
    for (let i = from; i < to; i++) {
      const before = this.decorate ? this.decorate(i) : "";
      rows.push(
        `<div class="${this.classesOf(i)}" data-i="${i}" style="top:${i * LINE}px"><span class="number" style="width:${this.digits}ch">` +
          `${this.first + i}</span>${before}<span class="code">${colored(this.lines[i], this.language)}</span></div>`
      );
    }
    this.body.innerHTML = rows.join("");
  }

  indexOf(event) {
    const row = event.target.closest(".row");
    return row ? Number(row.dataset.i) : -1;
  }

  pointed(event) {
    const i = this.indexOf(event);
    if (i === this.last) return;
    this.last = i;
    lit.point(i < 0 ? [] : this.opsAt(i) || []);
  }

  clicked(event) {
    if (String(window.getSelection())) return;
    const i = this.indexOf(event);
    const ops = i < 0 ? [] : this.opsAt(i) || [];
    const again = lit.pinned && ops.length === lit.pinned.length && ops.every((op, n) => op === lit.pinned[n]);
    lit.pin(again ? [] : ops, this);
  }

  /** The numbers of the lines that are lit, those that are about lit ops alone first asked for. */
  litLines() {
    const exact = [];
    const related = [];
    if (!lit.ops.length) return { exact, related };
    for (let i = 0; i < this.lines.length; i++) {
      const level = this.levelOf(i);
      if (level === 2) exact.push(i);
      else if (level === 1) related.push(i);
    }
    return { exact, related };
  }

  /** Show what is lit now. Nothing is measured here: that would make the browser lay out pane after pane. */
  relight() {
    if (!this.element.isConnected || this.element.closest("[hidden]")) {
      this.drawn = null;
      return;
    }
    if (this.drawn === null) this.draw();
    for (const row of this.body.children) {
      const classes = this.classesOf(Number(row.dataset.i));
      if (row.className !== classes) row.className = classes;
    }
    this.mark();
  }

  /** Show beside the scroll bar where lit lines are. */
  mark() {
    const { exact, related } = this.litLines();
    const spans = [];
    const step = Math.max(1, Math.ceil(this.lines.length / 200));
    const add = (lines, kind) => {
      let last = -1;
      for (const i of lines) {
        const at = Math.floor(i / step);
        if (at !== last) spans.push(`<i class="${kind}" style="top:${((at * step) / this.lines.length) * 100}%"></i>`);
        last = at;
      }
    };
    add(related, "related");
    add(exact, "lit");
    this.marks.innerHTML = spans.join("");
  }

  /** Scroll to the first lit line. */
  reveal() {
    const { exact, related } = this.litLines();
    const target = exact.length ? exact[0] : related[0];
    if (target !== undefined) this.scrollTo(target);
  }

  scrollTo(i) {
    const top = this.scroller.scrollTop;
    const height = this.scroller.clientHeight;
    if (i * LINE < top + LINE || (i + 2) * LINE > top + height) {
      this.scroller.scrollTop = Math.max(0, i * LINE - height / 3);
    }
    this.draw(true);
  }

  /** Lines that have `text` in them. */
  search(text) {
    this.found = new Set();
    if (text) {
      const wanted = text.toLowerCase();
      this.lines.forEach((line, i) => {
        if (line.toLowerCase().includes(wanted)) this.found.add(i);
      });
    }
    this.draw(true);
    return this.found.size;
  }
}

/** The user's files, one at a time, with the part of the time that each line takes. */
class SourceListing extends Listing {
  constructor() {
    super({
      id: "source", title: "Source", language: "python", lines: [], groups: null,
      decorate: (i) => this.heat(i), opsAt: (i) => opsOfLine[this.file]?.get(this.first + i),
    });
    this.choose(0);
    if (doc.files.length > 1) {
      const options = doc.files.map((file, i) => el("option", { value: i }, file.name));
      const picker = el("select", { "aria-label": "file", onchange: () => this.choose(Number(picker.value)) }, ...options);
      this.picker = picker;
      this.head.append(picker);
    } else if (doc.files.length) this.head.append(el("span", { class: "faint" }, doc.files[0].name));
  }

  choose(file) {
    this.file = file;
    const known = doc.files[file] || { lines: ["(no op has a source line)"], first: 1 };
    if (this.picker) this.picker.value = file;
    this.set(known.lines, null, known.first);
    this.scroller.scrollTop = 0;
    this.draw(true);
  }

  levelOfLine(i) {
    const ops = opsOfLine[this.file]?.get(this.first + i);
    if (!ops || !lit.ops.length) return 0;
    return ops.some((op) => lit.chosen.has(op)) ? 2 : 0;
  }

  heat(i) {
    const heat = heatOfLine[this.file]?.get(this.first + i);
    if (!totalSeconds) return "";
    if (!heat) return '<span class="heat"></span>';
    const strength = Math.round(12 + 78 * Math.min(1, heat));
    return `<span class="heat" style="--heat:${strength}%" title="${percent(heat)} of the measured time">${heat >= 0.005 ? percent(heat) : ""}</span>`;
  }

  reveal() {
    const files = lit.ops.map((op) => doc.ops[op][OP.file]).filter((file) => file >= 0);
    if (files.length && !files.includes(this.file)) this.choose(files[0]);
    super.reveal();
  }
}

// -- colours of text --------------------------------------------------------------------------------

const LANGUAGES = {
  ir: /(%[\w.?]+|@[\w.]+)|\b((?:[fiu]\d+|bool)(?:\[[\d,a-z= ]*\])?)|\b(func|return|each|row|fold|stage|nest|map|column|scratch\d*)\b|\b([a-z_][\w-]*)(?=\()|(-?\b\d[\d.e+-]*)/g,
  llvm: /([%@][\w.$-]+)|((?:<\d+ x [\w]+>|\b(?:i\d+|float|double|ptr|void)\b))|\b(define|declare|internal|ret|br|phi|call|load|store|select|getelementptr|fmul|fadd|fsub|fdiv|add|mul|sub|icmp|fcmp|zext|sext|bitcast|shufflevector|extractelement|insertelement|label)\b|\b(contract)\b|(;.*$|\b0x[0-9A-F]+\b|\b\d+\b)/g,
  asm: /(%\w+|\b[xvwq]\d+\b)|^(\.?[\w.$]+:)|^\s+(\.?[a-z]\w*)|(#.*$)|(\$?-?\b(?:0x[0-9a-f]+|\d+)\b)/g,
  python: /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|return|for|in|if|else|elif|while|import|from|as|lambda|with|class|not|and|or|None|True|False|is|pass|raise|yield)\b|\b([A-Za-z_]\w*)(?=\()|(\b\d[\d._e]*\b)/g,
};
const CLASSES = {
  ir: ["value", "type", "word", "op", "literal"],
  llvm: ["value", "type", "word", "faint", "literal"],
  asm: ["value", "op", "word", "faint", "literal"],
  python: ["faint", "string", "word", "op", "literal"],
};

/** Markup of a line of text. */
function colored(text, language) {
  const pattern = LANGUAGES[language];
  if (!pattern || text.length > 600) return escapeText(text);
  const classes = CLASSES[language];
  let out = "";
  let at = 0;
  pattern.lastIndex = 0;
  for (let match; (match = pattern.exec(text)) !== null; ) {
    if (match[0] === "") {
      pattern.lastIndex++;
      continue;
    }
    const which = match.slice(1).findIndex((part) => part !== undefined);
    const start = match.index + match[0].indexOf(match[which + 1]);
    out += escapeText(text.slice(at, start));
    out += `<span class="t-${classes[which]}">${escapeText(match[which + 1])}</span>`;
    at = start + match[which + 1].length;
  }
  return out + escapeText(text.slice(at));
}

// -- dragging ---------------------------------------------------------------------------------------

/** Call `moved(start(), dx, event)` while `handle` is dragged; controls inside it stay what they are. */
function dragged(handle, start, moved) {
  handle.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.closest("select, button")) return;
    event.preventDefault();
    const [x, at] = [event.clientX, start()];
    const move = (now) => moved(at, now.clientX - x, now);
    const stop = () => window.removeEventListener("pointermove", move);
    // of the window: an element that is moved elsewhere loses what it captured
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop, { once: true });
    window.addEventListener("pointercancel", stop, { once: true });
  });
}

// -- the view ---------------------------------------------------------------------------------------

const STAGE_LANGUAGE = { trace: "ir", optimized: "ir", fused: "ir", loops: "ir", llvm: "llvm", asm: "asm" };
const SHOWN_AT_FIRST = ["source", "loops", "asm"];

views.stages = {
  title: "Stages",
  build(element) {
    const panes = [new SourceListing()];
    for (const stage of doc.stages) {
      panes.push(new Listing({ ...stage, about: plural(stage.lines.length, "line"), language: STAGE_LANGUAGE[stage.id] }));
    }
    this.panes = panes;
    const strip = el("div", { class: "strip" }, ...panes.map((pane) => pane.element));
    const choices = panes.map((pane) => {
      const shown = SHOWN_AT_FIRST.includes(pane.id);
      pane.element.hidden = !shown;
      const button = el("button", { type: "button", class: "chip", "aria-pressed": shown, title: pane.about || "", "data-toggle": pane.id }, pane.title);
      button.addEventListener("click", () => {
        pane.element.hidden = !pane.element.hidden;
        button.setAttribute("aria-pressed", !pane.element.hidden);
        this.shown();
      });
      return button;
    });
    element.append(el("div", { class: "bar" }, el("div", { class: "chips" }, ...choices), searchBox("search all stages", (text, next) => this.search(text, next))), strip);
    panes.forEach((pane) => this.arrange(strip, pane));
    new ResizeObserver(() => panes.forEach((pane) => pane.draw(true))).observe(strip);
  },
  /** Let a pane be dragged: by its head to another place, by its right edge to another width. */
  arrange(strip, pane) {
    const edge = el("div", { class: "edge-handle", title: "drag to change the width" });
    pane.element.append(edge);
    dragged(edge, () => pane.element.getBoundingClientRect().width, (width, dx) => {
      pane.element.style.flex = `0 0 ${Math.max(120, width + dx)}px`;
      pane.draw(true);
    });
    pane.head.title = "drag to another place";
    dragged(pane.head, () => null, (_, dx, event) => {
      const over = [...strip.children].find((other) => {
        const box = other.getBoundingClientRect();
        return !other.hidden && event.clientX >= box.left && event.clientX < box.right && event.clientY >= box.top && event.clientY < box.bottom;
      });
      if (!over || over === pane.element) return;
      const box = over.getBoundingClientRect();
      const stacked = getComputedStyle(strip).flexDirection === "column";
      const late = stacked ? event.clientY > box.top + box.height / 2 : event.clientX > box.left + box.width / 2;
      strip.insertBefore(pane.element, late ? over.nextSibling : over);
    });
  },
  shown() {
    for (const pane of this.panes) {
      if (pane.element.hidden) continue;
      pane.relight();
      if (lit.pinned) pane.reveal();
    }
  },
  /** Mark the lines with `text` in all panes; `next` goes on to the following one. */
  search(text, next) {
    let count = 0;
    const hits = [];
    for (const pane of this.panes) {
      if (pane.element.hidden) continue;
      count += pane.search(text);
      for (const i of pane.found) hits.push([pane, i]);
    }
    if (!text) return "";
    this.at = next ? ((this.at ?? -1) + 1) % Math.max(1, hits.length) : 0;
    if (hits.length) {
      const [pane, i] = hits[this.at];
      pane.element.scrollIntoView({ inline: "nearest", block: "nearest" });
      pane.scrollTo(i);
      if (!next) for (const other of this.panes) if (other !== pane && other.found.size) other.scrollTo([...other.found][0]);
    }
    return count ? `${next || hits.length ? this.at + 1 : 0} of ${count}` : "nothing";
  },
};

/** A search field: `find(text, next)` returns what to say. */
function searchBox(placeholder, find) {
  const input = el("input", { type: "search", placeholder, "aria-label": placeholder, spellcheck: "false" });
  const said = el("span", { class: "faint said" });
  input.addEventListener("input", () => (said.textContent = find(input.value.trim(), false)));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") said.textContent = find(input.value.trim(), true);
    if (event.key === "Escape") {
      input.value = "";
      said.textContent = find("", false);
      event.stopPropagation();
    }
  });
  return el("label", { class: "search" }, input, said);
}
