"""``mgrid``, ``ogrid``, ``r_``, ``c_``, ``ix_`` and ``fromfunction``: results, jitted, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import gradients, leaves

X, Y = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
CASES = {
    "mgrid": lambda xp, x, y: xp.mgrid[0:3, 0:2],
    "mgrid step": lambda xp, x, y: xp.mgrid[-1:1:5j],
    "mgrid float": lambda xp, x, y: xp.mgrid[0:1:0.25, 0:2],
    "ogrid": lambda xp, x, y: xp.ogrid[0:3, 0:2],
    "ogrid one": lambda xp, x, y: xp.ogrid[0:3],
    "r_": lambda xp, x, y: xp.r_[x, 0, 0, x],
    "r_ range": lambda xp, x, y: xp.r_[1:4, 0, 4],
    "r_ steps": lambda xp, x, y: xp.r_[-1:1:6j, [0] * 3, 5, 6],
    "r_ axis": lambda xp, x, y: xp.r_["-1", y, y],
    "r_ rank": lambda xp, x, y: xp.r_["0,2", x, x],
    "r_ place": lambda xp, x, y: xp.r_["0,2,0", x, x],
    "c_": lambda xp, x, y: xp.c_[x, x],
    "c_ mixed": lambda xp, x, y: xp.c_[y, y],
    "c_ numbers": lambda xp, x, y: xp.c_[1:4, x],
    "ix_": lambda xp, x, y: y[xp.ix_([1, 0], [1])],
    "ix_ mask": lambda xp, x, y: xp.ix_([True, False, True], [0]),
    "fromfunction": lambda xp, x, y: xp.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
    "s_": lambda xp, x, y: x[xp.s_[1:]],
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_numpy(name):
    case = CASES[name]
    expected = leaves(case(np, X, Y))
    for actual in (case(tj, tj.asarray(X), tj.asarray(Y)), tj.jit(lambda x, y: leaves(case(tj, x, y)))(X, Y)):
        for ours, theirs in zip(leaves(actual), expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_gradients():
    gradients(lambda x: tj.r_[x, x**2], X)
    gradients(lambda x: tj.c_[x, x**2], X)


def test_errors():
    with pytest.raises(tj.ShapeError, match="ix_: expected lines"):
        tj.ix_(Y)
    with pytest.raises(tj.ShapeError, match="r_: matrices"):
        tj.r_["r", X]
