"""Each maths function alone, in both dtypes. A group of its own, `python -m benchmarks --group maths`.

`maths-exp-f32` is exp of 100,000 numbers: they fit the second cache, so that what is measured is arithmetic,
with `--threads 1`. `maths-1k-exp-f32` is of 1,000, where the call counts too, and `maths-1m-exp-f32` of a
million.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import BYTES, uniform

#: Name and where its arguments lie; for two arguments both alike.
UNARY: Final[dict[str, tuple[float, float]]] = {
    "exp": (-10.0, 10.0),
    "exp2": (-10.0, 10.0),
    "expm1": (-5.0, 5.0),
    "log": (0.1, 5.0),
    "log2": (0.1, 5.0),
    "log10": (0.1, 5.0),
    "log1p": (-0.9, 5.0),
    "sin": (-20.0, 20.0),
    "cos": (-20.0, 20.0),
    "tan": (-20.0, 20.0),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "atan": (-5.0, 5.0),
    "sinh": (-5.0, 5.0),
    "cosh": (-5.0, 5.0),
    "tanh": (-5.0, 5.0),
    "asinh": (-5.0, 5.0),
    "acosh": (1.0, 6.0),
    "atanh": (-0.99, 0.99),
    "erf": (-3.0, 3.0),
    "erfc": (-3.0, 3.0),
    "sqrt": (0.1, 5.0),
    "rsqrt": (0.1, 5.0),
    "cbrt": (-5.0, 5.0),
    "reciprocal": (0.1, 5.0),
    "sigmoid": (-5.0, 5.0),
    "softplus": (-5.0, 5.0),
}
BINARY: Final[dict[str, tuple[float, float]]] = {
    "power": (0.1, 5.0),
    "atan2": (-5.0, 5.0),
    "hypot": (-5.0, 5.0),
    "logaddexp": (-5.0, 5.0),
    "remainder": (0.1, 5.0),
}
#: Libraries that do not have an op as one function of arrays.
SKIP: Final[dict[str, tuple[str, ...]]] = {"cbrt": ("torch", "torch.compile")}
#: Names in Python's `math`, for Numba, where they differ; None where there is none.
IN_MATH: Final[dict[str, str | None]] = {"power": "pow"} | dict.fromkeys(
    ("exp2", "cbrt", "rsqrt", "reciprocal", "sigmoid", "softplus", "logaddexp", "remainder"), None
)
#: The number of elements by what stands in the name.
SIZES: Final = {"": 100_000, "1k-": 1_000, "1m-": 1_000_000}
#: Functions that must be within 10% of the best peer.
GOAL: Final = 0.91


def _program(lib: Library, name: str, dtype: str, size: int) -> Function:
    function: Function = getattr(lib.np, name)
    return function


def _numba(nb: Any, name: str, dtype: str, size: int) -> Function:
    f = getattr(math, IN_MATH.get(name) or name)

    @nb.njit(parallel=True)
    def one(x: Any) -> Any:
        out = np.empty_like(x)
        for i in nb.prange(x.size):
            out[i] = f(x[i])
        return out

    @nb.njit(parallel=True)
    def two(x: Any, y: Any) -> Any:
        out = np.empty_like(x)
        for i in nb.prange(x.size):
            out[i] = f(x[i], y[i])
        return out

    chosen: Function = two if name in BINARY else one
    return chosen


def _workload(name: str, dtype: str, prefix: str, size: int) -> Workload:
    low, high = (UNARY | BINARY)[name]
    arity = 2 if name in BINARY else 1
    return Workload(
        f"maths-{prefix}{name}-{dtype}",
        f"{name} of {size:,} {dtype}",
        _program,
        lambda name, dtype, size: uniform(*[(size,)] * arity, low=low, high=high, dtype=dtype),
        sizes=(name, dtype, size),
        tiny=(name, dtype, 37),
        numba=None if IN_MATH.get(name, name) is None else _numba,
        skip=SKIP.get(name, ()),
        # Some peers are wrong by dozens of ulps.
        tolerance=2e-6 if dtype == "f32" else 2e-14,
        traffic=lambda name, dtype, size: (arity + 1) * size * BYTES[dtype],
        goal=GOAL,
    )


WORKLOADS: Final = tuple(
    _workload(name, dtype, prefix, size)
    for prefix, size in SIZES.items()
    for name in UNARY | BINARY
    for dtype in ("f32", "f64")
)
