"""Sample operands and attributes for every op, by kind, with a table for the ops that need their own.

An op without a maker here makes tests/test_registry.py fail and say so. The dtypes come from the registry: a
sample is kept where the op's type rule accepts it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracejit.base.errors import TracejitError
from tracejit.ir.dtypes import BY_NAME
from tracejit.ir.registry import Kind, Op
from tracejit.surface.elementwise import ELEMENTWISE

from .derivatives.checking import value_at
from .derivatives.entries import Entry
from .derivatives.table import ENTRIES
from .support import Array, type_of

SHAPES = [(), (1,), (0,), (3,), (17,), (5, 33), (2, 3, 4), (100,)]
#: Complex dtypes have a walk of their own, tests/ir/test_complex_ops.py.
DTYPES = [dtype for dtype in BY_NAME.values() if dtype.kind != "c"]
FLOATS = [dtype for dtype in DTYPES if dtype.kind == "f"]
I64 = BY_NAME["i64"]


@dataclass
class Sample:
    """Operands and attributes of one application of an op."""

    operands: list[Array]
    attrs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"({', '.join(str(type_of(operand)) for operand in self.operands)}) {self.attrs or ''}"


def specials(dtype: np.dtype[Any]) -> Array:
    """The values at which functions go wrong."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        near = [0, 1, 2, 3, 5, 7, 13, 31, 63, 64, high, high - 1, low, low + 1]
        return np.array(near + ([-1, -2, -3, -7, -64] if low else []), dtype)
    info = np.finfo(dtype)
    positive = [0.0, info.smallest_subnormal, info.tiny, info.eps, 0.3, 0.5, 1.0, 1 + info.eps, 1.5, 2.0, 2.5]
    positive += [3.0, np.pi, 7.75, 20.0, 88.5, 104.5, 709.5, 1e5, 1e15, info.max / 2, info.max, np.inf]
    with np.errstate(over="ignore"):
        return np.array([sign * number for number in positive for sign in (1.0, -1.0)] + [np.nan]).astype(
            dtype
        )


def random_values(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Ordinary values: floats in (-3, 3), small and large integers."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        return rng.uniform(-3, 3, shape).astype(dtype)
    info = np.iinfo(dtype)
    small = rng.integers(max(info.min, -20), 20, shape).astype(dtype)
    large = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.7, small, large).astype(dtype)


def mixed_values(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Ordinary values with some special ones among them."""
    ordinary = random_values(dtype, shape, rng)
    return np.where(rng.random(shape) < 0.3, rng.choice(specials(dtype), shape), ordinary).astype(dtype)


def _some_infinite(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Ordinary values, NaN, infinities and zeros: no finite ones whose sum or product overflows on the way,
    which depends on the order."""
    ordinary = random_values(dtype, shape, rng)
    if dtype.kind != "f":
        return mixed_values(dtype, shape, rng)
    odd = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype), shape)
    return np.where(rng.random(shape) < 0.03, odd, ordinary)


