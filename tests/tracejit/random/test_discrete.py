"""Truth values, integers, categories, permutations: JAX's values where the method is the same, and counts.

Counts pass where chi-squared is below its quantile 0.999 for their degrees of freedom; seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import AxisError, DomainError, DTypeError, ShapeError

r = tj.random
#: Quantiles 0.999 of chi-squared, by degrees of freedom.
LIMIT = {2: 13.82, 5: 20.52, 6: 22.46, 9: 27.88, 23: 49.73}


def chi_squared(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


def both(f, *args):
    """The result, which is the same eagerly and jitted."""
    eager, jitted = np.asarray(f(*args)), np.asarray(tj.jit(f)(*args))
    assert eager.dtype == jitted.dtype
    assert np.array_equal(eager, jitted)
    return eager


def test_bernoulli():
    assert both(lambda k: r.bernoulli(k, 0.4, (3,)), r.key(0)).tolist() == [False, True, False]  # JAX's
    x = both(lambda k: r.bernoulli(k, 0.3, (100, 1000)), r.key(1))
    assert abs(x.sum() - 30_000) < 4 * 144.9
    assert r.bernoulli(r.key(0)).shape == ()
    p = np.array([0.0, 1.0, 0.0, 1.0])
    for _ in range(5):
        assert both(lambda k: r.bernoulli(k, p, (50, 4)), r.key(2)).mean(0).tolist() == p.tolist()
    assert r.bernoulli(r.key(0), 1).item() is True
    with pytest.raises(ShapeError, match=r"random.bernoulli: p of shape \(4,\)"):
        r.bernoulli(r.key(0), p, (4, 5))


@pytest.mark.parametrize(("low", "high"), [(0, 7), (-3, 4), (2**62, 2**62 + 7), (-(2**63), -(2**63) + 7)])
def test_randint_is_even(low, high):
    x = both(lambda k: r.randint(k, (70_000,), low, high), r.key(3))
    counts = np.bincount(x - low, minlength=7)
    assert chi_squared(counts, 10_000) < LIMIT[6]
    assert len(counts) == 7


def test_randint_is_the_high_word_of_the_product():
    words = [int(word) for word in r.bits(r.key(5), 200).numpy()]
    for low, high, dtype in [
        (0, 3, np.int64), (-5, 2**62, np.int64), (-(2**63), 2**63, np.int64), (0, 256, np.uint8),
        (-128, 128, np.int8), (0, 2**64, np.uint64), (2**63, 2**64 - 5, np.uint64), (5, 6, np.int32),
        (0, 2**63 + 12345, np.uint64),
    ]:  # fmt: skip
        want = [low + (word * (high - low) >> 64) for word in words]
        got = both(lambda k, a=low, b=high, d=dtype: r.randint(k, (200,), a, b, d), r.key(5))
        assert got.dtype == dtype
        assert got.tolist() == want, (low, high)


def test_randint_with_tensor_bounds():
    words = [int(word) for word in r.bits(r.key(5), 200).numpy()]
    low, high = np.arange(200) - 100, np.arange(200)[::-1] * 3 + 1

    def want(low, high):
        pairs = np.broadcast_arrays(np.asarray(low, object), np.asarray(high, object), np.empty(200))
        return [
            a + (w * (b - a) >> 64) if a < b else a
            for w, a, b in zip(words, pairs[0].tolist(), pairs[1].tolist(), strict=True)
        ]

    for a, b in [
        (low, high),
        (low, 7),
        (low, 2**63),
        (low, -(2**63) + 1),
        (-3, high),
        (np.array(-9), np.array(9)),
    ]:
        assert both(lambda k, a=a, b=b: r.randint(k, (200,), a, b), r.key(5)).tolist() == want(a, b)
    assert both(lambda k, n: r.randint(k, (200,), 0, n), r.key(5), 17).tolist() == want(0, 17)
    lowest = np.full(200, -(2**63))
    assert both(lambda k: r.randint(k, (200,), lowest, 2**63), r.key(5)).tolist() == [
        w - 2**63 for w in words
    ]


def test_randint_errors():
    k = r.key(0)
    with pytest.raises(DomainError, match="expected minval < maxval, got 3 and 3"):
        r.randint(k, (2,), 3, 3)
    with pytest.raises(DTypeError, match="the bound 257 does not fit uint8"):
        r.randint(k, (2,), 0, 257, "uint8")
    with pytest.raises(DTypeError, match="the bound -1 does not fit uint8"):
        r.randint(k, (2,), -1, 3, "uint8")
    with pytest.raises(DTypeError, match="integer dtype, got float64"):
        r.randint(k, (2,), 0, 3, "float64")
    with pytest.raises(DTypeError, match=r"integer bounds, got 2\.5"):
        r.randint(k, (2,), 0, 2.5)
    with pytest.raises(DTypeError, match="integer bounds, got dtype float64"):
        r.randint(k, (2,), 0, tj.ones(2))
    with pytest.raises(DomainError, match="no uint8 is below maxval 0"):
        r.randint(k, (2,), tj.zeros(2, "uint8"), 0, "uint8")
    with pytest.raises(ShapeError, match=r"random\.randint: maxval of shape"):
        r.randint(k, (2,), 0, tj.ones(3, "int64"))


def test_categorical_frequencies():
    logits = np.log([0.1, 0.2, 0.7])
    x = both(lambda k: r.categorical(k, logits, shape=(100_000,)), r.key(6))
    assert chi_squared(np.bincount(x), np.array([1e4, 2e4, 7e4])) < LIMIT[2]


def test_categorical_shapes_and_axes():
    assert both(lambda k: r.categorical(k, [0.0, 1.0, 2.0], shape=(6,)), r.key(0)).tolist() == [
        2,
        2,
        2,
        1,
        1,
        2,
    ]  # JAX's
    sure = np.full((4, 5), -np.inf)
    sure[[0, 1, 2, 3], [4, 2, 0, 1]] = 0.0
    assert both(lambda k: r.categorical(k, sure), r.key(0)).tolist() == [4, 2, 0, 1]
    assert both(lambda k: r.categorical(k, sure.T, axis=0), r.key(0)).tolist() == [4, 2, 0, 1]
    assert (
        both(lambda k: r.categorical(k, sure.T, axis=-2, shape=(3, 4)), r.key(0)).tolist()
        == [[4, 2, 0, 1]] * 3
    )
    assert (
        both(lambda k: r.categorical(k, sure[:, None], axis=2, shape=(2, 4, 6)), r.key(0)).tolist()
        == [[[digit] * 6 for digit in (4, 2, 0, 1)]] * 2
    )
    with pytest.raises(ShapeError, match=r"shape \(4, 2\) must end with \(4,\)"):
        r.categorical(r.key(0), sure, shape=(4, 2))
    with pytest.raises(ShapeError, match="must end with"):
        r.categorical(r.key(0), sure, shape=())
    with pytest.raises(AxisError, match="categorical"):
        r.categorical(r.key(0), sure, axis=2)
    with pytest.raises(AxisError, match="at least one dimension"):
        r.categorical(r.key(0), 1.0)


def test_permutation_is_one():
    x = both(lambda k: r.permutation(k, 1000), r.key(7))
    assert sorted(x.tolist()) == list(range(1000))
    assert x.tolist() != list(range(1000))
    assert x.dtype == np.int64
    rows = np.arange(12.0).reshape(3, 4)
    moved = both(lambda k: r.permutation(k, rows), r.key(1))
    assert sorted(moved.tolist()) == rows.tolist()
    moved = both(lambda k: r.permutation(k, rows, -1), r.key(1))
    assert sorted(moved.T.tolist()) == rows.T.tolist()
    assert both(lambda k: r.permutation(k, np.empty((0, 2))), r.key(1)).shape == (0, 2)
    assert both(lambda k: r.permutation(k, 0), r.key(1)).shape == (0,)


def test_every_permutation_is_as_likely():
    draw = tj.jit(lambda k: r.permutation(k, 4))
    results: dict[tuple[int, ...], int] = {}
    for k in r.split(r.key(8), 4800):
        order = tuple(draw(k).tolist())
        results[order] = results.get(order, 0) + 1
    assert len(results) == 24
    assert chi_squared(np.array(list(results.values())), 200) < LIMIT[23]


def test_permutation_carries_gradients_and_refuses_scalars():
    x = tj.tensor([1.0, 2.0, 3.0])
    order = r.permutation(r.key(0), 3).numpy()
    weights = np.array([1.0, 10.0, 100.0])
    want = np.empty(3)
    want[order] = weights
    for run in (lambda f: f, tj.jit):
        assert (
            run(tj.grad(lambda x: (r.permutation(r.key(0), x) * weights).sum()))(x).tolist() == want.tolist()
        )
    with pytest.raises(AxisError, match=r"random\.permutation"):
        r.permutation(r.key(0), tj.tensor(1.0))
    with pytest.raises(AxisError, match=r"random\.permutation"):
        r.permutation(r.key(0), x, 1)
