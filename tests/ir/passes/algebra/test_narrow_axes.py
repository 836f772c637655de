"""Few columns one by one: the same values, and one nest along the rows."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.algebra import columns
from tracejit.ir.passes.algebra.columns import MAX_COLUMNS, MIN_ROWS
from tracejit.ir.passes.algebra.narrow_axes import split_narrow_axes
from tracejit.ir.verifier import verify

from ....rotation import share_of
from ....support import interpret, mismatch, native

BEFORE = tuple(
    pass_ for pass_ in PIPELINE if pass_.name not in ("split-narrow-axes", "rematerialize", "fuse")
)


@pytest.fixture
def few_rows(monkeypatch):
    """The pass works on small arrays, too."""
    monkeypatch.setattr(columns, "MIN_ROWS", 1)


def by_columns(f, *arrays):
    """The program before and after the pass; both are valid."""
    before = run_passes(tj.trace(f, *arrays), BEFORE)
    after = split_narrow_axes(before)
    verify(after)
    return before, after


def nests(f, *arrays):
    """The domains' sizes of what the whole pipeline makes."""
    text = tj.jit(f).lower(*arrays).as_text("loops")
    return [line for line in text.splitlines() if " nest " in line.split(":")[0]]


def points(*shape, dtype="f8"):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def lengths(x):
    return tj.sqrt((x * x).sum(-1))


def pulls(x, m):
    apart = x[None] - x[:, None]
    square = (apart * apart).sum(-1) + 0.01
    return ((m / (square * tj.sqrt(square)))[:, :, None] * apart).sum(1)


def softmax(x):
    e = tj.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_rows_of_few_columns_are_one_nest_along_the_rows(count):
    x = points(MIN_ROWS + 3, count)
    for f in (lengths, softmax, lambda x: x / tj.sqrt((x * x).sum(-1, keepdims=True))):
        (nest,) = nests(f, x)
        assert f"for [{len(x)}]," in nest
        np.testing.assert_allclose(tj.jit(f)(x), f(tj.tensor(x)), rtol=1e-13)


def test_pairs_of_points_are_one_nest():
    x, m = points(70, 3), points(70)
    (nest,) = nests(pulls, x, m)
    assert "for [70] reduce [70]" in nest
    np.testing.assert_allclose(tj.jit(pulls)(x, m), pulls(tj.tensor(x), m), rtol=1e-11, atol=1e-11)


def mixture(x, mean, log_scale, weight):
    z = (x[:, None] - mean) / tj.exp(log_scale)
    parts = -0.5 * z * z - log_scale + weight
    most = parts.max(-1)
    return (most + tj.log(tj.exp(parts - most[:, None]).sum(-1))).sum()


def test_the_gradient_of_a_mixture_is_one_nest_over_the_points():
    arrays = [points(MIN_ROWS), points(3), points(3) / 9, points(3)]
    f = tj.value_and_grad(mixture, argnums=(1, 2, 3))
    assert sum(f"[{MIN_ROWS}]" in nest for nest in nests(f, *arrays)) == 1
    value, gradients = tj.jit(f)(*arrays)
    expected, others = f(*[tj.tensor(array) for array in arrays])
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for gradient, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(gradient, other, rtol=1e-9)


def nearest(x, centres):
    """Two narrow dimensions: coordinates, then centres."""
    return (((x[:, None] - centres) ** 2).sum(-1)).min(1).sum()


def test_the_inner_columns_first():
    x, centres = points(MIN_ROWS, 2), points(4, 2)
    f = tj.value_and_grad(nearest, argnums=1)
    assert sum(f"[{MIN_ROWS}]" in nest for nest in nests(f, x, centres)) == 1
    value, gradient = tj.jit(f)(x, centres)
    expected, other = f(tj.tensor(x), tj.tensor(centres))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, other, rtol=1e-11)


def step(s):
    """A step of three coupled equations, of many states."""
    slope = tj.stack([10.0 * (s[:, 1] - s[:, 0]), s[:, 0] * (28.0 - s[:, 2]), s[:, 0] * s[:, 1]], -1)
    half = s + 0.5 * slope
    return s + 0.1 * tj.stack([half[:, 2], half[:, 0] * half[:, 1], half[:, 1]], -1)


def test_vectors_put_together_of_their_parts():
    x = points(MIN_ROWS, 3)
    (nest,) = nests(step, x)
    assert f"for [{MIN_ROWS}]," in nest
    np.testing.assert_allclose(tj.jit(step)(x), step(tj.tensor(x)), rtol=1e-12, atol=1e-14)