def axes_of(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every set of axes of `shape`."""
    ranks = range(len(shape))
    return [axes for count in range(len(shape) + 1) for axes in itertools.combinations(ranks, count)]


Maker = Callable[[Op, np.random.Generator], Iterator[Sample]]


def _elementwise(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    if op.attrs:
        raise LookupError(f"op {op.name} has attributes: tests/samples.py needs a maker of its own for it")
    count = len(op.params)
    for dtype in DTYPES:
        special = specials(dtype)
        if count <= 2:
            grid = np.meshgrid(*[special] * count)
            yield Sample([np.ascontiguousarray(axis).reshape(-1) for axis in grid])
        else:
            yield Sample([rng.choice(special, 500) for _ in range(count)])
        for shape in SHAPES:
            yield Sample([mixed_values(dtype, shape, rng) for _ in range(count)])


def _undifferentiable(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype in DTYPES:
        yield Sample([specials(dtype)], {"message": "there is none"})


def _multiply_adds(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    """No product overflows: rounded once, it need not where the sum is finite."""
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        yield Sample([_some_infinite(dtype, shape, rng) for _ in range(3)])


def _powers(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for sample in _elementwise(op, rng):
        x, y = sample.operands
        # NumPy refuses negative integer powers; that has a test of its own
        yield Sample([x, y % 70 if y.dtype.kind == "i" else y])


def _where(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        pair = [mixed_values(dtype, shape, rng) for _ in range(2)]
        yield Sample([random_values(BY_NAME["bool"], shape, rng), *pair])


def _masked_floats(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        if dtype.kind == "f":
            yield Sample([mixed_values(dtype, shape, rng), random_values(BY_NAME["bool"], shape, rng)], {})


def _silent_floats(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    """Samples that do not warn, nor do their gradients."""
    for sample in _masked_floats(op, rng):
        x, mask = sample.operands
        yield Sample([x, np.zeros_like(mask)], {"of": "vectors"})


def _casts(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for source, target in itertools.product(DTYPES, DTYPES):
        values = np.concatenate([specials(source), random_values(source, (50,), rng)])
        if source.kind == "f" and target.kind in "iu":
            # beyond the target's range C leaves the result open; that has a test of its own
            low, high = float(np.iinfo(target).min), float(np.iinfo(target).max)
            with np.errstate(invalid="ignore"):
                exact = values.astype(np.float64)
                values = values[(exact > low - 1) & (exact < high)]
        yield Sample([values], {"dtype": target})
    for shape in SHAPES:
        for source in ("i32", "f64"):
            yield Sample([random_values(BY_NAME[source], shape, rng)], {"dtype": BY_NAME["f64"]})


def _reductions(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    if set(op.attrs) != {"axes"}:
        raise LookupError(
            f"reduction {op.name} has attributes beside axes: tests/samples.py needs a maker for it"
        )
    for dtype in DTYPES:
        for shape in [*SHAPES, (4, 0, 3), (70, 9)] if dtype.itemsize >= 4 else [(17,), (5, 33), (0,)]:
            for axes in axes_of(shape):
                yield Sample([random_values(dtype, shape, rng)], {"axes": axes})
        for shape, axis in (((9, 40), 1), ((40, 9), 0), ((9, 100), 1)):
            yield Sample([_some_infinite(dtype, shape, rng)], {"axes": (axis,)})


def _along_axis(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    if not {"axis"} <= set(op.attrs) <= {"axis", "reverse"}:
        raise LookupError(f"op {op.name} has unknown attributes: tests/samples.py needs a maker for it")
    for dtype, shape in itertools.product(
        DTYPES, [(1,), (0,), (3,), (100,), (5, 33), (33, 5), (2, 3, 4), (3, 0)]
    ):
        for axis in range(len(shape)):
            for reverse in (False, True) if "reverse" in op.attrs else (None,):
                attrs = {"axis": axis} if reverse is None else {"axis": axis, "reverse": reverse}
                make = _some_infinite if len(shape) == 2 else random_values
                yield Sample([make(dtype, shape, rng)], attrs)


def _per_dtype(cases: list[tuple[tuple[tuple[int, ...], ...], dict[str, Any]]]) -> Maker:
    """Each case, a tuple of operand shapes and attributes, in every dtype."""

    def make(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
        for dtype, (shapes, attrs) in itertools.product(DTYPES, cases):
            yield Sample([mixed_values(dtype, shape, rng) for shape in shapes], attrs)

    return make


_RESHAPES = _per_dtype([
    (((),), {"shape": (1, 1)}), (((3,),), {"shape": (1, 3, 1)}), (((0,),), {"shape": (4, 0)}),
    (((5, 33),), {"shape": (165,)}), (((2, 3, 4),), {"shape": (4, 3, 2)}), (((100,),), {"shape": (10, 2, 5)}),
])  # fmt: skip
_TRANSPOSES = _per_dtype([
    (((),), {"perm": ()}), (((17,),), {"perm": (0,)}), (((5, 33),), {"perm": (1, 0)}),
    (((0, 3),), {"perm": (1, 0)}), (((2, 3, 4),), {"perm": (2, 0, 1)}), (((2, 3, 4),), {"perm": (0, 2, 1)}),
    (((70, 66),), {"perm": (1, 0)}),
])  # fmt: skip
_BROADCASTS = _per_dtype([
    (((),), {"shape": (3, 17)}), (((1,),), {"shape": (0,)}), (((3,),), {"shape": (5, 3)}),
    (((5, 1),), {"shape": (5, 33)}), (((1, 3, 1),), {"shape": (2, 3, 4)}), (((0,),), {"shape": (2, 0)}),
])  # fmt: skip
_SLICES = _per_dtype([
    (((),), {"start": (), "size": (), "step": ()}), (((17,),), {"start": (2,), "size": (5,), "step": (3,)}),
    (((17,),), {"start": (16,), "size": (17,), "step": (-1,)}),
    (((17,),), {"start": (3,), "size": (0,), "step": (1,)}),
    (((5, 33),), {"start": (4, 30), "size": (3, 8), "step": (-2, -4)}),
    (((2, 3, 4),), {"start": (1, 0, 1), "size": (1, 3, 2), "step": (1, 1, 2)}),
    (((0, 3),), {"start": (0, 0), "size": (0, 2), "step": (1, 2)}),
])  # fmt: skip
_UPDATES = _per_dtype([
    (((), ()), {"start": (), "step": ()}), (((17,), (5,)), {"start": (2,), "step": (3,)}),
    (((17,), (17,)), {"start": (16,), "step": (-1,)}), (((17,), (0,)), {"start": (3,), "step": (1,)}),
    (((5, 33), (3, 8)), {"start": (4, 30), "step": (-2, -4)}),
    (((2, 3, 4), (1, 3, 2)), {"start": (1, 0, 1), "step": (1, 1, 2)}),
    (((100, 40), (100, 20)), {"start": (0, 1), "step": (1, 2)}),
])  # fmt: skip
_CONCATS = _per_dtype([
    (((3,),), {"axis": 0}), (((3,), (0,), (17,)), {"axis": 0}), (((5, 33), (2, 33)), {"axis": 0}),
    (((5, 33), (5, 1), (5, 7)), {"axis": 1}), (((2, 3, 4), (2, 1, 4)), {"axis": 1}),
    (((0, 3), (0, 2)), {"axis": 1}),
])  # fmt: skip


def _matmuls(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    sizes = [(1, 1, 1), (3, 4, 5), (0, 3, 2), (3, 0, 2), (17, 33, 9), (64, 70, 50), (1, 100, 1), (8, 1, 8)]
    for dtype, (m, k, n) in itertools.product(DTYPES, sizes):
        yield Sample([random_values(dtype, (m, k), rng), random_values(dtype, (k, n), rng)])
    for dtype in DTYPES:
        yield Sample([random_values(dtype, (2, 3, 4, 5), rng), random_values(dtype, (2, 3, 5, 2), rng)])


def _convolutions(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    """Kernels are finite: whether others meet the zeros of padding is open."""
    cases = [
        ((2, 3, 5, 6), (4, 3, 3, 2), {"stride": (1, 1), "padding": (1, 1, 0, 1), "dilation": (1, 1)}),
        ((1, 2, 2, 7, 5), (2, 3, 2, 2, 3), {"stride": (2, 3), "padding": (0, 2, 1, 1), "dilation": (2, 1)}),
        ((3, 1, 1, 9), (20, 1, 1, 4), {"stride": (1, 2), "padding": (0, 0, -1, 3), "dilation": (1, 2)}),
        ((0, 1, 3, 3), (2, 1, 3, 3), {"stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}),
    ]
    for dtype, (x, w, attrs) in itertools.product(DTYPES, cases):
        yield Sample([random_values(dtype, x, rng), random_values(dtype, w, rng)], attrs)
        yield Sample([_some_infinite(dtype, x, rng), random_values(dtype, w, rng)], attrs)


def _strong_products(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    """Operands some of whose zeros meet infinity or NaN, and integers and finite ones."""
    sizes = [(1, 1, 1), (3, 4, 5), (0, 3, 2), (3, 0, 2), (17, 33, 9), (1, 100, 1), (8, 1, 8)]
    shapes = [*[((m, k), (k, n)) for m, k, n in sizes], ((2, 3, 4, 5), (2, 3, 5, 2))]
    for dtype, pair in itertools.product(DTYPES, shapes):
        for make in (random_values, _some_infinite, _often_zero):
            yield Sample([make(dtype, shape, rng) for shape in pair])


def _strong_convolutions(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for sample in _convolutions(op, rng):
        x, w = sample.operands
        yield sample
        yield Sample([_often_zero(z.dtype, z.shape, rng) for z in (x, w)], sample.attrs)


def _often_zero(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """`_some_infinite` of whose elements two in three are 0."""
    values = _some_infinite(dtype, shape, rng)
    return np.where(rng.random(shape) < 0.66, np.zeros(shape, dtype), values)


_INDEXED = [
    ((7,), (4,), 1),
    ((7,), (), 1),
    ((5, 33), (9,), 1),
    ((5, 33), (2, 3), 2),
    ((2, 3, 4), (6,), 2),
    ((3,), (0,), 1),
]


#: Shapes, shapes of indices, and the axes that they go along.
_INDEXED_ALONG = [
    ((4, 5), (), (1,)),
    ((4, 5), (300,), (1,)),
    ((3, 4, 5), (), (0, 2)),
    ((3, 4, 5), (2, 2), (2, 0)),
    ((2, 3, 4, 5), (3,), (1,)),
    ((2, 0, 3), (), (2,)),
]


def _indices(
    shape: tuple[int, ...], index: tuple[int, ...], count: int, rng: np.random.Generator
) -> list[Array]:
    return [np.asarray(rng.integers(-shape[axis], shape[axis], index)) for axis in range(count)]


def _gathers(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, (shape, index, count) in itertools.product(DTYPES, _INDEXED):
        yield Sample([mixed_values(dtype, shape, rng), *_indices(shape, index, count, rng)], {"axes": ()})
    for dtype, (shape, index, axes) in itertools.product(DTYPES, _INDEXED_ALONG):
        indices = _indices(tuple(shape[axis] for axis in axes), index, len(axes), rng)
        yield Sample([mixed_values(dtype, shape, rng), *indices], {"axes": axes})


def _checks(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for sample in _gathers(op, rng):
        yield Sample(sample.operands, {**sample.attrs, "error": "DomainError: there is none"})


def _scatters(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    yield from _scatters_by(("set", "add"), rng)


def _scatters_by(modes: tuple[str, ...], rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, (shape, index, count), mode in itertools.product(DTYPES, _INDEXED, modes):
        value = random_values(dtype, index + shape[count:], rng)
        operands = [random_values(dtype, shape, rng), value, *_indices(shape, index, count, rng)]
        yield Sample(operands, {"mode": mode, "axes": ()})
    for dtype, (shape, index, axes), mode in itertools.product(DTYPES, _INDEXED_ALONG, modes):
        rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
        indices = _indices(tuple(shape[axis] for axis in axes), index, len(axes), rng)
        operands = [random_values(dtype, shape, rng), random_values(dtype, index + rest, rng), *indices]
        yield Sample(operands, {"mode": mode, "axes": axes})


def _scatter_reduces(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    yield from _scatters_by(("mul", "max", "min"), rng)


def _lines(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, shape in itertools.product(DTYPES, [(0,), (1,), (3,), (100,), (5, 33), (2, 0), (2, 3, 300)]):
        yield Sample([mixed_values(dtype, shape, rng)])


def _searches(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, size, side in itertools.product(DTYPES, (0, 1, 2, 33), ("left", "right")):
        line = np.sort(mixed_values(dtype, (size,), rng))
        yield Sample([line, mixed_values(dtype, (5, 7), rng)], {"side": side})


def _bincounts(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for size, length, dtype in itertools.product((0, 1, 33, 300), (0, 1, 5, 17), (None, "f4", "f8")):
        x = rng.integers(0, 7, size)  # of which some are past the end
        weights = [] if dtype is None else [rng.normal(size=size).astype(dtype)]
        yield Sample([x, *weights], {"length": length, "strict": length == 17})


def _positions(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for shape, size in itertools.product(((0,), (1,), (33,), (300,), (4, 17), (2, 0)), (0, 1, 5, 200)):
        for share in (0.0, 0.5, 1.0):
            yield Sample([rng.random(shape) < share], {"size": size})


def _fourier(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    shapes = [
        ((1,), 0),
        ((2,), 0),
        ((7,), 0),
        ((0, 4), 1),
        ((5, 17), 1),
        ((6, 3), 0),
        ((2, 3, 4), 1),
        ((3, 30), 1),
    ]
    for dtype, (shape, axis), scale in itertools.product(FLOATS, shapes, (1.0, -0.75)):
        attrs: dict[str, Any] = {"axis": axis, "scale": scale}
        if op.name == "rfft":
            for interior in (1.0, 2.0):
                yield Sample([random_values(dtype, shape, rng)], attrs | {"interior": interior})
            continue
        pairs = random_values(dtype, (*shape, 2), rng)
        if op.name == "fft":
            for inverse in (False, True):
                yield Sample([pairs], attrs | {"inverse": inverse})
        for n in (2 * shape[axis] - 2, 2 * shape[axis] - 1) if op.name == "irfft" else ():
            for interior in (1.0, -0.5):
                yield Sample([pairs], attrs | {"n": n, "interior": interior})


def _fulls(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype in DTYPES:
        for value in specials(dtype)[:: 5 if dtype.kind != "b" else 1]:
            yield Sample([], {"value": value.item(), "shape": (2, 3), "dtype": dtype})
        for shape in SHAPES:
            yield Sample([], {"value": dtype.type(1).item(), "shape": shape, "dtype": dtype})


def _iotas(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, shape in itertools.product(DTYPES, [(1,), (0,), (17,), (5, 33), (2, 3, 4)]):
        if dtype.kind != "b":
            for axis in range(len(shape)):
                yield Sample([], {"shape": shape, "axis": axis, "dtype": dtype})


def _constants(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, shape in itertools.product(DTYPES, [*SHAPES, (2, 0)]):
        data = tuple(mixed_values(dtype, shape, rng).reshape(-1).tolist())
        yield Sample([], {"data": data, "shape": shape, "dtype": dtype})


def _signed_powers(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for dtype, shape, exponent in itertools.product(FLOATS, SHAPES, (0.5, 2, 3.5)):
        yield Sample([mixed_values(dtype, shape, rng)], {"exponent": exponent})


BY_KIND: dict[Kind, Maker] = {
    Kind.ELEMENTWISE: _elementwise,
    Kind.REDUCTION: _reductions,
    Kind.COMPOSITE: _reductions,
    Kind.ARG_REDUCTION: _along_axis,
    Kind.CUMULATIVE: _along_axis,
}
BY_NAME_OF_OP: dict[str, Maker] = {
    "libm": lambda op, rng: _of_c_library(op, rng),
    "libm_pow": lambda op, rng: _float64_pairs(op, rng),
    "contiguous": _elementwise,
    "candidate": _elementwise,
    "safe_candidate": _elementwise,
    "strong_matmul": _strong_products,
    "strong_convolve": _strong_convolutions,
    "stop_gradient": _elementwise,
    "copy": _elementwise,
    "barrier": _elementwise,
    "rounded": _elementwise,
    "rewritten": _elementwise,
    "undifferentiable": _undifferentiable,
    "pow": _powers, "signed_power": _signed_powers, "fma": _multiply_adds,
    "nan_unless_zero": _masked_floats, "warn_unless_zero": _silent_floats,
    "where": _where, "cast": _casts, "reshape": _RESHAPES, "transpose": _TRANSPOSES,
    "broadcast": _BROADCASTS, "slice": _SLICES, "update": _UPDATES, "concat": _CONCATS, "matmul": _matmuls,
    "convolve": _convolutions,
    "gather": _gathers, "check": _checks, "scatter": _scatters, "scatter_reduce": _scatter_reduces,
    "full": _fulls, "iota": _iotas, "constant": _constants,
    "sort": _lines, "argsort": _lines, "searchsorted": _searches,
    "bincount": _bincounts,
    "true_positions": _positions,
    "fft": _fourier, "rfft": _fourier, "irfft": _fourier,
}  # fmt: skip
#: Ops that the walk leaves to other tests, and why.
ELSEWHERE = {
    **dict.fromkeys(
        ("cosine", "inversion"),
        "the last operand follows from the others: tests/derivatives, in the rows of hypot and arctan2",
    ),
    **dict.fromkeys(
        ("pow_derivative", "pow_log"),
        "the attributes say of what power and logarithm they are: tests/derivatives, in the rows of power",
    ),
    **dict.fromkeys(
        ("special1", "special2", "special3", "special4"),
        "their meaning is what an attribute names: tests/ir/special/test_special_accuracy.py",
    ),
    **dict.fromkeys(
        ("complex", "conj", "imag", "real", "view_as_complex", "view_as_real"),
        "complex numbers have their own walk: tests/ir/test_complex_ops.py",
    ),
    "direction": "its meaning is sign's, its derivative abs's: tests/tracejit/test_complex_derivatives.py",
    "empty": "made by the pass drop-fills, its elements are never read: tests/ir/passes/layout/test_fills.py",
    "fusion": "made by the pass fuse, never by users: tests/filetests/fuse and tests/test_fuzz.py",
    "tiled": "made by the pass tile-transforms: tests/codegen/kernels/fft/test_tiled.py",
    "interpreted": "made where the compiler fails: tests/codegen/plan/test_recovery.py",
    "custom_rule": "its meaning is its regions: tests/tracejit/transforms/test_custom_grad.py",
    "pure_callback": "its meaning is a Python function: tests/tracejit/test_callbacks.py",
    "gradient_warning": "it warns: tests/tracejit/linalg/test_nearly_equal_values.py",
    "debug_callback": "what it does is the point: tests/tracejit/tools/test_debug.py",
    **dict.fromkeys(
        ("switch", "while", "scan", "while_vjp", "rewind"),
        "their meaning is their regions: tests/ir/test_control.py",
    ),
    "custom_vjp": "its meaning is its regions: tests/ir/test_custom_vjp.py",
    **dict.fromkeys(
        (
            "cholesky",
            "triangular_solve",
            "lu",
            "lu_solve",
            "inverse",
            "permutation_of_pivots",
            "sylvester",
            "schur",
            "banded_lu",
            "banded_solve",
            "banded_cholesky",
            "banded_cholesky_solve",
            "toeplitz_solve",
            "schur_turning",
            "ldl",
            "det",
            "adjugate",
            "vector_norm",
            "logabsdet",
            "signdet",
            "complex_linalg",
            "qr",
            "svd",
            "svdvals",
            "eig",
            "eigvals",
            "eigh",
            "eigvalsh",
            "pinv",
        ),
        "they take matrices of some properties, and have several results: tests/ir/test_linalg.py",
    ),
}


def samples_of(op: Op, rng: np.random.Generator) -> list[Sample]:
    """The samples of `op` that its type rule accepts. LookupError where nobody wrote a maker."""
    maker = BY_NAME_OF_OP.get(op.name) or BY_KIND.get(op.kind)
    if maker is None:
        raise LookupError(f"op {op.name} of kind {op.kind.value} has no sample maker in tests/samples.py")
    accepted_samples = [sample for sample in maker(op, rng) if accepted(op, sample)]
    if not accepted_samples:
        raise LookupError(f"op {op.name}: its type rule accepts none of the samples of tests/samples.py")
    return accepted_samples


def accepted(op: Op, sample: Sample) -> bool:
    """Whether the op's type rule takes the sample's types."""
    try:
        op.infer(tuple(type_of(operand) for operand in sample.operands), sample.attrs)
    except TracejitError:
        return False
    return True


# -- NumPy's functions, independent of the records' own `eval` --------------------------------------


def _np_reduce(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda x, axes: ufunc.reduce(x, axis=axes, dtype=x.dtype)


def _np_slice(start: Any, size: Any, step: Any) -> Any:
    axes = zip(start, size, step, strict=True)
    return np.ix_(*[first + by * np.arange(count) for first, count, by in axes])


def _np_update(x: Array, v: Array, start: Any, step: Any) -> Array:
    out = x.copy()
    if x.ndim:
        out[_np_slice(start, v.shape, step)] = v
        return out
    return v.copy()


def np_convolve(x: Array, w: Array, stride: Any, padding: Any, dilation: Any) -> Array:
    """Every window of the padded images, times the kernels."""
    if x.ndim == 4:
        return np_convolve(x[:, None], w[None], stride, padding, dilation)[:, 0]
    windows = np_windows(x, w.shape[3:], stride, padding, dilation)
    if x.dtype == np.bool_:
        return np.einsum("ngcrqij,gocij->ngorq", windows.astype(int), w.astype(int)) > 0
    return np.einsum("ngcrqij,gocij->ngorq", windows, w)


def np_windows(x: Array, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Array:
    """The windows of the padded images x, (n, g, c, h, w): (n, g, c, rows, columns, *kernel)."""
    (top, bottom, left, right), room = padding, 16
    wide = np.pad(x, [(0, 0)] * 3 + [(room + max(0, top), room + max(0, bottom)),
                                     (room + max(0, left), room + max(0, right))])  # fmt: skip
    start = [room + max(0, corner) - corner for corner in (top, left)]
    size = [x.shape[3] + top + bottom, x.shape[4] + left + right]
    wide = wide[..., start[0] : start[0] + size[0], start[1] : start[1] + size[1]]
    reach = [(count - 1) * apart + 1 for count, apart in zip(kernel, dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(wide, reach, axis=(3, 4))
    return windows[:, :, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def _np_gather(x: Array, *indices: Array, axes: tuple[int, ...], error: str = "") -> Array:
    return np.moveaxis(x, axes, range(len(axes)))[indices]


def _np_scatter(x: Array, v: Array, *indices: Array, mode: str, axes: tuple[int, ...]) -> Array:
    whole = x.copy()
    out = np.moveaxis(whole, axes, range(len(axes)))
    for place in np.ndindex(indices[0].shape):
        at = tuple(int(index[place]) for index in indices)
        out[at] = _SCATTERED[mode](out[at], v[place], dtype=x.dtype) if mode != "set" else v[place]
    return whole


_SCATTERED = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _running(combine: np.ufunc) -> Callable[..., Array]:
    def run(x: Array, axis: int, reverse: bool) -> Array:
        moved = np.moveaxis(x, axis, 0)
        out = moved.copy()
        places = list(range(moved.shape[0]))[:: -1 if reverse else 1]
        for before, at in itertools.pairwise(places):
            out[at] = combine(out[before], moved[at], dtype=x.dtype)
        return np.moveaxis(out, 0, axis)

    return run


def _by_math(function: Callable[[float], float]) -> Callable[..., Any]:
    return lambda x: (
        np.array([function(float(number)) for number in x.reshape(-1)]).reshape(x.shape).astype(x.dtype)
    )


#: Rotations of Threefry-2x32, eight rounds in a row (Random123's threefry.h).
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def _threefry_word(key: int, counter: int) -> int:
    """Threefry-2x32-20 in the words of the paper: round by round, the key injected after every fourth."""
    k = [key >> 32, key % 2**32]
    k.append(k[0] ^ k[1] ^ 0x1BD11BDA)
    x = [((counter >> 32) + k[0]) % 2**32, (counter + k[1]) % 2**32]
    for d in range(20):
        r = _ROTATIONS[d % 8]
        x[0] = (x[0] + x[1]) % 2**32
        x[1] = (x[1] * 2**r % 2**32 + (x[1] >> (32 - r))) ^ x[0]
        if d % 4 == 3:
            s = d // 4 + 1
            x = [(x[0] + k[s % 3]) % 2**32, (x[1] + k[(s + 1) % 3] + s) % 2**32]
    return x[0] * 2**32 + x[1]


def _np_bincount(x: Any, weights: Any = None, *, length: int, strict: bool) -> Array:
    """Counted one by one."""
    counts = np.zeros(length, np.int64 if weights is None else weights.dtype)
    for number, value in enumerate(x):
        if value < length:
            counts[value] += 1 if weights is None else weights[number]
    return counts


def _np_true_positions(x: Any, *, size: int) -> Array:
    """Each row's list, cut off or filled up."""
    rows = [
        ([place for place, truth in enumerate(row) if truth] + [x.shape[-1]] * size)[:size]
        for row in x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).tolist()
    ]
    return np.array(rows, np.int64).reshape(*x.shape[:-1], size)


