"""Eager operations that NumPy has as a builtin function: ``tracejit_eager_call``.

A ``METH_FASTCALL`` function whose ``self`` is a bytes object with the address of a table (`CALL_TABLE`). Some
of its arguments are operands: Tensors, or Python numbers. It calls the table's `kernel` with their arrays and
the other arguments as they are, and wraps what comes back. Where an operand requires a gradient and the
result is floating it calls `remember` with the result and the arguments. Where the table has a `step`, what
is in the memory of the first argument is made its view, as `tracejit.eager.views.share` would, by the step
``(step, second argument)``. `second` says what the second argument must be: see `arguments`.

Everything else goes to `slow`, in the same call: operands that are no Tensors, what the kernel raises an
exception for (which says it in NumPy's words) or gives None for, and every call while a thread traces or
somebody looks at kernels.
"""

from __future__ import annotations

from typing import Annotated, Final

from ...interface import CALL_TABLE, EAGER_CALL, MOST_ARGUMENTS, SECOND
from ...llvm.emitter import Reg
from ..control import Exit
from ..functions import Int, Objects, native
from ..python_api import (
    array_from_scalar,
    clear_error,
    decref_all,
    error_matches,
    incref_all,
    is_subtype,
    requires_grad,
    vectorcall,
    wrap,
)
from ..structs import ARRAY, OBJECT, TENSOR, bytes_of, words
from ..writer import NativeWriter, Pointer
from .arguments import are_matrices, is_axis, is_axis_of_terms, is_key, is_shape
from .views import in_memory_of, share

CALL: Final = words(
    "call table", CALL_TABLE, kernel=OBJECT, slow=OBJECT, remember=OBJECT, step=OBJECT, shorten=OBJECT
)


@native(OBJECT, export=EAGER_CALL)
def eager_call(f: NativeWriter, self: Annotated[Pointer, bytes_of(CALL)], args: Objects, nargs: Int) -> None:
    """A call with `nargs` arguments."""
    table, raised = self["content"], f.returning(None)
    with f.attempt() as slow:
        slow.unless(is_in_use(f, table))
        slow.unless(f.below(nargs, MOST_ARGUMENTS))
        values = f.array(OBJECT, MOST_ARGUMENTS)
        tracked = _take_operands(f, table, args, nargs, values, slow)
        array = _result_of_kernel(f, table, values, nargs, slow)
        result = f.take(wrap(f, array), raised)
        with f.if_(f.not_(f.is_null(table["step"]))), f.if_(in_memory_of(f, array, args[0])):
            raised.unless(share(f, args[0], result, table["step"], args[1], table["shorten"]))
        descr = array["descr"]
        inexact = ("float32", "float64", "float16", "complex128", "complex64")
        floating = f.any_(*[f.is_object(descr, name) for name in inexact])
        with f.if_(f.all_(tracked, floating, f.not_(f.is_null(table["remember"])))):
            values[0] = result
            with f.for_(nargs) as i:
                values[f.add(i, 1)] = args[i]
            f.take(vectorcall(f, table["remember"], values, f.add(nargs, 1), None), raised)
        f.ret(result)
    f.ret(vectorcall(f, table["slow"], args, nargs, None))


def is_in_use(f: NativeWriter, table: Pointer) -> Reg:
    """Whether the function of an eager table works: it is switched on, and nobody traces or looks."""
    bypass = f.global_("tracejit_bypass", "i64").value
    return f.and_(f.eq(bypass, 0), f.ne(table["on"], 0))


def _take_operands(
    f: NativeWriter, table: Pointer, args: Pointer, nargs: Reg, values: Pointer, slow: Exit
) -> Reg:
    """Put the arguments into `values`, arrays for Tensors; whether a Tensor requires a gradient."""
    first, operands, second = (table[name] for name in ("first", "operands", "second"))
    stop = f.select(f.eq(operands, 0), nargs, f.add(first, operands))
    slow.unless(f.le(stop, nargs))
    slow.unless(f.or_(f.eq(second, SECOND["any"]), f.ge(nargs, 2)))
    f.switch(
        second,
        {
            SECOND["key"]: lambda: slow.unless(is_key(f, args[1])),
            SECOND["shape"]: lambda: slow.unless(is_shape(f, args[1])),
        },
    )
    tracked = f.variable("bool", False)
    with f.for_(nargs) as i:
        value = args[i]
        values[i] = value
        f.next_turn.unless(f.and_(f.ge(i, first), f.lt(i, stop)))
        with f.if_(f.is_type(value, "Tensor")):
            data = value.as_(TENSOR)["data"]
            slow.when(f.is_null(data))
            slow.unless(f.is_type(data, "ndarray"))
            values[i] = data
            tracked.value = f.or_(tracked.value, requires_grad(f, value))
            f.else_()
            slow.unless(f.or_(f.is_type(value, "float"), f.is_type(value, "int")))
    f.switch(
        second,
        {
            SECOND["terms"]: lambda: slow.unless(is_axis_of_terms(f, args[1], values[0])),
            SECOND["axis"]: lambda: slow.unless(is_axis(f, args[1], values[0])),
            SECOND["matrix"]: lambda: slow.unless(are_matrices(f, values[0], values[1])),
        },
    )
    result: Reg = tracked.value
    return result


def _result_of_kernel(f: NativeWriter, table: Pointer, values: Pointer, nargs: Reg, slow: Exit) -> Pointer:
    """What the kernel gives for `values`, as a new array."""
    # the kernel may run Python code, which may give the Tensors other arrays
    incref_all(f, values, nargs)
    outcome = vectorcall(f, table["kernel"], values, nargs, None)
    decref_all(f, values, 0, nargs)
    with f.if_(f.is_null(outcome)):
        f.returning(None).when(f.eq(error_matches(f, f.object_named("Exception")), 0))
        clear_error(f)
        slow.leave()
    array = f.variable(ARRAY, outcome)
    with f.if_(f.not_(f.is_type(outcome, "ndarray"))):
        f.own(outcome)
        slow.when(f.eq(is_subtype(f, outcome["type"], f.object_named("generic")), 0))
        array.value = array_from_scalar(f, outcome, None)
        f.returning(None).when(f.is_null(array.value))
    result: Pointer = array.value
    return result
