"""Native factorizations and triangular solves of small matrices, against what their ops mean, and NumPy."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import LinAlgError, OutOfBoundsError
from tracejit.codegen.kernels.linalg.lowering import OPERATIONS
from tracejit.codegen.llvm.target import Target
from tracejit.codegen.lowering.small_matrices import CYCLES, MAX_SIZE
from tracejit.codegen.module.writer import generate
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.runtime.executable import Executable

from ...forked import forked
from ...rotation import share_of
from ...support import Array, function_of, native
from ..narrow import narrower, run_narrow

#: Batches: none, one, less than a vector has lanes, one less, as many, not a multiple, and enough for several
#: tasks.
BATCHES = [(), (0,), (1,), (3,), (7,), (8,), (2, 9), (1000,)]


def matrices(batch: tuple[int, ...], rows: int, columns: int, dtype: str, seed: int = 0) -> Array:
    rng = np.random.default_rng([seed, rows, columns, *batch])
    return rng.normal(size=(*batch, rows, columns)).astype(dtype)


def positive(a: Array) -> Array:
    """Positive definite matrices."""
    size = a.shape[-1]
    return (a @ np.swapaxes(a, -1, -2) + size * np.eye(size)).astype(a.dtype)


def everything(b: Any, a: Any, s: Any, right: Any) -> list[Any]:
    """Every op that has such kernels, in every variant."""
    lu, pivots, permutation = b.lu(a)
    results = [b.cholesky(s), b.cholesky(s, on_error="nan"), lu, pivots, permutation]
    results.append(b.adjugate(a, lu, permutation))
    for transpose in (False, True):
        results.append(b.lu_solve(a, lu, permutation, right, transpose=transpose, on_singular="raise"))
    for lower, transpose, unit in itertools.product((False, True), repeat=3):
        triangle = b.mul(s, 0.01) if unit else s
        results.append(
            b.triangular_solve(triangle, right, lower=lower, transpose=transpose, unit_diagonal=unit)
        )
    return results


def check(
    function: Function, arrays: list[Array], bound: float, executable: Executable | None = None
) -> None:
    """Native results against the interpreter's, with `bound` on errors relative to the largest element."""
    results = (executable or Executable(function))(arrays)
    for got, expected in zip(results, interpret(function, arrays), strict=True):
        assert got.dtype == expected.dtype
        if got.dtype.kind == "i":
            np.testing.assert_array_equal(got, expected)
        else:
            scale = np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(got, expected, rtol=0, atol=bound * scale)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8])
def test_lines_of_later_groups_are_asked_for_in_between(n: int) -> None:
    """Each line about once, and not all at a time: what is read now would wait for them."""
    target = Target("x86_64-unknown-linux-gnu", "cascadelake", "+avx512f,+avx512vl,+prfchw", 512)
    function = function_of("f", [np.zeros((64, n, n))], lambda b, x: b.cholesky(x, on_error="nan"))
    code = generate(function, target).text.split("\n")
    for write, vector in (0, "load <"), (1, "store <"):
        asked = [i for i, line in enumerate(code) if re.search(rf"prefetch.p0\(ptr %\w+, i32 {write},", line)]
        assert 0.85 < len(asked) / (n * n) < 1.15
        for before, after in itertools.pairwise(asked):
            assert any(vector in line for line in code[before:after])


def compiled_without_numpy(function: Function) -> Executable:
    executable = Executable(function)
    assert not executable.module.host_calls
    return executable


@pytest.mark.parametrize("size", share_of(range(1, MAX_SIZE + 1), 2))
def test_all_sizes(size: int) -> None:
    """All batches, with both dtypes in turn."""
    dtype, batch = ("f4", "f8")[size % 2], BATCHES[size % len(BATCHES)]
    a = matrices(batch, size, size, dtype)
    arrays = [a, positive(a), matrices(batch, size, 1 + size % 3, dtype, 1)]
    function = function_of("everything", arrays, everything)
    check(function, arrays, (1e-3 if dtype == "f4" else 1e-10) * size, compiled_without_numpy(function))


