"""``autograd.numpy.fft``: NumPy's own, whose functions NumPy sends to those here if they get tensors."""

from __future__ import annotations

import typing as _typing

import numpy as _np

if _typing.TYPE_CHECKING:
    from numpy.fft import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        try:
            value = globals()[name] = getattr(_np.fft, name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        return value


def __dir__() -> list[str]:
    return sorted(_np.fft.__dir__())
