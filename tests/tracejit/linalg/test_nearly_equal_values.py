"""Derivatives of functions of the spectrum where two eigenvalues or singular values are nearly equal: errors
are a few roundings over the difference, and there is a warning where few digits are left. Compiled code
warns as eager code does, in each form that a program may have.

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


def fourth_power(x: Any) -> Any:
    _, s, vh = L.svd(x, full_matrices=False)
    return (vh.mT * s**4) @ vh


def reassembled(x: Any) -> Any:
    u, s, vh = L.svd(x, full_matrices=False)
    return (u * s) @ vh


def second_of_fourth_power(x: Any, d: Any) -> Any:
    """The second derivative of (x^T x)^2 along `d`."""
    product, slope, bend = x.T @ x, d.T @ x + x.T @ d, 2 * d.T @ d
    return bend @ product + 2 * slope @ slope + product @ bend


def fourth_powers(x: Any, d: Any) -> Any:
    """The second derivative of the trace of (x^T x)^2 along `d`."""
    product, slope = x.T @ x, d.T @ x + x.T @ d
    return 2 * np.trace(product @ (2 * d.T @ d)) + 2 * np.trace(slope @ slope)


#: Cases by name: the function, whether it takes symmetric matrices, the order of the derivative that is taken
#: of it, the power of the difference by which that divides, and the exact one along a direction.
FUNCTIONS: dict[str, tuple[Loss, bool, int, int, Callable[[Any, Any], Any]]] = {
    "eigh": (squared, True, 1, 1, lambda x, d: x @ d + d @ x),
    "eigh, second": (squared, True, 2, 2, lambda x, d: 2 * d @ d),
    "svd": (reassembled, False, 1, 1, lambda x, d: d),
    "svd, second": (fourth_power, False, 2, 2, second_of_fourth_power),
    "eigvalsh": (
        lambda x: (L.eigvalsh(symmetric(x)) ** 3).sum(),
        True, 2, 1, lambda x, d: 6 * np.trace(x @ d @ d),
    ),
    "eigvals": (
        lambda x: (L.eigvals(x) ** 3).real.sum(), True, 2, 1, lambda x, d: 6 * np.trace(x @ d @ d)
    ),
    "svdvals": (lambda x: (L.svdvals(x) ** 4).sum(), False, 2, 1, fourth_powers),
}  # fmt: skip
RNG = np.random.default_rng(SEED)


def turn() -> Any:
    return np.linalg.qr(RNG.standard_normal((3, 3)))[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_digits_are_right_or_missed_with_a_warning(name: str, dtype: Any) -> None:
    function, is_symmetric, order, power, exact = FUNCTIONS[name]
    if name == "eigvals" and dtype == np.float32:
        pytest.skip("computes in float64")

    def slope(x: Any, direction: Any, weights: Any) -> Any:
        def along(loss: Loss, order: int) -> Loss:
            return along(lambda x: (tj.grad(loss)(x) * direction).sum(), order - 1) if order else loss

        return along(lambda x: (function(x) * weights).sum(), order)(x)

    eps, compiled = float(np.finfo(dtype).eps), tj.jit(slope)
    bound = 4 * eps ** (0.5 / power)
    # from differences beyond those that count as equal to ones that leave more than half of the digits
    for gap in [*np.geomspace(64 * 4 * eps, bound, 5), bound + 64 * eps, 2 * bound, 8 * bound]:
        values, left, right = np.array([1.0, 1.0 + gap, 4.0]), turn(), turn()
        at = (left * values) @ (left if is_symmetric else right).T
        direction, weights = RNG.uniform(0.5, 1.5, (2, 3, 3))
        if is_symmetric:
            at, direction = symmetric_array(at), symmetric_array(direction)
        arguments = [tj.tensor(x.astype(dtype)) for x in (at, direction, weights)]
        at, direction, weights = (np.asarray(x, np.float64) for x in arguments)
        expected = exact(at, direction)
        expected = (expected * weights).sum()
        told = [warned_of(run, *arguments) for run in (slope, compiled)]
        results = [float(result) for result, _ in told]
        message = f"seed {SEED}, difference {gap:.1e}: {results}, not {expected}; {told}"
        size = np.linalg.norm(weights) * np.linalg.norm(direction) ** order * 4.0**3 * 12
        for result in results:
            assert abs(result - expected) <= size * eps / min(gap, 1) ** power, message
        # the values that LAPACK finds are some roundings of the largest away from these
        for _, texts in told:
            if gap < bound - 32 * eps:
                assert any("nearly equal" in text for text in texts), message
            elif gap > bound + 32 * eps:
                assert not texts, message


def warned_of(function: Loss, *arguments: Any) -> tuple[Any, set[str]]:
    """The result of a call, and the warnings of derivatives in it. Each names a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    told = [w for w in caught if issubclass(w.category, tj.UndeterminedGradientWarning)]
    assert {w.filename for w in told} <= {__file__}
    return result, {str(w.message) for w in told}


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


