"""The writer of native code: control flow, exits, references that are owned, and checks of accesses."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tracejit.codegen.llvm.compiler import compile_module
from tracejit.codegen.llvm.emitter import constant
from tracejit.codegen.native.functions import Int, NativeFunction, Objects, native
from tracejit.codegen.native.module import NativeModule
from tracejit.codegen.native.pointers import Pointer
from tracejit.codegen.native.structs import OBJECT, Items, words
from tracejit.codegen.native.writer import NativeWriter


def compiled(function: NativeFunction) -> Callable[[int], int]:
    """A native function of one number."""
    library = compile_module(NativeModule().text(function), [function.name])
    _KEPT.append(library)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses[function.name])


_KEPT: list[Any] = []
PAIR = words("pair", ("first", "second"))


@native("i64")
def twice(f: NativeWriter, number: Int) -> None:
    """A number, doubled."""
    f.ret(f.mul(number, 2))


@native("i64", export="sum_of_odd")
def sum_of_odd(f: NativeWriter, count: Int) -> None:
    """Double the sum of the odd numbers below `count`, -1 where it would be above 100."""
    total = f.variable("i64", 0)
    with f.attempt() as too_large:
        with f.for_(count) as i:
            f.next_turn.when(f.eq(f.and_(i, 1), 0))
            total.value = f.add(total.value, i)
            too_large.when(f.gt(total.value, 50))
        f.ret(twice(f, total.value))
    f.ret(-1)


def test_loops_and_exits() -> None:
    run = compiled(sum_of_odd)
    assert [run(n) for n in (0, 1, 4, 10, 100)] == [0, 0, 8, 50, -1]


@native("i64", export="branches")
def branches(f: NativeWriter, number: Int) -> None:
    """A way through every kind of branch."""
    result, pair = f.variable("i64", 0), f.struct(PAIR)

    def seven() -> None:
        result.value = 70

    def eight() -> None:
        f.ret(80)

    f.switch(number, {7: seven, 8: eight})
    with f.if_(f.lt(number, 0)):
        result.value = -1
        f.else_()
        with f.if_(f.eq(number, 0)):
            f.ret(1)
    pair["first"], pair["second"] = result.value, number
    with f.repeat():
        f.out_of_loop.when(f.ge(pair["second"], 0))
        pair["second"] = f.add(pair["second"], 5)
    f.ret(f.add(pair["first"], pair["second"]))


def test_branches() -> None:
    run = compiled(branches)
    assert [run(n) for n in (7, 8, 0, 3, -7)] == [77, 80, 1, 3, 2]


LOG: list[int] = []
NOTE = ctypes.CFUNCTYPE(None, ctypes.c_int64)(LOG.append)


@native("i64", export="scopes")
def scopes(f: NativeWriter, way: Int) -> None:
    """Leaves its scopes in the way that has this number; what is noted tells what was undone."""

    def note(number: int) -> None:
        f.run("note", constant(number, "i64"))

    f.declare("note", "void @note(i64)")
    with f.attempt() as out:
        f.defer(lambda: note(1))
        with f.for_(2):
            f.defer(lambda: note(2))
            with f.if_(f.eq(way, 0)):
                f.defer(lambda: note(3))
                f.ret(10)
            out.when(f.eq(way, 1))
            f.next_turn.when(f.eq(way, 2))
            f.out_of_loop.when(f.eq(way, 3))
        kept = f.defer(lambda: note(4))
        with f.if_(f.eq(way, 4)):
            f.ret(20)
        f.cancel(kept)
        note(5)
    f.ret(30)


@pytest.mark.parametrize(
    ("way", "result", "undone"),
    [
        (0, 10, [3, 2, 1]),
        (1, 30, [2, 1]),
        (2, 30, [2, 2, 5, 1]),
        (3, 30, [2, 5, 1]),
        (4, 20, [2, 2, 4, 1]),
        (5, 30, [2, 2, 5, 1]),
    ],
)
def test_what_is_noted_is_undone_wherever_a_scope_is_left(way: int, result: int, undone: list[int]) -> None:
    imports = {"note": ctypes.cast(NOTE, ctypes.c_void_p).value or 0}
    library = compile_module(NativeModule().text(scopes), ["scopes"], imports)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["scopes"])
    LOG.clear()
    assert run(way) == result
    assert undone == LOG


def text_of(body: Callable[..., None], result: Any = OBJECT) -> str:
    return NativeModule().text(native(result, export="function")(body))


def test_a_result_is_not_given_back() -> None:
    def returned(f: NativeWriter, objects: Objects) -> None:
        value = f.own(f.incref(objects[0]))
        f.own(f.incref(objects[1]))
        f.ret(value)

    def given(f: NativeWriter, objects: Objects) -> None:
        objects[1] = f.give(f.own(f.incref(objects[0])))
        f.ret(None)

    assert text_of(returned).count("call void @Py_DecRef") == 1
    assert "Py_DecRef" not in text_of(given)


def test_what_cannot_be_reached_is_refused() -> None:
    def body(f: NativeWriter, number: Int) -> None:
        f.ret(number)
        f.ret(f.add(number, 1))

    with pytest.raises(AssertionError, match="cannot be reached"):
        text_of(body, "i64")


def test_a_function_without_a_result_is_refused() -> None:
    def body(f: NativeWriter, number: Int) -> None:
        f.add(number, 1)

    with pytest.raises(AssertionError, match="ends without a result"):
        text_of(body, "i64")


def test_values_have_types() -> None:
    def number_for_pointer(f: NativeWriter, objects: Objects) -> None:
        objects[0] = 3

    def wrong_width(f: NativeWriter, number: Int) -> None:
        f.variable("i32").value = number

    def no_field(f: NativeWriter, objects: Objects) -> None:
        objects["first"] = None

    for body, message in (
        (number_for_pointer, "gives a number"),
        (wrong_width, "i64 where i32"),
        (no_field, "no fields"),
    ):
        with pytest.raises(AssertionError, match=message):
            text_of(body, None)


CHECKED = """
import ctypes
import numpy
from tracejit.codegen.llvm.compiler import compile_module
from tracejit.codegen.native.functions import Int, native
from tracejit.codegen.native.module import NativeModule
from tracejit.codegen.native.structs import ARRAY, OBJECT

