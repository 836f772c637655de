"""``associative_scan`` against loops over prefixes, and against JAX's numbers (jax 0.10, float64)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def after(f: Any, g: Any) -> Any:
    """One affine map after another: associative, and not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def maps(size: int) -> tuple[Any, Any]:
    return tj.linspace(0.5, 1.5, size), tj.cos(tj.arange(float(size)))


#: Maps that the prefixes are, and those of `reverse`, by size.
EXPECTED = {
    1: ([[0.5], [1.0]], [[0.5], [1.0]]),
    5: (
        [[0.5, 0.375, 0.375, 0.46875, 0.703125], [1.0, 1.29030231, 0.87415547, 0.10270184, -0.49959086]],
        [
            [0.703125, 1.40625, 1.875, 1.875, 1.5],
            [0.43645346, -1.12709309, -2.22319386, -1.80704702, -0.65364362],
        ],
    ),
}


@pytest.mark.parametrize("size", EXPECTED)
def test_against_jax(size: int) -> None:
    a, b = maps(size)
    for reverse in (False, True):
        for run in (tj.associative_scan, tj.jit(tj.associative_scan, static_argnums=(0, 2))):
            results = run(after, (a, b), reverse)
            for actual, expected in zip(results, EXPECTED[size][reverse], strict=True):
                np.testing.assert_allclose(actual.numpy(), expected, atol=1e-8)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 7, 8, 9, 31, 64, 100])
def test_prefixes_of_every_length(size: int) -> None:
    a, b = maps(size)
    for reverse in (False, True):
        expected: list[Any] = []
        for i in reversed(range(size)) if reverse else range(size):
            step = (a[i].item(), b[i].item())
            expected.append(after(expected[-1], step) if expected else step)
        results = tj.associative_scan(after, (a, b), reverse=reverse)
        rows = np.array(expected[::-1] if reverse else expected).reshape(size, 2)
        np.testing.assert_allclose(results[0].numpy(), rows[:, 0], rtol=1e-12)
        np.testing.assert_allclose(results[1].numpy(), rows[:, 1], rtol=1e-9)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_axes_dtypes_and_structures(axis: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4, 5))
    n = rng.integers(-9, 9, (3, 4, 5)).astype("int32")
    elems = {"x": tj.tensor(x), "rest": [tj.tensor(n), None]}

    def combine(left: Any, two: Any) -> Any:
        return {"x": left["x"] + two["x"], "rest": [tj.maximum(left["rest"][0], two["rest"][0]), None]}

    for reverse in (False, True):
        results = tj.associative_scan(combine, elems, reverse, axis)
        turned = np.flip if reverse else lambda left, along: left
        sums = turned(np.cumsum(turned(x, axis), axis=axis), axis)
        peaks = turned(np.maximum.accumulate(turned(n, axis), axis=axis), axis)
        np.testing.assert_allclose(results["x"].numpy(), sums, rtol=1e-12, atol=1e-13)
        assert results["rest"][0].dtype == np.int32
        np.testing.assert_array_equal(results["rest"][0].numpy(), peaks)


def squares(a: Any, b: Any) -> Any:
    return (tj.associative_scan(after, (a, b))[1] ** 2).sum()


def test_gradients() -> None:
    """First and second order; jax 0.10's numbers."""
    a, b = maps(5)
    for run in (tj.grad(squares, argnums=(0, 1)), tj.jit(tj.grad(squares, argnums=(0, 1)))):
        by_a, by_b = run(a, b)
        np.testing.assert_allclose(
            by_a.numpy(), [0.0, 2.71220442, 0.16980354, -1.1306055, -0.1026178], atol=1e-8
        )
        np.testing.assert_allclose(
            by_b.numpy(), [4.03415332, 2.71220442, 0.13159981, -1.2933689, -0.99918172], atol=1e-8
        )
    for hessian in (tj.hessian(squares), tj.jit(tj.hessian(squares)), tj.jacfwd(tj.grad(squares))):
        row = hessian(a, b)[1].numpy()
        np.testing.assert_allclose(row, [0.0, 14.15625, 15.81683722, 5.80914429, -0.86384525], atol=1e-8)


def test_mapped() -> None:
    rng = np.random.default_rng(1)
    a, b = tj.tensor(rng.normal(size=(4, 6))), tj.tensor(rng.normal(size=(6, 4)))
    many = tj.vmap(lambda a, b: tj.associative_scan(after, (a, b)), in_axes=(0, 1))
    for run in (many, tj.jit(many)):
        results = run(a, b)
        for i in range(4):
            alone = tj.associative_scan(after, (a[i], b[:, i]))
            np.testing.assert_allclose(results[0][i].numpy(), alone[0].numpy(), rtol=1e-13)
            np.testing.assert_allclose(results[1][i].numpy(), alone[1].numpy(), rtol=1e-13)


def test_calls_are_logarithmic() -> None:
    calls = []

    def count(x: Any, y: Any) -> Any:
        calls.append(x.shape[0])
        return x + y

    tj.associative_scan(count, tj.ones(1 << 12))
    assert len(calls) <= 2 * math.log2(1 << 12)
    assert sum(calls) < 2 << 12  # and all of them together are linear


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: tj.associative_scan(after, (tj.ones(3), tj.ones(4))),
            tj.ShapeError,
            r"sizes along axis 0 must agree: elems\[0\] has 3, elems\[1\] has 4",
        ),
        (lambda: tj.associative_scan(tj.add, 3.0), tj.ShapeError, "elems is a scalar"),
        (lambda: tj.associative_scan(tj.add, ()), tj.ShapeError, "elems must hold at least one array"),
        (lambda: tj.associative_scan(tj.add, tj.ones(3), axis=1), tj.AxisError, "axis 1 is out of bounds"),
        (lambda: tj.associative_scan(3, tj.ones(3)), tj.TracejitError, "expected a function, got int"),
        (
            lambda: tj.associative_scan(lambda x, y: (x, y), tj.ones(3)),
            tj.ShapeError,
            "must return the structure of its arguments",
        ),
        (
            lambda: tj.associative_scan(lambda x, y: {"a": (x["a"] + y["a"]).sum()}, {"a": tj.ones(4)}),
            tj.ShapeError,
            r"result\['a'\] is f64\[\], and was f64\[2\]",
        ),
        (
            lambda: tj.associative_scan(lambda x, y: x * 1.5, tj.arange(4)),
            tj.ShapeError,
            r"result is f64\[2\], and was i64\[2\]",
        ),
    ],
)
def test_messages(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
