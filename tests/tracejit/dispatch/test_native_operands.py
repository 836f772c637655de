"""Native eager calls of what is no Tensor: each does what its Python function does, with the same errors."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.dispatch import native_ops
from tracejit.runtime.native.eager import eager_problem

from ...runtime.programs import python
from .native_calls import native_calls

if sys.implementation.name != "cpython" or sys.platform != "linux":
    pytest.skip("native code for eager ops is for CPython on Linux", allow_module_level=True)
assert not eager_problem()


class Number(float):
    """A number that is no float to native code."""


def operands() -> list[Any]:
    """Operands that a user may call an op with, each a new object."""
    return [
        0.5, -3, 2**70, True, 1j, float("nan"), None, "x", b"x", [], [1.0, 2.0], ((1, 2), (3, 4)), {}, object,
        Number(2.5), np.float32(1.5), np.int8(3), np.float64(2.5), np.array(2.5), np.ones((2, 3)),
        np.zeros((0, 3)), np.array(["a"]), np.array(None), slice(1), range(3), tj.float64,
        tj.tensor(1.5), tj.tensor([[1, 2]]), tj.tensor([[1.0, 2.0]], requires_grad=True),
    ]  # fmt: skip


#: Functions that call native code, each with what may follow its operand.
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "broadcast_to": [((2, 1),), (1,), ((3, 2, 3),), (-1,), ("x",)],
    "reshape": [((2, 1),), (-1,), ((),), ("x",)],
    "transpose": [(), (None,), ((1, 0),), ((),)],
    **{name: [()] for name in ("ravel", "copy", "matrix_transpose", "atleast_1d")},
    "squeeze": [(), (0,), ((),), ("x",)],
    "swapaxes": [(0, 1), (0, -1), (0.5, 1)],
    "moveaxis": [(0, 1), (0, 0)],
    "expand_dims": [(0,), ((0, 1),), (5,)],
    "flip": [(), (0,), ((),)],
    "diagonal": [(), (1,), (0, 1, 0)],
    "split": [(1,), (2,)],
    "roll": [(1,), (1, 0), ((1, 1), (0, 1))],
    "astype": [("f4",), ("O",)],
    **{
        name: [(), (None,), (0,), (5,), ("x",)]
        for name in ("sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin")
    },
    "take": [(0,), ([0, -1],), (tj.tensor([0, 1]), 0), (tj.tensor(7), 0)],
    "matmul": [(tj.tensor([[1.5], [2.5]]),), (tj.tensor([2.0, 1.0]),)],
    "where": [(tj.tensor([1.5, 2.5]), 0.5), (1, 2)],
}


def outcome(function: Any, arguments: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except Exception as error:
            return type(error), str(error)
    if not isinstance(result, tj.Tensor):
        return type(result), repr(result)
    data = result.detach().numpy()
    given = arguments[0]._data if isinstance(arguments[0], tj.Tensor) else arguments[0]
    shared = isinstance(given, np.ndarray) and np.shares_memory(data, given)
    messages = sorted(str(warning.message) for warning in seen)
    return data.tolist(), data.dtype, data.flags.writeable, result.requires_grad, shared, messages


@pytest.mark.parametrize("name", CALLS)
def test_operands_of_each_call(name: str) -> None:
    assert native_ops.load() == ""
    function = getattr(tj, name)
    for following in CALLS[name]:
        for native, plain in zip(operands(), operands(), strict=True):
            with native_calls(True):
                got = outcome(function, (native, *following))
            with native_calls(False):
                expected = outcome(function, (plain, *following))
            assert str(got) == str(expected), (native, following)


def test_numbers_have_no_views() -> None:
    """Memory beside a number, which is reused again and again here, is not read."""
    assert native_ops.load() == ""
    shows = (tj.broadcast_to, tj.reshape)
    for step in range(200):
        numbers = [step + place / 7 for place in range(50)]
        for number in numbers:
            for show in shows:
                assert show(number, (1, 1)).tolist() == [[number]]


CHECKED = """
from tests.tracejit.dispatch import test_native_calls, test_native_operands

for name in test_native_operands.CALLS:
    test_native_operands.test_operands_of_each_call(name)
for array in ("f64", "strided", "scalar"):
    test_native_calls.test_like_the_python_functions(array, False)
print("fine")
"""


def test_checked() -> None:
    """Objects that native code takes for a Tensor, an array or a tuple are of that type."""
    assert python(CHECKED, TRACEJIT_CHECK="1").strip() == "fine"
