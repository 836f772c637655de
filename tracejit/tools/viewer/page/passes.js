// The passes, one by one, with what each changed.

views.passes = {
  title: "Passes",
  build(element) {
    const longest = Math.max(...doc.passes.map((pass) => pass.milliseconds), 1e-9);
    const list = el("ol", { class: "pass-list" });
    const detail = el("div", { class: "pass-detail" });
    doc.passes.forEach((pass, number) => {
      const delta = pass.after - pass.before;
      const what = pass.changes.length ? (delta === 0 ? `${pass.after} ops` : `${pass.before} → ${pass.after} ops`) : "unchanged";
      const button = el(
        "button", { type: "button", class: pass.changes.length ? "pass" : "pass quiet", "data-pass": number, onclick: () => this.choose(number) },
        el("span", { class: "pass-name" }, pass.name), el("span", { class: "faint" }, what),
        el("span", { class: "pass-time" }, seconds(pass.milliseconds / 1e3)),
        el("span", { class: "meter", style: `--part:${((pass.milliseconds / longest) * 100).toFixed(1)}%` })
      );
      list.append(el("li", {}, button));
    });
    const total = doc.passes.reduce((sum, pass) => sum + pass.milliseconds, 0);
    this.detail = detail;
    this.list = list;
    element.append(
      el("div", { class: "split" },
        el("aside", { class: "side" }, el("h2", {}, "Pipeline"), el("p", { class: "faint" }, `${doc.passes.length} passes in ${seconds(total / 1e3)}. Names of values are the same in every pass.`), list),
        detail)
    );
    const first = doc.passes.findIndex((pass) => pass.changes.length);
    this.choose(Math.max(0, first));
  },
  choose(number) {
    const pass = doc.passes[number];
    for (const button of this.list.querySelectorAll("button")) button.setAttribute("aria-current", Number(button.dataset.pass) === number);
    if (this.pane) lit.watchers.splice(lit.watchers.indexOf(this.pane), 1);
    const removed = pass.changes.filter(([sign]) => sign === "-").length;
    const added = pass.changes.filter(([sign]) => sign === "+").length;
    this.pane = new Listing({
      id: "diff", title: pass.name, about: pass.about, language: "ir",
      lines: pass.changes.map(([sign, text]) => (sign === "@" ? "   ⋯" : `${sign} ${text}`)),
      groups: pass.changes.map(([, , group]) => group),
      decorate: (i) => `<span class="sign ${{ "+": "plus", "-": "minus", "@": "skip", " ": "same" }[pass.changes[i][0]]}"></span>`,
    });
    this.pane.element.classList.add("diff");
    this.pane.head.append(el("span", { class: "counts" }, el("span", { class: "plus" }, `+${added}`), " ", el("span", { class: "minus" }, `−${removed}`)));
    this.detail.replaceChildren(pass.changes.length ? this.pane.element : el("div", { class: "empty" }, el("b", {}, pass.name), el("p", {}, "This pass changed nothing."), el("p", { class: "faint" }, pass.about)));
    this.pane.relight();
  },
  shown() {
    if (this.pane) this.pane.relight();
  },
};
