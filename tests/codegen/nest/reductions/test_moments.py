"""Variances of columns in one pass: as accurate as two passes are, whatever the columns hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import Machine
from tracejit.codegen.llvm.target import host
from tracejit.codegen.nest.reductions import chunks
from tracejit.codegen.nest.schedule import schedule
from tracejit.ir.passes import run_passes

from ....support import Array
from ...narrow import narrower, run_narrow


@pytest.fixture(autouse=True)
def _always_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    always_cut(monkeypatch.setattr)


def always_cut(set_attribute: Any) -> None:
    set_attribute(chunks, "machine", lambda: Machine(task_cycles=500.0))


def in_one_pass(f: Any, *arrays: Array) -> int:
    """Number of sums of squares that need no pass of their own."""
    bodies = [
        instruction
        for instruction in run_passes(tj.trace(f, *arrays)).body
        if instruction.op.name == "fusion"
    ]
    return sum(len(schedule(body.regions[0], body.attrs, "nest", host()).moments) for body in bodies)


def columns(rows: int, count: int, dtype: str) -> dict[str, Array]:
    """Columns that make sums of squares lose their digits, in one way or another."""
    rng = np.random.default_rng(rows)
    noise = rng.standard_normal((rows, count))
    far = noise + 1e4
    first, last = noise.copy(), noise.copy()
    first[0] = 3e3
    last[-1] = -3e3
    arrays = {
        "around zero": noise,
        "far from zero": far,
        "an outlier first": first,
        "an outlier last": last,
        "one that rises": noise + 10.0 * np.arange(rows)[:, None],
        "two levels": noise + np.where(np.arange(rows) < rows // 2, 0.0, 1e3)[:, None],
        "small": noise * 1e-12,
    }
    return {name: array.astype(dtype) for name, array in arrays.items()}


def exact(x: Array) -> Array:
    return x.astype(np.longdouble).var(axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("rows", "count"), [(4001, 16), (700, 33), (3000, 5), (513, 100)])
def test_no_digits_are_lost_that_two_passes_keep(rows: int, count: int, dtype: str) -> None:
    arguments = columns(rows, count, dtype)
    f = tj.jit(lambda x: (x.var(axis=0), x.mean(axis=0)))
    assert in_one_pass(f, arguments["small"]) == 1
    for name, x in arguments.items():
        want = exact(x)
        var, mean = (np.asarray(result) for result in f(x))
        allowed = np.maximum(4 * abs(x.var(axis=0) - want), 40 * np.finfo(dtype).eps * want)
        assert (abs(var - want) <= allowed).all(), name
        near = 8 * np.finfo(dtype).eps * abs(x).mean(axis=0)
        assert (abs(mean - x.astype(np.longdouble).mean(axis=0)) <= near).all(), name


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_columns_of_one_number_have_no_negative_variance(dtype: str) -> None:
    x = np.broadcast_to(np.random.default_rng(0).normal(size=16), (4001, 16)).astype(dtype)
    var = np.asarray(tj.jit(lambda x: x.var(axis=0))(x))
    assert (var >= 0).all()
    assert (var <= (64 * np.finfo(dtype).eps * abs(x[0])) ** 2).all()
    np.testing.assert_array_equal(tj.jit(lambda x: x.var(axis=0))(np.zeros((4001, 16), dtype)), 0.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("row", [0, 5, 1999, 4000])
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_found_in_any_row(odd: float, row: int) -> None:
    x = np.random.default_rng(0).normal(size=(4001, 16))
    x[row, 3] = odd
    var, mean = tj.jit(lambda x: (x.var(axis=0), x.mean(axis=0)))(x)
    np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(var, x.var(axis=0), rtol=1e-10)
    assert np.isnan(np.asarray(var)[3])


def test_what_follows_from_the_moments() -> None:
    """Columns made standard, of an expression and of several axes; another sum beside the mean's."""
    rng = np.random.default_rng(0)
    x, cube = rng.normal(3.0, 2.0, (3001, 24)), rng.normal(3.0, 2.0, (40, 50, 24))

    def standard(x: Any) -> Any:
        y = tj.exp(0.1 * x)
        centred = y - y.mean(axis=0)
        return centred / tj.sqrt((centred * centred).mean(axis=0) + 1e-5), y.max(axis=0)

    assert in_one_pass(standard, x) == 1
    for got, want in zip(tj.jit(standard)(x), standard(tj.tensor(x)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)

    def several(x: Any) -> Any:
        return x.var(axis=(0, 1)), (x - 1.0).var(axis=(0, 1), ddof=1)

    for got, want in zip(tj.jit(several)(cube), several(tj.tensor(cube)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)


def test_several_variances_in_another_order_than_their_means() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(3.0, 2.0, (3001, 24)), rng.normal(-30.0, 0.1, (3001, 24))

    def f(x: Any, y: Any) -> Any:
        z = x * y
        first, second, third = x.mean(axis=0), y.mean(axis=0), z.mean(axis=0)
        squares = [((a - b) ** 2).sum(axis=0) for a, b in ((z, third), (y, second), (x, first))]
        return (*squares, first, second, third)

    assert in_one_pass(f, x, y) == 3
    for got, want in zip(tj.jit(f)(x, y), f(x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)


def test_other_sums_of_squares_have_a_pass_of_their_own() -> None:
    x = np.random.default_rng(0).normal(size=(3001, 24))
    for f in (
        lambda x: ((x - x.sum(axis=0)) ** 2).sum(axis=0),
        lambda x: ((x - x.max(axis=0)) ** 2).sum(axis=0),
        lambda x: ((x - (2 * x).mean(axis=0)) ** 2).sum(axis=0),
        lambda x: (abs(x - x.mean(axis=0))).sum(axis=0),
        lambda x: (((x - x.mean(axis=0)) ** 2).sum(axis=0), ((x - x.mean(axis=0)) ** 3).sum(axis=0)),
    ):
        assert in_one_pass(f, x) == 0
        np.testing.assert_allclose(tj.jit(f)(x), f(tj.tensor(x)), rtol=1e-9, atol=1e-9)


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    x, results = np.random.default_rng(0).normal(size=(40_001, 24)), []
    f = tj.jit(lambda x: (x.var(axis=0), x.mean(axis=0)))
    for threads in (1, 2, 3):
        with tj.threads(threads):
            results.append([np.asarray(result).tobytes() for result in f(x)])
    assert results[0] == results[1] == results[2]


NARROW = """
from tracejit.codegen.llvm.target import host
from tests.codegen.nest.reductions.test_moments import *
assert host().vector_bits == {bits}
always_cut(setattr)
for dtype in ("f4", "f8"):
    for shape in ((4001, 16), (3000, 5), (513, 100)):
        test_no_digits_are_lost_that_two_passes_keep(*shape, dtype)
test_what_follows_from_the_moments()
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
