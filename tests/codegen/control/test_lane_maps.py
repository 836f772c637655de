"""Scans without carries whose steps factor and solve: lanes, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.base.errors import LinAlgError
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.runtime.executable import Executable

from ...forked import forked
from ...support import Array
from ..narrow import narrower, run_narrow

#: Invariants beside slices; products, maths functions, sums, integers, choices and joins; two ops that fail.
TEXT = """
func @f(%as: T[COUNT, 3, 3], %bs: T[COUNT, 3, 1], %ks: i64[COUNT], %c: T[3, 3], %sign: bool[]) ->
    (T[COUNT, 3, 1], T[COUNT], T[COUNT, 6, 3], i64[COUNT, 3]) {
  %0: T[COUNT, 3, 1], %1: T[COUNT], %2: T[COUNT, 6, 3], %3: i64[COUNT, 3] = scan(%c, %sign, %as, %bs, %ks)
    {carries=0, slices=3, length=COUNT, reverse=false}
    @body(%c: T[3, 3], %sign: bool[], %a: T[3, 3], %b: T[3, 1], %k: i64[])
    -> (T[3, 1], T[], T[6, 3], i64[3]) {
    %q: T[3, 3] = matmul(%a, %c)
    %t: T[3, 3] = transpose(%q) {perm=[1, 0]}
    %p: T[3, 3] = matmul(%q, %t)
    %e: T[3, 3] = add(%p, %c)
    %0: T[3, 3], %1: i64[3], %2: i64[3] = lu(%e)
    %3: T[3, 1] = lu_solve(%e, %0, %2, %b) {transpose=false, conjugate=false, on_singular="raise"}
    %4: T[3, 3] = cholesky(%e) {on_error="raise"}
    %5: T[3, 1] = sin(%3)
    %6: T[] = sum(%5) {axes=[0, 1]}
    %7: T[] = cast(%k) {dtype=T}
    %8: T[] = mul(%6, %7)
    %9: T[] = neg(%8)
    %10: T[] = where(%sign, %8, %9)
    %11: T[6, 3] = concat(%4, %0) {axis=0}
    return %3, %10, %11, %2
  }
  return %0, %1, %2, %3
}
"""


def program(count: int, dtype: str) -> str:
    return TEXT.replace("COUNT", str(count)).replace("T[", f"{dtype}[").replace("=T}", f"={dtype}}}")


def arrays(count: int, dtype: str) -> list[Array]:
    rng = np.random.default_rng(count)
    kind = {"f32": "f4", "f64": "f8"}[dtype]
    matrices, right = rng.normal(size=(count, 3, 3)).astype(kind), rng.normal(size=(count, 3, 1)).astype(kind)
    return [matrices, right, rng.integers(-5, 6, count), np.eye(3).astype(kind), np.array(True)]


def check(count: int, dtype: str) -> None:
    function = parse_function(program(count, dtype))
    run, operands = Executable(function), arrays(count, dtype)
    assert any(text.startswith("lanes") for text in run.module.descriptions)
    for got, expected in zip(run(operands), interpret(function, operands), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-3 if dtype == "f32" else 1e-11, atol=1e-4)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 19, 64])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_steps_as_lanes(count: int, dtype: str) -> None:
    check(count, dtype)


def test_no_steps() -> None:
    results = Executable(parse_function(program(0, "f64")))(arrays(0, "f64"))
    assert [result.shape for result in results] == [(0, 3, 1), (0,), (0, 6, 3), (0, 3)]


@pytest.mark.parametrize("count", [3, 30_000])
@pytest.mark.parametrize("last", [False, True])
def test_each_error_is_raised(count: int, last: bool) -> None:
    """Both ops fail on a matrix of zeros; only the second one fails on one that is not positive definite."""
    run, operands = Executable(parse_function(program(count, "f64"))), arrays(count, "f64")
    run(operands)
    operands[0][count - 1 if last else 0] = 0
    operands[3][...] = 0
    with pytest.raises(LinAlgError, match="lu_solve: singular matrix"):
        run(operands)
    operands = arrays(count, "f64")
    operands[3][...] = np.diag([1.0, 1.0, -1.0])
    operands[0][count - 1 if last else 0] = np.eye(3)
    operands[0][count - 1 if last else 0, 2, 2] = 0.5
    with pytest.raises(LinAlgError, match="cholesky: Matrix is not positive definite"):
        run(operands)


PROGRAM = """
from tests.codegen.control import test_lane_maps as tests
for count, dtype in ((3, "f32"), (11, "f64")):
    tests.check(count, dtype)
print("fine")
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(PROGRAM, features, bits)


def test_no_access_outside_of_buffers() -> None:
    assert forked(PROGRAM, TRACEJIT_CHECK="1").strip() == "fine"
