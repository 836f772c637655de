"""docs/extending.md: every snippet runs, in order, and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import tracejit as tj

DOCUMENT = Path(__file__).parents[3] / "docs" / "extending.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_every_snippet_prints_what_it_promises() -> None:
    assert len(SNIPPETS) > 12
    names: dict[str, Any] = {}
    promises = 0
    with tj.extend.isolated():
        for number, snippet in enumerate(SNIPPETS):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(snippet, f"snippet {number} of extending.md", "exec"), names)
            promised = re.findall(r"print\(.*\)  # (.*)", snippet)
            assert printed.getvalue().splitlines() == promised, snippet
            promises += len(promised)
    assert promises > 12
    assert tj.get_backend() == "numpy"
