"""Python numbers that loops and lists carry beside elements of narrow dtypes keep their values."""

import numpy as np
import pytest

import tracejit as tj


def assigned(n, x, k):
    m = n
    for i in range(k):
        if x[i] > 100:
            m = x[i]
    return m


def overwritten(n, x, k):
    m = n
    for i in range(k):
        m = x[i]
    return m


def searched(n, x, k):
    m, i = n, 0
    while i < k and x[i] < 2:
        i += 1
        if x[i] > 100:
            m = x[i]
    return m


def replaced(n, x, k):
    best = x[0]
    for i in range(k):
        if x[i] > 100:
            best = n
    return best


def listed(n, x, k):
    found = [n]
    for value in x:
        if value > 50:
            found.append(value)
    return found, max(found), min(found)


def appended(n, x, k):
    found = []
    for value in x:
        if value > 50:
            found.append(value)
        else:
            found.append(n)
    return found


def constants(n, x, k):
    found = []
    for value in x:
        if value > 50:
            found.append(value)
        else:
            found.append(-1)
    return found


def filled(n, x, k):
    found = [n]
    while len(found) < 3:
        found.append(x[0])
    return found


def stacked(n, x, k):
    stack, left = [-1], 0
    for value in x:
        if stack[-1] < value:
            stack.append(value)
        else:
            left += 1
    return left


FUNCTIONS = [assigned, overwritten, searched, replaced, listed, appended, constants, filled, stacked]


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f2"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_numbers_keep_their_values(function, dtype):
    jitted = tj.jit(function)
    arrays = [np.array(values, dtype) for values in ([1, 120, 3], [1, 1, 120], [60, 20, 10])]
    for number in (3, -1, 300, 3, *([] if dtype == "f2" else [-100_000])):
        for array in arrays:
            for steps in (0, 2):
                expected = tj.tree_leaves(function(number, array, steps))
                results = tj.tree_leaves(jitted(number, array, steps))
                for result, value in zip(results, expected, strict=True):
                    assert np.asarray(result) == value, (number, array, steps)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_call_whose_number_does_not_fit_says_so(steps):
    jitted = tj.jit(assigned)
    array = np.array([1, 2], "i1")
    assert np.asarray(jitted(3, array, steps)) == 3
    with pytest.warns(tj.UncompiledCallWarning, match="a Python integer does not fit int8"):
        assert np.asarray(jitted(300, array, steps)) == 300
    assert np.asarray(jitted(4, array, steps)) == 4


@pytest.mark.parametrize("value", [np.uint8(2), np.array([3, 4], "u4"), np.array([3, 4], "u1")])
@pytest.mark.parametrize("dtype", ["i8", "f8", "i2"])
def test_narrow_unsigned_numbers_are_subtracted(dtype, value):
    def f(x, value):
        np.subtract.at(x, [0, 1], value)
        return x

    if not np.can_cast(value.dtype, dtype, "same_kind"):
        return
    mine, theirs = np.array([10, 20], dtype), np.array([10, 20], dtype)
    np.testing.assert_array_equal(tj.jit(f)(mine, value), f(theirs, value))
    np.testing.assert_array_equal(mine, theirs)
