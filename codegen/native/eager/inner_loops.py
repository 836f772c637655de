"""Small eager operations: ``METH_FASTCALL`` functions that run NumPy's own inner loop, or join Tensors.

The ``self`` of an op's function is a bytes object that holds the address of its table (`EAGER_TABLE`, then an
`EAGER_LOOP` for each dtype that it serves). It takes one or two Tensors or ndarrays, or one and a Python
number, whose arrays are contiguous, of one dtype, and of one shape or the one of rank 0. It makes the
result's array, runs over it the loop that the ufunc itself would run, and wraps it: the values are NumPy's to
the bit, without the ufunc's search for what to run. Where an operand requires a gradient it calls the table's
`remember` to put the result on the tape. Tables without `tensors` are for ndarrays, as backward passes have
them, in and out.

Everything else goes to the table's `slow`, in the same call: other operands, large arrays, whatever sets a
floating-point flag (NumPy decides what a division by zero means), and every call while a thread traces or
somebody looks at kernels.

``tracejit_eager_join(arrays, axis)`` is a function whose ``self`` is a bytes object with the address of a
table (`JOIN_TABLE`, then a `JOIN_KIND` for each dtype that it serves). `arrays` is a list or a tuple of
Tensors with contiguous arrays of one dtype and one shape, of any size along the axis unless the table says
that the axis is a new one. They are copied in blocks to a new array, which is wrapped. Where an operand
requires a gradient and the result is floating, it calls ``remember(result, axis, *operands)``, the axis
counted from the front.

Everything else goes to `slow`, in the same call. Making the Tensor may run Python code (a collection of
garbage), which may change the list, or give its Tensors other arrays. So everything is looked at before, to
know what to make, and once more while it is copied, when nothing else can run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from ....base.records import record
from ...interface import (
    EAGER,
    EAGER_JOIN,
    EAGER_LOOP,
    EAGER_TABLE,
    JOIN_KIND,
    JOIN_RANK,
    JOIN_TABLE,
    MAX_ELEMENTS,
    MAX_JOINED,
)
from ...llvm.emitter import Reg
from ..functions import Bytes, ImportedFunction, Int, Object, Objects, Words, native
from ..objects import check_memory, decref_all, incref_all, read_int
from ..pointers import Pointer
from ..python_api import clear_error, empty_array, error_occurred, new_long, vectorcall
from ..structs import (
    ARRAY,
    BYTES,
    LIST,
    OBJECT,
    OBJECTS,
    TUPLE,
    WORDS,
    CFunctionType,
    Inline,
    Items,
    bytes_of,
    words,
)
from ..tensors import requires_grad, wrap
from ..writer import Exit, NativeWriter
from .calls import is_bypassed
from .operands import array_of, elements, is_same_shape, read_number, row_of


@native()
def copy_blocks(f: NativeWriter, source: Bytes, target: Bytes, times: Int, block: Int, step: Int) -> None:
    """Copy `times` blocks of `block` bytes, which lie one behind the other, to places `step` bytes apart."""

    def copy_each(dtype: str = "") -> None:
        with f.for_(times) as i:
            place, value = target.at(f.mul(i, step)), source.at(f.mul(i, block))
            if dtype:  # blocks of one element: between two of them there is no call
                f.store_unaligned(f.load_unaligned(value, dtype), place)
            else:
                f.copy(place.text, value.text, block)
        f.ret()

    f.switch(block, {8: lambda: copy_each("i64"), 4: lambda: copy_each("i32")})
    copy_each()


KIND: Final = words("kind", JOIN_KIND, descr=OBJECT)
JOIN: Final = words("join table", JOIN_TABLE, slow=OBJECT, remember=OBJECT).extended(
    "join table", {"rows": (8 * len(JOIN_TABLE), Inline(Items(KIND, rows=True)))}
)


@native(OBJECTS)
def items_of(f: NativeWriter, object_: Object, count: Words) -> None:
    """The items of a list or tuple, and how many there are at `count`; null for other objects."""
    with f.if_(f.is_type(object_, "tuple")):
        count.value = object_.as_(TUPLE)["size"]
        f.ret(object_.as_(TUPLE)["items"])
    f.returning(None).unless(f.is_type(object_, "list"))
    count.value = object_.as_(LIST)["size"]
    f.ret(object_.as_(LIST)["items"])


@native(ARRAY)
def joinable(f: NativeWriter, item: Object, descr: Object, rank: Int, sizes: Words, free: Int) -> None:
    """The array of `item` where that is a Tensor with a contiguous one of `descr` and of these sizes, but
    for that of the axis `free` (-1: none), which is a small one. Else null."""
    no = f.returning(None)
    no.when(f.is_null(item))
    no.unless(f.is_type(item, "Tensor"))
    array = array_of(f, item, True)
    no.when(f.is_null(array))
    no.unless(f.and_(f.eq(array["descr"], descr), f.eq(f.cast(array["rank"], "i64"), rank)))
    with f.for_(rank) as axis:
        size = array["sizes"][axis]
        small, equal = f.le(size, MAX_ELEMENTS), f.eq(size, sizes[axis])
        no.unless(f.select(f.eq(axis, free), small, equal))
    f.ret(array)


@record
class _Join:
    """Inputs of a join: a list or tuple of `count` Tensors alike, and the axis whose sizes may differ."""

    arrays: Pointer
    count: Reg
    descr: Pointer
    rank: Reg
    sizes: Pointer
    free: Reg

    def visit(
        self, f: NativeWriter, misfit: Exit, use: Callable[[Reg, Pointer, Pointer, Reg, Reg], None]
    ) -> tuple[Reg, Reg]:
        """Write ``use(i, item, array, start, size)`` for each item; the sum of their sizes along the axis,
        and whether one requires a gradient."""
        now, total, tracked = f.variable("i64"), f.variable("i64", 0), f.variable("bool", False)
        items = items_of(f, self.arrays, now)
        misfit.when(f.is_null(items))
        misfit.unless(f.eq(now.value, self.count))
        with f.for_(self.count) as i:
            item = items[i]
            array = joinable(f, item, self.descr, self.rank, self.sizes, self.free)
            misfit.when(f.is_null(array))
            tracked.value = f.or_(tracked.value, requires_grad(f, item))
            size = f.variable("i64", 1)
            with f.if_(f.ge(self.free, 0)):
                size.value = array["sizes"][self.free]
            use(i, item, array, total.value, size.value)
            total.value = f.add(total.value, size.value)
        return total.value, tracked.value


@native(OBJECT, export=EAGER_JOIN)
def eager_join(f: NativeWriter, self: Annotated[Pointer, bytes_of(JOIN)], args: Objects, nargs: Int) -> None:
    """A call with a list or tuple, and an axis."""
    table = self["content"]
    with f.attempt() as slow:
        slow.unless(f.and_(f.not_(is_bypassed(f)), f.eq(nargs, 2)))
        place, count = f.variable("i64"), f.variable("i64")
        slow.unless(read_int(f, args[1], place))
        items = items_of(f, args[0], count)
        slow.when(f.is_null(items))
        slow.unless(f.below(f.sub(count.value, 1), MAX_JOINED))
        slow.when(f.is_null(items[0]))
        slow.unless(f.is_type(items[0], "Tensor"))
        lead = array_of(f, items[0], True)
        slow.when(f.is_null(lead))
        descr = lead["descr"]
        kind = row_of(f, table, table["kinds"], "descr", descr, slow)

        stacking, rank = table["stacking"], f.cast(lead["rank"], "i64")
        result_rank = f.add(rank, stacking)
        slow.unless(f.below(f.sub(result_rank, 1), JOIN_RANK))
        # an axis below 0 counts from the end
        axis = f.select(f.lt(place.value, 0), f.add(place.value, result_rank), place.value)
        slow.unless(f.below(axis, result_rank))
        free = f.select(f.ne(stacking, 0), -1, axis)
        sizes = f.array("i64", JOIN_RANK)
        before, behind = _extents(f, lead, rank, sizes, axis, free, slow)
        join = _Join(args[0], count.value, descr, rank, sizes, free)
        total, _ = join.visit(f, slow, lambda *_: None)
        # at most MAX_JOINED sizes of MAX_ELEMENTS: no product overflows
        slow.unless(f.le(f.mul(f.mul(before, behind), total), MAX_ELEMENTS))

        shape = f.array("i64", JOIN_RANK)
        with f.for_(result_rank) as i, f.if_(f.eq(i, axis)):
            shape[i] = total
            f.else_()
            shape[i] = sizes[f.sub(i, f.select(f.gt(i, axis), stacking, 0))]
        new = empty_array(f, f.cast(result_rank, "i32"), shape, f.incref(descr), 0)
        array = check_memory(f, new, slow)
        data = array["data"]
        # other Python code may run now; it cannot see the new array before there is the Tensor
        result = check_memory(f, wrap(f, f.give(array)), slow)
        recorded = f.array(OBJECT, MAX_JOINED + 2)
        nbytes = f.mul(behind, kind["bytes"])

        def copy(i: Reg, item: Pointer, array: Pointer, start: Reg, size: Reg) -> None:
            slow.unless(f.le(f.add(start, size), total))
            target, block = data.at(f.mul(start, nbytes)), f.mul(size, nbytes)
            copy_blocks(f, array["data"], target, before, block, f.mul(total, nbytes))
            recorded[f.add(i, 2)] = item

        copied, tracked = join.visit(f, slow, copy)
        slow.unless(f.eq(copied, total))
        with f.if_(f.and_(f.ne(kind["floating"], 0), tracked)):
            _record(f, table, axis, result, recorded, count.value)
        f.ret(result)
    f.ret(vectorcall(f, table["slow"], args, nargs, None))


def _extents(
    f: NativeWriter, lead: Pointer, rank: Reg, sizes: Pointer, axis: Reg, free: Reg, slow: Exit
) -> tuple[Reg, Reg]:
    """Numbers of elements before the axis and behind it; fills in `sizes`. Each factor is at most
    MAX_ELEMENTS, and so is each product that goes on."""
    before, behind = f.variable("i64", 1), f.variable("i64", 1)
    with f.for_(rank) as i:
        size = lead["sizes"][i]
        sizes[i] = size
        slow.unless(f.le(size, MAX_ELEMENTS))
        with f.if_(f.lt(i, axis)):
            before.value = f.mul(before.value, size)
            f.else_()
            behind.value = f.mul(behind.value, f.select(f.eq(i, free), 1, size))
        slow.unless(f.and_(f.le(before.value, MAX_ELEMENTS), f.le(behind.value, MAX_ELEMENTS)))
    return before.value, behind.value


def _record(
    f: NativeWriter, table: Pointer, axis: Reg, result: Pointer, recorded: Pointer, count: Reg
) -> None:
    """Put the join on the tape; `recorded` has room for the result and the axis before the operands."""
    operands = recorded.at(2)
    # a list may let go of its items before they are taken
    incref_all(f, operands, count)
    f.defer(lambda: decref_all(f, operands, 0, count))
    raised = f.returning(None)
    recorded[0], recorded[1] = result, f.take(new_long(f, axis), raised)
    f.take(vectorcall(f, table["remember"], recorded, f.add(count, 2), None), raised)


_LOOP_FUNCTION: Final = CFunctionType(None, (Items(BYTES), WORDS, WORDS, BYTES))
LOOP: Final = words("loop", EAGER_LOOP, operand=OBJECT, result=OBJECT, function=_LOOP_FUNCTION, data=BYTES)
OP: Final = words("op table", EAGER_TABLE, slow=OBJECT, remember=OBJECT).extended(
    "op table", {"rows": (8 * len(EAGER_TABLE), Inline(Items(LOOP, rows=True)))}
)
#: Tests floating-point exceptions, and clears them.
_raised_flags = ImportedFunction("fetestexcept", "i32", "i32")
_clear_flags = ImportedFunction("feclearexcept", "i32", "i32")


@native(OBJECT, export=EAGER)
def eager_op(f: NativeWriter, self: Annotated[Pointer, bytes_of(OP)], args: Objects, nargs: Int) -> None:
    """An op of one operand or two."""
    table, flags = self["content"], f.module.numbers["flags"]
    with f.attempt() as slow:
        slow.unless(f.and_(f.not_(is_bypassed(f)), f.eq(nargs, table["operands"])))
        tensors, unary = f.ne(table["tensors"], 0), f.eq(nargs, 1)
        x, y = args[0], f.variable(OBJECT, None)
        x_array, y_array = array_of(f, x, tensors), f.variable(ARRAY, None)
        with f.if_(f.not_(unary)):
            y.value = args[1]
            y_array.value = array_of(f, y.value, tensors)
        lead, x_goes_on, y_goes_on = _leading(f, x_array, y_array.value, slow)
        loop = row_of(f, table, table["loops"], "operand", lead["descr"], slow)
        count = f.variable("i64", elements(f, lead))
        slow.unless(f.le(count.value, MAX_ELEMENTS))

        with f.if_(f.ne(_raised_flags(f, flags), 0)):
            _clear_flags(f, flags)
        data, steps = f.array(BYTES, 3), f.array("i64", 3)
        _place(f, data, steps, 0, (x, x_array, x_goes_on), loop, slow)
        with f.if_(f.not_(unary)):
            _place(f, data, steps, 1, (y.value, y_array.value, y_goes_on), loop, slow)
        new = empty_array(f, lead["rank"], lead["sizes"], f.incref(loop["result"]), 0)
        array = check_memory(f, new, slow)
        data[nargs], steps[nargs] = array["data"], loop["result_bytes"]
        f.invoke_at(loop["function"], data, count, steps, loop["data"])
        slow.unless(f.eq(_raised_flags(f, flags), 0))
        with f.if_(f.not_(f.is_null(error_occurred(f)))):
            clear_error(f)
            slow.leave()
        with f.if_(f.not_(tensors)):
            f.ret(array)

        # from here on other Python code may run: nothing of the operands' arrays is read again
        tensor = check_memory(f, wrap(f, f.give(array)), slow)
        tracked = f.variable("bool", False)
        with f.if_(f.ne(loop["gradients"], 0)):
            for value, operand_array in ((x, x_array), (y.value, y_array.value)):
                with f.if_(f.not_(f.is_null(operand_array))), f.if_(f.is_type(value, "Tensor")):
                    tracked.value = f.or_(tracked.value, requires_grad(f, value))
        with f.if_(tracked.value):
            recorded = f.array(OBJECT, 3)
            recorded[0], recorded[1], recorded[2] = tensor, x, y.value
            f.take(vectorcall(f, table["remember"], recorded, f.add(nargs, 1), None), f.returning(None))
        f.ret(tensor)
    f.ret(vectorcall(f, table["slow"], args, nargs, None))


def _leading(f: NativeWriter, x: Pointer, y: Pointer, slow: Exit) -> tuple[Pointer, Reg, Reg]:
    """The operand that gives dtype and shape, and whether each of them goes on from element to element; null
    pointers are numbers, or not there."""
    has_x, has_y = f.not_(f.is_null(x)), f.not_(f.is_null(y))
    lead = f.variable(ARRAY, f.select(has_x, x, y))
    x_goes_on, y_goes_on = f.variable("bool", has_x), f.variable("bool", has_y)
    with f.if_(f.and_(has_x, has_y)):
        slow.unless(f.eq(x["descr"], y["descr"]))
        with f.if_(f.not_(is_same_shape(f, x, y))):
            is_scalar = f.eq(x["rank"], 0)
            slow.unless(f.or_(is_scalar, f.eq(y["rank"], 0)))
            lead.value = f.select(is_scalar, y, x)
            x_goes_on.value, y_goes_on.value = f.not_(is_scalar), is_scalar
    slow.when(f.is_null(lead.value))
    return lead.value, x_goes_on.value, y_goes_on.value


def _place(
    f: NativeWriter,
    data: Pointer,
    steps: Pointer,
    position: int,
    operand: tuple[Pointer, Pointer, Reg],
    loop: Pointer,
    slow: Exit,
) -> None:
    """Say where the loop finds an operand: an array, or a number on the stack."""
    value, array, goes_on = operand
    steps[position] = f.select(goes_on, loop["operand_bytes"], 0)
    with f.if_(f.is_null(array)):
        number = f.array("i64", 1)
        slow.unless(read_number(f, value, loop["numbers"], number))
        data[position] = number
        f.else_()
        data[position] = array["data"]
