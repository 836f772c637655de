"""Blocks of short rows, a lane for each, beside the interpreter, at lengths around vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.llvm.target import host
from tracejit.codegen.lowering.loop_nest import Nest
from tracejit.codegen.nest.schedule import schedule
from tracejit.ir.graph import Function
from tracejit.ir.passes import run_passes
from tracejit.runtime.threads import threads

from ...support import Array, function_of, interpret, native

LANES = host().lanes("f32")


def _spread(b: Any, row: Any, length: int) -> Any:
    return b.broadcast(b.reshape(row, shape=(*row.shape, 1)), shape=(*row.shape, length))


def _softmax(b: Any, x: Any) -> Any:
    exps = b.exp(b.sub(x, _spread(b, b.max(x, axes=(1,)), x.shape[1])))
    return b.div(exps, _spread(b, b.sum(exps, axes=(1,)), x.shape[1]))


def _results(b: Any, x: Any, y: Any, w: Any) -> list[Any]:
    """A result for each element, one for each row, one for each column and one in all, of two arrays and a
    row that all share."""
    weights = _softmax(b, b.mul(x, b.broadcast(b.reshape(w, shape=(1, *w.shape)), shape=x.shape)))
    product = b.mul(weights, y)
    row = b.sum(product, axes=(1,))
    return [
        b.add(product, _spread(b, row, x.shape[1])),
        row,
        b.sum(product, axes=(0,)),
        b.sum(row, axes=(0,)),
    ]


def _nests(function: Function) -> list[Nest]:
    body = run_passes(function).body
    return [
        schedule(item.regions[0], item.attrs, "nest", host()) for item in body if item.op.name == "fusion"
    ]


def _check(build: Callable[..., Any], arguments: list[Array], *, transposed: bool | None = True) -> None:
    """`transposed` is None where it does not matter whether rows are."""
    function = function_of("rows", arguments, build)
    assert transposed in (None, any(nest.transposed for nest in _nests(function)))
    rtol = 2e-5 if arguments[0].dtype == np.float32 else 1e-13
    for got, want in zip(native(function, arguments), interpret(function, arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", [5, 6, 8, 11, 15, 16, 17, 24, 31, 33])
@pytest.mark.parametrize("rows", [LANES, LANES + 1, 3 * LANES - 1, 1000])
def test_rows_around_vectors(rows: int, length: int, dtype: str) -> None:
    rng = np.random.default_rng(length)
    x, y = (rng.standard_normal((rows, length)).astype(dtype) for _ in range(2))
    w = rng.standard_normal(length).astype(dtype)
    surely = length <= 6 and rows in (LANES, 1000) and LANES >= 16
    _check(_results, [x, y, w], transposed=True if surely else None)


def test_narrow_results_of_wide_rows() -> None:
    """Rows that are parts of longer ones, behind which nothing is read or written."""
    x = np.random.default_rng(1).standard_normal((200, 20)).astype("f4")
    x[:, :3], x[:, 10:] = np.nan, np.inf

    def build(b: Any, x: Any) -> list[Any]:
        return [_softmax(b, b.slice(x, start=(0, 3), size=(200, 7), step=(1, 1)))]

    _check(build, [x])


def test_what_is_no_number_stays_in_its_row() -> None:
    x = np.random.default_rng(2).standard_normal((3 * LANES + 2, 7)).astype("f4")
    x[LANES + 1, 2], x[-1, 6] = np.nan, np.inf
    function = function_of("rows", [x], lambda b, x: [_softmax(b, x)])
    (result,) = native(function, [x])
    bad = np.isnan(result).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(bad), [LANES + 1, len(x) - 1])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(result, interpret(function, [x])[0], rtol=1e-5)


def test_few_rows_windows_and_bools_are_not_turned() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((LANES // 4, 6)).astype("f4")
    _check(lambda b, x: [_softmax(b, x)], [x], transposed=False)
    x = rng.standard_normal((200, 6)).astype("f4")
    mask = rng.random((200, 6)) > 0.5
    _check(lambda b, x, mask: [_softmax(b, b.where(mask, x, b.neg(x)))], [x, mask], transposed=False)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal((60_001, 9)).astype("f4") for _ in range(2))
    arguments = [x, y, rng.standard_normal(9).astype("f4")]
    function = function_of("rows", arguments, _results)
    results = []
    for count in (1, 2, 3):
        with threads(count):
            results.append(b"".join(result.tobytes() for result in native(function, arguments)))
    assert len(set(results)) == 1


def test_sums_of_many_rows_keep_their_errors() -> None:
    x = np.full((100_000, 6), 0.1, "f4")
    function = function_of("rows", [x], lambda b, x: [b.sum(b.exp(b.sum(x, axes=(1,))), axes=(0,))])
    (result,) = native(function, [x])
    exact = np.exp(x.astype("f8").sum(axis=1)).sum()
    assert abs(result - exact) <= 4 * np.finfo("f4").eps * exact
