"""Errors of control flow, by the text of the message, and errors that arise inside bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


def both(f: Any, *args: Any) -> list[Any]:
    """Run `f` eagerly and jitted."""
    return [lambda: f(*args), lambda: tj.jit(f)(*args)]


X = tj.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("run", [0, 1])
@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (
            lambda x: tj.scan(lambda c, v: ({"a": c["a"].astype(np.float32)}, v), {"a": x}, x),
            TypeError,
            r"scan: the carry at \['a'\] was f64\[3\] and the body returned f32\[3\]; cast what",
        ),
        (
            lambda x: tj.scan(lambda c, v: (c[1:], v), x, x),
            ValueError,
            r"scan: the carry was f64\[3\] and the body returned f64\[2\]; each step must return the shape",
        ),
        (
            lambda x: tj.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] > 0), (0, x)),
            TypeError,
            r"while_loop: the carry at \[1\] was f64\[3\] and the body returned bool\[3\]",
        ),
        (
            lambda x: tj.fori_loop(0, 3, lambda i, v: (v, v), x),
            ValueError,
            "fori_loop: the body must return the carry in the structure that it was given",
        ),
        (lambda x: tj.scan(lambda c, v: c, x, x), ValueError, "scan: the body must return a pair"),
        (
            lambda x: tj.scan(lambda c, v: (c, v), x, {"a": x, "b": x[:2]}),
            ValueError,
            r"scan: leading sizes must agree: xs\['a'\] has 3, xs\['b'\] has 2",
        ),
        (
            lambda x: tj.scan(lambda c, v: (c, v), x, x, length=5),
            ValueError,
            "scan: leading sizes must agree with length=5: xs has 3",
        ),
        (lambda x: tj.scan(lambda c, v: (c, v), x), ValueError, "must be given as length"),
        (lambda x: tj.scan(lambda c, v: (c, v), x, 3.0), ValueError, "xs is a scalar"),
        (lambda x: tj.scan(lambda c, v: (c, v), x, x, length=-1), Exception, "length must be a non-negative"),
        (lambda x: tj.scan(lambda c, v: (c, v), x, x, unroll=-1), Exception, "unroll must be a non-negative"),
        (
            lambda x: tj.while_loop(lambda v: v, lambda v: v, x),
            TypeError,
            "must return a bool scalar, got f64",
        ),
        (lambda x: tj.while_loop(lambda v: v > 0, lambda v: v, x), TypeError, r"got bool\[3\]"),
        (lambda x: tj.cond(x > 0, lambda: x, lambda: x), ValueError, "cond: pred must be a scalar"),
        (lambda x: tj.cond(True, 1, lambda: x), Exception, "expected functions for both branches"),
        (lambda x: tj.switch(0.5, [lambda: x, lambda: x]), TypeError, "index must be an integer"),
        (lambda x: tj.switch(0, []), Exception, "non-empty sequence"),
        (lambda x: tj.fori_loop(0, 2.5, lambda i, v: v, x), TypeError, "upper must be an integer, got"),
        (lambda x: tj.scan(lambda c, v: (c, v), "no", x), TypeError, "scan: init must be a tensor"),
    ],
)
def test_mistakes(f: Any, kind: Any, message: str, run: int) -> None:
    with pytest.raises(kind, match=message):
        both(f, X)[run]()


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (
            lambda x: tj.cond(x[0] > 0, lambda: x, lambda: x[:2]),
            ValueError,
            r"cond: all branches must return the same types; false_fun returned f64\[2\], true_fun f64\[3\]",
        ),
        (
            lambda x: tj.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": x.astype(np.float32)}),
            TypeError,
            r"false_fun returned f32\[3\] at \['a'\], true_fun f64\[3\]",
        ),
        (
            lambda x: tj.cond(x[0] > 0, lambda: (x, x), lambda: x),
            ValueError,
            "cond: all branches must return the same structure; false_fun returned",
        ),
        (
            lambda x: tj.switch(x[0].astype(int), [lambda: x, lambda: x, lambda: x[0]]),
            ValueError,
            r"switch: all branches must return the same types; branch 0 returned f64\[3\], branch 2 f64\[\]",
        ),
    ],
)
def test_branches_that_differ(f: Any, kind: Any, message: str) -> None:
    """Found where both are traced; eagerly only the chosen one runs."""
    with pytest.raises(kind, match=message):
        tj.jit(f)(X)


@pytest.mark.parametrize("size", [3, 50])
def test_an_index_out_of_range_inside_a_body(size: int) -> None:
    x = tj.arange(float(size))

    @tj.jit
    def f(x: Any, n: Any) -> Any:
        return tj.fori_loop(0, n, lambda i, v: v + x[i], x * 0)

    assert f(x, 3)[0].item() == 3.0
    with pytest.raises(IndexError, match=f"gather: an index is out of bounds for axis 0 with size {size}"):
        f(x, size + 1)
    assert f(x, 3)[0].item() == 3.0


@pytest.mark.parametrize("size", [3, 50])
def test_numpy_kernels_inside_a_body(size: int) -> None:
    """An op without native code runs by its NumPy kernel in each step."""
    x = tj.arange(1, size + 1)
    f = tj.jit(lambda x: tj.scan(lambda c, v: (tj.gcd(c, v * 6), c.sum()), x * 4, x)[0])
    want = x.numpy() * 4
    for v in x.numpy():
        want = np.gcd(want, v * 6)
    assert f(x).tolist() == want.tolist()
    assert "gcd" in f.explain()


@pytest.mark.parametrize("size", [3, 50])
def test_an_error_of_a_numpy_kernel_inside_a_body(size: int) -> None:
    x = tj.full((size,), 2)
    f = tj.jit(lambda x, n: tj.fori_loop(0, n, lambda i, v: v ** (2 - i), x))
    assert f(x, 2).tolist() == [4] * size
    with pytest.raises(ValueError, match="negative integer powers"):
        f(x, 4)


def test_draws_inside_a_body() -> None:
    f = tj.jit(lambda x: tj.scan(lambda c, v: (c + tj.random.normal(tj.random.next_key(), ()), v), x, X))
    with pytest.raises(
        tj.TraceError, match="inside a loop's body it is not known how often the draw will run"
    ):
        f(0.0)
    g = tj.jit(lambda x: tj.cond(x > 0, lambda: tj.random.uniform(tj.random.next_key(), ()), lambda: 0.0))
    assert 0 <= g(1.0).item() < 1