def test_gradients_of_parts_are_one_nest():
    x = points(MIN_ROWS, 3)
    f = tj.grad(lambda x: (0.5 * step(step(x)) ** 2).sum())
    (nest,) = nests(f, x)
    assert f"for [{MIN_ROWS}]," in nest
    np.testing.assert_allclose(tj.jit(f)(x), f(tj.tensor(x)), rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("seed", range(30))
def test_sums_among_zeros_keep_the_sign_of_zero(seed):
    """Gradients of columns, with cotangents of either zero: bit for bit what is computed row by row."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(1, 40)), int(rng.integers(2, 5))
    plan = rng.integers(0, 4, 5).tolist()
    x = rng.choice([-0.0, 0.0, 1.0], (n, count))
    w = rng.choice([-0.0, 0.0, 1.0], (n, len(plan)))

    def f(x, w):
        total = 0.0
        for step, kind in enumerate(plan):
            column = x[:, step % count] if kind else x.sum(-1)
            total = total + (column * w[:, step]).sum()
            if kind == 1:
                total = total + (x * w[:, step, None]).sum()
        return total

    function = tj.trace(tj.grad(f), x, w)
    after = split_narrow_axes(run_passes(function, BEFORE))
    (expected,) = interpret(function, [x, w])
    for (got,) in (interpret(after, [x, w]), native(function, [x, w])):
        assert got.tobytes() == expected.tobytes()


def test_one_of_the_sums_put_side_by_side():
    """The sum is read where it is in memory, after the loop that puts it there."""
    x = points(MIN_ROWS, 2)

    def f(x):
        return tj.clip((x * x.max(-1, keepdims=True)).sum(0)[:1], -1e3, 1e3)

    np.testing.assert_allclose(tj.jit(f)(x), f(tj.tensor(x)), rtol=1e-12)


def test_columns_put_together_for_nobody_stay():
    x = points(MIN_ROWS, 3)
    before, after = by_columns(lambda x: (tj.stack([tj.sin(x[:, 0]), x[:, 1]], -1), x[:, 0]), x)
    assert after is before


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lengths, (MIN_ROWS - 1, 3)),  # little work
        (lengths, (MIN_ROWS, MAX_COLUMNS + 1)),  # wide enough
        (lengths, (MIN_ROWS, 1)),
        (lambda x: x * 2 + x[0], (MIN_ROWS, 3)),  # nothing is folded
        (lambda x: x.mean(0), (MIN_ROWS, 3)),  # columns have nothing in common: a nest each
        (lambda x: (x > 0).any(-1), (MIN_ROWS, 3)),
        (lambda x: tj.cumsum(x, 1), (MIN_ROWS, 3)),
    ],
)
def test_others_stay(f, shape):
    before, after = by_columns(f, points(*shape))
    assert after is before


def test_no_rows(few_rows):
    x = points(0, 3)
    before, after = by_columns(softmax, x)
    assert after is before
    assert tj.jit(softmax)(x).shape == (0, 3)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("seed", share_of(range(90), 2))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(1, 40)), int(rng.integers(2, 5))
    lead = (int(rng.integers(1, 5)),) if rng.integers(2) else ()
    dtype = str(rng.choice(["f4", "f8", "i4"]))

    def numbers(*shape):
        return rng.integers(-4, 5, shape).astype(dtype)

    arrays = [numbers(*lead, n, count), numbers(n, count), numbers(count), numbers(n), numbers(*lead, n)]
    plan = rng.integers(0, 15, 14).tolist()

    def f(x, y, few, line, rows):
        wide, row = [x, x * y + few], [rows, rows * 2 + line]
        for step, kind in enumerate(plan):
            a, b, r = wide[-1], wide[step % len(wide)], row[-1]
            match kind:
                case 0:
                    wide.append(a + b)
                case 1:
                    wide.append(tj.maximum(a, b) - few)
                case 2:
                    wide.append(tj.clip(a * r[..., None], -50, 50))
                case 3:
                    wide.append(a - tj.expand_dims(line, -1))
                case 4:
                    wide.append(tj.where(a > b, a, 1))
                case 5:
                    row.append(tj.clip(a.sum(-1), -50, 50))
                case 6:
                    row.append(a.max(-1) + r)
                case 7:
                    row.append(b.min(-1) - line)
                case 8:
                    wide.append(a - b.max(-1, keepdims=True))
                case 9:
                    wide.append(tj.clip(a - (tj.abs(b).sum(-1, keepdims=True) + 1) * 2, -50, 50))
                case 10:
                    wide.append(a[..., ::-1] + b[..., :1])
                case 11:
                    wide.append(a + tj.clip((a * b).sum(-2, keepdims=True), -50, 50))
                case 12:
                    wide.append(tj.stack([a[..., 0] + r, b[..., -1], r, a[..., 1]][:count], -1))
                case 13:
                    row.append(a[..., count - 1] - b[..., 0])
                case 14:
                    wide.append(tj.concatenate([b[..., 1:], b[..., :1]], -1) + r[..., None])
        totals = [wide[-1].sum(tuple(range(len(lead) + 1))), wide[-1].sum(), wide[-1].T]
        return (*totals, wide[len(wide) // 2], row[-1], tj.stack([row[-1], row[0]], -1))

    function = tj.trace(f, *arrays)
    verify(function)
    expected = interpret(function, arrays)
    after = split_narrow_axes(run_passes(function, BEFORE))
    verify(after)
    for got in (interpret(after, arrays), native(function, arrays)):
        for actual, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(actual, other, rtol=1e-4 if dtype == "f4" else 1e-12)


@pytest.mark.usefixtures("few_rows")
def test_truth_and_other_types_by_column():
    x, y = points(9, 3), points(9, 3, dtype="f4")

    def f(x, y):
        inside = (x > 0) & (y < 1)
        number = tj.where(inside, x, 0).sum(-1)
        return inside, number, (inside & (x < number[:, None])), (x.astype("f4") * y).sum(-1)

    function = tj.trace(f, x, y)
    before, after = by_columns(f, x, y)
    assert after is not before
    for actual, other in zip(native(function, [x, y]), interpret(function, [x, y]), strict=True):
        assert actual.dtype == other.dtype
        assert not mismatch(actual, other, bound=4) or np.allclose(actual, other, rtol=1e-6)
