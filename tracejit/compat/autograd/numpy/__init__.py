"""``autograd.numpy``: NumPy's own functions, and those of them that NumPy cannot call with tensors.

NumPy sends a call with a tensor among its arguments to the function of that name here, so that a namespace
of NumPy's functions computes with arrays outside of derivatives and traces, and is followed inside. What
NumPy converts to arrays before it looks for tensors is defined in `construction`.
"""

from __future__ import annotations

import typing as _typing

import numpy as _np

if _typing.TYPE_CHECKING:
    from numpy import *  # noqa: F403
    from numpy import fft as fft
    from numpy import linalg as linalg
    from numpy import random as random

    from .construction import make_diagonal as make_diagonal
else:
    from . import fft, linalg, random  # noqa: F401
    from .construction import (  # noqa: F401  # noqa: F401
        amax,
        amin,
        append,
        array,
        asarray,
        c_,
        full,
        full_like,
        make_diagonal,
        max,
        mean,
        median,
        min,
        prod,
        r_,
        select,
        std,
        sum,
        var,
        where,
    )

    def __getattr__(name: str) -> object:
        try:
            value = globals()[name] = getattr(_np, name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        return value


#: A name that HIPS autograd has beside NumPy's.
row_stack = _np.vstack


def __dir__() -> list[str]:
    return sorted({*_np.__dir__(), *globals()})