@pytest.mark.parametrize(
    ("size", "batch"), share_of([(size, batch) for batch in BATCHES for size in (2, 5, 11)], 2), ids=str
)
def test_all_batches(size: int, batch: tuple[int, ...]) -> None:
    """Matrices in registers and in scratch memory, against NumPy."""
    for dtype in ("f4", "f8"):
        a = matrices(batch, size, size, dtype)
        s, right = positive(a), matrices(batch, size, 2, dtype, 1)

        def solved(b: Any, a: Any, s: Any, right: Any) -> list[Any]:
            lu, _, permutation = b.lu(a)
            return [b.cholesky(s), b.lu_solve(a, lu, permutation, right)]

        factor, x = native(function_of("solved", [a, s, right], solved), [a, s, right])
        bound = 1e-4 if dtype == "f4" else 1e-12
        np.testing.assert_allclose(factor, np.linalg.cholesky(s), rtol=0, atol=bound * 10)
        residual = np.abs(a @ x - right).max(initial=0)
        assert residual <= bound * size * np.abs(a).max(initial=1) * np.abs(x).max(initial=1)


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 3), (4, 2), (2, 5), (9, 20), (20, 9), (11, 14), (15, 13), (12, 32)]
)
def test_rectangular_factors(rows: int, columns: int) -> None:
    a = matrices((19,), rows, columns, "f8")
    lu, pivots, permutation = native(function_of("lu", [a], lambda b, a: b.lu(a)), [a])
    inner = min(rows, columns)
    below = np.tril(lu, -1)[..., :inner] + np.eye(rows, inner)
    above = np.triu(lu)[..., :inner, :]
    np.testing.assert_allclose(below @ above, np.take_along_axis(a, permutation[..., None], 1), atol=1e-12)
    assert np.abs(below).max() <= 1
    assert pivots.shape == (19, inner)


@pytest.mark.parametrize("size", [3, 6, 13])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_matrix_has_the_same_bits_alone_and_in_a_batch(size: int, dtype: str) -> None:
    a = matrices((21,), size, size, dtype)
    whole = [a, positive(a), matrices((21,), size, 2, dtype, 1)]
    together = native(function_of("everything", whole, everything), whole)
    alone = [array[0] for array in whole]
    single = Executable(function_of("everything", alone, everything))
    for place in range(21):
        for got, expected in zip(single([array[place] for array in whole]), together, strict=True):
            np.testing.assert_array_equal(got, expected[place])


@pytest.mark.parametrize("size", [2, 4, 12])
def test_ties_and_zeros_choose_the_pivots_of_the_op(size: int) -> None:
    rng = np.random.default_rng(size)
    a = np.broadcast_to(np.eye(size), (300, size, size)).copy()
    count = min(size, 3)  # all quotients of these are exact, so that ties are ties however they are computed
    a[:, -count:, -count:] = rng.integers(-1, 2, (300, count, count))
    a[::7] = 0
    a[5, 0, 0], a[6, size - 1, 0], a[8, 0, size - 1] = np.nan, np.nan, np.inf
    function = function_of("lu", [a], lambda b, a: b.lu(a))
    with np.errstate(all="ignore"):
        expected = interpret(function, [a])
    got = native(function, [a])
    finite = np.isfinite(expected[0]).all((1, 2))
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x[finite], y[finite], rtol=1e-13, atol=1e-13)
    if size < 12:  # LAPACK takes another row of several that are not finite
        np.testing.assert_array_equal(got[1][~finite], expected[1][~finite])


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1.0, 1e300])
def test_divisors_at_the_ends_of_the_range(size: int, scale: float) -> None:
    """Reciprocals of such pivots are infinite or subnormal; the quotients are not."""
    a = positive(matrices((9,), size, size, "f8"))
    right = matrices((9,), size, 1, "f8", 1)
    arrays = [a * scale, right * scale]
    for build in (
        lambda b, a, r: b.lu_solve(a, (factors := b.lu(a))[0], factors[2], r),
        lambda b, a, r: b.triangular_solve(a, r),
    ):
        function = function_of("scaled", arrays, build)
        (got,), (unscaled,) = native(function, arrays), native(function, [a, right])
        np.testing.assert_allclose(got, unscaled, rtol=1e-8 if scale > 1e-310 else 1e-4)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_adjugates_of_singular_matrices(size: int, dtype: str) -> None:
    """Adjugates at ranks n - 1, n - 2 and 0, and nearly so, against products of singular values."""
    a = matrices((19,), size, size, "f8")
    a[0] = 0
    a[1, :, -1] = a[1, :, 0]
    a[2, 0] = 0
    a[3, :, 0] = 0
    a[4] = np.outer(a[4, 0], a[4, 1])
    a[5, -1] = a[5, :-1].sum(0)
    for place, least in ((6, 1e-14), (7, 1e-9)):
        u, s, vh = np.linalg.svd(a[place])
        s[-1] = least
        a[place] = u * s @ vh
    a = a.astype(dtype)
    function = function_of("f", [a], lambda b, a: b.adjugate(a, (f := b.lu(a))[0], f[2]))
    compiled_without_numpy(function)
    (got,), (expected,) = native(function, [a]), interpret(function, [a])
    scale = np.maximum(np.abs(expected).max((1, 2)), 1e-3 * np.abs(a).max((1, 2)) ** (size - 1))
    error = np.abs(got - expected).max((1, 2))
    assert (error <= (1e-12 if dtype == "f8" else 1e-4) * scale).all()
    for place in (0, 1, 5, 6, 9):  # what a matrix has does not depend on those beside it
        alone = a[place : place + 1]
        function = function_of("f", [alone], lambda b, a: b.adjugate(a, (f := b.lu(a))[0], f[2]))
        np.testing.assert_array_equal(native(function, [alone])[0][0], got[place])


