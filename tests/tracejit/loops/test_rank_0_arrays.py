"""Arrays of rank 0 are written in place by augmented assignments, and scalars are not."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import agree, plain, reports
from .rank_0_programs import check

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000


@pytest.mark.parametrize("group", range(4))
def test_random_programs(group: int, tmp_path: Path) -> None:
    first = FIRST + 12 * group
    kinds = [kind for seed in range(first, first + 12) for kind in check(seed, tmp_path)]
    assert kinds.count("right") > len(kinds) // 2  # most of them are no refusals


@pytest.mark.slow
def test_many_random_programs(tmp_path: Path) -> None:
    for seed in range(FIRST + 100, FIRST + 1000):
        check(seed, tmp_path)


def test_a_name_may_be_an_array_or_a_number(tmp_path: Path) -> None:
    """A condition decides whether ``a = a * 0.5`` made a number of it, before ``c = a; c += b``."""
    check(243, tmp_path)


def for_view(x: Any, y: Any) -> Any:
    z = x[0, ...]
    for v in y:
        z += v
    return x


def for_alias(x: Any, y: Any) -> Any:
    z = x[0, ...]
    p = z
    for v in y:
        z += v
    return p + 0, z + 0


def for_reshaped(x: Any, y: Any) -> Any:
    z = x[0:1].reshape(())
    for v in y:
        z += v
    return x, z + 0


def for_copy(x: Any, y: Any) -> Any:
    q = np.copy(x[1])
    p = q
    for v in y:
        q += v
    return p + 0, q + 0, x


def for_zeros(x: Any, y: Any) -> Any:
    z = np.zeros(())
    p = z
    for v in y:
        z += v
    return p + 0, z + 0, x


def while_view(x: Any, y: Any) -> Any:
    z = x[1, ...]
    i = 0
    while i < 3:
        z *= 2
        i += 1
    return x + y[0]


def nested_views(x: Any, y: Any) -> Any:
    for k in range(2):
        z = x[k, ...]
        for v in y:
            z += v
    return x


def view_in_the_body(x: Any, y: Any) -> Any:
    for v in y:
        z = x[0, ...]
        z += v
    return x


def written_in_a_branch(x: Any, y: Any) -> Any:
    z = np.copy(x[0])
    p = z
    for v in y:
        if v > 1.5:
            z += v
    return p + 0, z + 0


def array_then_scalar(x: Any, y: Any) -> Any:
    z = np.copy(x[1])
    p = z
    for v in y:
        z += v
        z = z * 0.5
    return p + 0, z + 0


def unchanged_name(x: Any, y: Any) -> Any:
    z = x[0, ...]
    s = 0.0
    for v in y:
        z = z
        s += v
    z += s
    return x


PROGRAMS = (
    for_view, for_alias, for_reshaped, for_copy, for_zeros, while_view, nested_views, view_in_the_body,
    written_in_a_branch, array_then_scalar, unchanged_name,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_arrays_are_written_in_compiled_loops(program: Callable[..., Any]) -> None:
    jitted = agree(program, np.arange(4.0), np.arange(1.0, 4.0))
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}


def test_scalars_stay_values_of_a_loop() -> None:
    def total(x: Any) -> Any:
        s = 0.0
        t = x[0]
        for i in range(len(x)):
            s += x[i]
            t *= s
        return s, t

    function = tj.jit(total, loops="compiled").trace(np.arange(9.0))
    (loop,) = [instruction for instruction in function.body if instruction.regions]
    assert [result.shape for result in loop.results] == [(), (), ()]  # the counter, s and t


def sum_of_zeros(x: Any) -> Any:
    s = tj.zeros(())
    for v in x:
        s += v
        s *= 0.5
    return s


def clamped(x: Any) -> Any:
    for i in range(3):
        for s in x:
            s = max(min(s, 1.5 + i), -1.5)
    t = s
    t *= 0.5
    return s, t


def smallest(x: Any) -> Any:
    w = x[0] * 1.0
    for s in x:
        t = w
        w += s
        for _ in range(3):
            w = min(t, t)
    return t, w


def rooted(x: Any) -> Any:
    n = 0
    for _ in x:
        n = math.isqrt(9 + n)
        m = n
        m *= 2
    return n, m


@pytest.mark.parametrize("program", [clamped, smallest, rooted], ids=lambda program: program.__name__)
def test_what_functions_of_python_give_are_scalars(program: Callable[..., Any]) -> None:
    x = np.array([1.0, -2.0, 3.0])
    assert [float(value) for value in tj.jit(program, loops="compiled")(x)] == [
        float(value) for value in program(x)
    ]


def test_an_array_of_rank_0_is_one_value_of_a_loop() -> None:
    function = tj.jit(sum_of_zeros, loops="compiled").trace(np.arange(9.0))
    (loop,) = [instruction for instruction in function.body if instruction.regions]
    assert [result.shape for result in loop.results] == [(), ()]


def row(x: Any, i: Any) -> Any:
    r = x[i]
    r += 1.0
    return x, r + 0


def row_before_the_index_changes(x: Any, i: Any) -> Any:
    r = x[i]
    i += 1
    x[0] = 7.0
    return r + 0


def rows_of_an_index_that_is_written(x: Any, i: Any) -> Any:
    r = x[i : i + 1]
    i -= 1
    x[:] = 7.0 * x
    return r + 0


def element(x: Any, i: Any) -> Any:
    r = x[i, 0, ...]
    p = r
    r += 1.0
    return x, p + 0


def rows(x: Any, i: Any) -> Any:
    for k in range(3):
        r = x[k]
        r += 1.0
    for k in np.arange(2):
        r = x[k]
        r *= 2.0
    r = x[i + 0]
    r -= 4.0
    return x


def chained(x: Any, i: Any) -> Any:
    for k in range(3):
        x[i][0] = 5.0 + k
        x[k][1] = 3.0
    return x


INDEXED = (row, row_before_the_index_changes, rows_of_an_index_that_is_written, element, rows, chained)


@pytest.mark.parametrize("index", [2, np.int64(2), np.array(2)], ids=lambda index: type(index).__name__)
@pytest.mark.parametrize("program", INDEXED, ids=lambda program: program.__name__)
def test_integers_select_views_and_arrays_of_rank_0_copies(program: Callable[..., Any], index: Any) -> None:
    agree(program, np.arange(12.0).reshape(4, 3), index)


def test_one_function_takes_each_kind_of_index() -> None:
    jitted = tj.jit(row)
    for _ in range(3):
        for index in (1, np.int64(1), np.array(1), np.int64(2), np.array(2)):
            mine, expected = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
            for result, value in zip(plain(jitted(mine, index)), row(expected, index), strict=True):
                np.testing.assert_array_equal(result, value)
            np.testing.assert_array_equal(mine, expected)


def test_scalars_of_numpy_are_not_written() -> None:
    def changed(s: Any) -> Any:
        t = s
        s += 1.0
        return t + 0, s + 0

    for number in (2.0, np.float64(2.0), np.array(2.0)):
        agree(changed, number)


def views_of_scalars(x: Any) -> Any:
    s = x.sum()
    v, w, u = s.reshape(1), s.reshape(()), s[...]
    t = u
    v += 1.0
    w += 2.0
    u += 3.0
    return s, v, w, u + 0, t + 0


def written_whole(x: Any) -> Any:
    z = np.copy(x[1])
    z[...] = 5.0
    p = z
    z += 1.0
    return p + 0, z + 0


def test_scalars_share_no_memory_and_arrays_do() -> None:
    agree(views_of_scalars, np.arange(4.0))
    agree(written_whole, np.arange(4.0))