@native("i64", export="function")
def function(f, number: Int):
    BODY

fatal = ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value
drop = ctypes.cast(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p).value
subtype = ctypes.cast(ctypes.pythonapi.PyType_IsSubtype, ctypes.c_void_p).value
imports = {"Py_FatalError": fatal, "Py_DecRef": drop, "PyType_IsSubtype": subtype}
imports |= {"object_ndarray": id(numpy.ndarray), "object_tuple": id(tuple)}
library = compile_module(NativeModule(checked=True).text(function), ["function"], imports)
run = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["function"])
print(run(2))
run(3)
"""
WRONG = {
    "an item that is not there": 'f.array("i64", 3)[number] = 1; f.ret(number)',
    "field rank of a null pointer": (
        'place = f.array(OBJECT, 4); place[1] = f.object_named("ndarray"); place[3] = None\n'
        '    pointer = f.variable(OBJECT, place)\n'
        '    with f.if_(f.eq(number, 3)): pointer.value = None\n'
        '    f.ret(f.cast(pointer.value.as_(ARRAY)["rank"], "i64"))'
    ),
    "what is no ndarray": (
        'place = f.array(OBJECT, 4); place[1] = f.object_named("ndarray"); place[3] = None\n'
        '    pointer = f.variable(OBJECT, place)\n'
        '    with f.if_(f.eq(number, 3)): place[1] = f.object_named("tuple")\n'
        '    f.ret(f.cast(pointer.value.as_(ARRAY)["rank"], "i64"))'
    ),
    "a reference to an object that is gone": (
        'place = f.array("i64", 4); place[0] = f.sub(3, number); place[1] = 0\n'
        '    with f.if_(f.eq(number, 3)): f.decref(place.as_(OBJECT))\n'
        '    f.ret(number)'
    ),
}  # fmt: skip


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="it is about CPython")
@pytest.mark.parametrize("problem", WRONG)
def test_checked_modules_end_the_process(problem: str) -> None:
    code = CHECKED.replace("BODY", WRONG[problem])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.strip()
    assert ran.returncode != 0
    assert f"native code in function uses {problem}" in ran.stderr


def test_unchecked_modules_pay_nothing() -> None:
    def body(f: NativeWriter, number: Int) -> None:
        f.ret(f.array("i64", 3)[number])

    assert "Py_FatalError" not in text_of(body, "i64")


def test_structs_in_a_row() -> None:
    rows = Items(PAIR, rows=True)
    assert rows.nbytes == 16

    def body(f: NativeWriter, number: Int) -> None:
        pairs = f.array("i64", 4).as_(rows)
        pairs[1]["second"] = number
        assert isinstance(pairs[1], Pointer)
        f.ret(pairs.as_(Items("i64"))[3])

    assert compiled(native("i64", export="rows")(body))(7) == 7
