"""Joins small Tensors along an axis: ``tracejit_eager_join(arrays, axis)``.

A ``METH_FASTCALL`` function whose ``self`` is a bytes object with the address of a table (`JOIN_TABLE`, then
a `JOIN_KIND` for each dtype that it serves). `arrays` is a list or a tuple of Tensors with contiguous arrays
of one dtype and one shape, of any size along the axis unless the table says that the axis is a new one. They
are copied in blocks (`copies`) to a new array, which is wrapped. Where an operand requires a gradient and the
result is floating, it calls ``remember(result, axis, *operands)``, the axis counted from the front.

Everything else goes to `slow`, in the same call. Making the Tensor may run Python code (a collection of
garbage), which may change the list, or give its Tensors other arrays. So everything is looked at before, to
know what to make, and once more while it is copied, when nothing else can run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from ....ir.records import record
from ...interface import EAGER_JOIN, JOIN_KIND, JOIN_RANK, JOIN_TABLE, MOST_ELEMENTS, MOST_JOINED
from ...llvm.emitter import Reg
from ..control import Exit
from ..functions import Int, Object, Objects, Words, native
from ..python_api import (
    check_memory,
    decref_all,
    empty_array,
    incref_all,
    new_long,
    read_int,
    requires_grad,
    vectorcall,
    wrap,
)
from ..structs import ARRAY, LIST, OBJECT, OBJECTS, TUPLE, Inline, Items, bytes_of, words
from ..writer import NativeWriter, Pointer
from .calls import is_in_use
from .copies import copy_blocks
from .operands import array_of, row_of

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
        small, equal = f.le(size, MOST_ELEMENTS), f.eq(size, sizes[axis])
        no.unless(f.select(f.eq(axis, free), small, equal))
    f.ret(array)


@record
class _Join:
    """What is joined: a list or tuple of `count` Tensors alike, and the axis whose sizes may differ."""

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
        slow.unless(f.and_(is_in_use(f, table), f.eq(nargs, 2)))
        place, count = f.variable("i64"), f.variable("i64")
        slow.unless(read_int(f, args[1], place))
        items = items_of(f, args[0], count)
        slow.when(f.is_null(items))
        slow.unless(f.below(f.sub(count.value, 1), MOST_JOINED))
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
        # at most MOST_JOINED sizes of MOST_ELEMENTS: no product overflows
        slow.unless(f.le(f.mul(f.mul(before, behind), total), MOST_ELEMENTS))

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
        recorded = f.array(OBJECT, MOST_JOINED + 2)
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
    """How many elements there are before the axis and behind it; fills in `sizes`. Each factor is at most
    MOST_ELEMENTS, and so is each product that goes on."""
    before, behind = f.variable("i64", 1), f.variable("i64", 1)
    with f.for_(rank) as i:
        size = lead["sizes"][i]
        sizes[i] = size
        slow.unless(f.le(size, MOST_ELEMENTS))
        with f.if_(f.lt(i, axis)):
            before.value = f.mul(before.value, size)
            f.else_()
            behind.value = f.mul(behind.value, f.select(f.eq(i, free), 1, size))
        slow.unless(f.and_(f.le(before.value, MOST_ELEMENTS), f.le(behind.value, MOST_ELEMENTS)))
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
