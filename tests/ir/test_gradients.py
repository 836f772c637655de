"""Gradient rules of the registry: first and second order against central differences in f64 at generic
points.

Every op with a rule is walked. Cases at ties, zeros and infinities are written out in
test_gradients_at_kinks.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import GradientError
from tracejit.ir.builder import Builder, inline
from tracejit.ir.dtypes import FLOAT32, FLOAT64
from tracejit.ir.graph import Function
from tracejit.ir.registry import NONDIFF, OPS, Op
from tracejit.ir.transforms.differentiation import gradient
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify

from ..samples import ELSEWHERE, Sample, samples_of
from ..support import Array, interpret, native, type_of

#: Ops whose gradient is not their derivative; see the tests with their names.
OTHERWISE = ("stop_gradient", "rewritten", "undifferentiable", "nan_unless_zero")
NAMES = [
    op.name for op in OPS if op.name not in ELSEWHERE and op.vjp is not NONDIFF and op.name not in OTHERWISE
]
#: Central differences with step h are off by h^2 f'''/6 + eps |f| / h: about 1e-10 for functions of size 1.
STEP = 1e-5
RTOL = 2e-7


def generic(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Values of either sign, well away from 0, 1, each other's ties and integers."""
    return np.asarray(rng.uniform(0.25, 0.85, shape) * rng.choice([-1.0, 1.0], shape))


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.uniform(0.3, 2.5, shape))


def _over(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.uniform(1.2, 3.0, shape))


