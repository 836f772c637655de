"""Small eager operations: a ``METH_FASTCALL`` function that runs NumPy's own inner loop.

Its ``self`` is a bytes object that holds the address of an op's table (`EAGER_TABLE`, then an `EAGER_LOOP`
for each dtype that it serves). It takes one or two Tensors or ndarrays, or one and a Python number, whose
arrays are contiguous, of one dtype, and of one shape or the one of rank 0. It makes the result's array, runs
over it the loop that the ufunc itself would run, and wraps it: the values are NumPy's to the bit, without the
ufunc's search for what to run. Where an operand requires a gradient it calls the table's `remember` to put
the result on the tape. Tables without `tensors` are for ndarrays, as backward passes have them, in and out.

Everything else goes to the table's `slow`, in the same call: other operands, large arrays, whatever sets a
floating-point flag (NumPy decides what a division by zero means), and every call while a thread traces or
somebody looks at kernels.
"""

from __future__ import annotations

from typing import Annotated, Final

from ...interface import EAGER, EAGER_LOOP, EAGER_TABLE, MOST_ELEMENTS
from ...llvm.emitter import Reg
from ..control import Exit
from ..functions import ImportedFunction, Int, Objects, native
from ..python_api import (
    check_memory,
    clear_error,
    empty_array,
    error_occurred,
    requires_grad,
    vectorcall,
    wrap,
)
from ..structs import ARRAY, BYTES, OBJECT, WORDS, CFunctionType, Inline, Items, bytes_of, words
from ..writer import NativeWriter, Pointer
from .calls import is_in_use
from .operands import array_of, elements, is_same_shape, read_number, row_of

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
        slow.unless(f.and_(is_in_use(f, table), f.eq(nargs, table["operands"])))
        tensors, unary = f.ne(table["tensors"], 0), f.eq(nargs, 1)
        x, y = args[0], f.variable(OBJECT, None)
        x_array, y_array = array_of(f, x, tensors), f.variable(ARRAY, None)
        with f.if_(f.not_(unary)):
            y.value = args[1]
            y_array.value = array_of(f, y.value, tensors)
        lead, x_goes_on, y_goes_on = _leading(f, x_array, y_array.value, slow)
        loop = row_of(f, table, table["loops"], "operand", lead["descr"], slow)
        count = f.variable("i64", elements(f, lead))
        slow.unless(f.le(count.value, MOST_ELEMENTS))

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
