"""Values and derivatives of each function of matrices beside mpmath's: see `table`.

A result may be off by some roundings (`Row.roundings`) of its size and of the sizes of the terms of the loss,
and by as much as it moves when the elements of the matrix move by a rounding each. Where there is no
derivative it is NaN or infinite, but for the conventions that docs/linalg.md names.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj

from .table import BEYOND, DIGITS, DIRECTION, LEFT_OUT, POINTS, SINGLE, STEP, TABLE, Row, number


@functools.cache
def weights(size: int) -> Any:
    return np.asarray(np.random.default_rng(size).uniform(0.5, 1.5, size), np.float32).astype(np.float64)


def exact_loss(row: Row, a: Any) -> Any:
    values = np.ravel(np.asarray(row.exact(a), object))
    return (values * number(weights(values.size))).sum()


class Exact:
    """The loss and its first two derivatives along a direction; None for those that do not exist."""

    def __init__(self, row: Row, at: Any) -> None:
        self.row = row
        scale = float(np.abs(at).max()) or 1.0
        self.direction = DIRECTION * scale
        self.values = self._all(number(at))
        rng = np.random.default_rng(1)
        #: Distance by which each moves by moves of the elements of 1.
        self.moves = [mpmath.mpf(0)] * 3
        for _ in range(2):
            moved = self._all(number(at) * (1 + number(rng.uniform(-1, 1, (3, 3))) * mpmath.mpf(10) ** -9))
            for order, (here, there) in enumerate(zip(self.values, moved, strict=True)):
                if here is not None and there is not None:
                    self.moves[order] = max(self.moves[order], abs(there - here) * mpmath.mpf(10) ** 9)

    def _all(self, at: Any) -> list[Any]:
        try:
            middle = exact_loss(self.row, at)
        except (ZeroDivisionError, ValueError, mpmath.libmp.NoConvergence):
            return [None, None, None]
        if not mpmath.isfinite(middle):
            return [None, None, None]
        try:
            sides = {n: exact_loss(self.row, at + n * STEP * number(self.direction)) for n in (-2, -1, 1, 2)}
        except (ZeroDivisionError, ValueError, mpmath.libmp.NoConvergence):
            return [middle, None, None]
        slopes = [(sides[n] - sides[-n]) / (2 * n * STEP) for n in (1, 2)]
        kinks = [abs(sides[n] - 2 * middle + sides[-n]) / (n * STEP) for n in (1, 2)]
        size = max(abs(slopes[0]), abs(middle))
        small = (size + kinks[1]) * mpmath.mpf(10) ** -9
        # what is bent goes straight as the step shrinks, and what has a kink does not
        if kinks[0] > mpmath.mpf("0.75") * kinks[1] and kinks[0] > size * STEP ** mpmath.mpf("0.25"):
            return [middle, None, None]
        small += 0 if middle else STEP ** mpmath.mpf("1.5")  # of what is 0 and flat
        if abs(slopes[0] - slopes[1]) > small:
            return [middle, None, None]
        first = (4 * slopes[0] - slopes[1]) / 3
        seconds = [kink / (n * STEP) for n, kink in zip((1, 2), kinks, strict=True)]
        smooth = abs(seconds[0] - seconds[1]) <= (seconds[0] + size) * mpmath.mpf(10) ** -6
        second = (sides[1] - 2 * middle + sides[-1]) / STEP**2
        return [middle, first, second if smooth else None]


@functools.cache
def exact(name: str, point: str, single: bool) -> Exact:
    with mpmath.workdps(DIGITS):
        return Exact(TABLE[name], (SINGLE if single and point in SINGLE else POINTS)[point])


def ways(row: Row, direction: Any) -> dict[str, Callable[[Any], Any]]:
    """The loss and its derivatives along `direction`, in reverse mode, and in forward mode."""

    def loss(x: Any) -> Any:
        values = tj.asarray(row.ours(x)).reshape(-1)
        return (values * weights(values.shape[0]).astype(values.dtype)).sum()

    def reverse(x: Any) -> Any:
        def slope(x: Any) -> Any:
            return (tj.grad(loss)(x) * direction).sum()

        return loss(x), slope(x), (tj.grad(slope)(x) * direction).sum()

    def forward(x: Any) -> Any:
        def slope(x: Any) -> Any:
            return tj.jvp(loss, (x,), (direction,))[1]

        return (*tj.jvp(loss, (x,), (direction,)), tj.jvp(slope, (x,), (direction,))[1])

    return {"reverse": reverse, "forward": forward}


def check(row: Row, name: str, point: str, dtype: Any, compiled: bool) -> list[str]:
    """The faults of one row."""
    single = dtype == np.float32
    expected = exact(name, point, single)
    at = (SINGLE if single and point in SINGLE else POINTS)[point].astype(dtype)
    info, faults = np.finfo(dtype), []
    for label, way in ways(row, expected.direction.astype(dtype)).items():
        with warnings.catch_warnings(), tj.errstate(all="ignore", linalg="nan"):
            warnings.simplefilter("ignore", tj.UndeterminedGradientWarning)
            results = (tj.jit(way) if compiled else way)(at)
        for order, (result, want) in enumerate(zip(results, expected.values, strict=True)):
            got = float(np.asarray(result))
            where = f"{name} at {point}, {label}, order {order}: {got!r}"
            least = row.undetermined.get(point, 9)
            if want is None:
                if order == least == 0:
                    continue
                if np.isfinite(got) and point not in row.convention:
                    faults.append(f"{where}, where there is no derivative")
                continue
            if order >= least and (np.isnan(got) or order == 0):
                if order == 0 and not abs(got - want) <= 1e-6 * abs(want) and point not in row.beyond:
                    break  # of another value
                continue
            size, eps = abs(want), float(info.eps)
            gradient = size / mpmath.mpf(float(np.abs(expected.direction).max())) ** order
            scale = max(abs(v) for v in expected.values[: order + 1] if v is not None)
            allowed = row.roundings * eps * (scale + expected.moves[order]) + 1000 * float(
                info.smallest_normal
            )
            # what rules multiply: the value and the elements of the matrix
            product = abs(expected.values[0]) * mpmath.mpf(float(np.abs(at).max())) ** order
            least_product = float(info.smallest_normal) * 2**24
            inside = not product or least_product < product < float(info.max) / 64
            if order and not inside and point not in row.beyond:
                continue
            if max(size, gradient) > float(info.max) / 64 and not np.isfinite(got):
                continue
            if size and min(size, gradient) < float(info.smallest_normal) * 2**24 and abs(got) <= 2 * size:
                continue
            if not (np.isfinite(got) and abs(mpmath.mpf(got) - want) <= allowed):
                faults.append(f"{where}, not {mpmath.nstr(want, 17)} +- {mpmath.nstr(allowed, 3)}")
    return faults


def points(row: Row) -> list[str]:
    return [point for point in POINTS if point not in BEYOND or point in row.beyond]


#: Functions that take mpmath seconds.
SLOW = ("scipy.linalg.expm_frechet", "scipy.linalg.logm", "scipy.linalg.sqrtm")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in TABLE]
)
def test_derivatives(name: str) -> None:
    row = TABLE[name]
    faults = [fault for point in points(row) for fault in check(row, name, point, np.float64, False)]
    assert not faults, "\n".join(faults)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLE)
def test_where_there_is_a_value_gradients_raise_no_error(name: str) -> None:
    """Matrices without a result are an error by default; a value that is NaN has a gradient that is NaN."""
    row = TABLE[name]
    for point in points(row):
        try:
            row.ours(tj.tensor(POINTS[point]))
        except tj.LinAlgError:
            continue
        x = tj.tensor(POINTS[point])
        tj.grad(lambda x: tj.grad(lambda x: tj.asarray(row.ours(x)).sum())(x).sum())(x)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "compiled"), [(np.float32, False), (np.float32, True), (np.float64, True)])
@pytest.mark.parametrize("name", TABLE)
def test_derivatives_compiled_and_in_single_precision(name: str, dtype: Any, compiled: bool) -> None:
    row = TABLE[name]
    faults = [fault for point in points(row) for fault in check(row, name, point, dtype, compiled)]
    assert not faults, "\n".join(faults)


def test_every_public_function_has_a_row_or_a_reason() -> None:
    public = {f"linalg.{name}" for name in tj.linalg.__all__}
    public |= {f"scipy.linalg.{name}" for name in tj.scipy.linalg.__all__}
    rows = {name.partition(",")[0] for name in TABLE}
    assert public == rows | set(LEFT_OUT)
    assert not rows & set(LEFT_OUT)
