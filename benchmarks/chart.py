"""A chart of a run as SVG: per workload, how many times each peer's time is ours, on a logarithmic scale.

Written by hand, with colours for light and dark pages in one file.
"""

from __future__ import annotations

import math
from typing import Final
from xml.sax.saxutils import escape

from .contest import Outcome

ROW: Final = 15
LEFT: Final = 150
WIDTH: Final = 860
TOP: Final = 58
#: The scale's ends; what lies beyond is drawn at the edge.
LEAST: Final = 0.25
MOST: Final = 256.0

#: Colours on light and on dark pages, by peer: told apart by those who see few colours, too.
COLOURS: Final = {
    "jax": ("#0969da", "#58a6ff"),
    "torch": ("#bc4c00", "#f0883e"),
    "torch.compile": ("#8250df", "#bc8cff"),
    "numba": ("#1a7f37", "#3fb950"),
    "numpy": ("#6e7781", "#8b949e"),
}


def svg(outcomes: list[Outcome], title: str) -> str:
    """The chart's text."""
    shown = [outcome for outcome in outcomes if outcome.ratios]
    height = TOP + ROW * len(shown) + 30
    bottom = TOP + ROW * len(shown)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="10.5" role="img">',
        f"<title>{escape(title)}</title>",
        _style(),
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text class="text" x="10" y="18" font-size="13" font-weight="600">{escape(title)}</text>',
        *_legend(shown),
    ]
    power = math.ceil(math.log2(LEAST))
    while 2.0**power <= MOST:
        ratio, x = 2.0**power, _x(2.0**power)
        kind = "one" if power == 0 else "grid"
        label = f"{ratio:g}x" if power >= 0 else f"1/{2**-power}"
        lines.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}"/>')
        lines.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{label}</text>')
        power += 1
    for number, current in enumerate(shown):
        lines += _row(current, TOP + ROW * number + ROW / 2)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _x(ratio: float) -> float:
    """Horizontal position of a ratio."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - 25)


def _style() -> str:
    def rules(column: int) -> str:
        return " ".join(
            f".{name.replace('.', '-')} {{ fill: {colours[column]} }}" for name, colours in COLOURS.items()
        )

    return (
        "<style>.page { fill: #ffffff } .text { fill: #1f2328 } .soft { fill: #59636e } "
        ".grid { stroke: #d1d9e0; stroke-width: 0.6 } .one { stroke: #1f2328; stroke-width: 1.4 } "
        ".stripe { fill: #f6f8fa } .bad { fill: #cf222e } "
        + rules(0)
        + " @media (prefers-color-scheme: dark) { "
        ".page { fill: #0d1117 } .text { fill: #e6edf3 } .soft { fill: #9198a1 } .grid { stroke: #30363d } "
        ".one { stroke: #e6edf3 } .stripe { fill: #151b23 } .bad { fill: #f85149 } " + rules(1) + " }</style>"
    )


def _legend(shown: list[Outcome]) -> list[str]:
    lines, x = [], 10
    for name in COLOURS:
        if any(name in outcome.ratios for outcome in shown):
            lines.append(f'<circle class="{name.replace(".", "-")}" cx="{x + 4}" cy="36" r="4"/>')
            lines.append(f'<text class="text" x="{x + 13}" y="40">{name}</text>')
            x += 28 + 7 * len(name)
    lines.append(
        f'<text class="soft" x="{WIDTH - 25}" y="40" text-anchor="end">'
        "peer's time over tracejit's; right of 1x tracejit is faster</text>"
    )
    return lines


def _row(outcome: Outcome, y: float) -> list[str]:
    slower = outcome.ratio is not None and outcome.ratio.median < 1
    lines = []
    if round((y - TOP) / ROW - 0.5) % 2:
        lines.append(f'<rect class="stripe" x="0" width="{WIDTH}" y="{y - ROW / 2}" height="{ROW}"/>')
        lines.append(
            f'<line class="one" x1="{_x(1):.1f}" x2="{_x(1):.1f}" y1="{y - ROW / 2}" y2="{y + ROW / 2}"/>'
        )
    lines.append(
        f'<text class="{"bad" if slower else "text"}" x="{LEFT - 8}" y="{y + 3.5}" text-anchor="end">'
        f"{escape(outcome.workload.name)}</text>"
    )
    for name, ratio in outcome.ratios.items():
        lines.append(
            f'<circle class="{name.replace(".", "-")}" cx="{_x(ratio.median):.1f}" cy="{y}" r="3.8">'
            f"<title>{escape(f'{outcome.workload.name}, {name}: {ratio.median:.2f}')}</title></circle>"
        )
    return lines
