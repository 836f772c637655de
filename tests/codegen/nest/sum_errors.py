"""Errors of compiled sums beside NumPy's on the same data.

An error is the root of the mean square over a result's elements and over several sets of numbers,
relative to that of the result; half a unit in the last place counts as the least error that can be asked
for. The reference is the same NumPy function on wider floats. ``python -m tests.codegen.nest.sum_errors
[WORD ...]`` prints the table, of the cases whose names contain a word.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import tracejit as tj

Array = np.ndarray[Any, Any]
#: A function of a module, `numpy` or `tracejit`, and of arrays.
Function = Callable[..., Any]

#: Largest ratio of the function's error to NumPy's.
LIMIT: Final = 4.0
#: Results of a smaller mean square are zero but for rounding, as variances of equal numbers are.
NOTHING: Final = 1e-12
#: Sets of numbers.
SETS: Final = 6


def _constant(shape: tuple[int, ...], number: int) -> Array:
    return np.full(shape, (0.1, 0.3, 0.7, 1 / 3, 0.9, 0.55)[number % 6] + 0.01 * (number // 6))


def _random(shape: tuple[int, ...], number: int) -> Array:
    return np.random.default_rng(number).random(shape)


def _offset(shape: tuple[int, ...], number: int) -> Array:
    return np.random.default_rng(number).standard_normal(shape) + 1000.3 + 77 * number


def _cancelling(shape: tuple[int, ...], number: int) -> Array:
    return np.random.default_rng(number).standard_normal(shape)


def _growing(shape: tuple[int, ...], number: int) -> Array:
    size = int(np.prod(shape))
    return (np.arange(size) * (0.37 + 0.07 * number) / size + 0.01).reshape(shape)


DATA: Final[dict[str, Callable[[tuple[int, ...], int], Array]]] = {
    "constant": _constant,
    "random": _random,
    "offset": _offset,
    "cancelling": _cancelling,
    "growing": _growing,
}


def logsumexp(m: Any, x: Any, axis: int | None) -> Any:
    largest = m.max(x, axis=axis, keepdims=True)
    return m.log(m.sum(m.exp(x - largest), axis=axis)) + (m.max(x, axis=axis))


def cross_entropy(m: Any, x: Any) -> Any:
    """The mean over rows, of which the first class is right."""
    return m.mean(logsumexp(m, x, 1) - x[:, 0])


def normalised(m: Any, x: Any) -> Any:
    """The sum of squares of rows less their means: two stages and a fold across rows."""
    apart = x - m.mean(x, axis=1, keepdims=True)
    return m.sum(m.sqrt(m.sum(apart * apart, axis=1) + 1.0))


#: Functions of a vector.
VECTOR: Final[dict[str, Function]] = {
    "sum": lambda m, x: m.sum(x),
    "mean": lambda m, x: m.mean(x),
    "var": lambda m, x: m.var(x),
    "std": lambda m, x: m.std(x),
    "norm": lambda m, x: m.sqrt(m.sum(x * x)),
    "l1": lambda m, x: m.sum(m.abs(x)),
    "sums": lambda m, x: (m.sum(x), m.sum(x * x)),
    "heavy": lambda m, x: m.sum(m.exp(m.sin(x) + m.cos(x))),
    "strided": lambda m, x: m.sum(x[1::2]),
    "reversed": lambda m, x: m.mean(x[::-1] + 1),
    "dot": lambda m, x: m.dot(x, x),
    "dot other": lambda m, x: x[: len(x) // 2] @ x[len(x) // 2 : len(x) // 2 * 2],
    "mse": lambda m, x: m.mean((x - 0.5 * x[::-1]) ** 2),
    "logsumexp": lambda m, x: logsumexp(m, x, None),
    "softmax": lambda m, x: m.max(m.exp(x - m.max(x)) / m.sum(m.exp(x - m.max(x)))),
    "windows": lambda m, x: m.sum(x[1:] * x[:-1]),
    "cumsum": lambda m, x: m.cumsum(x),
}

#: Functions of a matrix.
MATRIX: Final[dict[str, Function]] = {
    "all": lambda m, x: m.sum(x),
    "rows": lambda m, x: m.sum(x, axis=1),
    "columns": lambda m, x: m.sum(x, axis=0),
    "mean rows": lambda m, x: m.mean(x, axis=1),
    "mean columns": lambda m, x: m.mean(x, axis=0),
    "var rows": lambda m, x: m.var(x, axis=1),
    "var columns": lambda m, x: m.var(x, axis=0),
    "var all": lambda m, x: m.var(x),
    "norm rows": lambda m, x: m.sqrt(m.sum(x * x, axis=1)),
    "norm columns": lambda m, x: m.sqrt(m.sum(x * x, axis=0)),
    "of transposed": lambda m, x: (m.sum(x.T, axis=0), m.sum(m.sqrt(m.abs(x.T)), axis=1)),
    "with transposed": lambda m, x: m.sum(x.T * x.reshape(x.T.shape), axis=0),
    "every other": lambda m, x: (m.sum(x[::2, ::2], axis=0), m.sum(x[::2, ::2], axis=1), m.sum(x[:, ::2])),
    "both": lambda m, x: (m.sum(x, axis=0), m.sum(x, axis=1)),
    "sum of rows": lambda m, x: m.sum(m.sqrt(m.sum(x * x, axis=1))),
    "rows and sum": lambda m, x: (m.exp(-m.abs(m.mean(x, axis=1))), m.mean(m.abs(m.mean(x, axis=1)))),
    "broadcast": lambda m, x: m.sum(x * x[0] + x[:, :1]),
    "cross entropy": lambda m, x: cross_entropy(m, x),
    "normalised": lambda m, x: normalised(m, x),
    "logsumexp rows": lambda m, x: logsumexp(m, x, 1),
    "logsumexp columns": lambda m, x: logsumexp(m, x, 0),
    "cumsum rows": lambda m, x: m.cumsum(x, axis=1),
    "cumsum columns": lambda m, x: m.cumsum(x, axis=0),
    "matvec": lambda m, x: x @ x[0],
    "vecmat": lambda m, x: x[:, 0] @ x,
    "matmul": lambda m, x: x[:24] @ x.T[:, :40],
    "matmul down": lambda m, x: x.T[:24] @ x[:, :40],
    "matmul few": lambda m, x: x[:3] @ x.T[:, :4],
}

#: Functions of an array of three dimensions.
CUBE: Final[dict[str, Function]] = {
    "middle": lambda m, x: m.sum(x, axis=1),
    "outer": lambda m, x: m.sum(x, axis=(0, 2)),
    "last two": lambda m, x: m.mean(x, axis=(1, 2)),
    "first two": lambda m, x: m.mean(x, axis=(0, 1)),
    "var outer": lambda m, x: m.var(x, axis=(0, 2)),
    "var first two": lambda m, x: m.var(x, axis=(0, 1)),
    "broadcast all": lambda m, x: m.sum(x * x[:, :1] + x[:1, :, :1]),
    "turned": lambda m, x: m.sum(x.transpose(2, 0, 1) + 1, axis=0),
    "turned all": lambda m, x: m.sum(x.transpose(2, 0, 1) * x.transpose(2, 0, 1)[:1]),
}

SHAPES: Final[tuple[tuple[dict[str, Function], tuple[tuple[int, ...], ...]], ...]] = (
    (VECTOR, ((1000,), (30_001,), (700_001,), (10_000_000,))),
    (
        MATRIX,
        ((40, 3000), (3000, 40), (30_000, 7), (7, 60_001), (3, 1_000_003), (1_000_000, 3), (1500, 1501)),
    ),
    (MATRIX, ((20_000, 160),)),
    (CUBE, ((30, 40, 50), (1000, 3, 300), (3, 1000, 300), (300, 1000, 3), (20_000, 3, 5), (3, 5, 30_000))),
)  # fmt: skip


def cases() -> Iterator[tuple[str, Function, tuple[int, ...]]]:
    """Name, function and shape of each case."""
    for functions, shapes in SHAPES:
        for shape in shapes:
            for name, function in functions.items():
                yield f"{name} {'x'.join(map(str, shape))}", function, shape


def _flat(sets: list[Any]) -> list[list[Array]]:
    """The sets of each of a function's results."""
    results = [set_ if isinstance(set_, tuple) else (set_,) for set_ in sets]
    return [[np.asarray(tree) for tree in same] for same in zip(*results, strict=True)]


