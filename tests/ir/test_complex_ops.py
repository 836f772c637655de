"""The registry walk of complex numbers: every op that accepts them, interpreted, native and as text, and its
gradients against finite differences in the real and in the imaginary direction.

Bounds: results are compared by absolute value, relative to the sum of absolute terms where there is one.
"""

from __future__ import annotations

import itertools
import zlib
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import DTypeError, TracejitError
from tracejit.ir.builder import Builder, inline
from tracejit.ir.dtypes import BY_NAME, is_complex, real_dtype, ufunc_types
from tracejit.ir.graph import Function
from tracejit.ir.passes import OPTIMIZE, run_passes
from tracejit.ir.registry import NONDIFF, OPS, Kind, Op
from tracejit.ir.transforms.differentiation import gradient
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from .. import samples
from ..rotation import share_of
from ..samples import ELSEWHERE, Sample, samples_of
from ..support import Array, check_round_trip, interpret, run_native, type_of

COMPLEX = [BY_NAME["c64"], BY_NAME["c128"]]
OWN = ("complex", "conj", "imag", "real", "view_as_complex", "view_as_real")
#: Ops that have no meaning for complex numbers: NumPy's TypeError class.
REFUSE = {
    "atan2", "bitwise_and", "bitwise_count", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil",
    "copysign", "erf", "erfc", "floor", "floor_divide", "fmod", "gcd", "heaviside", "hypot", "lcm",
    "logaddexp", "logaddexp2", "nextafter", "remainder", "rsqrt", "shift_left", "shift_right", "signbit",
    "spacing", "trunc",
}  # fmt: skip


