"""``autograd.scipy``: SciPy's functions that have derivatives, without SciPy but for ``integrate``."""

from __future__ import annotations

import typing as _typing

from ....base.loading import load_module as _load_module

if _typing.TYPE_CHECKING:
    from . import integrate, linalg, signal, special, stats
else:

    def __getattr__(name: str) -> object:
        if name in __all__:
            return _load_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["integrate", "linalg", "signal", "special", "stats"]
