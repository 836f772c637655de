"""The import statements of a program, changed at their positions: all other text stays as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

#: The library whose imports are changed, and the namespace that takes its place.
LIBRARY: Final = "autograd"
NAMESPACE: Final = "tracejit.compat.autograd"
_PARENT, _, _NAME = NAMESPACE.rpartition(".")

#: A place in the text, as bytes of UTF-8 from its beginning, and what stands there instead.
Edit = tuple[int, int, str]


def is_of_library(module: str | None) -> bool:
    """Whether `module` is HIPS autograd or one of its modules."""
    return module is not None and (module == LIBRARY or module.startswith(f"{LIBRARY}."))


def namespace_of(module: str) -> str:
    """The module that takes the place of one of the library's."""
    return NAMESPACE + module[len(LIBRARY) :]


def ported(source: str) -> str:
    """`source`, a Python program, with the imports of HIPS autograd changed. Raises SyntaxError."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for start, end, text in sorted(_edits(ast.parse(source), data, starts), reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode()


def _edits(tree: ast.Module, data: bytes, starts: list[int]) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and is_of_library(node.module):
            start = starts[node.lineno - 1] + node.col_offset
            name = re.compile(rb"from\s+(autograd)\b").match(data, start)
            if name is not None:
                yield (*name.span(1), NAMESPACE)
        elif isinstance(node, ast.Import) and any(is_of_library(alias.name) for alias in node.names):
            yield from _edits_of_import(node, starts)


def _edits_of_import(node: ast.Import, starts: list[int]) -> Iterator[Edit]:
    if all(alias.asname or not is_of_library(alias.name) for alias in node.names):
        for alias in node.names:
            if is_of_library(alias.name):
                start = starts[alias.lineno - 1] + alias.col_offset
                yield start, start + len(LIBRARY), NAMESPACE
        return
    # `import autograd.numpy` binds `autograd`: so does this, and modules of the namespace load at first use
    others = [ast.unparse(alias) for alias in node.names if not is_of_library(alias.name) or alias.asname]
    kept = [re.sub(rf"^{LIBRARY}\b", NAMESPACE, other) for other in others]
    parts = [f"from {_PARENT} import {_NAME}", *([f"import {', '.join(kept)}"] if kept else [])]
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    yield (
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
        "; ".join(parts),
    )
