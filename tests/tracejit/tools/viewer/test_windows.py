"""The page in windows of any size, in both themes, and of a function with six hundred kernels."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.viewer import view_function

from .hands import picture, row


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 800, 390])
def test_windows_of_any_width(visit, shown, width, theme, tmp_path):
    """Code alone is scrolled sideways, and every view has something to see."""
    page = visit(shown, width=width, height=900, theme=theme)
    for view_name, sign in [
        ("summary", ".figure"), ("stages", "[data-pane=source] .row"), ("passes", ".pass"),
        ("graph", "svg.graph .node"), ("kernels", "table.kernels tbody tr"),
    ]:  # fmt: skip
        page.click(f"#tab-{view_name}")
        assert page.locator(sign).first.is_visible()
        for element in ("html", "body", f"#view-{view_name}"):
            assert page.locator(element).evaluate("e => e.scrollWidth") <= width, (view_name, element)
        picture(page, f"{view_name}-{width}-{theme}", tmp_path, keep=False)
    page.click("#tab-stages")
    row(page, "source", "hidden = tj.tanh(x @ w)").click()
    page.locator("[data-pane=loops] .row.lit").first.scroll_into_view_if_needed()
    assert page.inner_text("#status").startswith("Pinned: ")
    assert page.locator("#status").evaluate("e => getComputedStyle(e).backgroundColor") == page.evaluate(
        "getComputedStyle(document.getElementById('top')).backgroundColor"
    )


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_the_graph_opens_fitted_and_centred(visit, shown, width):
    page = visit(shown, tab="graph", width=width)
    holder = page.locator(".canvas").bounding_box()
    scene = page.locator("svg.graph .scene").evaluate(
        "e => { const b = e.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; }"
    )
    left, right = scene[0] - holder["x"], holder["x"] + holder["width"] - scene[1]
    assert left >= -1
    assert right >= -1
    assert left == pytest.approx(right, abs=0.1 * holder["width"])
    assert scene[2] >= holder["y"] - 1
    assert scene[3] <= holder["y"] + holder["height"] + 1
    fills = (scene[1] - scene[0]) / holder["width"], (scene[3] - scene[2]) / holder["height"]
    assert max(fills) > 0.7


def test_six_hundred_kernels(visit):
    """Limits of times are some times what an idle machine takes."""

    functions = [tj.tanh, tj.sin, tj.arctan, tj.cos]
    order = np.random.default_rng(0).integers(4, size=300)  # what repeats would become a loop

    def many(x, w):
        for step in range(300):
            x = functions[order[step]](x @ w + float(step))
        return x.sum()

    x = np.ones((16, 16))
    shown = view_function(tj.jit(many, loops="unrolled").trace(x, x), [x, x])
    assert len(shown.document["kernels"]) == 600
    assert len(shown.html) < 5e6
    page = visit(shown)
    assert page.locator("table.by-line tr").count() == 1
    assert "300 kernels" not in page.inner_text("table.by-line")
    assert "600 kernels" in page.inner_text("table.by-line")
    page.click("table.by-line button")
    assert page.inner_text("#status").startswith("Pinned: ")
    page.evaluate("lit.pin([500])")
    assert page.locator("svg.graph .lit, .lit").count() > 0
    page.click("#tab-graph")
    page.evaluate("lit.pin([])")
    page.click("#fit")
    window = page.locator(".canvas").bounding_box()
    boxes = page.evaluate("""() => [...document.querySelectorAll("svg.graph .box.fusion .frame")].map((e) => {
      const box = e.getBoundingClientRect();
      return [box.left, box.top, box.right, box.bottom, box.width];
    })""")
    assert len(boxes) == 300
    for left, top, right, bottom, width in boxes:
        assert width > 12, "fit shows boxes that can be seen"
        assert window["x"] <= left
        assert right <= window["x"] + window["width"]
        assert window["y"] <= top
        assert bottom <= window["y"] + window["height"]
