"""The module of native eager operations."""

from __future__ import annotations

from ..entry.table import EntryLayout
from ..module import NativeModule
from .calls import eager_call
from .inner_loops import eager_join, eager_op


def eager_code(layout: EntryLayout, flags: int, checked: bool = False) -> str:
    """The module for this interpreter's layout; `flags` are the floating-point exceptions that NumPy may
    report, as <fenv.h> numbers them here."""
    return NativeModule(layout.slots, {"flags": flags}, checked).text(eager_op, eager_call, eager_join)
