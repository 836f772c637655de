"""The page: one HTML file with its style, its scripts and a document inside, and nothing outside."""

from __future__ import annotations

import html
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any, Final

#: The scripts in the order in which they are loaded.
SCRIPTS: Final = (
    "model.js", "summary.js", "listings.js", "passes.js", "graph.js", "kernels.js", "roofline.js", "main.js",
)  # fmt: skip


def page_of(document: Mapping[str, Any]) -> str:
    """The HTML of a document; a browser needs nothing else.

    Example:
        >>> text = page_of({"title": "f </script>"})
        >>> text.startswith("<!doctype html>"), "f </script>" in text
        (True, False)
    """
    data = json.dumps(document, separators=(",", ":"), allow_nan=False)
    parts = {
        "TITLE": html.escape(str(document.get("title", ""))),
        "STYLE": _file("style.css"),
        # In JSON, < stands in strings alone, where it may be written like this; nothing can end the script.
        "DOCUMENT": data.replace("<", "\\u003c"),
        "SCRIPT": "\n".join(_file(name) for name in SCRIPTS),
    }
    before, *rest = _file("page.html").split("{{")
    out = [before]
    for piece in rest:
        name, _, after = piece.partition("}}")
        out += [parts[name], after]
    return "".join(out)


def _file(name: str) -> str:
    return importlib.resources.files(__name__).joinpath(name).read_text("utf-8")
