"""A trace relies on the order of arrays in memory only where something is written."""

import warnings

import numpy as np
import pytest

import tracejit as tj


def read_alone(x):
    return x.reshape(-1) * 2 + x.T.ravel()


def written_elsewhere(x):
    y = np.zeros(3)
    y[0] = x.reshape(-1)[1]
    return y


def written_through_a_view(x):
    x.reshape(-1)[0] = 9.0
    return x * 1


def written_below_a_view(x):
    line = x.reshape(-1)
    x[0, 1] = 9.0
    return line * 1


def written_in_a_copy(x):
    line = x.T.ravel()
    line[1] = 9.0
    return line, x * 1


FUNCTIONS = [
    (read_alone, False),
    (written_elsewhere, False),
    (written_through_a_view, True),
    (written_below_a_view, True),
    (written_in_a_copy, True),
]


@pytest.mark.parametrize(("function", "relies"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_other_orders_run_as_python_where_it_matters(function, relies):
    jitted = tj.jit(function)
    rows = np.arange(6.0).reshape(2, 3)
    for array in (rows, np.asfortranarray(rows), rows.copy()):
        mine, theirs = array.copy(order="K"), array.copy(order="K")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", tj.UncompiledCallWarning)
            results = jitted(mine)
        for result, expected in zip(tj.tree_leaves(results), tj.tree_leaves(function(theirs)), strict=True):
            np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(mine, theirs)
        assert len(told) == (relies and not array.flags.c_contiguous)
