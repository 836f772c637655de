"""Gradients of loop nests that write arrays: beside forward mode, finite differences and each other."""

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import run_passes
from tracejit.ir.passes.loops import taping

SIZE = 18


def lu(a):
    a = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def lu_by_rows(a):
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[j, j]
        for j in range(i, n):
            s = a[i, j]
            for k in range(i):
                s -= a[i, k] * a[k, j]
            a[i, j] = s
    return a


def cholesky(a):
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    return a


def triangular_solve(a):
    n = len(a)
    x = np.zeros(2 * n)
    for i in range(n):
        s = 1.0
        for j in range(i):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return x


def left_early(a):
    n = len(a)
    y = np.zeros(2 * n)
    for i in range(n):
        s = 1.0
        for j in range(i):
            if y[j] > 0.1:
                break
            s -= a[i, j] * y[j] * y[j + 1]
            y[j] = s * a[j, i]
        y[i] += s / (1.0 + a[i, i])
    return y


def with_branches(a):
    n = len(a)
    y = a[0] * 0.5
    z = a[1] * 0.25
    for i in range(1, n):
        for j in range(i):
            if a[i, j] > y[j]:
                y[j] = z[i] * np.exp(-y[j] * y[j])
            elif a[i, j] > 0.5:
                z[i] -= 0.5 * y[j] * z[j]
            else:
                y[i] = y[i] * z[j]
    return np.concatenate([y, z])


def with_local_arrays(a):
    n = len(a)
    y = a[0] * 1.0
    for i in range(1, n):
        w = np.zeros(2 * n)
        for j in range(i):
            w[j + 1] = 0.25 * w[j] * a[i, j] + 0.5 * y[j]
        for j in range(i, n):
            y[j] = 0.5 * y[j] + 0.25 * np.sin(w[j - i]) * w[i]
    return y


def edit_distance(a):
    n = len(a)
    d = np.zeros((n + 1, n + 1))
    for i in range(n + 1):
        d[i, 0] = 0.7 * i
        d[0, i] = 0.6 * i
    for i in range(1, n + 1):
        for j in range(max(1, i - 4), min(n, i + 4) + 1):
            best = d[i - 1, j - 1] + a[i - 1, j - 1]
            if d[i - 1, j] + 0.7 * a[j - 1, i - 1] < best:
                best = d[i - 1, j] + 0.7 * a[j - 1, i - 1]
            if d[i, j - 1] + 0.6 < best:
                best = d[i, j - 1] + 0.6
            d[i, j] = best
    return d


PROGRAMS = (
    lu, lu_by_rows, cholesky, triangular_solve, left_early, with_branches, with_local_arrays, edit_distance,
)  # fmt: skip


def matrix(size=SIZE):
    r = np.random.default_rng(size).random((size, size))
    return (r + r.T) / 2 + size * np.eye(size)


def weighted(f, size=SIZE):
    weights = np.random.default_rng(1).normal(size=np.shape(f(matrix(size))))
    return lambda a: (f(a) * weights).sum()