def test_determinants_of_small_matrices_that_are_nearly_of_rank_one() -> None:
    """Determinants against fractions: an error of few roundings of the products of elements and their
    cofactors."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal((20, 3, 1)) * rng.standard_normal((20, 1, 3)) + 1e-9 * rng.random((20, 3, 3))
    function = function_of("f", [a], lambda b, a: (f := b.lu(a)) and b.det(a, *f))
    (got,) = native(function, [a])
    for value, matrix in zip(got, a, strict=True):
        rows = [[Fraction(float(element)) for element in row] for row in matrix]
        minors = [rows[1][j - 2] * rows[2][j - 1] - rows[1][j - 1] * rows[2][j - 2] for j in range(3)]
        terms = [element * minor for element, minor in zip(rows[0], minors, strict=True)]
        assert abs(Fraction(float(value)) - sum(terms)) <= 4 * Fraction(2) ** -53 * sum(map(abs, terms))


# -- failures -------------------------------------------------------------------------------------


def failing(build: Any, good: Array, *more: Array) -> Executable:
    return compiled_without_numpy(function_of("failing", [good, *more], build))


@pytest.mark.parametrize("batch", [1, 5, 8, 11, 20_000])
@pytest.mark.parametrize("size", [3, 10])
def test_cholesky_of_what_is_not_positive_definite_raises(batch: int, size: int) -> None:
    """The error comes from any thread and any place, and not from the zeros behind a batch."""
    good = np.broadcast_to(np.eye(size) + 0.5, (batch, size, size)).copy()
    run = failing(lambda b, a: b.cholesky(a), good)
    run([good])
    for place in {0, batch // 2, batch - 1}:
        for value in (-1.0, 0.0):
            bad = good.copy()
            bad[place, size - 1, size - 1] = value
            with pytest.raises(LinAlgError, match="cholesky: Matrix is not positive definite"):
                run([bad])
    run([good])


def test_cholesky_gives_nan_where_asked() -> None:
    a = np.broadcast_to(np.eye(3) + 0.5, (11, 3, 3)).copy()
    a[4, 2, 2] = -1.0
    (got,) = failing(lambda b, a: b.cholesky(a, on_error="nan"), a)([a])
    assert np.isnan(got[4]).all()
    np.testing.assert_array_equal(np.isnan(got).any((1, 2)), np.arange(11) == 4)


def test_the_upper_triangle_is_not_read() -> None:
    a = positive(matrices((5,), 4, 4, "f8"))
    (expected,) = native(function_of("f", [a], lambda b, a: b.cholesky(a)), [a])
    a[:, 0, 1:] = np.nan
    (got,) = native(function_of("f", [a], lambda b, a: b.cholesky(a)), [a])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("size", [2, 9])
def test_singular_systems_raise_or_divide(size: int) -> None:
    a = np.broadcast_to(np.eye(size), (11, size, size)).copy()
    right = np.ones((11, size, 1))

    def solve(on_singular: str) -> Any:
        def build(b: Any, a: Any, right: Any) -> list[Any]:
            lu, _, permutation = b.lu(a)
            return [
                b.lu_solve(a, lu, permutation, right, on_singular=on_singular),
                b.triangular_solve(a, right, on_singular=on_singular),
            ]

        return build

    raising, dividing = failing(solve("raise"), a, right), failing(solve("ignore"), a, right)
    np.testing.assert_array_equal(raising([a, right])[0], right)
    a[3, 1, 1] = 0.0
    with pytest.raises(LinAlgError, match="lu_solve: singular matrix"):
        raising([a, right])
    for x in dividing([a, right]):
        assert np.isinf(x[3, 1])
        assert np.isfinite(np.delete(x, 3, 0)).all()


@pytest.mark.parametrize("number", [-1, 7, 1 << 40])
def test_a_permutation_that_is_none_reads_nothing_outside(number: int) -> None:
    for size in (2, 9):
        a, right = np.broadcast_to(np.eye(size), (8, size, size)).copy(), np.ones((8, size, 2))
        order = np.full((8, size), number)
        for transpose in (False, True):
            run = failing(
                lambda b, a, order, right, transpose=transpose: b.lu_solve(
                    a, a, order, right, transpose=transpose
                ),
                a, order, right,
            )  # fmt: skip
            assert run([a, order, right])[0].shape == right.shape


# -- widths, checks, threads ----------------------------------------------------------------------

PROGRAM = """
import numpy as np
from tests.codegen.kernels import test_linalg as tests
from tests.support import function_of
cases = ((1, "f8", (3,)), (2, "f4", (7,)), (3, "f8", (2, 9)), (7, "f4", ()), (12, "f8", (11,)))
for size, dtype, batch in cases:
    a = tests.matrices(batch, size, size, dtype)
    arrays = [a, tests.positive(a), tests.matrices(batch, size, 2, dtype, 1)]
    function = function_of("everything", arrays, tests.everything)
    tests.check(function, arrays, 1e-3 if dtype == "f4" else 1e-10)
