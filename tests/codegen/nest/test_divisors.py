"""Elements divided by a number that their row or column shares: at the edges of floats, and to the last bit
but where the quotient lies close to the middle between two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.nest import divisors

from ...support import Array, ulps
from ..narrow import narrower, run_narrow


def numbers(dtype: str, count: int) -> Array:
    """The special values of a dtype, and random numbers of all sizes."""
    info = np.finfo(dtype)
    edges = [0.0, 1.0, 3.0, info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan, 2.0**60, 2.0**-60]
    special = np.array(edges + [-edge for edge in edges], dtype)
    special = np.concatenate([special, np.nextafter(special, np.array(0, dtype))])
    rng = np.random.default_rng(count)
    kind = {"f4": "u4", "f8": "u8"}[dtype]
    bits = rng.integers(0, np.iinfo(kind).max, count - len(special), dtype=kind)
    return np.concatenate([special, bits.view(dtype)])


def divided(x: Any, y: Any, axis: int) -> Any:
    return x / y.max(axis=axis, keepdims=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_kind_of_number_by_every_kind(dtype: str, axis: int) -> None:
    many, few = numbers(dtype, 611), numbers(dtype, 203)
    x = np.broadcast_to(many, (203, 611)).copy()
    y = np.broadcast_to(few[:, None], (203, 611)).copy()
    if axis == 0:
        x, y = x.T.copy(), y.T.copy()
    got, want = np.asarray(tj.jit(divided, static_argnums=2)(x, y, axis)), x / y
    plain = np.isnan(want) | np.isinf(want) | (want == 0)
    np.testing.assert_array_equal(got[plain], want[plain])
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))
    apart = ulps(got[~plain], want[~plain])
    assert apart.max() <= 1
    normal = np.abs(want[~plain]) > np.finfo(dtype).tiny * 2.0**30
    assert apart[normal].max() == 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quotients_of_usual_numbers_are_rounded_correctly(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.uniform(0.5, 2.0, (2, 64, 2048)).astype(dtype)
        got, want = tj.jit(divided, static_argnums=2)(x, y, 1), x / y.max(axis=1, keepdims=True)
        assert (np.asarray(got) != want).sum() <= 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_maps_by_one_number(dtype: str) -> None:
    """A map whose divisor is an argument, for the whole of it or for each of its rows."""
    many, few = numbers(dtype, 611), numbers(dtype, 103)

    def quotients(x: Any, y: Any) -> Any:
        return tj.abs(x / y)

    by_rows = np.asarray(tj.jit(quotients)(np.broadcast_to(many, (103, 611)).copy(), few[:, None]))
    whole = tj.jit(quotients)
    for number, got in zip(few, by_rows, strict=True):
        want = np.abs(many / number)
        for quotient in (got, np.asarray(whole(many, number))):
            plain = np.isnan(want) | np.isinf(want) | (want == 0)
            np.testing.assert_array_equal(quotient[plain], want[plain])
            apart = ulps(quotient[~plain], want[~plain])
            assert apart.size == 0 or apart.max() <= 1
            normal = want[~plain] > np.finfo(dtype).tiny * 2.0**30
            assert not apart[normal].any()


def test_short_rows_are_divided_as_ever() -> None:
    x = np.random.default_rng(0).uniform(1.0, 2.0, (40, 3 * divisors.MIN_USES))
    f = tj.jit(divided, static_argnums=2)
    np.testing.assert_array_equal(f(x, x, 1), x / x.max(axis=1, keepdims=True))


NARROW = """
from tracejit.codegen.llvm.target import host
from tests.codegen.nest.test_divisors import *
assert host().vector_bits == {bits}
np.seterr(all="ignore")
for dtype in ("f4", "f8"):
    for axis in (0, 1):
        test_every_kind_of_number_by_every_kind(dtype, axis)
    test_maps_by_one_number(dtype)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
