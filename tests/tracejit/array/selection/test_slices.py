"""Slices between traced ends: compiled once for all steps, with NumPy's values, views and errors."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ....rotation import SEED
from ...loops.common import Cases, agree, of_source, plain, reports
from .slice_programs import program

RNG = np.random.default_rng(53)
X, N = RNG.random(20), np.array([0, 3, 3, 7, 12, 20])
A = RNG.random((20, 20)) + 20 * np.eye(20)
case = CASES = Cases()


@case(A)
def lu(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


@case(A @ A.T)
def cholesky(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


@case(X * 0.1)
def levinson(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@case(N, RNG.integers(0, 20, 20), X, RNG.random(20))
def sparse_product(rows, columns, values, x):
    y = np.empty(len(rows) - 1)
    for i in range(len(rows) - 1):
        own = columns[rows[i] : rows[i + 1]]
        y[i] = values[rows[i] : rows[i + 1]] @ x[own]
    return y


@case(A)
def row_means(a):
    s = np.zeros(20)
    for i in range(1, 20):
        s += a[:i].sum(axis=0) + a[:i].mean(0)
    return s


@case(A)
def correlated(a):
    c = np.eye(20)
    for i in range(19):
        c[i + 1 : 20, i] = c[i, i + 1 : 20] = a[:, i] @ a[:, i + 1 : 20]
    return c


@case(X, 4)
def moving_average(x, w):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[max(0, i - w) : i + 1].mean()
    return y


@case(X)
def of_many_kinds(x):
    s = 0.0
    for i in range(1, 19):
        r = x[i:]
        s += len(r) + r.shape[0] + r.size + r.std() + np.argmax(r) + np.median(r) + np.linalg.norm(r)
        s += np.cumsum(x[:i])[-1] + np.sort(x[:i])[0] + np.diff(x[:i]).sum() + x[-i:].max() + x[:-i].min()
        s += np.concatenate((x[:i], x[i:])).sum() + r[r > 0.5].sum() + x[:i][::-1][0]
        for v in x[:i]:
            s += v
        for k in range(len(r)):
            s += r[k] * k
    return s


@case(X)
def as_it_is_then(x):
    s = 0.0
    for i in range(1, 19):
        r = x[:i]
        t = r * 2
        x[0] = i
        s += r.sum() + t.sum()
    return s


@case(X)
def over_itself(x):
    for i in range(2, 19):
        x[1:i] = x[: i - 1]
        x[: i - 1] += 0.5 * x[1:i]
        x[:i], x[i:] = x[:i][::-1] * 2, x[i:] * 0.5
        x[:i] = x[20 - i :]


def fill(r, v):
    for j in range(len(r)):
        r[j] = v * j


@case(A)
def handed_to_helpers(a):
    for i in range(20):
        fill(a[i, :i], i)
        fill(a[i:, i], -i)


@pytest.mark.parametrize(
    ("function", "arguments", "mode"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_compiled(function: Callable[..., Any], arguments: tuple[Any, ...], mode: str) -> None:
    jitted = agree(function, *arguments, mode=mode)
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}


#: Arrays that share memory with ``x[:i]`` or ``A[:i]`` in NumPy, and copies of these.
PARTS = (
    "x[:i]", "np.ravel(x[:i])", "x[:i].reshape(-1)", "np.atleast_1d(x[:i])", "np.asarray(x[:i])",
    "np.array(x[:i])", "x[:i].copy()", "x[:i].T", "np.transpose(x[:i])", "np.real(x[:i])", "x[:i].flatten()",
    "x[:i].view()", "np.swapaxes(A[:i], 0, 1)[0]", "A[:i].T[0]", "A[:i][:, 0]", "np.expand_dims(x[:i], 0)[0]",
    "x[:i][None][0]", "x[:i, None][:, 0]", "x[:i][...]", "x[:i][::-1]", "np.flip(x[:i])", "x[:i][::2]",
    "np.ascontiguousarray(x[:i])", "x[:i].astype(float)", "x[:i].astype(float, copy=False)", "+x[:i]",
    "np.where(True, x[:i], 0)", "np.nan_to_num(x[:i], copy=False)", "A[i][:i]", "A[:i, :2][:, 1]", "x[:i:1]",
    "x[:i][1:]", "A[:, i][:i]", "A[i, :][i:]",
)  # fmt: skip
CHANGES = ("r += 1.0", "r[0] = 5.0", "r[:] = 2.0", "r[-1] *= 2", "r[1:] -= 0.5")
#: Statements that write ``x[:i]`` by other ways than an assignment.
STATEMENTS = (
    "x[:i].fill(2.0)", "x[i:].sort()", "np.copyto(x[:i], 3.0)", "np.add(x[:i], 1.0, out=x[:i])",
    "np.sin(x[:i], x[:i])", "np.add.at(x[:i], [0], 1.0)", "np.put(x[:i], [0], 5.0)",
    "np.fill_diagonal(A[:i], 0.0)",
    "x[:i].clip(0.2, 0.4, out=x[:i])", "x[i:].partition(1)", "np.putmask(x[:i], x[:i] > 0.5, 0.0)",
    "x[:i].flat[0] = 2", "x[:i].real = 2.0", "A[:i].T[0] = 2.0", "A[:i].T[:, 0] += 2.0", "x[:i][1:] += 1.0",
    "A[:i][:, 2] *= 3.0", "A[i, :i], A[:i, i] = A[:i, i], A[i, :i]", "A[i:, i:] *= 0.5", "A[:i] = A[i, 0]",
)  # fmt: skip
WRITTEN = (
    *(f"r = {part}\n        {change}" for part, change in itertools.product(PARTS, CHANGES)),
    *STATEMENTS,
)


@pytest.mark.parametrize("number", range(len(WRITTEN)))
def test_views(number: int, tmp_path: Path) -> None:
    source = f"import numpy as np\ndef f(x, A):\n    for i in range(2, 6):\n        {WRITTEN[number]}\n"
    function = of_source(source, tmp_path / "views.py")
    numpys, mine = (X[:7].copy(), A[:7, :7].copy()), (X[:7].copy(), A[:7, :7].copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*numpys)
        tj.jit(function)(*mine)
    for result, value in zip(mine, numpys, strict=True):
        np.testing.assert_allclose(result, value, err_msg=source)


#: Statements of a step that write an array through a part of a slice, or read one after it was written.
SHARED = (
    "r = A[:i][0]; r += 1", "A[:i][0][:] = i", "v = A[:i]; v[0][1] = i", "v = A[:i]; v[-1][...] *= 2",
    "v = A[:i]\n        for k in range(i): r = v[k]; r += 1", "for r in A[:i]: r += 1",
    "c = A[:, :i][:, 0]; c += 1", "w = A[:i][0]; A[...] += 1; s += w.sum()",
    "for v in x[:i]:\n            s += v\n            x[i - 1] += 0.01",
    "for k, v in enumerate(x[:i]):\n            s += v\n            x[(k + 1) % 7] += v * 0.01",
    "for v in reversed(x[:i]):\n            s += v\n            x[0] += 0.01",
    "for u, v in zip(x[:i], x[1:i + 1]):\n            s += u * v\n            x[i - 1] += 0.01",
    "for row in A[:i]:\n            s += row.sum(); A[i - 1, 0] += 1",
    "w = x[:i][::-1]; x[0] += 1; s += w.sum()", "w = np.flip(x[:i]); x[0] += 1; s += w.sum()",
    "w = x[:i][::2]; x[0] += 1; s += w.sum()", "w = np.real(x[:i]); x[0] += 1; s += w.sum()",
    "w = A[:i].T; A[0, 0] += 1; s += w.sum()", "y = A[0]; y[:i], x[:i] = x[:i], y[:i][::-1]",
    "a, b = x[:i], x[:i][::-1]; a[:] = 0.5 * a; a += b", "w = np.nan_to_num(x[:i], copy=False); x[0] += 1",
    "x[:i].sort(); x[i] += x[0]", "v = x[:i]; v.sort()", "A[i, :i].sort()", "A[:i].sort(axis=0)",
    "v = x[:i].copy(); v.sort(); s += v[0]", "v = x[:i] * 1; v.sort(); s += v[0] * i",
    "x[i] += 1\n        if x[i] > 1.5: return x[:i]", "x[i] += 1\n        if x[i] > 1.5: return x[:i].copy()",
    "x[i] += 1\n        if x[i] > 1.5: return x[:i].sum(), i", "if x[i] > 0.6: return x[x > 0.5]",
    "s += (x > 0.3)[:i] @ (x > 0.2)[:i]", "r = x[:i] if x[i] > 0.5 else x[i:]; s += r.sum()",
    "if x[i] > 0.5: r = x[:i]\n        else: r = x[i:]\n        r *= 0.9",
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(SHARED)))
@pytest.mark.parametrize("steps", [6, 40])
def test_shared_memory(number: int, steps: int, tmp_path: Path) -> None:
    loop = f"    for i in range(2, {steps}):\n        {SHARED[number]}\n"
    source = f"def f(x, A):\n    s = 0.0\n{loop}    return s\n"
    function = of_source(source, tmp_path / "shared.py")
    rng = np.random.default_rng(number)
    x, a = rng.random(steps + 1), rng.random((steps + 1, steps + 1))
    mine, numpys = (x.copy(), a.copy()), (x.copy(), a.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(function(*numpys))
        results = plain(tj.jit(function)(*mine))
    assert len(results) == len(expected)
    for result, value in zip([*results, *mine], [*expected, *numpys], strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-9, err_msg=source)


def test_products_of_bools() -> None:
    def steps(x: Any, y: Any) -> Any:
        b = np.zeros(len(x), bool)
        for i in range(len(x)):
            b[i] = np.where(np.arange(13) < i, x, False) @ y
        return b

    for x in (np.ones(13, bool), np.arange(13) % 3 == 0):
        np.testing.assert_array_equal(np.asarray(tj.jit(steps)(x, x)), steps(x, x))


def test_lengths_that_do_not_match() -> None:
    def added(x, p, q):
        s = 0.0
        for i in range(len(p) - 1):
            s += np.sum(x[p[i] : p[i + 1]] + x[q[i] : q[i + 1]])
        return s

    jitted = tj.jit(added)
    assert float(jitted(X, N, N)) == pytest.approx(added(X, N, N))
    with pytest.raises(ValueError, match="unlike lengths"):
        jitted(X, N, N[::-1].copy())
    assert "unrolled" not in str(jitted.explain())


def test_an_index_outside() -> None:
    def first(x, p):
        s = 0.0
        for i in range(len(p) - 1):
            r = x[p[i] : p[i + 1]]
            s += r[0]
        return s

    jitted = tj.jit(first)
    assert float(jitted(X, N[3:])) == pytest.approx(first(X, N[3:]))
    with pytest.raises(IndexError, match="out of bounds"):
        jitted(X, np.array([2, 2, 5]))


def _energy(x, a):
    s = 0.0
    for i in range(1, 12):
        s += np.sum(np.sin(x[:i]) * a[i, :i]) + x[i:] @ a[i:, i] + np.prod(x[i - 1 : i + 1])
        x[:i] = 0.5 * x[:i] + x[i:].sum() * np.flip(a[:i, i])
        a[i, i:] *= s * 0.01
    return s


def test_derivatives() -> None:
    x, a = X[:12], A[:12, :12]

    def value(x, a):
        return _energy(x.copy(), a.copy())

    gradients = tj.jit(tj.grad(value, argnums=(0, 1)))(x, a)
    direction = (RNG.normal(size=12), RNG.normal(size=(12, 12)))
    _, forward = tj.jit(lambda x, a: tj.jvp(value, (x, a), direction))(x, a)
    step = 1e-6
    sides = [value(x + t * direction[0], a + t * direction[1]) for t in (step, -step)]
    backward = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(gradients, direction, strict=True))
    assert backward == pytest.approx(float(forward), rel=1e-10)
    assert backward == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-6)
    batch = tj.jit(tj.vmap(value, in_axes=(0, None)))(np.stack([x, 2 * x]), a)
    np.testing.assert_allclose(np.asarray(batch), [value(x, a), value(2 * x, a)])


@pytest.mark.parametrize("number", range(12))
def test_random_programs(number: int, tmp_path: Path) -> None:
    seed = SEED * 1000 + number
    source = program(seed)
    function = of_source(source, tmp_path / "slices.py")
    jitted = tj.jit(function)
    for call in range(2):
        rng = np.random.default_rng((seed, call))
        shapes = ((12,), (12,), (12, 12), (2, 12, 12))
        arrays = [np.round(rng.normal(size=shape) * 0.7, 2) for shape in shapes]
        arguments = [*arrays, np.sort(rng.integers(0, 13, 12)), rng.integers(0, 12, 12)]
        mine, failed = copy.deepcopy(arguments), None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = plain(function(*arguments))
            except Exception as error:
                failed = error
            if failed is not None:
                with pytest.raises((type(failed), tj.TracejitError)):
                    jitted(*mine)
                continue
            results = plain(jitted(*mine))
        for result, value in zip(results + mine, expected + arguments, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-6, err_msg=source)
