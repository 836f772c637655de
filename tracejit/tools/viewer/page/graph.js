// The graph: kernels are boxes with their ops inside. Wheel or pinch zooms, dragging pans, a click pins.

views.graph = {
  title: "Graph",
  build(element) {
    const holder = el("div", { class: "canvas" });
    const { width, height } = doc.graph;
    holder.innerHTML = `<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="img" aria-label="graph of the function"><defs><marker id="arrow" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0.5,0.5L8,4L0.5,7.5z"/></marker></defs><g class="scene">${doc.graph.svg}</g></svg>`;
    this.svg = holder.firstChild;
    this.scene = this.svg.querySelector(".scene");
    this.holder = holder;
    this.size = { width, height };
    this.parts = new Map();
    for (const part of this.scene.querySelectorAll("[data-g]")) {
      const group = Number(part.dataset.g);
      if (!this.parts.has(group)) this.parts.set(group, []);
      this.parts.get(group).push(part);
    }
    this.texts = [...this.scene.querySelectorAll(".node, .box")].map((part) => [part, part.textContent.toLowerCase()]);
    const zoomTo = (factor) => () => this.zoom(factor, this.holder.clientWidth / 2, this.holder.clientHeight / 2);
    const keys = [["parameter", "input"], ["op", "op"], ["gradient", "of the gradient"], ["fusion", "one kernel"], ["control", "loop or branch"], ["result", "result"]];
    const legend = el("div", { class: "legend faint" }, ...keys.map(([kind, text]) => el("span", { class: "entry" }, el("span", { class: `key ${kind}` }), text)));
    element.append(
      el("div", { class: "bar" }, legend,
        searchBox("search ops, types, kernels", (text, next) => this.search(text, next)),
        el("div", { class: "buttons" },
          el("button", { type: "button", title: "zoom in", onclick: zoomTo(1.3) }, "+"),
          el("button", { type: "button", title: "zoom out", onclick: zoomTo(1 / 1.3) }, "−"),
          el("button", { type: "button", id: "fit", title: "the whole graph", onclick: () => this.fit() }, "fit"))),
      holder);
    this.listen();
    lit.watchers.push(this);
    this.fit();
  },

  shown() {
    this.relight();
    if (lit.pinned) this.reveal();
  },

  /** Everything, in the middle. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    const scale = Math.min(1.25, width / this.size.width, height / this.size.height) || 1;
    this.view = { scale, x: (width - this.size.width * scale) / 2, y: Math.max(0, (height - this.size.height * scale) / 2) };
    this.place();
  },

  place() {
    const { scale, x, y } = this.view;
    this.scene.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
    this.svg.classList.toggle("far", scale < 0.28);
  },

  zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.02, this.view.scale * factor));
    const by = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by };
    this.place();
  },

  /** Where a part is, in the coordinates of the graph. */
  boxOf(part) {
    const box = part.getBoundingClientRect();
    const holder = this.holder.getBoundingClientRect();
    const { scale, x, y } = this.view;
    return { x: (box.x - holder.x - x) / scale, y: (box.y - holder.y - y) / scale, width: box.width / scale, height: box.height / scale };
  },

  /** Bring a part into the middle. */
  center(part) {
    const box = this.boxOf(part);
    const { clientWidth: width, clientHeight: height } = this.holder;
    const fitting = Math.min((0.8 * width) / box.width, (0.8 * height) / box.height);
    const scale = Math.min(Math.max(this.view.scale, 0.7), Math.max(fitting, 0.1), 1.4);
    this.view = { scale, x: width / 2 - (box.x + box.width / 2) * scale, y: height / 2 - (box.y + box.height / 2) * scale };
    this.place();
  },

  relight() {
    if (this.holder.offsetParent === null) return;
    for (const part of this.lighted || []) part.classList.remove("lit", "related");
    this.lighted = [];
    for (const [group, parts] of this.parts) {
      const level = lit.level[group];
      if (!level) continue;
      for (const part of parts) {
        part.classList.add(level === 2 ? "lit" : "related");
        this.lighted.push(part);
      }
    }
    this.svg.classList.toggle("dimmed", this.lighted.length > 0);
  },

  reveal() {
    if (this.holder.offsetParent === null) return;
    const part = (this.lighted || []).find((one) => one.classList.contains("lit")) || (this.lighted || [])[0];
    if (part) this.center(part);
  },

  search(text, next) {
    for (const part of this.found || []) part.classList.remove("found");
    this.found = [];
    if (!text) return "";
    const wanted = text.toLowerCase();
    this.found = this.texts.filter(([, content]) => content.includes(wanted)).map(([part]) => part);
    for (const part of this.found) part.classList.add("found");
    this.at = next ? ((this.at ?? -1) + 1) % Math.max(1, this.found.length) : 0;
    if (this.found.length) this.center(this.found[this.at]);
    return this.found.length ? `${this.at + 1} of ${this.found.length}` : "nothing";
  },

  listen() {
    const opsAt = (target) => {
      const part = target.closest && target.closest("[data-g]");
      return part ? doc.groups[Number(part.dataset.g)] : [];
    };
    let drag = null;
    this.holder.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.holder.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - box.x, event.clientY - box.y);
    }, { passive: false });
    this.holder.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, from: { ...this.view }, moved: false };
    });
    this.holder.addEventListener("pointermove", (event) => {
      if (!drag) {
        if (event.target !== this.over) {
          this.over = event.target;
          lit.point(opsAt(event.target));
        }
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      if (!drag.moved) this.holder.setPointerCapture(event.pointerId);
      drag.moved = true;
      this.holder.classList.add("dragging");
      this.view = { scale: this.view.scale, x: drag.from.x + dx, y: drag.from.y + dy };
      this.place();
    });
    this.holder.addEventListener("pointerup", (event) => {
      const moved = drag && drag.moved;
      drag = null;
      this.holder.classList.remove("dragging");
      if (!moved) {
        const ops = opsAt(event.target);
        const again = lit.pinned && ops.join() === lit.pinned.join();
        lit.pin(again ? [] : ops, this);
      }
    });
    this.holder.addEventListener("pointerleave", () => lit.point([]));
  },
};
