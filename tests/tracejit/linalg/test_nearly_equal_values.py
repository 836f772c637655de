"""Derivatives of functions of the spectrum where two eigenvalues or singular values are nearly equal: errors
are a few roundings over the difference, and eager code warns where few digits are left.

Each function is a polynomial of its matrix, whose derivatives are known; each commit draws other matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED

L = tj.linalg
Loss = Callable[[Any], Any]


def symmetric(x: Any) -> Any:
    return (x + x.mT) / 2


def squared(x: Any) -> Any:
    w, v = L.eigh(symmetric(x))
    return (v * w * w) @ v.mT


def reassembled(x: Any) -> Any:
    u, s, vh = L.svd(x, full_matrices=False)
    return (u * s) @ vh


def fourth_powers(x: Any, d: Any) -> Any:
    """The second derivative of the trace of (x^T x)^2 along `d`."""
    product, slope = x.T @ x, d.T @ x + x.T @ d
    return 2 * np.trace(product @ (2 * d.T @ d)) + 2 * np.trace(slope @ slope)


#: Cases by name: the function, whether it takes symmetric matrices, and the exact derivative along a
#: direction: the first one, or where the function is a number the second one.
FUNCTIONS: dict[str, tuple[Loss, bool, Callable[[Any, Any], Any]]] = {
    "eigh": (squared, True, lambda x, d: x @ d + d @ x),
    "svd": (reassembled, False, lambda x, d: d),
    "eigvalsh": (lambda x: (L.eigvalsh(symmetric(x)) ** 3).sum(), True, lambda x, d: 6 * np.trace(x @ d @ d)),
    "eigvals": (lambda x: (L.eigvals(x) ** 3).real.sum(), True, lambda x, d: 6 * np.trace(x @ d @ d)),
    "svdvals": (lambda x: (L.svdvals(x) ** 4).sum(), False, fourth_powers),
}
RNG = np.random.default_rng(SEED)


def turn() -> Any:
    return np.linalg.qr(RNG.standard_normal((3, 3)))[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_digits_are_right_or_missed_with_a_warning(name: str, dtype: Any) -> None:
    function, is_symmetric, exact = FUNCTIONS[name]
    if name == "eigvals" and dtype == np.float32:
        pytest.skip("computes in float64")

    def slope(x: Any, direction: Any, weights: Any) -> Any:
        if name in ("eigh", "svd"):
            return (tj.grad(lambda x: (function(x) * weights).sum())(x) * direction).sum()
        return (tj.grad(lambda x: (tj.grad(function)(x) * direction).sum())(x) * direction).sum()

    eps, compiled = float(np.finfo(dtype).eps), tj.jit(slope)
    # from differences beyond those that count as equal to ones that leave half of the digits
    for gap in np.geomspace(64 * 4 * eps, eps**0.5, 7):
        values, left, right = np.array([1.0, 1.0 + gap, 4.0]), turn(), turn()
        at = (left * values) @ (left if is_symmetric else right).T
        direction, weights = RNG.uniform(0.5, 1.5, (2, 3, 3))
        if is_symmetric:
            at, direction = symmetric_array(at), symmetric_array(direction)
        arguments = [tj.tensor(x.astype(dtype)) for x in (at, direction, weights)]
        at, direction, weights = (np.asarray(x, np.float64) for x in arguments)
        expected = exact(at, direction)
        expected = (expected * weights).sum() if np.ndim(expected) else expected
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = [float(slope(*arguments)), float(compiled(*arguments))]
        message = f"seed {SEED}, difference {gap:.1e}: {results}, not {expected}"
        size = np.linalg.norm(weights) * np.linalg.norm(direction) * 4.0**3 * 12
        for result in results:
            assert abs(result - expected) <= size * eps / gap, message
        # the values that LAPACK finds are some roundings of the largest away from these
        warned = [w for w in caught if issubclass(w.category, tj.UndeterminedGradientWarning)]
        if gap < 4 * eps ** (2 / 3) - 32 * eps:
            assert any("nearly equal" in str(w.message) for w in warned), message
        elif gap > 4 * eps ** (2 / 3) + 32 * eps:
            assert not warned, message


def symmetric_array(x: Any) -> Any:
    return (x + x.T) / 2


def test_vectors_that_nothing_depends_on_do_not_warn() -> None:
    """A matrix of low rank has values that are nearly equal: roundings, and more."""
    vectors = turn()
    at = symmetric_array((vectors * np.array([1e-13, 3e-13, 1.0])) @ vectors.T)

    def leading(x: Any) -> Any:
        w, v = L.eigh(symmetric(x))
        return ((v[:, 2:] * w[2:]) @ v[:, 2:].mT)[0].sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(tj.grad(leading)(at)).all()
