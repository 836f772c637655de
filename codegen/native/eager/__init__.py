"""Small eager operations as native functions.

`inner_loops` checks that operands are small plain Tensors, runs the loop that NumPy's ufunc would run, so
that the bits are NumPy's, and makes the result; it concatenates and stacks, too. `calls` does what a builtin
function of NumPy's does and notes views. What they do not handle goes to the Python function of the op.
`special_loops` are the inner loops of special functions, which NumPy calls.
"""

from __future__ import annotations

from ..entry.table import EntryLayout
from ..module import NativeModule
from .calls import eager_call
from .inner_loops import eager_join, eager_op


def eager_code(layout: EntryLayout, flags: int, checked: bool = False) -> str:
    """The module for this interpreter's layout; `flags` are the floating-point exceptions that NumPy may
    report, as <fenv.h> numbers them here."""
    return NativeModule(layout.slots, {"flags": flags}, checked).text(eager_op, eager_call, eager_join)
