"""Operands of eager ops: Tensors with contiguous arrays, such arrays, and Python numbers. See
`inner_loops`."""

from __future__ import annotations

from ...interface import ARRAY_PLAIN, EAGER_NUMBERS
from ...llvm.emitter import Reg
from ..functions import Array, Bool, Int, Object, Words, native
from ..objects import read_int
from ..pointers import Pointer
from ..structs import ARRAY, FLOAT, OBJECT, TENSOR, Items
from ..writer import Exit, NativeWriter


@native(ARRAY)
def array_of(f: NativeWriter, value: Object, tensors: Bool) -> None:
    """The contiguous ndarray that `value` is, or with `tensors` may hold as a Tensor; else null."""
    no = f.returning(None)
    held = f.variable(OBJECT, value)
    with f.if_(f.and_(tensors, f.is_type(value, "Tensor"))):
        held.value = value.as_(TENSOR)["data"]
        no.when(f.is_null(held.value))
    no.unless(f.is_type(held.value, "ndarray"))
    array = held.value.as_(ARRAY)
    no.unless(f.eq(f.and_(array["flags"], ARRAY_PLAIN), ARRAY_PLAIN))
    f.ret(array)


@native("bool")
def is_same_shape(f: NativeWriter, a: Array, b: Array) -> None:
    """Whether two arrays have one shape."""
    no = f.returning(False)
    no.unless(f.eq(a["rank"], b["rank"]))
    sizes, others = a["sizes"], b["sizes"]
    with f.for_(f.cast(a["rank"], "i64")) as axis:
        no.unless(f.eq(sizes[axis], others[axis]))
    f.ret(True)


@native("i64")
def elements(f: NativeWriter, array: Array) -> None:
    """Number of elements of an array."""
    count, sizes = f.variable("i64", 1), array["sizes"]
    with f.for_(f.cast(array["rank"], "i64")) as axis:
        count.value = f.mul(count.value, sizes[axis])
    f.ret(count.value)


@native("bool")
def read_number(f: NativeWriter, value: Object, kind: Int, slot: Words) -> None:
    """Whether `value` is a Python number that fits the `kind` of operand; it is then at `slot`."""
    no = f.returning(False)
    number = f.variable("f64")

    def keep_int() -> None:
        f.ret(True)

    def keep_int32() -> None:
        word = slot.value
        short = f.cast(word, "i32")
        no.unless(f.eq(f.cast(short, "i64"), word))
        slot.as_(Items("i32")).value = short
        f.ret(True)

    def keep_double() -> None:
        slot.as_(Items("f64")).value = number.value
        f.ret(True)

    def keep_single() -> None:
        # NumPy warns of what float32 cannot hold
        single = f.cast(number.value, "f32")
        no.when(f.eq(f.abs(single), float("inf")))
        slot.as_(Items("f32")).value = single
        f.ret(True)

    with f.if_(f.is_type(value, "float")):
        number.value = value.as_(FLOAT)["value"]
        f.else_()
        no.unless(read_int(f, value, slot))
        f.switch(kind, {EAGER_NUMBERS["i64"]: keep_int, EAGER_NUMBERS["i32"]: keep_int32})
        # up to 2**53 a double holds it exactly
        no.unless(f.not_(f.below(2**54, f.add(slot.value, 2**53))))
        number.value = f.cast(slot.value, "f64")
    f.switch(kind, {EAGER_NUMBERS["f64"]: keep_double, EAGER_NUMBERS["f32"]: keep_single})
    f.ret(False)


def row_of(f: NativeWriter, table: Pointer, count: Reg, field: str, descr: Pointer, slow: Exit) -> Pointer:
    """The row of a table whose `field` is a dtype's descriptor; where there is none, leave."""
    rows = table["rows"]
    row = f.variable(rows.target.type)
    with f.attempt() as there:
        with f.for_(count) as i:
            row.value = rows[i]
            there.when(f.eq(row.value[field], descr))
        slow.leave()
    result: Pointer = row.value
    return result
