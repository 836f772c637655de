"""The table of derivatives: every elementwise function is in it, and its rows hold.

Each commit draws new points, from a seed that a failure names: ``TRACEJIT_FUZZ_SEED`` repeats it. Longer
runs: ``python -m tests.derivatives --minutes 10``.
"""

from __future__ import annotations

import inspect
import itertools
import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import NONDIFF, OPS, Kind, Nondiff
from tracejit.surface.elementwise import ELEMENTWISE
from tracejit.surface.namespaces import ARRAY, NN, SCIPY_SPECIAL
from tracejit.surface.rows import Row

from ..rotation import SEED
from .checking import Truths, derivatives, faults
from .entries import Entry
from .hard_points import hard
from .points import chosen, drawn, fixed
from .table import ENTRIES, EXCUSED, EXCUSED_OPS, covered

#: Number of points of a row that a run looks at, and of rows that it compiles.
POINTS, SHARE = 24, 10
#: Labels of hard points that a run searches for, of each function.
HARD = 2


def check(entry: Entry, dtype: type, jitted: bool, count: int) -> None:
    rng = np.random.default_rng([SEED, zlib.crc32(entry.name.encode())])
    points = np.concatenate([fixed(dtype, entry.near), drawn(rng, dtype, entry, 40)])
    known = [x[: count - count // 3] for x in chosen(rng, rng.permutation(points), entry)]
    found = [x[: count // 3] for x in hard(rng, dtype, entry, count, HARD)]
    operands = [np.concatenate(parts) for parts in zip(known, found, strict=True)]
    broken = faults(entry, operands, Truths(entry, operands), jitted)
    worst = "\n".join(map(str, sorted(broken, key=lambda fault: -fault.times)[:5]))
    assert not broken, f"seed {SEED}: {len(broken)} faults\n{worst}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_eager(entry: Entry) -> None:
    check(entry, np.float64, False, 6 if entry.points < 100 else POINTS)


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.arity == 2], ids=lambda entry: entry.name
)
def test_corners_of_functions_of_two(entry: Entry) -> None:
    """Looks at 0, 1, 2 and ends of the range beside each other, which points that are drawn apart do not
    meet."""
    largest = float(np.finfo(np.float64).max)
    ends = (1.3 / largest, -1.3 / largest, largest / 2.5)  # the inverses of two are next to the largest
    corners = [row for row in itertools.product((0.0, 1.0, -1.0, 2.0, *ends), repeat=2) if entry.inside(*row)]
    operands = [*np.array(corners).T]
    broken = faults(entry, operands, Truths(entry, operands), False)
    assert not broken, "\n".join(map(str, broken[:5]))


@pytest.mark.parametrize(
    ("name", "dtype", "point"),
    [
        # extrema of zeta and of its slopes, between zeros
        *[
            ("special.zeta", np.float64, (s,))
            for s in (-63.242597553465544, -13.296866, -14.662022, -8.278610, -7.287647, -2.689777)
        ],
        # what is left of 1 / a + 1 / b by two derivatives
        ("special.beta", np.float64, (0.001, 0.0007354049419693027)),
        # zeros of 1 + y log x, and factors y - 2, where rounding y - 1 tells
        ("float_power", np.float64, (2.0386928449361224e69, -0.006266030164072656)),
        ("float_power", np.float64, (1e-23, -0.0001)),
        # slopes that overflow where the mixed derivative does not
        ("power", np.float32, (1.96, 125.2)),
        # next to the largest number: of the result, of 1 / x, of the first derivative, of 2 x
        ("log10", np.float64, (5.529496923175593e-309,)),
        ("log2", np.float32, (4.5e-39,)),
        ("special.expi", np.float32, (93.25821685791016,)),
        ("nn.gelu", np.float32, (1.7014130515492685e38,)),
        ("erf", np.float64, (1.7e308,)),
        ("special.erfc", np.float32, (3.3e38,)),
        # of both signs, and of any size: where means of numbers that far apart are not yet equal, and E is K
        # times a small difference
        *[(f"special.ellip{name}", np.float64, (m,)) for name in "ek" for m in (-1e50, -1e150, -1.5e308)],
        *[
            (f"special.{name}", np.float64, (x,))
            for name in ("i0e", "i1e", "k0e", "k1e")
            for x in (1e100, 1e123, 1e300)
        ],
        # next to 0: halves, quotients and slopes of what is not taken
        ("special.k0", np.float64, (5e-324,)),
        ("special.polygamma", np.float64, (1e-300,)),
        ("special.polygamma", np.float32, (1e-10,)),
        ("special.lambertw, -1", np.float64, (-1e-200,)),
        ("special.lambertw, -1", np.float32, (-1e-38,)),
        # far away: the product of e and z, the square of x
        ("special.lambertw", np.float64, (1.5e308,)),
        ("special.log_ndtr", np.float64, (1e160,)),
        ("special.log_ndtr", np.float64, (-1.5e308,)),
        ("special.erfcx", np.float64, (-26.65,)),
    ],
)
def test_points_that_search_found(name: str, dtype: type, point: tuple[float, ...]) -> None:
    (entry,) = (entry for entry in ENTRIES if entry.name == name)
    # with neighbours: of what cancels, one number may be right by luck
    factors = 1 + np.arange(-8, 9) * 4 * float(np.finfo(dtype).eps)
    operands = [np.asarray(x * factors, dtype) for x in point]
    broken = faults(entry, operands, Truths(entry, operands), False)
    assert not broken, "\n".join(map(str, broken[:5]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_zero(dtype: type) -> None:
    """Looks at x = 0 and -0.0 with exponents around 0, 1 and 2, where slopes go to 0 or infinity."""
    (entry,) = (entry for entry in ENTRIES if entry.name == "power")
    exponents = np.array([1e-44, 1e-10, 0.25, 0.5, 1 - 2**-20, 1.0, 1 + 2**-20, 1.5, 1.75, 2.0, 2.5], dtype)
    operands = [np.repeat(np.array([0.0, -0.0], dtype), len(exponents)), np.tile(exponents, 2)]
    truths = Truths(entry, operands)
    broken = [fault for jitted in (False, True) for fault in faults(entry, operands, truths, jitted)]
    assert not broken, "\n".join(map(str, broken[:5]))
    expected = [truths.of(orders) for orders in ((2, 0), (1, 1), (0, 2))]
    for hessian in (tj.hessian(lambda p: p[0] ** p[1]), tj.jit(tj.hessian(lambda p: p[0] ** p[1]))):
        for x, y, *limits in zip(*operands, *expected, strict=True):
            with np.errstate(all="ignore"):
                values = np.asarray(hessian(np.array([x, y])), np.float64)
            xx, xy, yy = (float(limit[0]) for limit in limits if limit is not None)
            np.testing.assert_array_equal(values, [[xx, xy], [xy, yy]], f"at {x} ** {y}")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quotients_whose_cotangents_are_far_from_1(dtype: type) -> None:
    """Slopes in y of log(x / y) and of 1 / (x / y) are -1 / y and 1 / x, although factors of the chain rule,
    such as x / y^2 and y / x^2, may be 0 or infinite."""
    rng, info = np.random.default_rng(SEED), np.finfo(dtype)
    top = 0.98 * float(np.log10(info.max))
    logs = rng.uniform(-top, top, (2, 400))
    x, y = (10.0 ** logs[:, abs(logs[0] - logs[1]) < top / 2]).astype(dtype)
    losses = [
        (lambda x, y: tj.log(x / y).sum(), -1 / y),
        (lambda x, y: tj.reciprocal(x / y).sum(), 1 / x),
    ]
    for loss, expected in losses:
        for slope in (tj.grad(loss, argnums=1), tj.jit(tj.grad(loss, argnums=1))):
            bounds = {"rtol": 8 * float(info.eps), "atol": float(info.tiny)}
            np.testing.assert_allclose(slope(x, y), expected, **bounds)


def test_float32_and_compiled() -> None:
    """Checks a share of the rows, another one for each tree: compiling takes most of the time."""
    rng = np.random.default_rng(SEED)
    for number in rng.choice(len(ENTRIES), SHARE, replace=False):
        entry = ENTRIES[number]
        dtype = np.float32 if entry.single else np.float64
        check(entry, dtype, False, 6)
        check(entry, dtype, True, 6)
        check(entry, np.float64, True, 12)


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_all_points(entry: Entry) -> None:
    for dtype in (np.float64, np.float32)[: 1 + entry.single]:
        for jitted in (False, True):
            check(entry, dtype, jitted, 200)


def public() -> dict[str, Any]:
    """Elementwise functions by the names that rows have."""
    homes = (".elementwise.float_parts", ".elementwise.floats", ".elementwise.powers")
    names = [name for name, home in ARRAY.homes.items() if home in homes]
    names += [row_name for row in ELEMENTWISE if has_gradient(row) for row_name in row.names.split()]
    functions = {name: getattr(tj, name) for name in names}
    activations = [name for name, home in NN.homes.items() if home == ".activations"]
    functions |= {f"nn.{name}": getattr(tj.nn, name) for name in activations}
    functions |= {f"special.{name}": getattr(tj.scipy.special, name) for name in SCIPY_SPECIAL.homes}
    return functions


def has_gradient(row: Row) -> bool:
    """Whether the op of a row has a rule for gradients."""
    return not isinstance(OPS[row.runs].vjp, Nondiff)


def test_every_function_has_a_row() -> None:
    functions = public()
    named = covered() | set(EXCUSED)
    known = {id(function) for name, function in functions.items() if name in named}
    missing = [
        name for name, function in functions.items() if name not in named and id(function) not in known
    ]
    assert not missing, f"in no row, and in no list with a reason: {missing}"
    assert not set(EXCUSED) & covered()
    assert set(EXCUSED) <= set(functions)


def is_elementwise(function: Any) -> bool:
    """Whether `function` of one array of floats gives others, each from the element in its place."""
    x = np.array([0.7, 0.3, 0.6, 0.5])
    moved = np.array([0.8, 0.4, 0.6, 0.5])
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = function(tj.tensor(x)), function(tj.tensor(moved))
    except Exception:
        return False  # no function of one array
    if not all(isinstance(y, tj.Tensor) and y.shape == x.shape for y in (first, second)):
        return False
    return not np.array_equal(first, x) and np.array_equal(first.numpy() != second.numpy(), x != moved)


def test_elementwise_functions_of_every_module_have_rows() -> None:
    """A function is found by what it does: a module of other functions may hold one."""
    named = set(public()) | covered()
    functions = {name: getattr(tj, name) for name in sorted(tj.__all__)}
    elementwise = {
        name
        for name, function in functions.items()
        if inspect.isfunction(function)
        and function.__module__.startswith("tracejit.array")
        and is_elementwise(function)
    }
    assert {"i0", "exp", "sinc", "rad2deg"} <= elementwise, "the walk meets what it is for"
    assert not elementwise - named, f"in no row: {sorted(elementwise - named)}"


def ops_of(region: Any) -> set[str]:
    return {instruction.op.name for instruction in region.body}.union(
        *[ops_of(inner) for instruction in region.body for inner in instruction.regions]
    )


def test_every_op_has_a_row() -> None:
    """Rows reach each differentiable elementwise op, by a value or a derivative."""
    reached: set[str] = set()
    for entry in ENTRIES:
        operands = [tj.ones(2) * 0.5] * entry.arity
        for _, _, function in derivatives(entry):
            reached |= ops_of(tj.trace(function, *operands))
    expected = {op.name for op in OPS if op.kind is Kind.ELEMENTWISE and op.vjp is not NONDIFF}
    missing = expected - reached - set(EXCUSED_OPS)
    assert not missing, f"reached by no row, and in no list with a reason: {sorted(missing)}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_exceptions_have_reasons(entry: Entry) -> None:
    assert entry.reason or not (entry.divisor or entry.of_value)