def values(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Ordinary numbers, or ordinary truths and indices where `dtype` is of those."""
    if not is_complex(dtype):
        return _real_values(dtype, shape, rng)
    return (rng.uniform(-3, 3, shape) + 1j * rng.uniform(-3, 3, shape)).astype(dtype)


_real_values = samples.random_values


@pytest.fixture(autouse=True)
def complex_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The makers of samples, with complex dtypes and ordinary values."""
    monkeypatch.setattr(samples, "DTYPES", COMPLEX)
    monkeypatch.setattr(samples, "FLOATS", COMPLEX)
    monkeypatch.setattr(samples, "random_values", values)
    monkeypatch.setattr(samples, "mixed_values", values)
    monkeypatch.setattr(samples, "_some_infinite", values)
    monkeypatch.setattr(samples, "specials", lambda dtype: values(dtype, (40,), np.random.default_rng(1)))


def walk(op: Op) -> list[Sample]:
    """The op's samples with complex operands or results."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    if op.name in OWN:
        shapes: list[tuple[int, ...]] = [(), (0,), (17,), (5, 33)]
        kinds = (
            [real_dtype(dtype) for dtype in COMPLEX] if op.name in ("complex", "view_as_complex") else COMPLEX
        )
        last = (2,) if op.name == "view_as_complex" else ()
        return [
            Sample([values(dtype, (*shape, *last), rng) for _ in op.params])
            for dtype, shape in itertools.product(kinds, shapes)
        ]
    if op.name == "cast":
        pairs = [
            ("c64", "c128"),
            ("c128", "c64"),
            ("c128", "bool"),
            ("c64", "f64"),
            ("i32", "c64"),
            ("f64", "c128"),
        ]
        return [
            Sample([values(BY_NAME[source], (33,), rng)], {"dtype": BY_NAME[target]})
            for source, target in pairs
        ]
    try:
        candidates = samples_of(op, rng)
    except LookupError:
        return []
    return [
        sample for sample in candidates if any(is_complex(x.dtype) for x in sample.operands) or not op.params
    ]


NAMES = [op.name for op in OPS if (op.name not in ELSEWHERE or op.name in OWN) and op.name not in REFUSE]


def function_of_samples(op: Op, chosen: list[Sample]) -> tuple[Function, list[Array]]:
    b = Builder()
    results, arrays = [], []
    for sample in chosen:
        params = tuple([b.parameter(type_of(operand), f"x{len(b.params)}") for operand in sample.operands])
        results.extend(b.append(op, params, sample.attrs))
        arrays.extend(sample.operands)
    return b.finish(op.name, results), arrays


def difference(op: Op, got: Array, want: Array, sample: Sample) -> str:
    """The difference beyond the last places of the result or of the terms of a sum; "" if there is none."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype.kind not in "fc":
        return "" if np.array_equal(got, want) else "other values"
    eps = np.finfo(want.dtype).eps
    size = np.abs(want)
    if op.kind in (Kind.REDUCTION, Kind.CUMULATIVE, Kind.CONTRACTION, Kind.CONVOLUTION, Kind.COMPOSITE):
        size = size + 4.0 * max(1, max(x.size for x in sample.operands)) * (1 if "prod" not in op.name else 0)
    if op.name in ("add", "sub", "fma", "mul", "square", "pow"):
        size = size + sum(np.abs(x) for x in sample.operands) + np.abs(sample.operands[0]) ** 2
    with np.errstate(all="ignore"):
        bad = np.abs(got - want) > 64 * eps * (size + 1e-6) * (max(want.size, 20) if "prod" in op.name else 1)
    bad |= np.isfinite(got) != np.isfinite(want)
    return f"{got[bad][:3]} instead of {want[bad][:3]}" if bad.any() else ""


#: Ops that run by their NumPy kernel: products of many in any order, order among pairs, checks of integers.
HOSTED = {
    "argmax", "argmin", "argsort", "check", "cummax", "cummin", "cumprod", "scatter_reduce", "searchsorted",
    "sort",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_native_agrees_with_interpreter(name: str) -> None:
    op = OPS[name]
    samples = walk(op)
    if not samples:
        pytest.skip("no complex samples are accepted")
    chosen = list(share_of(samples, 2 if len(samples) > 8 else 1))
    function, arrays = function_of_samples(op, chosen)
    verify(function)
    verify(run_passes(function, OPTIMIZE))
    expected = interpret(function, arrays)
    parsed = check_round_trip(function)
    for array, other in zip(interpret(parsed, arrays), expected, strict=True):
        assert np.array_equal(array, other, equal_nan=True)
    executable = Executable(function)
    for sample, array, other in zip(chosen, run_native(executable, arrays), expected, strict=True):
        assert not difference(op, array, other, sample), f"{name} {sample}"
    assert bool(executable.not_lowered) == (name in HOSTED)


@pytest.mark.parametrize("name", sorted(REFUSE))
def test_ops_without_a_meaning_name_themselves(name: str) -> None:
    op, b = OPS[name], Builder()
    operands = tuple([b.parameter(TensorType(COMPLEX[1], (2,))) for _ in op.params])
    with pytest.raises(DTypeError) as caught:
        b.apply(op, operands, {})
    assert isinstance(caught.value, TypeError)


OTHERWISE = (
    "where",
    "nan_unless_zero",
    "cast",
    "complex",
    "fma",
    "barrier",
    "rounded",
    "strong_mul",
    "strong_div",
)
ELEMENTWISE = [name for name in NAMES if OPS[name].kind is Kind.ELEMENTWISE and name not in OTHERWISE]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_promotion_is_numpys(name: str) -> None:
    op = OPS[name]
    ufunc: Any = getattr(op.eval, "ufunc", op.eval)
    others: list[Any] = [*BY_NAME.values(), 3, 2.5, 1j] if len(op.params) > 1 else [None]
    for first, other in itertools.product(COMPLEX, others):
        operands = [first] + [other] * (len(op.params) - 1)
        arrays = [np.ones(2, x) if isinstance(x, np.dtype) else x for x in operands]
        b = Builder()
        params = [b.parameter(TensorType(x, (2,))) if isinstance(x, np.dtype) else x for x in operands]
        kinds = tuple([x if isinstance(x, np.dtype) else type(x) for x in operands])
        try:
            with np.errstate(all="ignore"):
                want = np.asarray(ufunc(*arrays)).dtype
        except TypeError:
            with pytest.raises(DTypeError):
                b.apply(op, tuple(params), {})
            continue
        assert b.apply(op, tuple(params), {}).dtype == want
        assert ufunc_types(ufunc, kinds)[-1] == want


# -- gradients ------------------------------------------------------------------------------------------

SMOOTH = [
    name
    for name in NAMES
    if OPS[name].vjp is not NONDIFF
    and name not in ("rint", "maximum", "minimum", "fmax", "fmin", "clip", "max", "min", "cummax", "cummin")
    and OPS[name].kind not in (Kind.CREATION, Kind.SORT)
    and name not in ("undifferentiable", "rewritten", "stop_gradient", "scatter_reduce", "searchsorted")
]


def scalar_of(op: Op, sample: Sample, weights: Array) -> Function:
    """The real part of a weighted sum of what `op` gives, as a function of the operands."""
    b = Builder()
    params = tuple([b.parameter(type_of(operand)) for operand in sample.operands])
    (result,) = b.append(op, params, sample.attrs)
    w = b.constant(data=tuple(weights.ravel().tolist()), shape=weights.shape, dtype=weights.dtype)
    product = b.mul(result, w)
    total = b.sum(product, axes=tuple(range(len(product.shape))))
    return b.finish(op.name, [b.real(total) if is_complex(total.dtype) else total])


def differences(run: Any, arrays: list[Array], position: int) -> Array:
    """df/da - i df/db by central differences, JAX's gradient of a real function of a + ib."""
    x, step = arrays[position], 1e-6
    slopes = np.zeros(x.shape, x.dtype)
    for index in np.ndindex(x.shape):
        for direction in (1.0, 1j) if is_complex(x.dtype) else (1.0,):
            ends = []
            for sign in (1, -1):
                moved = np.array(x)
                moved[index] += sign * step * direction
                ends.append(run([*arrays[:position], moved, *arrays[position + 1 :]]))
            slope = (ends[0] - ends[1]) / (2 * step)
            slopes[index] += slope if direction == 1.0 else -1j * slope
    return slopes


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_to_second_order(name: str) -> None:
    op = OPS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    small = [
        sample
        for sample in walk(op)
        if sample.operands
        and 0 < sum(x.size for x in sample.operands) <= 24
        and all(x.dtype.itemsize in (8, 16, 1) for x in sample.operands)
        and all(x.dtype.name != "complex64" for x in sample.operands)
        and "c64" not in str(sample.attrs)
        and "complex64" not in str(sample.attrs)
    ][:2]
    for sample in small:
        wrt = [i for i, x in enumerate(sample.operands) if x.dtype.kind in "fc"]
        (result,) = op.infer(tuple([type_of(x) for x in sample.operands]), sample.attrs)
        if result.dtype.kind not in "fc":
            continue
        weights = values(result.dtype, result.shape, rng)
        function = scalar_of(op, sample, weights)
        slopes = gradient(function, wrt)
        verify(slopes)
        slopes_of_operands = interpret(slopes, sample.operands)[1:]
        for number, position in enumerate(wrt):
            want = differences(lambda arrays, f=function: interpret(f, arrays)[0], sample.operands, position)
            assert close(slopes_of_operands[number], want), name
        for got, want in zip(Executable(slopes)(sample.operands)[1:], slopes_of_operands, strict=True):
            assert np.allclose(got, want, rtol=1e-10, atol=1e-10), name
        again = second(slopes, wrt[0])
        seconds = gradient(again, [wrt[0]])
        (got,) = interpret(seconds, sample.operands)[1:]
        want = differences(lambda arrays, f=again: interpret(f, arrays)[0], sample.operands, wrt[0])
        assert close(got, want), f"{name}: order 2"


def close(got: Array, want: Array) -> bool:
    """Whether a gradient agrees with differences."""
    return bool(np.allclose(got, want, rtol=5e-5, atol=5e-5 * (1 + np.abs(want).max(initial=0.0))))


def second(slopes: Function, position: int) -> Function:
    """A real number of the first gradient in `slopes`: the real part of the sum of its elements, weighted."""
    b = Builder()
    params = [b.parameter(param.type) for param in slopes.params]
    results = inline(b, slopes, params)
    first = results[1]
    total = b.sum(first, axes=tuple(range(len(first.shape))))
    if is_complex(total.dtype):
        total = b.real(b.mul(total, 0.7 - 0.4j))
    return b.finish("second", [total])


def test_errors_are_ours() -> None:
    b = Builder()
    x = b.parameter(TensorType(BY_NAME["f64"], (2,)))
    for name in ("real", "imag"):
        with pytest.raises(TracejitError, match=f"{name}: expected a complex operand"):
            b.apply(OPS[name], (x,), {})
    with pytest.raises(DTypeError, match="complex: expected real parts"):
        b.complex(b.parameter(TensorType(COMPLEX[1], (2,))), 0.0)
