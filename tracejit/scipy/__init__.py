"""Functions under SciPy's names. Packages load at first use."""

from __future__ import annotations

import typing as _typing

from ..base.loading import load_module as _load_module

if _typing.TYPE_CHECKING:
    from . import fft, linalg, signal, special
else:

    def __getattr__(name: str) -> object:
        if name in __all__:
            return _load_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["fft", "linalg", "signal", "special"]
