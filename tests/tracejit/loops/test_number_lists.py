"""Lists of Python's numbers that loops read at an index that is traced: constants, arguments, variables."""

# ruff: noqa: RUF012 - a class as users write it

import numpy as np
import pytest

import tracejit as tj

from .common import agree, reports

X = np.linspace(0.1, 1.0, 50)
TABLE = [0.5 * i for i in range(20)]
ORDER = [3, 1, 2, 0]


class Weights:
    values = [1.0, 2.0, 3.0]


def of_constants(x):
    s = 0.0
    for i in range(len(x)):
        s += TABLE[i % 20] * x[ORDER[i % 4]] * Weights.values[i % 3]
    return s


def of_an_argument(x, weights):
    s = 0.0
    for i in range(len(x)):
        s += weights[i % 3] * x[i]
    return s


def of_whole_numbers(x, weights):
    s = 0
    for i in range(len(x)):
        s += weights[i % 3] // 2
    return s


def of_a_dict(x, parts):
    s = 0.0
    for i in range(len(x)):
        s += parts["w"][i % 3] * x[i]
    return s


def changed_outside(x):
    weights, s = [1.0, 2.0, 3.0], 0.0
    for j in range(30):
        for i in range(len(x)):
            s += weights[i % 3] * x[i]
        weights[j % 3] += s * 1e-3
    return s, weights


def changed_inside(x):
    weights, s = [1.0, 2.0, 3.0], 0.0
    for i in range(len(x)):
        s += weights[i % 3]
        weights[i % 3] = x[i]
    return s, weights


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (of_constants, (X,)),
        (of_an_argument, (X, [1.0, 2.0, 4.0])),
        (of_an_argument, (X, [1, 2, 4])),
        (of_whole_numbers, (X, [5, 7, -3])),
        (of_a_dict, (X, {"w": [1.0, 2.0, 4.0]})),
        (changed_outside, (X,)),
        (changed_inside, (X,)),
    ],
)
def test_is_compiled(function, arguments):
    outcomes = [outcome for outcome, _ in reports(agree(function, *arguments, mode="auto"))]
    assert outcomes
    assert set(outcomes) == {"compiled"}


def test_constants_are_what_they_are_at_the_call(monkeypatch):
    jitted = tj.jit(of_constants)
    assert jitted(X) == pytest.approx(of_constants(X))
    monkeypatch.setitem(globals(), "TABLE", [*TABLE])
    monkeypatch.setattr(Weights, "values", [1.0, 2.0, 3.0])
    for change in (
        lambda: TABLE.__setitem__(3, 7.0),
        lambda: monkeypatch.setitem(globals(), "ORDER", [9, 1, 2, 0]),
        lambda: monkeypatch.setattr(Weights, "values", [4.0, 5.0, 6.0]),
        lambda: Weights.values.__setitem__(1, 0.0),
    ):
        change()
        assert jitted(X) == pytest.approx(of_constants(X))


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1, 2]])
def test_an_index_out_of_range_is_an_error(weights):
    with pytest.raises(IndexError):
        tj.jit(of_an_argument)(X, weights)
