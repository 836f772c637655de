"""Invariants of the verifier that text cannot break, because the parser refuses such text first.

The others are text cases: tests/filetests/verify.
"""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.base.errors import TracejitError, VerificationError
from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import FLOAT64
from tracejit.ir.graph import Function, Instruction, Value
from tracejit.ir.registry import OPS
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify

TYPE = TensorType(FLOAT64, (3,))


def negation(operand: Value, result: Value) -> Instruction:
    return Instruction(OPS["neg"], (operand,), {}, (result,))


def test_invariant_1_operand_defined_later() -> None:
    x, y, z = Value(TYPE, "x"), Value(TYPE), Value(TYPE)
    with pytest.raises(VerificationError, match=r"operand 0 is not defined before its use") as caught:
        verify(Function("f", (x,), (negation(y, z), negation(x, y)), (z,)))
    assert "error: operand 0" in str(caught.value)
    assert "^^^" in str(caught.value)


def test_invariant_1_result_of_another_function() -> None:
    with pytest.raises(VerificationError, match="result 0 is not defined in this function"):
        verify(Function("f", (Value(TYPE, "x"),), (), (Value(TYPE),)))


def test_invariant_1_regions_see_no_outer_values() -> None:
    x, y, z = Value(TYPE, "x"), Value(TYPE), Value(TYPE)
    region = Function("r", (Value(TYPE, "p0"),), (negation(x, y),), (y,))
    fusion = Instruction(OPS["fusion"], (x,), {}, (z,), None, (region,))
    with pytest.raises(VerificationError, match="@r in neg: operand 0 is not defined"):
        verify(Function("f", (x,), (fusion,), (z,)))


def test_invariant_2_defined_twice() -> None:
    x, y = Value(TYPE, "x"), Value(TYPE)
    with pytest.raises(VerificationError, match="a result is defined already"):
        verify(Function("f", (x,), (negation(x, y), negation(x, y)), (y,)))
    with pytest.raises(VerificationError, match="a result is defined already"):
        verify(Function("f", (x,), (negation(x, x),), (x,)))
    with pytest.raises(VerificationError, match="a parameter is listed twice"):
        verify(Function("f", (x, x), (), (x,)))


def test_invariant_3_not_the_registrys_record() -> None:
    x, y = Value(TYPE, "x"), Value(TYPE)
    real = OPS["neg"]
    impostor = type(real)(real.name, real.kind, real.params, real.infer, real.eval, real.vjp, "another")
    with pytest.raises(VerificationError, match="not the registry's op"):
        verify(Function("f", (x,), (Instruction(impostor, (x,), {}, (y,)),), (y,)))


@pytest.mark.parametrize(
    "attrs",
    [
        {"value": 1.0, "shape": (-3,), "dtype": FLOAT64},
        {"value": 1.0, "shape": (2.0,), "dtype": FLOAT64},
        {"value": 1.0, "shape": (3,), "dtype": np.dtype("M8[s]")},
    ],
)
def test_creation_ops_check_their_types(attrs: dict[str, object]) -> None:
    """A type that no array has must not come into being."""
    with pytest.raises(TracejitError):
        Builder().full(**attrs)


def test_instructions_that_passed_are_not_checked_again() -> None:
    """Positions of instructions are checked again, whatever function they are in."""
    x, y, z = Value(TYPE, "x"), Value(TYPE), Value(TYPE)
    first, second = negation(x, y), negation(y, z)
    checked: set[Instruction] = set()
    verify(Function("f", (x,), (first, second), (z,)), checked)
    assert checked == {first, second}
    with pytest.raises(VerificationError, match=r"operand 0 is not defined before its use"):
        verify(Function("f", (x,), (second, first), (z,)), checked)
    with pytest.raises(VerificationError, match="a result is defined already"):
        verify(Function("f", (x,), (first, first), (y,)), checked)
    wrong = negation(x, Value(TensorType(FLOAT64, (4,))))
    with pytest.raises(VerificationError, match="result has type"):
        verify(Function("f", (x,), (first, wrong), (y,)), checked)
    assert wrong not in checked
