"""The observer of compiled code: what profilers and checkers are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.records import record
from ..ir.graph import Function


@record(eq=False, frozen=False)
class _Observer:
    #: ``call(executable, args) -> results`` runs compiled code in place of the executable; None for nobody.
    call: Callable[[Any, Any], Any] | None = None
    #: ``compiling(function)`` is told of each Function before it is compiled; None for nobody.
    compiling: Callable[[Function], None] | None = None


OBSERVER = _Observer()
