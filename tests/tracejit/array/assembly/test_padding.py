"""``tracejit/array/assembly/padding.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import INTEGERS, LINE, MATRIX

cases = Cases()
WIDTHS = ((1, 2), (9, 0))
for mode in ["maximum", "mean", "median", "minimum"]:
    cases.eager("pad", MATRIX, WIDTHS, mode)
    cases.eager("pad", INTEGERS, 2, mode, stat_length=((1, 2),))
    cases.eager("pad", INTEGERS.astype("u1"), 1, mode, stat_length=2)
for mode in ["reflect", "symmetric"]:
    for reflect_type in ["even", "odd"]:
        cases.eager("pad", MATRIX, WIDTHS, mode, reflect_type=reflect_type)
        cases.eager("pad", INTEGERS.astype("u1"), ((8, 7),), mode, reflect_type=reflect_type)
        cases.eager("pad", LINE[:1], 3, mode, reflect_type=reflect_type)
    cases.eager("pad", np.array([True, False]), 1, mode, reflect_type="odd")
cases.eager("pad", MATRIX, WIDTHS, "linear_ramp", end_values=((0, 1), (-2.5, 3)))
cases.eager("pad", INTEGERS, 3, "linear_ramp", end_values=-7)
cases.eager("pad", INTEGERS, 3, "linear_ramp")
cases("pad", MATRIX, ((0, 1), (7, 6)), "symmetric", reflect_type="odd")
if np.lib.NumpyVersion(np.__version__) >= "2.2.0":  # which has widths by axis
    cases("pad", MATRIX, {-1: (1, 2), 0: 3}, "linear_ramp", end_values=(1, 2))
    cases("pad", MATRIX, {1: 1}, "median", stat_length=2)
    cases.eager("pad", MATRIX, {1: (0, 2)}, constant_values=7)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


def test_empty_has_a_shape():
    assert tj.pad(np.zeros((2, 0)), 1, "empty").shape == (4, 2)


def _signs(line, width, axis, options):
    line[: width[0]] = options.get("value", 1.0) + axis
    line[line.shape[0] - width[1] :] = -line[width[0]]


def test_functions():
    expected = np.pad(MATRIX, WIDTHS, _signs, value=3.0)
    np.testing.assert_array_equal(tj.pad(MATRIX, WIDTHS, _signs, value=3.0), expected)
    np.testing.assert_array_equal(tj.jit(lambda x: tj.pad(x, WIDTHS, _signs, value=3.0))(MATRIX), expected)
    np.testing.assert_array_equal(np.pad(tj.asarray(MATRIX), WIDTHS, _signs, value=3.0), expected)


def test_gradients():
    def padded(x, ends):
        return [
            tj.pad(x, 2, "linear_ramp", end_values=ends),
            tj.pad(x, (1, 7), "reflect", reflect_type="odd"),
            tj.pad(x, 1, "median", stat_length=3),
            tj.pad(x, 1, "mean"),
            tj.pad(x, 1, _signs),
        ]

    gradients(padded, np.array([0.5, -1.0, 2.0]), 0.3)


def test_batches():
    batched(lambda x: (tj.pad(x, 2, "maximum"), tj.pad(x, 2, "linear_ramp")), MATRIX)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.pad([1.0], 1, "most"), tj.DomainError, "pad: mode must be a function, constant, edge"),
        (lambda: tj.pad([1.0], 1, "mean", end_values=1), tj.ArgumentError, "'mean' takes no end_values"),
        (lambda: tj.pad([1.0], 1, "edge", most=1), tj.ArgumentError, "'edge' takes no most"),
        (lambda: tj.pad([1.0, 2.0], 1, "reflect", reflect_type="no"), tj.DomainError, "reflect_type must be"),
        (lambda: tj.pad([1.0], 1, "mean", stat_length=0), tj.ShapeError, "stat_length must be positive"),
        (lambda: tj.pad([1.0], 1, "mean", stat_length=-1), tj.ShapeError, "stat_length must not be negative"),
        (lambda: tj.pad([1.0], 1, "linear_ramp", end_values=[1, 2, 3]), tj.ShapeError, "pair of end_values"),
        (lambda: tj.pad([1.0], {1: 1}), tj.AxisError, "pad: axis 1"),
        (lambda: tj.pad([], 1, "mean"), tj.ShapeError, "axis 0 of .* is empty"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
