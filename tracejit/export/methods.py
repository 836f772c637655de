"""Methods of jitted functions that write them for programs in C: what ``f.export`` and ``f.cfunc`` call."""

from __future__ import annotations

from .exporting import export as export
from .pointing import function_pointer as function_pointer

__all__ = ["export", "function_pointer"]