def errors(results: list[Any], exact: list[Any]) -> list[float]:
    """The error of each of a function's results, of which there are several sets."""
    computed = []
    for ours, right in zip(_flat(results), _flat(exact), strict=True):
        away = [np.mean(np.square(x.astype(y.dtype) - y)) for x, y in zip(ours, right, strict=True)]
        scale = np.mean([np.mean(np.square(y)) for y in right])
        computed.append(float(np.sqrt(np.mean(away) / (scale if scale > NOTHING else 1.0))))
    return computed


def arrays_of(shape: tuple[int, ...], data: str, dtype: str, sets: int) -> list[Array]:
    return [DATA[data](shape, number).astype(dtype) for number in range(sets)]


#: The arrays that the functions of one shape share.
_shared_arrays = functools.lru_cache(maxsize=len(DATA))(arrays_of)


def ratio(function: Function, shape: tuple[int, ...], data: str, dtype: str, sets: int = SETS) -> float:
    """The function's error over NumPy's, the worst of its results."""
    compiled = tj.jit(lambda x: function(tj, x))
    wide = np.dtype(np.float64 if dtype == "f4" else np.longdouble)
    arrays = (_shared_arrays if math.prod(shape) < 1_000_000 else arrays_of)(shape, data, dtype, sets)
    exact = [function(np, x.astype(wide)) for x in arrays]
    ours = errors([compiled(x) for x in arrays], exact)
    theirs = errors([function(np, x) for x in arrays], exact)
    least = float(np.finfo(dtype).eps) / 2
    return max(mine / max(other, least) for mine, other in zip(ours, theirs, strict=True))


def main(words: list[str]) -> None:
    """Print the table."""
    dtypes = [word for word in words if word in ("f4", "f8")] or ["f4", "f8"]
    words = [word for word in words if word not in ("f4", "f8")]
    for name, function, shape in cases():
        if words and not any(word in name for word in words):
            continue
        for dtype in dtypes:
            sets = 3 if np.prod(shape) > 3_000_000 else SETS if np.prod(shape) > 100_000 else 2 * SETS
            ratios = {data: ratio(function, shape, data, dtype, sets) for data in DATA}
            row = "  ".join(f"{data} {value:8.2f}" for data, value in ratios.items())
            print(f"{name:32} {dtype}  {row}{'   <--' if max(ratios.values()) > LIMIT else ''}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
