"""How Tensors lie in memory, for the native code that reads and makes them."""

from __future__ import annotations

from typing import Final

from ..codegen.native.entry.table import EntryLayout
from ..runtime.native.entry import entry_layout
from .tensor import Tensor

_SLOTS: Final = ("_data", "_grad", "_node", "_requires_grad", "_version", "_aliases", "_hooks")


def entry_layout_of_tensors() -> EntryLayout | None:
    """What native code needs to know of Tensors, None where this interpreter does not allow it."""
    return entry_layout(Tensor, _SLOTS)
