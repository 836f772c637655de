"""Every op with 0 and 1 in every axis of its operands, with its gradient and batches of none: as interpreted.

Shapes are written in sizes `A`, `B` and `C`, each of which becomes 0, 1 and 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import TracejitError
from tracejit.ir.builder import Builder, inline
from tracejit.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT64
from tracejit.ir.graph import Function
from tracejit.ir.registry import NONDIFF, OPS, Kind, Op
from tracejit.ir.transforms.batching import batch
from tracejit.ir.transforms.differentiation import gradient
from tracejit.runtime.executable import Executable

from .rotation import share_of
from .samples import ELSEWHERE, random_values
from .support import Array, interpret, mismatch, type_of

SIZES = (0, 1, 3)
#: Attributes of transforms of real numbers.
FACTORS = {"scale": 0.5, "interior": 2.0}
Case = tuple[list[tuple[int, ...]], dict[str, Any]]


def cases(op: Op) -> Iterator[Case]:
    """Shapes of operands, and attributes."""
    special = CASES.get(op.name)
    for a, b, c in share_of(list(itertools.product(SIZES, repeat=3)), 5):
        if special is not None:
            yield from special(a, b, c)
        elif op.kind in (Kind.REDUCTION, Kind.COMPOSITE) and "axes" in op.attrs:
            for axes in ((), (0,), (1,), (2,), (0, 2), (0, 1), (1, 2), (0, 1, 2)):
                yield [(a, b, c)], {"axes": axes}
        elif op.kind in (Kind.ARG_REDUCTION, Kind.CUMULATIVE):
            for axis in range(3):
                yield [(a, b, c)], {"axis": axis, **({"reverse": True} if "reverse" in op.attrs else {})}
        elif op.kind in (Kind.ELEMENTWISE, Kind.COMPOSITE):
            yield [(a, b, c)] * len(op.params), {}
        else:
            raise LookupError(
                f"op {op.name} of kind {op.kind.value} has no cases in tests/test_empty_axes.py"
            )


def _one_operand(a: int, b: int, c: int) -> Iterator[Case]:
    yield [(a, b, c)], {}


def _slices(a: int, b: int, c: int) -> Iterator[Case]:
    for step, start in ((1, (0, 0, 0)), (2, (0, 0, 0)), (-1, (a - 1, b - 1, c - 1))):
        size = tuple([len(range(length)[::step]) for length in (a, b, c)])
        yield (
            [(a, b, c)],
            {"start": tuple([max(number, 0) for number in start]), "size": size, "step": (step,) * 3},
        )
    yield [(a, b, 3)], {"start": (0, 0, 3), "size": (a, b, 0), "step": (1, 1, 1)}


def _updates(a: int, b: int, c: int) -> Iterator[Case]:
    for m in (0, 1, 3):
        yield [(a, 3), (a, m)], {"start": (0, 0), "step": (1, 1)}
        if b <= 2 and c <= 1:
            yield [(a, b, 3), (a, b, c)], {"start": (0, 0, 2 * c), "step": (1, 1, 2)}


def _concats(a: int, b: int, c: int) -> Iterator[Case]:
    yield [(a, b), (c, b), (a, b)], {"axis": 0}
    yield [(b, a), (b, c)], {"axis": 1}


def _products(a: int, b: int, c: int) -> Iterator[Case]:
    for batch_shape in ((), (0,), (1,), (3,), (2, 0)):
        yield [(*batch_shape, a, b), (*batch_shape, b, c)], {}
    for m, n, k in ((9 * a, b, 40 * c), (a, 40 * b, 9 * c), (70 * a, 66 * b, 50 * c)):
        yield [(m, k), (k, n)], {}


def _convolutions(a: int, b: int, c: int) -> Iterator[Case]:
    attrs = {"stride": (1, 2), "padding": (1, 1, 0, 1), "dilation": (1, 1)}
    yield [(a, b, 5, 4), (c, b, 2, 3)], attrs
    yield [(1, 2, a + 1, b + 2), (c, 2, 2, 3)], attrs
    yield [(a, 2, 1, 5, 4), (2, b, 1, 2, 3)], attrs


def _gathers(a: int, b: int, c: int) -> Iterator[Case]:
    for index in ((0,), (1,), (2, 0), (c,)):
        yield [(a, b), index], {}
        yield [(a, b), index, index], {}


def _scatters(a: int, b: int, c: int, modes: Sequence[str] = ("set", "add")) -> Iterator[Case]:
    for mode in modes:
        for index in ((0,), (1,), (2, 0), (c,)):
            yield [(a, b), (*index, b), index], {"mode": mode}
            yield [(a, b), index, index, index], {"mode": mode}


CASES: dict[str, Callable[[int, int, int], Iterator[Case]]] = {
    "reshape": lambda a, b, c: iter([([(a, b, c)], {"shape": target}) for target in ((a * b, c), (c, b, a))]),
    "transpose": lambda a, b, c: iter([([(a, b, c)], {"perm": perm}) for perm in ((2, 1, 0), (1, 0, 2))]),
    "broadcast": lambda a, b, c: iter([([(b,)], {"shape": (a, b)}), ([(1, b)], {"shape": (c, a, b)})]),
    "slice": _slices,
    "update": _updates,
    "concat": _concats,
    "matmul": _products,
    "convolve": _convolutions,
    "strong_matmul": _products,
    "strong_convolve": _convolutions,
    "gather": _gathers,
    "check": lambda a, b, c: ((shapes, {"error": "DomainError: "}) for shapes, _ in _gathers(a, b, c)),
    "scatter": _scatters,
    "scatter_reduce": partial(_scatters, modes=("mul", "max", "min")),
    "full": lambda a, b, c: iter([([], {"value": 2.0, "shape": (a, b, c), "dtype": FLOAT64})]),
    "iota": lambda a, b, c: iter([([], {"shape": (a, b, c), "axis": 1, "dtype": INT64})]),
    "constant": lambda a, b, c: iter([([], {"data": (1.5,) * (a * b), "shape": (a, b), "dtype": FLOAT64})]),
    "cast": lambda a, b, c: iter([([(a, b, c)], {"dtype": FLOAT32})]),
    "signed_power": lambda a, b, c: iter([([(a, b, c)], {"exponent": 1.5})]),
    "rewritten": lambda a, b, c: iter([([(a, b, c)] * 2, {})]),
    "libm": lambda a, b, c: iter([([(a, b, c)], {"function": name}) for name in ("exp", "log1p")]),
    "undifferentiable": lambda a, b, c: iter([([(a, b, c)], {"message": "there is none"})]),
    "fft": lambda a, b, c: iter(
        [([(a, b, c, 2)], {"axis": 1, "inverse": True, "scale": 0.5})] if b else []
    ),
    "rfft": lambda a, b, c: iter([([(a, b, c)], {"axis": 1} | FACTORS)] if b else []),
    "irfft": lambda a, b, c: iter([([(a, b, c, 2)], {"axis": 1, "n": 2 * b - 1} | FACTORS)] if b else []),
    "searchsorted": lambda a, b, c: iter([([(a,), (b, c)], {"side": "left"})]),
    "true_positions": lambda a, b, c: iter([([(a, b)], {"size": c}), ([(a,)], {"size": b})]),
    "bincount": lambda a, b, c: iter([([(a,)], {"length": b}), ([(a,)], {"length": c})]),
    **dict.fromkeys(("sort", "argsort", "stop_gradient", "copy", "contiguous"), _one_operand),
    **dict.fromkeys(("barrier", "rounded"), _one_operand),
}  # fmt: skip
NAMES = [op.name for op in OPS if op.name not in ELSEWHERE]


def operands(
    op: Op, shapes: list[tuple[int, ...]], dtype: Any, rng: np.random.Generator
) -> list[Array] | None:
    """Arrays that the op takes; None where there are none, as an index into nothing."""
    results = []
    for position, shape in enumerate(shapes):
        indices = {"gather": 1, "check": 1, "scatter": 2, "scatter_reduce": 2}.get(op.name)
        if indices is not None and position >= indices:
            size = shapes[0][position - indices]
            if size == 0 and 0 not in shape:
                return None
            results.append(rng.integers(0, max(size, 1), shape))
        elif op.name == "where" and position == 0:
            results.append(random_values(BOOL, shape, rng))
        else:
            results.append(
                np.abs(random_values(dtype, shape, rng)) % 3 if dtype.kind != "b" else rng.random(shape) < 0.5
            )
    if op.name == "searchsorted":
        results[0] = np.sort(results[0])
    return results


def program(op: Op, dtype: Any) -> tuple[Function, list[Array]]:
    """One Function that applies `op` to all cases that its type rule takes."""
    b, rng = Builder(), np.random.default_rng(0)
    results: list[Any] = []
    arrays: list[Array] = []
    for shapes, attrs in {str(case): case for case in cases(op)}.values():
        attrs = {**attrs, **{name: value for name, value in op.defaults.items() if name not in attrs}}
        inputs = operands(op, shapes, dtype, rng)
        if inputs is None:
            continue
        try:
            op.infer(tuple(type_of(array) for array in inputs), attrs)
            with np.errstate(all="ignore"):
                op.eval(*inputs, **attrs)
        except (TracejitError, ValueError):
            continue  # as the largest of nothing: refused where it is traced
        params = tuple(b.parameter(type_of(array), f"x{len(b.params)}") for array in inputs)
        results += b.append(op, params, attrs)
        arrays += inputs
    return b.finish(op.name, results), arrays


def check(function: Function, arrays: list[Array], what: str) -> None:
    want = interpret(function, arrays)
    for position, (got, expected) in enumerate(zip(Executable(function)(arrays), want, strict=True)):
        atol = 1e-4 if function.name == "grad_cast" else 1e-12  # whose forward values are single precision
        problem = mismatch(got, expected, bound=64, atol=atol, zero_sign=False)
        assert not problem, f"{what}, result {position}: {problem}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [FLOAT64, INT64], ids=["f64", "i64"])
def test_empty_axes(name: str, dtype: Any) -> None:
    op = OPS[name]
    function, arrays = program(op, dtype)
    if not function.results:
        pytest.skip("the op takes no such dtype")
    check(function, arrays, "forward")
    if not function.params or dtype is INT64:
        return
    for size in share_of((0, 1), 2):
        rows = [
            np.stack([array] * size) if size else np.empty((0, *array.shape), array.dtype) for array in arrays
        ]
        mapped, _ = batch(function, [True] * len(arrays), size)
        check(mapped, rows, f"batch of {size}")
    if (
        op.vjp is not NONDIFF
        and name != "undifferentiable"
        and all(result.dtype.kind == "f" for result in function.results)
    ):
        floats = [i for i, param in enumerate(function.params) if param.dtype.kind == "f"]
        check(gradient(squared(function), floats), arrays, "gradient")


def squared(function: Function) -> Function:
    """The sum of the squares of all results."""
    b = Builder()
    params = [b.parameter(param.type, param.hint) for param in function.params]
    results = inline(b, function, params)
    total = b.full(value=0.0, shape=(), dtype=FLOAT64)
    for result in results:
        total = b.add(total, b.sum(b.square(result), axes=tuple(range(result.type.ndim))))
    return b.finish(function.name, [total])