def has_stack(f, *args):
    return "rewind" in f.lower(*args).as_text("optimized")


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_forward_mode_and_of_differences(f):
    a, direction = matrix(), np.random.default_rng(2).normal(size=(SIZE, SIZE))
    loss = weighted(f)
    backward = tj.jit(tj.grad(loss))
    slope = np.sum(backward(a).numpy() * direction)
    _, forward = tj.jit(lambda x: tj.jvp(loss, (x,), (tj.tensor(direction),)))(tj.tensor(a))
    np.testing.assert_allclose(slope, forward.numpy(), rtol=1e-10, atol=1e-12)
    step = 1e-6
    differences = (loss(a + step * direction) - loss(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)
    assert not has_stack(backward, tj.tensor(a))


@pytest.mark.parametrize("f", [lu, cholesky, left_early, with_branches], ids=lambda f: f.__name__)
def test_second_derivatives(f):
    a, direction = matrix(), np.random.default_rng(3).normal(size=(SIZE, SIZE))
    slopes = tj.grad(weighted(f))
    twice = tj.jit(tj.grad(lambda x: (slopes(x) * direction).sum()))(a).numpy()
    _, along = tj.jit(lambda x: tj.jvp(slopes, (x,), (tj.tensor(direction),)))(tj.tensor(a))
    np.testing.assert_allclose(twice, along.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", [lu_by_rows, left_early, with_branches], ids=lambda f: f.__name__)
def test_gradients_of_many_examples(f):
    examples = np.stack([matrix(), matrix() * 0.75, matrix() + 0.125])
    slopes = tj.grad(weighted(f))
    many = tj.jit(tj.vmap(slopes))(examples).numpy()
    for example, gradient in zip(examples, many, strict=True):
        np.testing.assert_allclose(gradient, tj.jit(slopes)(example).numpy(), rtol=1e-10, atol=1e-12)


def test_eager_gradients_are_the_same():
    a = matrix(6)
    compiled = tj.jit(lu_by_rows)
    loss = lambda x: (compiled(x) * 1.5).sum()  # noqa: E731
    np.testing.assert_allclose(tj.grad(loss)(a).numpy(), tj.jit(tj.grad(loss))(a).numpy(), rtol=1e-12)


def test_the_result_and_the_gradient_at_once():
    a = matrix()
    loss = weighted(lu)
    value, gradient = tj.jit(tj.value_and_grad(loss))(a)
    np.testing.assert_allclose(float(value), loss(a), rtol=1e-12)
    np.testing.assert_array_equal(gradient.numpy(), tj.jit(tj.grad(loss))(a).numpy())


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_dtypes(dtype):
    a = matrix().astype(dtype)
    if dtype == "complex128":
        a = a + 0.25j * np.random.default_rng(4).normal(size=a.shape)

    def loss(x):
        y = lu_by_rows(x)
        return (y * np.conj(y)).real.sum()

    gradient = tj.jit(tj.grad(loss))(a).numpy()
    direction = np.random.default_rng(5).normal(size=a.shape)
    wide = a.astype("complex128" if dtype == "complex128" else "float64")
    differences = (loss(wide + 1e-6 * direction) - loss(wide - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(gradient.real * direction), differences, rtol=2e-4)


def rows_of_tapes(f, a):
    """The sizes of the arrays that a function begins with, unwritten."""
    text = tj.jit(tj.grad(weighted(f, len(a)))).lower(tj.tensor(a)).as_text("optimized")
    main = [line for line in text.splitlines() if line.startswith("  %")]
    return [int(line.split("shape=[")[1].split("]")[0]) for line in main if "= empty()" in line]


@pytest.mark.parametrize("size", [10, 20])
def test_a_tape_has_a_row_for_each_element_that_is_overwritten(size):
    # for each row a quotient, before and after, and size - 1 elements behind it at most
    assert rows_of_tapes(lu, matrix(size)) == [size * (size - 1) * (2 + size - 1)]
    # the element and its last value, for size (size - 1) at most; the element alone for size * size
    assert rows_of_tapes(lu_by_rows, matrix(size)) == [size * (2 * (size - 1) + size)]


def test_counts_that_nobody_knows_have_a_stack():
    def f(x, counts):
        y = x * 1.0
        for i in range(len(counts)):
            for j in range(counts[i]):
                y[j + 1] = y[j] * y[j + 1] * x[i]
        return (y * y).sum()

    x, counts = np.random.default_rng(6).random(20) + 0.5, np.array([3, 0, 18, 7])
    gradient = tj.jit(tj.grad(f))
    direction = np.random.default_rng(7).normal(size=20)
    _, forward = tj.jit(lambda x: tj.jvp(lambda x: f(x, counts), (x,), (tj.tensor(direction),)))(tj.tensor(x))
    np.testing.assert_allclose(np.sum(gradient(x, counts).numpy() * direction), forward.numpy(), rtol=1e-10)
    assert has_stack(gradient, tj.tensor(x), tj.tensor(counts))


def test_counts_that_nobody_knows_need_no_tape_where_all_can_be_computed_again():
    def forces(x, starts, others):
        f = np.zeros(len(x))
        for i in range(len(x)):
            for k in range(starts[i], starts[i + 1]):
                d = x[i] - x[others[k]]
                if d * d < 0.5:
                    w = np.exp(-d * d) / np.sqrt(1.0 + d * d)
                    f[i] += w * d
                    f[others[k]] -= w * d
        return f

    r = np.random.default_rng(12)
    x, starts = r.random(30), np.concatenate([[0], np.cumsum(r.integers(0, 6, 30))])
    others, weights = r.integers(0, 30, starts[-1]), r.normal(size=30)
    loss = lambda x, starts, others: (forces(x, starts, others) * weights).sum()  # noqa: E731
    gradient = tj.jit(tj.grad(loss))
    direction = r.normal(size=30)
    slope = np.sum(gradient(x, starts, others).numpy() * direction)
    ahead, back = loss(x + 1e-6 * direction, starts, others), loss(x - 1e-6 * direction, starts, others)
    np.testing.assert_allclose(slope, (ahead - back) / 2e-6, rtol=1e-6)
    assert not has_stack(gradient, *map(tj.tensor, (x, starts, others)))


def test_checkpoints_have_a_tape_each():
    a, loss = matrix(), weighted(cholesky)
    kept = tj.jit(tj.grad(loss), checkpoint_every=6)
    np.testing.assert_allclose(kept(a).numpy(), tj.jit(tj.grad(loss))(a).numpy(), rtol=1e-10, atol=1e-14)
    text = kept.lower(tj.tensor(a)).as_text("optimized")
    assert text.count("= rewind(") == 1  # of what each of them begins with
    assert "= empty()" in text


def test_an_index_out_of_range_raises_in_gradients_too():
    def f(x):
        y = x * 1.0
        for i in range(len(x)):
            for j in range(i):
                y[j] = y[j] * y[i + j]
        return y.sum()

    with pytest.raises(IndexError):
        tj.jit(tj.grad(f))(np.ones(20))


def test_an_element_is_read_before_a_loop_that_has_steps_alone():
    def f(x):
        y = x * 1.0
        for i in range(len(x)):
            for j in range(i + 2, len(x)):  # the last i has no y[i + 1], and no j
                y[j] = 0.5 * y[j] * y[i + 1] + 0.25 * y[i]
        return (y * y).sum()

    x, direction = np.random.default_rng(8).random(20), np.random.default_rng(9).normal(size=20)
    slope = np.sum(tj.jit(tj.grad(f))(x).numpy() * direction)
    differences = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(slope, differences, rtol=1e-6)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_an_element_that_some_step_writes_is_read_in_each_step(shift):
    def f(x):
        y = x * 1.0
        for i in range(2, 18):
            for j in range(i, 18):
                y[j] = y[j] * y[i + shift] + 0.5
            for j in range(i - 1, -1, -1):
                y[j - 1] = np.sin(y[j + 1] + y[i + shift] * y[-1])
        return (y * y).sum()

    x, direction = np.random.default_rng(10).random(20), np.random.default_rng(11).normal(size=20)
    slope = np.sum(tj.jit(tj.grad(f))(x).numpy() * direction)
    _, forward = tj.jit(lambda x: tj.jvp(f, (x,), (tj.tensor(direction),)))(tj.tensor(x))
    np.testing.assert_allclose(slope, forward.numpy(), rtol=1e-10)


def test_zero_times_infinity_behind_a_choice_is_zero():
    def f(x):
        y = x * 1.0
        for i in range(1, len(x)):
            for j in range(i):
                y[j] = np.where(x[j] > 0, np.sqrt(x[j]), 0.0) * y[j]
        return y.sum()

    x = np.arange(20.0)
    assert np.isfinite(tj.jit(tj.grad(f))(x).numpy()).all()


def test_tapes_that_are_too_large_are_none(monkeypatch):
    program = tj.make_ir(tj.grad(weighted(lu)))(tj.ones((SIZE, SIZE)))
    passes = [tj_pass for tj_pass in run_passes.__defaults__[0] if tj_pass.name == "tape-loops"]
    assert "while_vjp" in str(program)
    assert "rewind" not in str(run_passes(program, passes))
    monkeypatch.setattr(taping, "MAX_BYTES", 100)
    assert "rewind" in str(run_passes(program, passes))
