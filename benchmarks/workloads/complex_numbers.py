"""Functions of complex numbers, each alone, and products of complex matrices. A group of its own,
`python -m benchmarks --group complex`.

`complex-exp-c128` is exp of a million numbers, which at 16 bytes each just leave the last cache: what does
little arithmetic takes as long as memory does.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import generator

UNARY: Final = (
    "negative", "conj", "abs", "angle", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
    "square", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "sign", "isnan", "isinf", "isfinite", "logical_not", "rint",
)  # fmt: skip
BINARY: Final = (
    "add", "subtract", "multiply", "divide", "power", "equal", "not_equal", "less", "greater_equal",
    "maximum", "minimum", "fmax", "fmin", "logical_and",
)  # fmt: skip
#: Functions that PyTorch does not have for complex numbers, under this name.
NOT_IN_TORCH: Final = (
    "sign", "rint", "less", "greater_equal", "maximum", "minimum", "fmax", "fmin",
)  # fmt: skip
#: Functions whose results are real numbers, and those whose results are bools.
_OF_REALS: Final = ("abs", "angle")
_OF_BOOLS: Final = (
    "isnan", "isinf", "isfinite", "logical_not", "logical_and", "equal", "not_equal", "less",
    "greater_equal",
)  # fmt: skip
_DTYPES: Final = {"c128": np.complex128, "c64": np.complex64}
_SIZE: Final = 1_000_000


def _operands(dtype: str, *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    rng = generator()
    return tuple(
        (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(_DTYPES[dtype])
        for shape in shapes
    )


def _elementwise(name: str, dtype: str) -> Workload:
    arity = 2 if name in BINARY else 1
    nbytes = 16 if dtype == "c128" else 8
    result_bytes = 1 if name in _OF_BOOLS else nbytes // 2 if name in _OF_REALS else nbytes

    def program(lib: Library, size: int) -> Function:
        function: Function = getattr(lib.np, name)
        return function

    return Workload(
        f"complex-{name}-{dtype}",
        f"{name} of {_SIZE:,} {dtype}",
        program,
        lambda size: _operands(dtype, *[(size,)] * arity),
        sizes=(_SIZE,),
        tiny=(37,),
        skip=("torch", "torch.compile") if name in NOT_IN_TORCH else (),
        tolerance=1e-4 if dtype == "c64" else 1e-12,
        traffic=lambda size: (arity * nbytes + result_bytes) * size,
        unit="f64" if dtype == "c128" else "f32",
        goal=2.0,
        against="numpy",
    )


def _matmul(dtype: str, *shape: int) -> Workload:
    """The product of two matrices or of two batches of them, the last two axes of `shape` square."""

    def program(lib: Library, *sizes: int) -> Function:
        return lib.np.matmul  # type: ignore[no-any-return]

    sizes = "x".join(map(str, shape))
    return Workload(
        f"complex-matmul-{dtype}-{sizes}",
        f"matrix products of {sizes} {dtype}",
        program,
        lambda *sizes: _operands(dtype, sizes, sizes),
        sizes=shape,
        tiny=tuple(min(size, 5) for size in shape),
        tolerance=1e-4 if dtype == "c64" else 1e-12,
        work=lambda *sizes: 8.0 * math.prod(sizes) * sizes[-1],
        unit="f64" if dtype == "c128" else "f32",
    )


def _fit(lib: Library, count: int, size: int) -> Function:
    """Sum of squared distances of damped waves with complex amplitudes from a signal."""

    def loss(amplitudes: Any, rates: Any, times: Any, signal: Any) -> Any:
        model = lib.np.matmul(amplitudes, lib.np.exp(rates[:, None] * times[None]))
        return (lib.np.abs(model - signal) ** 2).sum()

    return loss


def _fit_inputs(count: int, size: int) -> tuple[Any, ...]:
    rng = generator()
    amplitudes, noise = _operands("c128", (count,), (size,))
    rates = -rng.random(count) + 50j * rng.random(count)
    times = np.linspace(0.0, 2.0, size)
    signal = amplitudes @ np.exp(rates[:, None] * times) + 0.1 * noise
    return amplitudes * 1.1, rates + 0.01, times, signal


WORKLOADS: Final = (
    Workload(
        "complex-fit-grad",
        "16 damped waves of complex amplitudes and rates, 10,000 samples of c128: value and gradient",
        _fit,
        _fit_inputs,
        sizes=(16, 10_000),
        tiny=(2, 7),
        gradient=(0, 1),
        skip=("torch", "torch.compile"),  # its gradients are the conjugates
        tolerance=1e-9,
        goal=2.0,
    ),
    *[_elementwise(name, dtype) for dtype in _DTYPES for name in (*UNARY, *BINARY)],
    *[
        _matmul(dtype, *shape)
        for dtype in _DTYPES
        for shape in ((16, 16), (64, 64), (256, 256), (1024, 1024), (1000, 8, 8), (256, 64, 64))
    ],
)
