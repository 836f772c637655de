"""Make the functions of rows."""

from __future__ import annotations
import __future__

from collections.abc import Callable
from typing import Any, Final

from .rows import Row

#: The file that tracebacks name for these functions.
GENERATED: Final = f"{__file__}.generated"


def function_of(row: Row, body: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of a row: its name and parameters, and `body`, an expression of names in `scope`."""
    source = f"def {row.name}({row.declared}) -> Tensor:\n    return {body}\n"
    exec(compile(source, GENERATED, "exec", __future__.annotations.compiler_flag), scope)
    function: Callable[..., Any] = scope.pop(row.name)
    return function
