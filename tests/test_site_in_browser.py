"""The built site in Chromium: at three widths, light and dark, nothing scrolls sideways, and search finds.

``python -m docs FOLDER`` builds it; ``TRACEJIT_SITE=FOLDER`` names it here. ``TRACEJIT_PICTURES=FOLDER``
keeps the pictures, to be looked at.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from .browser import chromium  # noqa: F401 (a fixture)

WIDTHS = (1400, 800, 390)
THEMES = ("light", "dark")
#: Pages of each kind: front page, tutorial, guide, tables, signatures, notebook, gallery.
PAGES = (
    "index",
    "tutorials/first-ten-minutes",
    "loops",
    "coming-from-autograd",
    "reference/elementwise",
    "reference/errors",
    "notebooks/a-small-network",
    "gallery/index",
)

#: Elements beyond the right edge, where the page scrolls sideways.
BEYOND = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  return [...document.querySelectorAll("body *")]
    .filter(e => e.getBoundingClientRect().right > root.clientWidth + 1)
    .map(e => e.tagName + "." + e.className).slice(0, 8).concat(["page " + root.scrollWidth]);
}"""
#: Script that gives the number of the site's own images that did not load.
MISSING = """() => [...document.images]
  .filter(i => i.src.startsWith(location.origin) && i.complete && !i.naturalWidth).length"""
BRIGHTNESS = """() => {
  const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
  return (r + g + b) / 3;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site; its search fetches pages, which files may not."""
    folder = os.environ.get("TRACEJIT_SITE")
    if folder is None:
        pytest.skip("no built site: python -m docs FOLDER, and TRACEJIT_SITE=FOLDER")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(chromium: Any, site: str) -> Iterator[Callable[..., Any]]:  # noqa: F811
    """``visit(page, width, theme)``: the page in a window. At the end, nothing may have gone wrong."""
    contexts, errors = [], []

    def go(name: str, width: int, theme: str) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        context.route(lambda url: not url.startswith(site), lambda route: route.abort())
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site}/{name}.html", wait_until="load")
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page(visit: Callable[..., Any], tmp_path: Path, name: str, width: int, theme: str) -> None:
    page = visit(name, width, theme)
    assert page.evaluate(BEYOND) == []
    assert (page.evaluate(BRIGHTNESS) < 80) == (theme == "dark")
    missing = (
        "() => [...document.images].filter(i => i.src.startsWith(location.origin) && !i.naturalWidth).length"
    )
    assert page.evaluate(missing) == 0
    assert page.locator("h1").first.is_visible()
    folder = Path(os.environ.get("TRACEJIT_PICTURES", tmp_path))
    picture = folder / f"{name.replace('/', '-')}-{width}-{theme}.png"
    page.screenshot(path=picture)
    assert picture.stat().st_size > 10_000, "an empty window is smaller"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("words", "page"), [("value_and_grad", "reference/transforms"), ("denormal", "profiling")]
)
def test_search(visit: Callable[..., Any], width: int, words: str, page: str) -> None:
    shown = visit("search", width, "light")
    shown.goto(f"{shown.url.partition('?')[0]}?q={words}")
    shown.locator(f"#search-results li a[href*='{page}.html']").first.wait_for(timeout=60_000)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_search_field_is_in_reach(visit: Callable[..., Any], width: int) -> None:
    page = visit("index", width, "light")
    field = page.locator(".sidebar-search")
    if (
        not field.is_visible()
        or page.evaluate("e => e.getBoundingClientRect().right", field.element_handle()) <= 0
    ):
        page.locator("label.nav-overlay-icon:visible, .nav-overlay-icon label:visible").first.click()
    field.fill("scan")
    field.press("Enter")
    page.locator("#search-results li a").first.wait_for(timeout=120_000)