def _dense(x: Array, axis: int, matrix: Array, scale: float) -> Array:
    """A matrix applied along an axis, in more bits, as pairs."""
    y = np.moveaxis(np.tensordot(matrix, x.astype(np.clongdouble), (1, axis)), 0, axis) * scale
    return np.stack([y.real, y.imag], axis=-1)


def _roots(rows: int, n: int, sign: int) -> Array:
    angle = np.outer(np.arange(rows), np.arange(n)) % n * (2 * np.arccos(np.longdouble(-1)) / n)
    return np.cos(angle) + sign * 1j * np.sin(angle)


def _np_fft(x: Array, axis: int, inverse: bool, scale: float) -> Array:
    n = x.shape[axis]
    matrix = _roots(n, n, 1 if inverse else -1)
    return _dense(x[..., 0] + 1j * x[..., 1], axis, matrix, scale).astype(x.dtype)


def _weights(n: int, interior: float) -> Array:
    """The weights of the elements of half a spectrum: `interior` for those that stand for two."""
    weights = np.ones(n // 2 + 1)
    weights[1 : (n + 1) // 2] = interior
    return weights


def _np_rfft(x: Array, axis: int, scale: float, interior: float) -> Array:
    n = x.shape[axis]
    matrix = _roots(n // 2 + 1, n, -1) * _weights(n, interior)[:, None]
    return _dense(x, axis, matrix, scale).astype(x.dtype)


def _np_irfft(x: Array, axis: int, n: int, scale: float, interior: float) -> Array:
    matrix = _roots(n // 2 + 1, n, 1).T * _weights(n, 2 * interior)
    return _dense(x[..., 0] + 1j * x[..., 1], axis, matrix, scale)[..., 0].astype(x.dtype)


def _threefry(key: Any, counter: Any) -> Array:
    for part in (key, counter):
        if type(part) is not int and getattr(part, "dtype", None) != np.uint64:
            raise TypeError("no loop for these types")
    words = np.frompyfunc(lambda k, c: _threefry_word(int(k), int(c)), 2, 1)(key, counter)
    return np.asarray(words).astype(np.uint64)


def _of_words(function: Callable[[int, int], int]) -> Callable[..., Array]:
    def run(x: Any, y: Any) -> Array:
        if any(getattr(part, "dtype", None) != np.uint64 for part in (x, y)):
            raise TypeError("no loop for these types")
        return np.asarray(np.frompyfunc(lambda a, b: function(int(a), int(b)), 2, 1)(x, y)).astype(np.uint64)

    return run


def _view(x: Any, before: Any, after: Any) -> Array:
    if x.dtype != before:
        raise TypeError("no loop for this type")
    return np.asarray(x).view(after)


#: Functions of the C library, with what they are outside their domains.
_DOMAIN: dict[str, Callable[[float], float]] = {
    "log": lambda x: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan,
    "log1p": lambda x: math.log1p(x) if x > -1 else -math.inf if x == -1 else math.nan,
    "exp": lambda x: math.inf if x > 709.7 else math.exp(x),
}


def _of_c_library(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for shape, function in itertools.product(SHAPES, sorted(_DOMAIN)):
        yield Sample([mixed_values(np.dtype(np.float64), shape, rng)], {"function": function})


def _float64_pairs(op: Op, rng: np.random.Generator) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample([mixed_values(np.dtype(np.float64), shape, rng) for _ in "xy"], {})


def _pow_of_c(x: Any, y: Any) -> Array:
    if x.dtype != np.float64:
        raise TypeError("no loop for this type")
    with np.errstate(all="ignore"):
        powers = np.asarray(np.power(x, y))  # whose last bits may be others
    for place in np.argwhere(np.isfinite(powers)):
        at = tuple(place)
        powers[at] = math.pow(x[at], y[at])
    return powers


def _sech_squared(x: float) -> float:
    return 4.0 * math.exp(-2.0 * abs(x)) / (1.0 + math.exp(-2.0 * abs(x))) ** 2


def _np_lorentzian(x: Any) -> Any:
    dtype = np.cbrt(x).dtype
    wide = x.astype(np.result_type(dtype, np.float32))
    return (1 / (wide**2 + 1)).astype(dtype)


def _np_strong_product(x: Any, y: Any) -> Any:
    dtype = np.divide(x, y).dtype
    x, y = x.astype(dtype), y.astype(dtype)
    return np.where(np.isnan(x * y) & ((x == 0) | (y == 0)), dtype.type(0), x * y)


def _np_strong_quotient(x: Any, y: Any) -> Any:
    dtype = np.divide(x, y).dtype
    x, y = x.astype(dtype), y.astype(dtype)
    return np.where(np.isnan(x / y) & (x == 0), dtype.type(0), x / y)


def _np_strong_matmul(x: Array, y: Array) -> Array:
    """Every term for itself."""
    if x.dtype.kind != "f":
        return np.matmul(x, y)
    left, right = x[..., :, :, None], y[..., None, :, :]
    terms = np.where((left == 0) | (right == 0), x.dtype.type(0), left * right)
    return terms.sum(-2)


def _np_strong_convolve(x: Array, w: Array, stride: Any, padding: Any, dilation: Any) -> Array:
    """The windows as rows of a matrix, the kernels as columns."""
    if x.ndim == 4:
        return _np_strong_convolve(x[:, None], w[None], stride, padding, dilation)[:, 0]
    if x.dtype.kind != "f" or not x.size:
        return np_convolve(x, w, stride, padding, dilation)
    windows = np_windows(x, w.shape[3:], stride, padding, dilation)
    windows = np.moveaxis(windows, 2, 4)
    count = math.prod(w.shape[2:])
    windows = windows.reshape(*windows.shape[:4], count)
    columns = w.reshape(w.shape[0], w.shape[1], count)
    rows = np.einsum("ngrqk->gnrqk", windows).reshape(x.shape[1], -1, count)
    sums = _np_strong_matmul(rows, columns.swapaxes(1, 2))
    shape = (x.shape[1], x.shape[0], *windows.shape[2:4], w.shape[1])
    return np.einsum("gnrqo->ngorq", sums.reshape(shape))


_RENAMED = {
    "threefry": _threefry,
    "mul_high": _of_words(lambda x, y: x * y >> 64),
    "float_bits": lambda x: _view(x, np.float64, np.uint64),
    "bits_float": lambda x: _view(x, np.uint64, np.float64),
    "libm": lambda x, function: _by_math(_DOMAIN[function])(x),
    "libm_pow": _pow_of_c,
    "argsort": lambda x: np.argsort(x, axis=-1, kind="stable"),
    "bincount": _np_bincount,
    "true_positions": _np_true_positions,
    "fft": _np_fft, "rfft": _np_rfft, "irfft": _np_irfft,
    "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "neg": np.negative, "pow": np.power,
    "signed_power": lambda x, exponent: np.sign(x) * np.abs(x) ** x.dtype.type(exponent),
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "bitwise_not": np.invert, "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high), "fma": lambda x, y, z: x * y + z,
    "nan_unless_zero": lambda x, mask:
        np.where(np.logical_and(mask, x != 0), np.full_like(x, np.nan), x),
    "warn_unless_zero": lambda x, mask, of: x,
    "cast": lambda x, dtype: x.astype(dtype),
    "sech_squared": _by_math(_sech_squared), "lorentzian": _np_lorentzian,
    "strong_mul": _np_strong_product,
    "strong_div": _np_strong_quotient, "candidate": lambda x: x, "safe_candidate": lambda x: x,
    "strong_matmul": _np_strong_matmul, "strong_convolve": _np_strong_convolve,
    "sum": _np_reduce(np.add), "prod": _np_reduce(np.multiply), "max": _np_reduce(np.maximum),
    "min": _np_reduce(np.minimum), "nanmax": lambda x, axes: np.fmax.reduce(x, axis=axes, initial=-np.inf),
    "all": _np_reduce(np.logical_and), "any": _np_reduce(np.logical_or),
    "stop_gradient": lambda x: x, "copy": lambda x: x, "contiguous": lambda x: x,
    "barrier": lambda x: x, "rounded": lambda x: x,
    "undifferentiable": lambda x, message: x, "rewritten": lambda x, v: v,
    "mean": lambda x, axes:
        np.add.reduce(x, axis=axes) / x.dtype.type(math.prod(x.shape[axis] for axis in axes)),
    "cumsum": _running(np.add), "cumprod": _running(np.multiply),
    "cummax": _running(np.maximum), "cummin": _running(np.minimum),
    "transpose": lambda x, perm: np.transpose(x, perm),
    "reshape": lambda x, shape: x.reshape(shape), "broadcast": lambda x, shape: np.broadcast_to(x, shape),
    "slice": lambda x, start, size, step: x[_np_slice(start, size, step)] if x.ndim else x,
    "concat": lambda *xs, axis: np.concatenate(xs, axis), "update": _np_update,
    "convolve": np_convolve, "gather": _np_gather, "check": _np_gather, "scatter": _np_scatter,
    "scatter_reduce": _np_scatter,
    "full": lambda value, shape, dtype: np.full(shape, value, dtype),
    "iota": lambda shape, axis, dtype: np.indices(shape)[axis].astype(dtype),
    "constant": lambda data, shape, dtype: np.array(data, dtype).reshape(shape),
}  # fmt: skip


def numpy_meaning(op: Op) -> Callable[..., Any]:
    """NumPy's function for `op`: the one in the table, or the one of the same name. Of an op that NumPy lacks
    the row of derivatives says it."""
    renamed = _RENAMED.get(op.name) or getattr(np, op.name, None)
    if renamed is not None:
        return _in_float32(renamed) if op.kind in _ADDING or op.name in STRONG_SUMS else renamed
    if row_of(op) is not None:
        return functools.partial(_by_row, op)
    raise LookupError(
        f"op {op.name}: NumPy has none of that name, tests/derivatives no row of a function that runs it, and"
        " tests/samples.py does not say what it means"
    )


def row_of(op: Op) -> Entry | None:
    """The row of derivatives that says what `op` means; None where NumPy or the table does, or nobody."""
    if op.name in _RENAMED or hasattr(np, op.name):
        return None
    names = {name for row in ELEMENTWISE if row.runs == op.name for name in row.names.split()}
    return next((entry for entry in ENTRIES if entry.name in names), None)


def _by_row(op: Op, *operands: Array) -> Array:
    """The values of `op` by its row: where that says nothing, as at NaN, they are those of the record; so are
    zeros, which have no sign there."""
    entry, values = row_of(op), np.array(op.eval(*operands))
    assert entry is not None
    for place in np.ndindex(values.shape):
        truth = value_at(entry, [float(operand[place]) for operand in operands])
        if truth is not None and not truth == values[place] == 0:
            values[place] = float(truth)
    return values


#: Ops of kinds that are not `_ADDING`, which add up.
STRONG_SUMS = ("strong_matmul", "strong_convolve")
#: Kinds of ops that add up or multiply many elements: where NumPy rounds every sum to float16, they do not.
_ADDING = (Kind.REDUCTION, Kind.CUMULATIVE, Kind.SCATTER, Kind.HISTOGRAM, Kind.CONTRACTION, Kind.CONVOLUTION)


def _in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(*operands: Array, **attrs: Any) -> Any:
        if not any(operand.dtype == np.float16 for operand in operands):
            return function(*operands, **attrs)
        wide = [
            operand.astype(np.float32) if operand.dtype == np.float16 else operand for operand in operands
        ]
        return function(*wide, **attrs).astype(np.float16)

    return meaning
