"""Concatenations copy from views of what is in memory, without writing the views out first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import threads

from ...support import Array, function_of, interpret


def shifted(b: Any, x: Any, size: int, axis: int) -> Any:
    """Three windows of the last axis, of which one is a value of its own, joined along `axis`."""
    rank = len(x.shape)

    def window(at: int) -> Any:
        lead = x.shape[:-1]
        return b.slice(x, start=(0,) * (rank - 1) + (at,), size=(*lead, size), step=(1,) * rank)

    return b.concat(window(1), b.mul(window(0), 2.0), window(3), axis=axis)


def check(x: Array, build: Any) -> Executable:
    function = function_of("joined", [x], build)
    executable = Executable(function)
    for got, want in zip(executable([x]), interpret(function, [x]), strict=True):
        np.testing.assert_array_equal(got, want)
    return executable


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_windows(axis: int) -> None:
    x = np.random.default_rng(1).normal(size=(5, 7, 40))
    executable = check(x, lambda b, x: shifted(b, x, 29, axis))
    assert len(executable.module.kernels) == (2 if axis == 2 else 1), (
        "one nest computes a part and copies others"
    )


def test_views_of_other_kinds() -> None:
    """Reversed, broadcast, transposed and short ones are written out where they have to be."""
    x = np.random.default_rng(2).normal(size=(5, 7, 40))

    def build(b: Any, x: Any) -> Any:
        back = b.slice(x, start=(4, 6, 0), size=(5, 7, 40), step=(-1, -1, 1))
        row = b.slice(x, start=(0, 2, 0), size=(5, 1, 40), step=(1, 1, 1))
        wide = b.broadcast(row, shape=(5, 7, 40))
        short = b.slice(x, start=(0, 0, 1), size=(5, 7, 2), step=(1, 1, 1))
        apart = b.slice(x, start=(0, 0, 0), size=(5, 7, 20), step=(1, 1, 2))
        transposed = b.transpose(x, perm=(2, 1, 0))
        return [b.concat(back, x, wide, short, apart, axis=2), b.concat(transposed, transposed, axis=1)]

    check(x, build)


def test_nothing_in_one_operand_or_in_all() -> None:
    x = np.random.default_rng(3).normal(size=(4, 30))

    def build(b: Any, x: Any) -> Any:
        none = b.slice(x, start=(0, 0), size=(0, 30), step=(1, 1))
        empty = b.slice(x, start=(0, 0), size=(4, 0), step=(1, 1))
        return [b.concat(none, x, axis=0), b.concat(none, none, axis=1), b.concat(empty, x, empty, axis=1)]

    check(x, build)


def test_threads_write_the_same() -> None:
    x = np.random.default_rng(4).normal(size=(64, 50, 400)).astype("f4")
    executable = check(x, lambda b, x: shifted(b, x, 300, 1))
    assert executable.module.parallel
    names = set()
    for count in (1, 2, 5):
        with threads(count):
            names.add(executable([x])[0].tobytes())
    assert len(names) == 1
