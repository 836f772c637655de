"""Views: the viewer's page of one function, saved, opened, or shown in a notebook."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
import webbrowser
from typing import Any

from ...base.process.locks import computed_once
from .page import page_of


class View:
    """The viewer's page of one function. In a notebook it shows itself.

    Attributes:
        document: everything as plain data; docs/view.md lists the fields.
        html: the page, one self-contained file.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @computed_once
    def html(self) -> str:
        """The page."""
        return page_of(self.document)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Write the page to `path`. Raises OSError where it cannot be written."""
        target = pathlib.Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def write_temporary(self) -> pathlib.Path:
        """Write the page to a new temporary file, which stays."""
        handle, name = tempfile.mkstemp(prefix="tracejit-", suffix=".html")
        os.close(handle)
        return self.save(name)

    def open(self, path: str | os.PathLike[str] | None = None) -> pathlib.Path:
        """Show the page in the browser; returns its file, a temporary one unless it was saved to `path`."""
        shown = self.write_temporary() if path is None else pathlib.Path(path)
        webbrowser.open(shown.resolve().as_uri())
        return shown

    def _repr_html_(self) -> str:
        """The HTML for notebooks: the page in a frame."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:720px;border:0;'
            'border-radius:8px" sandbox="allow-scripts" title="tracejit view"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<view of {self.document['title']}: {len(self.document['ops'])} ops, .save(path) or .open()>"
