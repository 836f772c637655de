"""Actions of tests on a page: find lines, open stages, drag, take pictures."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[4]
_UPDATE = os.environ.get("TRACEJIT_UPDATE_SCREENSHOTS") == "1"


def lit(page, pane, kind="lit"):
    """The text of the lines that are lit in a pane, as far as they are in view."""
    return page.locator(f"[data-pane={pane}] .row.{kind} .code").all_inner_texts()


def row(page, pane, text):
    """The first line in view of a pane with `text` in it."""
    return page.locator(f"[data-pane={pane}] .row", has_text=text).first


def picture(page, name, tmp_path, *, keep=True):
    """A screenshot, which is kept for the documentation where it is asked for."""
    path = tmp_path / f"{name}.png"
    page.screenshot(path=path)
    if _UPDATE and keep:
        page.screenshot(path=ROOT / "docs" / "images" / f"view-{name}.png")
    data = path.read_bytes()
    assert data[:4] == b"\x89PNG"
    return path


def stages(visit, what, **window):
    """The page with every stage in view."""
    page = visit(what, tab="stages", width=2400, **window)
    for name in ("trace", "optimized", "llvm"):
        page.click(f"[data-toggle={name}]")
    return page


def until(act, locator):
    """`act`, again after five seconds without it, until `locator` is in view: a browser drops what is done
    to a frame that it has not painted yet."""
    for attempt in range(200):
        if attempt % 50 == 0:
            act()
        if locator.is_visible():
            return
        locator.page.wait_for_timeout(100)
    raise AssertionError(f"{locator} did not come into view")


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*[(a + b) / 2 for a, b in zip(start, end, strict=True)])
    page.mouse.move(*end)
    page.mouse.up()
