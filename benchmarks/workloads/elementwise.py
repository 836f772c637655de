"""Chains of elementwise ops: memory-bound ones, maths functions, Black-Scholes, Rosenbrock."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import BYTES, normal, uniform


def _chain(lib: Library, size: int, dtype: str) -> Function:
    return lambda x, y: lib.np.maximum(x * 1.5 + y, 0.1) * (x - y) + abs(y)


def _chain_numba(nb: Any, size: int, dtype: str) -> Function:
    kind = nb.float32 if dtype == "f32" else nb.float64

    @nb.njit(parallel=True)
    def run(x: Any, y: Any) -> Any:
        out = np.empty_like(x)
        for i in nb.prange(x.size):
            a = x[i] * kind(1.5) + y[i]
            out[i] = max(a, kind(0.1)) * (x[i] - y[i]) + abs(y[i])
        return out

    compiled: Function = run
    return compiled


def _chains() -> list[Workload]:
    return [
        Workload(
            f"chain-{text}-{dtype}",
            f"max(1.5x + y, 0.1)(x - y) + |y|, {size:,} {dtype}",
            _chain,
            lambda size, dtype: normal((size,), (size,), dtype=dtype),
            sizes=(size, dtype),
            tiny=(37, dtype),
            numba=_chain_numba,
            tolerance=1e-6 if dtype == "f32" else 1e-14,
            traffic=lambda size, dtype: 3 * size * BYTES[dtype],
        )
        for text, size in (("10k", 10_000), ("10m", 10_000_000))
        for dtype in ("f32", "f64")
    ]


def _expression(lib: Library, size: int) -> Function:
    return lambda x, y: lib.np.exp(-x / 2) / (1 + lib.np.exp(-y)) + x * y


def _expression_numba(nb: Any, size: int) -> Function:
    unit, half, exp = nb.float32(1), nb.float32(0.5), math.exp

    @nb.njit(parallel=True)
    def run(x: Any, y: Any) -> Any:
        out = np.empty_like(x)
        for i in nb.prange(x.size):
            out[i] = exp(-x[i] * half) / (unit + exp(-y[i])) + x[i] * y[i]
        return out

    compiled: Function = run
    return compiled


def _black_scholes(lib: Library, size: int) -> Function:
    """Prices of European calls and puts; rate 2%, volatility 30%."""
    rate, volatility, log, sqrt, erf, exp = 0.02, 0.3, lib.np.log, lib.np.sqrt, lib.np.erf, lib.np.exp

    def below(x: Any) -> Any:
        return 0.5 + 0.5 * erf(x * math.sqrt(0.5))

    def prices(spot: Any, strike: Any, years: Any) -> Any:
        spread = volatility * sqrt(years)
        d1 = (log(spot / strike) + (rate + volatility * volatility / 2) * years) / spread
        d2 = d1 - spread
        paid = strike * exp(-rate * years)
        call = spot * below(d1) - paid * below(d2)
        return call, call - spot + paid

    return prices


def _black_scholes_numba(nb: Any, size: int) -> Function:

    @nb.njit(parallel=True)
    def prices(spot: Any, strike: Any, years: Any) -> Any:
        call, put = np.empty_like(spot), np.empty_like(spot)
        for i in nb.prange(spot.size):
            spread = 0.3 * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + (0.02 + 0.3 * 0.3 / 2) * years[i]) / spread
            d2 = d1 - spread
            paid = strike[i] * math.exp(-0.02 * years[i])
            value = spot[i] * (0.5 + 0.5 * math.erf(d1 * math.sqrt(0.5)))
            value -= paid * (0.5 + 0.5 * math.erf(d2 * math.sqrt(0.5)))
            call[i] = value
            put[i] = value - spot[i] + paid
        return call, put

    compiled: Function = prices
    return compiled


def _options(size: int) -> tuple[Any, ...]:
    return tuple(
        uniform((size,), low=low, high=high)[0] for low, high in ((10.0, 50.0), (12.0, 60.0), (0.2, 2.0))
    )


def _waves(lib: Library, size: int, dtype: str) -> Function:
    return lambda x, y: lib.np.sin(x) * lib.np.cos(y) + lib.np.log(y)


def _waves_numba(nb: Any, size: int, dtype: str) -> Function:

    @nb.njit(parallel=True)
    def run(x: Any, y: Any) -> Any:
        out = np.empty_like(x)
        for i in nb.prange(x.size):
            out[i] = math.sin(x[i]) * math.cos(y[i]) + math.log(y[i])
        return out

    compiled: Function = run
    return compiled


def _one(lib: Library, name: str, dtype: str, size: int) -> Function:
    function: Function = getattr(lib.np, name)
    return function


def _functions() -> list[Workload]:
    """Workloads of one maths function each, on numbers in (0.1, 5)."""
    workloads = []
    for name, arity in (("exp", 1), ("log", 1), ("tanh", 1), ("power", 2)):
        for dtype in ("f32", "f64"):
            workloads.append(
                Workload(
                    f"{name}-{dtype}",
                    f"{name} of a million {dtype}",
                    _one,
                    lambda name, dtype, size, arity=arity: uniform(
                        *[(size,)] * arity, low=0.1, high=5.0, dtype=dtype
                    ),
                    sizes=(name, dtype, 1_000_000),
                    tiny=(name, dtype, 37),
                    tolerance=1e-6 if dtype == "f32" else 1e-14,
                    traffic=lambda name, dtype, size, arity=arity: (arity + 1) * size * BYTES[dtype],
                )
            )
    return workloads


def _rosenbrock(lib: Library, size: int) -> Function:
    return lambda x: (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def _rosenbrocks() -> list[Workload]:
    return [
        Workload(
            f"rosenbrock-{text}",
            f"value and gradient of Rosenbrock's function of {size:,} f64",
            _rosenbrock,
            lambda size: normal((size,)),
            sizes=(size,),
            tiny=(11,),
            gradient=(0,),
            tolerance=1e-12,
            traffic=lambda size: 2 * size * 8,
        )
        for text, size in (("16", 16), ("100k", 100_000))
    ]


WORKLOADS: Final = (
    *_rosenbrocks(),
    *_chains(),
    Workload(
        "expression",
        "exp(-x/2) / (1 + exp(-y)) + x*y, a million f32",
        _expression,
        lambda size: normal((size,), (size,), dtype="f32"),
        sizes=(1_000_000,),
        tiny=(37,),
        numba=_expression_numba,
        tolerance=1e-6,
        traffic=lambda size: 3 * 4 * size,
    ),
    Workload(
        "black-scholes",
        "calls and puts of a million options, f64",
        _black_scholes,
        _options,
        sizes=(1_000_000,),
        tiny=(37,),
        numba=_black_scholes_numba,
        tolerance=1e-13,
        traffic=lambda size: 5 * 8 * size,
    ),
    *(
        Workload(
            f"sin-cos-log-{dtype}",
            f"sin(x) cos(y) + log(y), a million {dtype}",
            _waves,
            lambda size, dtype: uniform((size,), (size,), low=0.1, high=20.0, dtype=dtype),
            sizes=(1_000_000, dtype),
            tiny=(37, dtype),
            numba=_waves_numba,
            tolerance=1e-6 if dtype == "f32" else 1e-14,
            traffic=lambda size, dtype: 3 * size * BYTES[dtype],
        )
        for dtype in ("f32", "f64")
    ),
    *_functions(),
)
