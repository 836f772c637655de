"""Counts of the Python functions that a derivative of a small function calls: its cost in eager code."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tracejit as tj
import tracejit.compat.autograd.numpy as anp
from tracejit.compat.autograd import elementwise_grad, grad, make_vjp, value_and_grad
from tracejit.compat.autograd.extend import defvjp, primitive
from tracejit.dispatch.native_ops import load

X = np.array([1.0, 2.0, 0.5])


@primitive
def cube(x):
    return x**3


defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)

PULLBACK = make_vjp(lambda x: x - 0.05 * (x**2 - 2.0))(1.4)[0]

#: Functions, their arguments, and the most Python frames that a call may take. With calls that had a frame
#: for every path, default and container there were 140, 178, 165, 159, 336, 132 and 60.
CALLS = {
    "of a number": (grad(lambda x: x), (2.0,), 80),
    "of a vector": (grad(lambda x: anp.sum(anp.sin(x) * x)), (X,), 125),
    "with the value": (value_and_grad(lambda x: x * x), (2.0,), 120),
    "by elements": (elementwise_grad(anp.sin), (X,), 92),
    "of a primitive": (grad(lambda x: cube(x)), (2.0,), 122),
    "of a product": (PULLBACK, (np.float64(1.0),), 68),
    "roll": (lambda x: np.roll(x, 1, axis=0), (tj.tensor(X),), 24),
}


def frames(function, args):
    """Number of Python functions that a call of `function` enters."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", CALLS)
def test_frames(name):
    if problem := load():
        pytest.skip(problem)
    function, args, most = CALLS[name]
    for _ in range(3):
        function(*args)
    assert frames(function, args) <= most
