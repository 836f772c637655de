"""``tracejit/array/numerical/polynomials.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import ASCENDING, INTEGERS, LINE, MATRIX, RNG, SHORT

cases = Cases()
cases("polyval", SHORT, LINE)
cases("polyval", [1, 2, 3], INTEGERS)
cases("polyadd", SHORT, LINE)
cases("polysub", [1, 2], [1, 2, 3])
cases("polymul", SHORT, LINE)
cases("polydiv", LINE, SHORT)
cases("polydiv", SHORT, LINE)
cases("polyder", LINE)
cases("polyder", [1, 2, 3], 2)
cases("polyder", SHORT, 5)
cases("polyint", LINE)
cases("polyint", LINE, 2, [1.0, 2.0])
cases("polyint", [3, 2, 1], 3, k=5)
cases("poly", SHORT)
cases("poly", [1, 2])
cases("roots", LINE)
cases("roots", SHORT * 1j)
cases("vander", LINE)
cases("vander", [1, 2, 3], 2, increasing=True)
cases("polyfit", LINE, LINE**2 + 1, 2)
cases("polyfit", ASCENDING, MATRIX[0][[0, 1, 2, 3, 4, 4]], 3, w=np.arange(1.0, 7))
cases("polyfit", ASCENDING, RNG.normal(size=(6, 2)), 2)
cases("polyfit", ASCENDING, ASCENDING**3, 1, cov=True)
cases("polyfit", ASCENDING, ASCENDING**3, 1, cov="unscaled")
cases("polyfit", [1, 2, 3], [3, 4, 6], 1)
cases("polyfit", [1.0, 2.0], [3.0, 5.0], 3)  # points that are too few, or the same
cases("polyfit", [1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 5.0], 3)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x, y: tj.polyfit(x, y, 2), LINE, LINE**3),
    (tj.polyval, SHORT, LINE),
    (lambda u, v: tj.polydiv(u, v)[0], LINE, SHORT),
    (tj.poly, SHORT),
    (lambda p: abs(tj.roots(p)), SHORT),
    (tj.polyint, SHORT),
    (tj.polyder, LINE),
    (tj.vander, SHORT),
    (tj.polymul, SHORT, LINE),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize("p", [[0, 0, 1, -3, 2, 0, 0], [0, 0], [5], [5, 0, 0], [0j, 1j, 2, 0], [], [[]]])
def test_roots_without_zeros_at_the_ends(p):
    if np.ndim(p) > 1:
        with pytest.raises(tj.ShapeError, match="roots: expected a line"):
            tj.roots(p)
        return
    expected = np.roots(p)
    result = tj.roots(p).numpy()
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_traced_roots_keep_zeros():
    roots = tj.jit(tj.roots)([1.0, -3.0, 2.0, 0.0]).numpy()
    assert roots.dtype == np.complex128
    np.testing.assert_allclose(np.sort(roots.real), [0.0, 1.0, 2.0], atol=1e-12)
    assert tj.jit(tj.roots)([5.0]).shape == (0,)
    with np.errstate(all="ignore"), pytest.raises(tj.LinAlgError):
        tj.jit(tj.roots)([0.0, 1.0, 2.0])


def test_full_fits_say_how_well_the_points_tell_the_polynomial():
    for ours, theirs in zip(
        tj.polyfit(ASCENDING, ASCENDING**3, 2, full=True),
        np.polyfit(ASCENDING, ASCENDING**3, 2, full=True),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_batches():
    batched(lambda x, y: tj.polyfit(x, y, 2), np.stack([LINE, -LINE]), np.stack([LINE**2, LINE]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.polyder([1, 2], -1), tj.DomainError, "polyder: m must not be negative"),
        (lambda: tj.polyfit([1.0], [1.0, 2.0], 1), tj.ShapeError, "polyfit: y of shape"),
        (lambda: tj.vander([[1]]), tj.ShapeError, "vander: expected a line"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "zeros",
    [
        [[1.0, 2.0], [3.0, 4.0]],
        [[0, 1], [-1, 0]],
        [[1j, 2], [3, 4]],
        [1j, -1j],
        [1 + 1j, 2],
        [],
    ],
)
def test_poly_of_matrices_and_conjugates(zeros):
    ours, theirs = tj.poly(zeros), np.poly(zeros)
    assert ours.dtype == np.asarray(theirs).dtype
    assert np.allclose(ours.numpy(), theirs)
    if len(zeros):
        assert np.allclose(tj.jit(tj.poly)(tj.tensor(zeros)).numpy(), theirs)


def test_poly_of_other_shapes_is_an_error():
    with pytest.raises(tj.ShapeError, match="poly: expected a line"):
        tj.poly([[1.0, 2.0, 3.0]])
