"""Regions become the control flow that they stand for: each function is verified, compiled and run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import pytest

from tracejit.codegen.instrument.verifier import verify
from tracejit.codegen.llvm.compiler import emit_object, link_object
from tracejit.codegen.llvm.emitter import Reg, constant
from tracejit.codegen.llvm.function import text_of
from tracejit.codegen.llvm.loops import FunctionWriter

N = Reg("%n", "i64")
Body = Callable[[FunctionWriter], None]


def number(value: int) -> Reg:
    return constant(value, "i64")


def function(body: Body) -> Callable[[int], int]:
    """The function ``i64 f(i64 n)`` that `body` writes."""
    w = FunctionWriter()
    body(w)
    code = w.function("i64 @f(i64 %n)", "nounwind")
    verify(code)
    image, _ = emit_object(text_of([*w.declarations.values(), code]))
    library = link_object(image, ["f"])
    native = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["f"])

    def run(n: int) -> int:
        assert library is not None  # the code lives as long as it does
        return int(native(n))

    return run


def halvings(w: FunctionWriter) -> None:
    """Steps until n is at most 1, or a multiple of 5."""
    region = w.begin_while([N, number(0)])
    value, count = region.carried
    w.break_unless(region, w.gt(value, 1), [count])
    half = w.shr(value, 1)
    w.break_unless(region, w.ne(w.integer("srem", half, 5), 0), [w.sub(-1, count)])
    (steps,) = w.end_while(region, [half, w.add(count, 1)])
    w.ret(steps)


@pytest.mark.parametrize(
    ("n", "steps"), [(-3, 0), (1, 0), (2, 1), (64, 6), (41, -1), (20, -1), (10, -1), (82, -2), (1 << 40, 40)]
)
def test_a_loop_with_two_ways_out(n: int, steps: int) -> None:
    assert function(halvings)(n) == steps


def test_a_loop_with_two_ways_to_the_next_step() -> None:
    """Even numbers count for 10, odd ones for 1."""

    def counted(w: FunctionWriter) -> None:
        region = w.begin_while([number(0), number(0)])
        index, total = region.carried
        w.break_unless(region, w.lt(index, N))
        following = w.add(index, 1)
        even = w.eq(w.and_(index, 1), 0)
        w.continue_unless(region, even, [following, w.add(total, 1)])
        w.end_while(region, [following, w.add(total, 10)])
        w.ret(total)

    run = function(counted)
    assert [run(n) for n in (-1, 0, 1, 2, 7)] == [0, 0, 10, 11, 43]


def test_a_choice_by_a_number() -> None:
    """Numbers without a part have the last one."""

    def chosen(w: FunctionWriter) -> None:
        parts: list[Callable[[], Sequence[Reg]]] = [
            lambda: [w.add(N, 100)],
            lambda: w.loop(0, 4, 1, lambda i, state: [w.add(state[0], i)], [N]),
            lambda: [w.sub(0, N)],
        ]
        w.ret(*w.one_of(N, parts))

    run = function(chosen)
    assert [run(n) for n in (0, 1, 2, 3, -1)] == [100, 7, -2, -3, 1]


def test_parts_may_leave_the_function() -> None:
    def left(w: FunctionWriter) -> None:
        def large() -> list[Reg]:
            w.when(w.gt(N, 1000), lambda: w.ret(number(-1)))
            return [w.mul(N, 2)]

        (value,) = w.when(w.gt(N, 10), large, [N])
        w.one_of(w.eq(value, 7), [lambda: w.ret(number(-2)), lambda: None])
        failed = w.label("failed")
        w.exit_if(w.eq(value, 8), failed)
        w.exit_if(w.eq(value, 9), failed)
        w.ret(value)
        w.start(failed)
        w.ret(number(-3))

    run = function(left)
    assert [run(n) for n in (3, 7, 8, 9, 10, 11, 1000, 1001)] == [3, -2, -3, -3, 10, 22, 2000, -1]


def test_no_part_goes_on_without_the_values_that_others_bring() -> None:
    w = FunctionWriter()
    with pytest.raises(AssertionError, match="parts hand on 0 and 1 values"):
        w.one_of(w.eq(N, 0), [lambda: [N], lambda: None])