print("fine")
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(PROGRAM, features, bits)


def test_no_access_outside_of_buffers() -> None:
    assert forked(PROGRAM, TRACEJIT_CHECK="1").strip() == "fine"


def test_any_number_of_threads_gives_the_same_bits() -> None:
    size, batch = 6, (20_003,)
    a = matrices(batch, size, size, "f8")
    arrays = [a, positive(a), matrices(batch, size, 1, "f8", 1)]
    run = Executable(function_of("everything", arrays, everything))
    threads = tj.num_threads()
    try:
        tj.set_num_threads(1)
        expected = run(arrays)
        tj.set_num_threads(3)
        for got, want in zip(run(arrays), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    finally:
        tj.set_num_threads(threads)


# -- loops in registers ---------------------------------------------------------------------------

SCAN = """
func @f(%as: f64[50, 2, 2]) -> (f64[], f64[50, 2, 2]) {
  %zero: f64[] = full() {value=0.0, shape=[], dtype=f64}
  %0: f64[], %1: f64[50, 2, 2] = scan(%zero, %as) {carries=1, slices=1, length=50, reverse=false}
    @body(%x: f64[], %a: f64[2, 2]) -> (f64[], f64[2, 2]) {
    %0: f64[2, 2] = cholesky(%a) {on_error="raise"}
    %1: f64[1, 1] = slice(%0) {start=[1, 0], size=[1, 1], step=[1, 1]}
    %2: f64[] = reshape(%1) {shape=[]}
    %3: f64[] = add(%x, %2)
    return %3, %0
  }
  return %0, %1
}
"""


def test_a_scan_of_small_systems_is_in_registers() -> None:
    function = parse_function(SCAN)
    run = compiled_without_numpy(function)
    assert any(str(text).startswith("registers") for text in run.module.descriptions)
    a = positive(matrices((50,), 2, 2, "f8"))
    total, factors = run([a])
    batch = native(function_of("cholesky", [a], lambda b, a: b.cholesky(a)), [a])[0]
    np.testing.assert_array_equal(factors, batch)
    np.testing.assert_allclose(total, batch[:, 1, 0].sum(), rtol=1e-12)
    a[49, 1, 1] = -1
    with pytest.raises(LinAlgError, match="cholesky: Matrix is not positive definite"):
        run([a])


# -- the table ------------------------------------------------------------------------------------


def test_every_op_with_costs_has_code() -> None:
    assert set(CYCLES) == set(OPERATIONS)


@pytest.mark.parametrize("size", [MAX_SIZE + 1])
def test_larger_ones_are_not_small(size: int) -> None:
    a = positive(matrices((2,), size, size, "f8"))
    function = function_of("f", [a], lambda b, a: b.cholesky(a))
    assert not any("at a time" in text for text in Executable(function).module.descriptions)
    np.testing.assert_allclose(native(function, [a])[0], np.linalg.cholesky(a), atol=1e-12)


@pytest.mark.parametrize("shape", [(5,), (1,), (3, 4), (2, 0)], ids=str)
def test_the_order_of_rows_after_exchanges(shape: tuple[int, ...]) -> None:
    pivots = np.random.default_rng(1).integers(0, max(shape[-1], 1), shape)
    function = function_of("f", [pivots], lambda b, pivots: b.permutation_of_pivots(pivots))
    (expected,) = interpret(function, [pivots])
    (order,) = native(function, [pivots])
    np.testing.assert_array_equal(order, expected)


@pytest.mark.parametrize("pivot", [-1, 4, 2**40])
def test_pivots_that_are_no_rows(pivot: int) -> None:
    run = Executable(
        function_of("f", [np.arange(8).reshape(2, 4)], lambda b, pivots: b.permutation_of_pivots(pivots))
    )
    pivots = np.arange(8).reshape(2, 4) % 4
    run([pivots])
    pivots[1, 2] = pivot
    with pytest.raises(OutOfBoundsError, match="pivots must be between 0 and 3"):
        run([pivots])
