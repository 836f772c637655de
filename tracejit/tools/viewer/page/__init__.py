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
    data = json.dumps(_with_texts(document), separators=(",", ":"), allow_nan=False)
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


def _with_texts(document: Mapping[str, Any]) -> dict[str, Any]:
    """`document` with each line of its stages once: equal kernels are equal code, which is most of a large
    page. `lines` are places in `texts` then; ``model.js`` puts them back."""
    texts: dict[str, int] = {}
    stages = [
        {**stage, "lines": [texts.setdefault(line, len(texts)) for line in stage["lines"]]}
        for stage in document.get("stages", ())
    ]
    return {**document, "stages": stages, "texts": list(texts)}


def _file(name: str) -> str:
    return importlib.resources.files(__name__).joinpath(name).read_text("utf-8")
