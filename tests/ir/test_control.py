"""Control flow ops: interpreter against native code, through every pass, in registers and over memory."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.ir.graph import Function
from tracejit.ir.passes import PIPELINE, apply_pass
from tracejit.ir.text.parser import parse_function
from tracejit.ir.transforms.differentiation import gradient, split_pullback
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from ..support import Array, check_round_trip, interpret, native

SIZES = (3, 50)

SWITCH = """
func @f(%i: i64[], %x: f64[N], %y: f64[N]) -> (f64[N], f64[]) {
  %0: f64[N], %1: f64[] = switch(%i, %x, %y) @a(%x: f64[N], %y: f64[N]) -> (f64[N], f64[]) {
    %0: f64[] = sum(%y) {axes=[0]}
    return %x, %0
  } @b(%x: f64[N], %y: f64[N]) -> (f64[N], f64[]) {
    %0: f64[N] = mul(%x, %y)
    %1: f64[N] = exp(%0)
    %2: f64[] = sum(%1) {axes=[0]}
    return %1, %2
  } @c(%x: f64[N], %y: f64[N]) -> (f64[N], f64[]) {
    %0: f64[] = full() {value=2.5, shape=[], dtype=f64}
    %1: f64[N] = broadcast(%0) {shape=[N]}
    return %1, %0
  }
  return %0, %1
}
"""

#: Carries that change places, stay, are constants, or come out twice; results that are parameters.
SCAN = """
func @f(%x: f64[N], %y: f64[N], %w: f64[N], %xs: f64[7,N])
    -> (f64[N], f64[N], f64[N], f64[7,N], f64[7], f64[7,N]) {
  %0: f64[N], %1: f64[N], %2: f64[N], %3: f64[7,N], %4: f64[7], %5: f64[7,N] = scan(%x, %y, %w, %w, %xs)
      {carries=3, slices=1, length=7, reverse=REVERSE}
      @body(%a: f64[N], %b: f64[N], %c: f64[N], %w: f64[N], %v: f64[N])
      -> (f64[N], f64[N], f64[N], f64[N], f64[], f64[N]) {
    %0: f64[N] = mul(%a, %w)
    %1: f64[N] = add(%0, %v)
    %2: f64[] = sum(%1) {axes=[0]}
    return %b, %1, %c, %1, %2, %v
  }
  return %0, %1, %2, %3, %4, %5
}
"""

WHILE = """
func @f(%n: i64[], %x: f64[N], %w: f64[N]) -> (i64[], f64[N]) {
  %0: i64[] = full() {value=0, shape=[], dtype=i64}
  %1: i64[], %2: f64[N] = while(%0, %x, %n, %w) {carries=2}
      @condition(%i: i64[], %a: f64[N], %n: i64[], %w: f64[N]) -> bool[] {
    %0: bool[] = lt(%i, %n)
    return %0
  } @body(%i: i64[], %a: f64[N], %n: i64[], %w: f64[N]) -> (i64[], f64[N]) {
    %0: i64[] = full() {value=1, shape=[], dtype=i64}
    %1: i64[] = add(%i, %0)
    %2: f64[N] = mul(%a, %w)
    %3: f64[N] = sin(%2)
    return %1, %3
  }
  return %1, %2
}
"""


def parsed(text: str, size: int, *, reverse: bool = False) -> Function:
    function = parse_function(text.replace("N", str(size)).replace("REVERSE", str(reverse).lower()))
    verify(function)
    return check_round_trip(function)


def agree(function: Function, arrays: list[Array]) -> None:
    """Native code and each stage of the pipeline give what the interpreter gives."""
    expected = interpret(function, arrays)
    stage = function
    for pass_ in PIPELINE:
        stage = apply_pass(pass_, stage)
        verify(stage)
        for got, want in zip(interpret(stage, arrays), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13, err_msg=pass_.name)
    for got, want in zip(native(function, arrays), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12)


def values(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("index", [-(2**63), -1, 0, 1, 2, 3, 2**63 - 1])
def test_switch(size: int, index: int) -> None:
    function = parsed(SWITCH, size)
    arrays = [np.array(index), *values((size,), (size,))]
    agree(function, arrays)
    chosen = interpret(function, arrays)[1]
    x, y = arrays[1:]
    expected = [y.sum(), np.exp(x * y).sum(), 2.5][min(max(index, 0), 2)]
    np.testing.assert_allclose(chosen, expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(size: int, reverse: bool) -> None:
    function = parsed(SCAN, size, reverse=reverse)
    x, y, w, xs = arrays = values((size,), (size,), (size,), (7, size))
    agree(function, arrays)
    stack = np.zeros((7, size))
    a, b = x, y
    for step in reversed(range(7)) if reverse else range(7):
        stack[step] = a * w + xs[step]
        a, b = b, stack[step]
    results = native(function, arrays)
    for got, want in zip(results, [a, b, w, stack, stack.sum(axis=1), xs], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("steps", [-1, 0, 1, 2, 9])
def test_while(size: int, steps: int) -> None:
    function = parsed(WHILE, size)
    arrays = [np.array(steps), *values((size,), (size,))]
    agree(function, arrays)
    value = arrays[1]
    for _ in range(steps):
        value = np.sin(value * arrays[2])
    np.testing.assert_allclose(native(function, arrays)[1], value, rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_gradient_splits_where_cotangents_come_in(size: int) -> None:
    """The forward part is extended by what the backward part reads, and nothing is computed twice."""
    function = parsed(SCAN, size)
    arrays = values((size,), (size,), (size,), (7, size))
    split = split_pullback(function, (0, 1, 2, 3))
    verify(split.forward)
    verify(split.backward)
    assert [instruction.op.name for instruction in split.forward.body] == ["scan"]
    outcome = native(split.forward, arrays)
    cotangents = [np.cos(result) for result in outcome[: split.outputs]]
    gradients = native(split.backward, [*outcome[split.outputs :], *cotangents])
    way = values((size,), (size,), (size,), (7, size))[::-1]
    directions = [np.resize(value, array.shape) for value, array in zip(way, arrays, strict=True)]
    eps = 1e-6

    def moved(step: float) -> list[Array]:
        return interpret(function, [array + step * d for array, d in zip(arrays, directions, strict=True)])

    slope = sum(
        float((ct * (p - m)).sum()) / (2 * eps)
        for ct, p, m in zip(cotangents, moved(eps), moved(-eps), strict=True)
    )
    mine = sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(mine, slope, rtol=1e-7)


def test_gradient_with_an_integer_carry() -> None:
    text = """
    func @f(%x: f64[]) -> f64[] {
      %0: i64[] = full() {value=1, shape=[], dtype=i64}
      %1: i64[], %2: f64[] = scan(%0, %x) {carries=2, slices=0, length=4, reverse=false}
          @body(%i: i64[], %a: f64[]) -> (i64[], f64[]) {
        %0: i64[] = add(%i, %i)
        %1: f64[] = cast(%i) {dtype=f64}
        %2: f64[] = mul(%a, %1)
        return %0, %2
      }
      return %2
    }
    """
    derived = gradient(parse_function(text), [0])
    for run in (interpret, native):
        assert [float(result) for result in run(derived, [np.array(3.0)])] == [3.0 * 64, 64.0]


@pytest.mark.parametrize("size", SIZES)
def test_code_does_not_grow_with_the_steps(size: int) -> None:
    text = """
    func @f(%x: f64[N]) -> f64[N] {
      %0: f64[N] = scan(%x) {carries=1, slices=0, length=L, reverse=false} @body(%a: f64[N]) -> f64[N] {
        %0: f64[N] = sin(%a)
        return %0
      }
      return %0
    }
    """
    texts = [
        Executable(parsed(text.replace("L", steps), size)).module.text
        for steps in ("100000000", "1000000000")
    ]
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())