# -- forms of programs ---------------------------------------------------------------------------------


def by_grad(loss: Loss) -> Loss:
    return tj.grad(loss)


def by_jvp(loss: Loss) -> Loss:
    return lambda x: tj.jvp(loss, (x,), (tj.ones(x.shape, dtype=x.dtype),))[1]


def by_tape(loss: Loss) -> Loss:
    """The backward pass of a jitted function that eager code calls, or of an eager one."""

    def slope(x: Any) -> Any:
        x = tj.tensor(np.asarray(x), requires_grad=True)
        loss(x).backward()
        return x.grad

    return slope


def in_batch(loss: Loss) -> Loss:
    return lambda x: tj.vmap(tj.grad(loss))(tj.stack([x, tj.ones(x.shape, dtype=x.dtype) + x * x]))[0]


def in_scan(loss: Loss) -> Loss:
    return lambda x: tj.scan(lambda carry, _: (carry + tj.grad(loss)(x), 0.0), x * 0, tj.arange(2))[0]


def in_branch(loss: Loss) -> Loss:
    return lambda x: tj.cond(x.sum() > -1e9, tj.grad(loss), lambda x: x, x)


def by_second_derivatives(loss: Loss) -> Loss:
    return lambda x: tj.grad(lambda x: (tj.grad(loss)(x) ** 2).sum())(x)


FORMS = {
    "grad": by_grad, "jvp": by_jvp, "tape": by_tape, "vmap": in_batch, "scan": in_scan, "cond": in_branch,
    "second": by_second_derivatives,
}  # fmt: skip
#: Losses by name, and whether they take symmetric matrices.
LOSSES: dict[str, tuple[Loss, bool]] = {
    "eigh": (lambda x: squared(x)[0].sum(), True),
    "svd": (lambda x: reassembled(x)[0].sum(), False),
    "complex eigh": (lambda x: tj.real(squared((1 + 0.5j) * x + (1 - 0.5j) * x.mT)[0].sum()), True),
    "eig": (lambda x: tj.real(L.eig(x)[1][0].sum()), True),
    "qr": (lambda x: L.qr(x)[1][0].sum(), False),
    "polar": (lambda x: tj.scipy.linalg.polar(x)[0][0].sum(), False),
}

#: Eigenvalues or singular values, and whether the matrix is not diagonal. Values that are equal up to
#: roundings are left out, since each program has its own roundings.
CASES = (
    ([1.0, 2.0, 4.0], True),
    ([1.0, 1.0, 4.0], False),
    ([1.0, 1 + 1e-12, 4.0], True),
    ([0.0, 0.0, 1.0], False),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOSSES)
def test_compiled_code_warns_as_eager_code_does(name: str, form: str) -> None:
    loss, is_symmetric = LOSSES[name]
    left, right = turn(), turn()
    warned = 0
    for values, turned in CASES:
        at = (left * values) @ (left if is_symmetric else right).T if turned else np.diag(values)
        at = tj.tensor(symmetric_array(at) if is_symmetric else at)
        eager, told = warned_of(FORMS[form](loss), at)
        compiled = FORMS[form](tj.jit(loss)) if form == "tape" else tj.jit(FORMS[form](loss))
        for _ in range(2):  # traced, and called
            result, texts = warned_of(compiled, at)
            message = f"seed {SEED}, {values}, turned {turned}"
            np.testing.assert_array_equal(np.isnan(result), np.isnan(eager), message)
            assert texts == told, message
        warned += bool(told)
    assert warned, "no matrix that warns"


def test_warnings_as_errors_leave_compiled_code() -> None:
    compiled = tj.jit(tj.grad(LOSSES["eigh"][0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(tj.UndeterminedGradientWarning, match="are equal"):
                compiled(np.eye(3))
        assert np.isfinite(compiled(np.diag([1.0, 2.0, 3.0]))).all()


def test_programs_that_cannot_warn_call_no_python() -> None:
    compiled = tj.jit(lambda x: L.eigh(x)[1] @ L.svd(x)[0])
    compiled(np.eye(3))
    assert "gradient_warning" not in compiled.lower(np.eye(3)).as_text("fused")
    # nor do those whose gradient needs no vectors
    values = tj.jit(tj.grad(lambda x: L.eigvalsh(x).sum()))
    assert "gradient_warning" not in values.lower(np.eye(3)).as_text("fused")