def _quotient(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """x and y whose quotient is not near an integer, where the slope jumps."""
    y = rng.uniform(0.5, 0.9, shapes[1]) * rng.choice([-1.0, 1.0], shapes[1])
    quotient = rng.integers(-3, 4, shapes[0]) + rng.uniform(0.2, 0.8, shapes[0])
    return [np.asarray(quotient * y), np.asarray(y)]


def _clip(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    x, low, high = shapes
    bounds = [rng.uniform(-0.6, -0.3, low), rng.uniform(0.3, 0.6, high)]
    return [generic(rng, x), *map(np.asarray, bounds)]


#: Values for ops that are not defined, or not smooth, at generic values: one maker for all operands, or one
#: for each.
DOMAINS: dict[str, Callable[..., Any]] = dict.fromkeys(
    ("log", "log2", "log10", "sqrt", "rsqrt", "pow"), positive
)
DOMAINS["acosh"] = _over
JOINT = {"remainder": _quotient, "fmod": _quotient, "floor_divide": _quotient, "clip": _clip}


def sampled(op: Op) -> list[Sample]:
    """Eight f64 samples or fewer, of moderate size with generic values, as different as can be."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    chosen: dict[Any, Sample] = {}
    for sample in samples_of(op, rng):
        floats = [i for i, operand in enumerate(sample.operands) if operand.dtype == FLOAT64]
        size = sum(operand.size for operand in sample.operands)
        if not floats or size > 40:
            continue
        if any(operand.dtype == FLOAT32 for operand in sample.operands):
            continue
        if sample.attrs.get("dtype", FLOAT64) != FLOAT64:  # casts to what is rounded
            continue
        shapes = [sample.operands[i].shape for i in floats]
        if op.name in JOINT:
            values = JOINT[op.name](rng, shapes)
        else:
            values = [DOMAINS.get(op.name, generic)(rng, shape) for shape in shapes]
        operands = list(sample.operands)
        for i, value in zip(floats, values, strict=True):
            operands[i] = value
        key = (tuple(operand.ndim for operand in operands), repr(sample.attrs))
        if key not in chosen or size > sum(operand.size for operand in chosen[key].operands):
            chosen[key] = Sample(operands, sample.attrs)
    largest = sorted(chosen.values(), key=lambda sample: -sum(x.size for x in sample.operands))
    return largest[:8]


def weighted(op: Op, sample: Sample, dtype: Any = FLOAT64) -> Function:
    """``sum(w * op(operands))`` with fixed irregular weights w."""
    b = Builder()
    params = [b.parameter(type_of(operand), f"x{i}") for i, operand in enumerate(sample.operands)]
    (result,) = b.append(op, tuple(params), sample.attrs)
    return b.finish(op.name, [weigh(b, [result], 0.7)])


def weigh(b: Any, values: Sequence[Any], phase: float) -> Any:
    total = None
    for value in values:
        weights = np.cos(phase + np.arange(value.type.size) * 1.3) + 0.4
        w = b.constant(data=tuple(weights.tolist()), shape=(value.type.size,), dtype=FLOAT64)
        w = b.cast(b.reshape(w, shape=value.shape), dtype=value.dtype)
        part = b.sum(b.mul(value, w), axes=tuple(range(len(value.shape))))
        total = part if total is None else b.add(total, part)
    return total


def differences(function: Function, arrays: list[Array], position: int) -> Array:
    """Central differences of the first result with respect to one argument."""
    out = np.empty(arrays[position].shape)
    for index in np.ndindex(out.shape):
        values = []
        for step in (STEP, -STEP):
            moved = [array.copy() for array in arrays]
            moved[position][index] += step
            values.append(float(interpret(function, moved)[0]))
        out[index] = (values[0] - values[1]) / (2 * STEP)
    return out


def float_positions(sample: Sample) -> list[int]:
    return [i for i, operand in enumerate(sample.operands) if operand.dtype.kind == "f"]


def check(function: Function, sample: Sample) -> Function:
    """`function`'s gradient agrees with differences; returns the gradient Function."""
    wrt = float_positions(sample)
    derived = gradient(function, wrt)
    verify(derived)
    value, *gradients = interpret(derived, sample.operands)
    assert value == interpret(function, sample.operands)[0]
    for position, got in zip(wrt, gradients, strict=True):
        want = differences(function, sample.operands, position)
        scale = 1.0 + np.abs(want).max(initial=0.0)
        assert got.shape == want.shape
        assert np.abs(got - want).max(initial=0.0) <= RTOL * scale, (
            f"{sample} operand {position}:\n{got}\n{want}"
        )
    return derived


@pytest.mark.parametrize("name", NAMES)
def test_first_and_second_order(name: str) -> None:
    op = OPS[name]
    samples = sampled(op)
    assert samples, f"{name}: no sample to differentiate in tests/samples.py"
    for sample in samples:
        first = check(weighted(op, sample), sample)
        b = Builder()
        params = [b.parameter(param.type, param.hint) for param in first.params]
        _, *slopes = inline(b, first, params)
        check(b.finish(f"slope_{name}", [weigh(b, slopes, 0.2)]), sample)


@pytest.mark.parametrize("name", NAMES)
def test_native_gradient_agrees_with_interpreter(name: str) -> None:
    """One compiled Function for all samples' gradients, first and second order."""
    op, b = OPS[name], Builder()
    results: list[Any] = []
    arrays: list[Array] = []
    for sample in sampled(op):
        function = weighted(op, sample)
        params = [b.parameter(param.type, f"x{len(b.params)}") for param in function.params]
        first = gradient(function, float_positions(sample))
        slopes = inline(b, first, params)
        results.extend(slopes)
        inner = Builder()
        again = [inner.parameter(param.type) for param in function.params]
        _, *inner_slopes = inline(inner, first, again)
        second = gradient(inner.finish("slope", [weigh(inner, inner_slopes, 0.2)]), float_positions(sample))
        results.extend(inline(b, second, params))
        arrays.extend(sample.operands)
    function = b.finish(name, results)
    verify(function)
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        # some tens of roundings each, relative to the largest element: sums may cancel
        scale = np.abs(want).max(initial=1.0)
        assert got.dtype == want.dtype
        assert np.abs(got - want).max(initial=0.0) <= 1e-13 * scale * (10 + want.size), name


@pytest.mark.parametrize("name", NAMES)
def test_gradients_keep_float32(name: str) -> None:
    """A float32 program has float32 gradients, as accurate as float32 allows."""
    op = OPS[name]
    for sample in sampled(op)[:3]:
        single = [
            operand.astype(np.float32) if operand.dtype == FLOAT64 else operand for operand in sample.operands
        ]
        attrs = {key: FLOAT32 if value == FLOAT64 else value for key, value in sample.attrs.items()}
        narrow = Sample(single, attrs)
        if name == "cast":
            continue
        derived = gradient(weighted(op, narrow), float_positions(narrow))
        verify(derived)
        assert {result.type.dtype for result in derived.results} == {FLOAT32}
        wide = Sample(
            [operand.astype(np.float64) if operand.dtype == FLOAT32 else operand for operand in single],
            sample.attrs,
        )
        truth = interpret(gradient(weighted(op, wide), float_positions(wide)), wide.operands)
        for got, want in zip(interpret(derived, single), truth, strict=True):
            assert np.abs(got - want).max(initial=0.0) <= 1e-4 * (1 + np.abs(want).max(initial=0.0)), name


def test_stop_gradient() -> None:
    b = Builder()
    x = b.parameter(TensorType(FLOAT64, ()), "x")
    function = b.finish("f", [b.mul(x, b.stop_gradient(x))])
    value, slope = interpret(gradient(function, [0]), [np.array(3.0)])
    assert (value, slope) == (9.0, 3.0)


def test_rewritten() -> None:
    b = Builder()
    x = b.parameter(TensorType(FLOAT64, ()), "x")
    function = b.finish("f", [b.mul(x, b.rewritten(x, b.mul(x, x)))])
    value, slope = interpret(gradient(function, [0]), [np.array(3.0)])
    assert (value, slope) == (27.0, 12.0)  # of x v, with v = x^2 and dv = dx


def test_undifferentiable() -> None:
    b = Builder()
    x = b.parameter(TensorType(np.dtype("f8"), ()))
    function = b.finish("f", [b.undifferentiable(x, message="there is no gradient of this")])
    assert interpret(function, [np.array(3.0)])[0] == 3.0
    with pytest.raises(GradientError, match="there is no gradient of this"):
        gradient(function, [0])
