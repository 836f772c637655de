// The roofline: flops per byte against flops per second, with what this machine can do as the roof.

/** Draw into `holder`; `choose` is called with the kernel that is clicked. */
function drawRoofline(holder, choose) {
  const machine = doc.machine;
  const points = workers.filter((kernel) => kernel.seconds && kernel.flops && kernel.bytes && kernel.floor);
  if (!machine || !points.length) {
    holder.append(el("p", { class: "empty faint" }, "There is no roofline: nothing was measured that does floating-point work."));
    return null;
  }
  const peak = machine.flops.f64[1] >= machine.flops.f32[1] ? machine.flops.f64 : machine.flops.f32;
  const rate = (kernel) => kernel.flops / kernel.seconds;
  const log = Math.log10;
  const xs = points.map((kernel) => log(kernel.intensity));
  const ys = points.map((kernel) => log(rate(kernel)));
  const left = Math.floor(Math.min(-1.5, ...xs) * 2) / 2;
  const right = Math.ceil(Math.max(1.5, log(peak[1] / machine.bytes.at(-1)[2]) + 0.4, ...xs) * 2) / 2;
  const top = Math.ceil(Math.max(log(peak[1]), ...ys) + 0.15);
  const bottom = Math.floor(Math.max(Math.min(...ys), top - 7) - 0.15);
  let chosen = null;

  function draw() {
    const width = Math.max(360, holder.clientWidth);
    const height = Math.max(220, Math.min(380, (holder.clientHeight || 330) - 12));
    const [padLeft, padRight, padTop, padBottom] = [58, 16, 26, 40];
    const x = (value) => padLeft + ((log(value) - left) / (right - left)) * (width - padLeft - padRight);
    const y = (value) => height - padBottom - ((log(value) - bottom) / (top - bottom)) * (height - padTop - padBottom);
    const inside = (value) => Math.max(padTop, Math.min(height - padBottom, value));
    const parts = [];
    for (let power = Math.ceil(left); power <= right; power++) {
      const at = x(10 ** power);
      parts.push(`<line class="grid" x1="${at}" x2="${at}" y1="${padTop}" y2="${height - padBottom}"/><text class="tick" x="${at}" y="${height - padBottom + 15}">${power >= 0 ? 10 ** power : (10 ** power).toFixed(-power)}</text>`);
    }
    for (let power = bottom; power <= top; power++) {
      const at = y(10 ** power);
      parts.push(`<line class="grid" x1="${padLeft}" x2="${width - padRight}" y1="${at}" y2="${at}"/><text class="tick end" x="${padLeft - 7}" y="${at + 4}">${scaled(10 ** power, "").replace(".00", "").replace(/\.0+ /, " ")}</text>`);
    }
    const roof = (bandwidth, kind, label) => {
      const knee = peak[1] / bandwidth;
      const from = Math.max(10 ** left, 10 ** bottom / bandwidth);
      const to = 10 ** right;
      const line = `M${x(from)},${inside(y(from * bandwidth))}L${x(Math.min(knee, to))},${inside(y(Math.min(knee, to) * bandwidth))}` + (knee < to ? `L${x(to)},${y(peak[1])}` : "");
      const middle = Math.sqrt(from * Math.min(knee, to));
      const angle = (Math.atan2(y(middle * bandwidth) - y(from * bandwidth), x(middle) - x(from)) * 180) / Math.PI;
      parts.push(`<path class="roof ${kind}" d="${line}"/><text class="roof-label ${kind}" transform="translate(${x(middle)},${y(middle * bandwidth) - 6}) rotate(${angle.toFixed(1)})">${label}</text>`);
    };
    const memory = machine.bytes.at(-1);
    const cache = machine.bytes.reduce((best, one) => (one[2] > best[2] ? one : best));
    for (const [level, , bandwidth] of new Set([memory, cache])) roof(bandwidth, level === memory[0] ? "memory" : "cache", `${level} ${bytes(bandwidth)}/s`);
    parts.push(`<text class="roof-label end" x="${width - padRight}" y="${y(peak[1]) - 7}">${scaled(peak[1], "FLOP/s")}</text>`);
    const longest = Math.max(...points.map((kernel) => kernel.seconds));
    const ordered = [...points].sort((a, b) => b.seconds - a.seconds);
    for (const kernel of ordered) {
      const radius = 4 + 9 * Math.sqrt(kernel.seconds / longest);
      const near = reached(kernel);
      const at = [x(kernel.intensity), inside(y(rate(kernel)))];
      parts.push(`<g class="dot ${near > 0.5 ? "good" : near > 0.2 ? "fair" : "poor"}${kernel === chosen ? " chosen" : ""}" data-kernel="${kernel.name}" transform="translate(${at})"><title>${kernel.name} ${kernel.kind}: ${seconds(kernel.seconds)}, ${scaled(rate(kernel), "FLOP/s")}, ${bytes(kernel.bytes / kernel.seconds)}/s</title><circle r="${radius.toFixed(1)}"/></g>`);
    }
    const labels = [];
    for (const kernel of ordered.slice(0, 8)) {
      const [left, top] = [x(kernel.intensity) + 10 + 6 * Math.sqrt(kernel.seconds / longest), inside(y(rate(kernel))) + 4];
      if (labels.some(([a, b]) => Math.abs(a - left) < 34 && Math.abs(b - top) < 13)) continue;
      labels.push([left, top]);
      parts.push(`<text class="dot-label" x="${left}" y="${top}">${kernel.name}</text>`);
    }
    parts.push(`<text class="axis" x="${(padLeft + width - padRight) / 2}" y="${height - 6}">flops per byte</text><text class="axis start" x="8" y="14">flops per second</text>`);
    holder.innerHTML = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="roofline">${parts.join("")}</svg>`;
  }

  holder.addEventListener("click", (event) => {
    const dot = event.target.closest(".dot");
    if (dot) choose(kernelNamed.get(dot.dataset.kernel));
  });
  draw();
  return {
    resize: draw,
    choose(kernel) {
      chosen = kernel;
      for (const dot of holder.querySelectorAll(".dot")) dot.classList.toggle("chosen", dot.dataset.kernel === kernel?.name);
    },
  };
}
