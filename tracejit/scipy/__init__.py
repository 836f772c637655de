"""Functions under SciPy's names. Packages load at first use."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from . import fft, linalg, signal, special
else:

    def __getattr__(name: str) -> object:
        if name in __all__:
            return _import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["fft", "linalg", "signal", "special"]
