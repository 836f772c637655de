"""``autograd.numpy.linalg``: NumPy's own, whose functions NumPy sends to those here if they get tensors."""

from __future__ import annotations

import typing as _typing

import numpy as _np

if _typing.TYPE_CHECKING:
    from numpy.linalg import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        try:
            value = globals()[name] = getattr(_np.linalg, name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        return value


def __dir__() -> list[str]:
    return sorted(_np.linalg.__dir__())
