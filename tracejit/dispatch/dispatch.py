"""Dispatch: where an op on Tensors goes. Eagerly to its NumPy kernel, and onto the tape where an operand
requires a gradient; under a trace into the graph.

`apply` serves every op. `elementwise` generates the callables of elementwise ops, which do the same with
fewer steps, since small eager operations are bound by Python overhead, and become native functions where a
program runs many of them (`eager_functions`).
"""

from __future__ import annotations
import __future__

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Final

import numpy as np

from ..arguments.errors import checks_itself, explain
from ..arguments.giving_way import gives_way, refuse_opted_out
from ..base.errors import DomainError, DTypeError, ShapeError, TraceError, TracejitError
from ..base.loading import load_module
from ..ir.dtypes import NUMBERS
from ..ir.graph import Value
from ..ir.registry import OPS, Attrs, Kind, Op, check_attrs
from ..ir.types import TensorType
from ..provided import NUMPY_OPTIONS
from ..state import STATE
from ..tape.plans import GENERATED, functions_of
from ..tape.recording import record
from ..tape.views import ViewStep, note_copy, numpy_views, share, shares_memory
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.tracer import Tracer
from .eager_functions import ELEMENTWISE, EagerFunction

_ndarray = np.ndarray
_new = object.__new__
_SCALARS = NUMBERS
# globals, as looking up the member of an enumeration costs more than the comparison
_ELEMENTWISE, _VIEW, _LINALG = Kind.ELEMENTWISE, Kind.VIEW, Kind.LINALG


_SLICE, _RESHAPE, _STOP_GRADIENT = OPS["slice"], OPS["reshape"], OPS["stop_gradient"]


def operand(value: Any) -> Any:
    """The kernel operand for a value that is not a Tensor: an array, or a Python number, which stays weak."""
    if type(value) in _SCALARS:
        return value
    if type(value) is not _ndarray:
        refuse_opted_out(value)
    return as_array(value)


def apply(op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
    """`op` on Tensors, arrays and (for elementwise ops) Python numbers; a Tensor, or a tuple of them."""
    if (
        op.kind is _LINALG and op.regions is not None
    ):  # one rule for all operands, and perhaps several results
        return load_module(".regions", __package__).apply_to_tensors(op, operands, attrs)
    tracer = STATE.tracer
    if tracer is not None:
        return _traced(tracer, op, operands, attrs)
    kind, tracked = op.kind, False
    arrays: list[Any] = []
    for tensor in operands:
        if type(tensor) is Tensor:
            array = tensor._data
            tracked = tracked or tensor._requires_grad
        else:
            array = operand(tensor)
        if type(array) is not _ndarray:
            if type(array) is Value:
                raise _leaked(op, array)
            if kind is not _ELEMENTWISE:
                array = np.asarray(array)
        arrays.append(array)
    if kind is not _ELEMENTWISE:
        _check(op, arrays, attrs)
        out = op.kernel(*arrays, **attrs)
    else:
        check_attrs(op, attrs)
        try:
            out = op.kernel(*arrays, **attrs)
        except (TypeError, ValueError, OverflowError) as error:
            raise _explained(op, arrays, error) from error
    if type(out) is not _ndarray:
        if isinstance(out, tuple):
            raise TracejitError(f"{op.name}: ops with several results are called as tj.ops.{op.name}")
        out = np.asarray(out)
    result = wrap(out)
    if tracked and out.dtype.kind in "fc" and STATE.recording:
        record(op, operands, attrs, result)
    if kind is _VIEW and type(operands[0]) is Tensor and shares_memory(out, operands[0]._data):
        share(operands[0], result, ViewStep(op, attrs))
    return result


#: Calls that passed the type rule: (op, operand types, attributes).
_CHECKED: set[Any] = set()
_CHECKED_LIMIT = 1 << 14


def _check(op: Op, arrays: Sequence[Any], attrs: Attrs) -> None:
    """Run the op's type rule, unless it has passed for just these types before."""
    if len(arrays) == 1:
        key: tuple[Any, ...] = (op, arrays[0].dtype, arrays[0].shape, *attrs.items())
    else:
        key = (op, *[(array.dtype, array.shape) for array in arrays], *attrs.items())
    if key in _CHECKED:
        return
    check_attrs(op, attrs)
    op.infer(tuple([TensorType(array.dtype, array.shape) for array in arrays]), attrs)
    if len(_CHECKED) >= _CHECKED_LIMIT:
        _CHECKED.clear()
    _CHECKED.add(key)


def _leaked(op: Op, value: Value) -> TraceError:
    return TraceError(
        f"{op.name}: a traced tensor of type {value.type} outlived its trace: it was stored outside the "
        "function while tracing. Return it instead"
    )


def _explained(op: Op, arrays: Sequence[Any], error: Exception) -> Exception:
    """NumPy's complaint in our words, with the operands' types."""
    if isinstance(error, TracejitError):
        return error
    for array in arrays:
        if isinstance(array, Value):
            return _leaked(op, array)
    types = ", ".join(
        f"Python {type(array).__name__}"
        if type(array) in _SCALARS
        else f"{array.dtype.name}{list(array.shape)}"
        for array in arrays
    )
    if "broadcast" in str(error):
        shapes = " and ".join(str(np.shape(array)) for array in arrays)
        return ShapeError(f"{op.name}: shapes {shapes} do not broadcast together")
    message = f"{op.name}: operands ({types}) do not fit: {error}"
    return DTypeError(message) if isinstance(error, TypeError) else DomainError(message)


def traced_element(tracer: Tracer, x: Tensor, slice_attrs: Attrs) -> Tensor:
    """The only element of a slice of `x`, as a tensor of rank 0 that does not follow writes to `x`."""
    if not (x._requires_grad or STATE.blocked):
        return wrap(tracer.element(x, slice_attrs))
    part = _traced(tracer, _SLICE, (x,), slice_attrs, follows=False)
    element: Tensor = _traced(tracer, _RESHAPE, (part,), {"shape": ()}, follows=False)
    return element


def _traced(tracer: Tracer, op: Op, operands: Sequence[Any], attrs: Attrs, *, follows: bool = True) -> Any:
    """`op` in the graph; where it is a view, the result follows writes to the operand if it `follows`."""
    for operand in operands:
        if type(operand) is not Tensor and type(operand) is not int:
            selection = _selection_in(operands)
            if selection is not None:
                return selection.apply_selected(op, operands, attrs)
            operands = tuple([tracer.symbolic(each) for each in operands])
            break
    if attrs or op.kind is not _ELEMENTWISE:
        value = tracer.run(op, operands, attrs)
    else:
        value = tracer.elementwise(op, tuple(operands))
    if isinstance(value, tuple):
        raise TracejitError(f"{op.name}: ops with several results are made by their own functions")
    if STATE.blocked and value.dtype.kind in "fc":
        value = tracer.run(_STOP_GRADIENT, (wrap(value),), {})
    result = wrap(value)
    for tensor in operands:
        if type(tensor) is Tensor and tensor._requires_grad:
            if STATE.recording and value.dtype.kind in "fc":
                record(op, operands, attrs, result)
            break
    if op.kind is _VIEW and follows and isinstance(operands[0], Tensor):
        if numpy_views(operands[0], op, attrs):
            share(operands[0], result, ViewStep(op, attrs))
        else:
            note_copy(operands[0], result)
    return result


def _selection_in(operands: Sequence[Any]) -> Any:
    """The first of `operands` that is what a traced mask selects, None without."""
    for operand in operands:
        if type(operand) not in _PLAIN_OPERANDS:
            if hasattr(operand, "apply_selected"):
                return operand
            refuse_opted_out(operand)
    return None


_PLAIN_OPERANDS: Final = frozenset((Tensor, np.ndarray, *NUMBERS))


def _with_options(
    call: Any, operands: tuple[Any, ...], out: Any, where: Any, dtype: Any, casting: Any
) -> Any:
    """An elementwise function with the options of NumPy's ufuncs, whose module loads at first use."""
    try:
        options = NUMPY_OPTIONS()
        return options.call_elementwise(call, operands, out, where, dtype, casting)
    except Exception as error:
        keywords = {"out": out, "where": where, "dtype": dtype, "casting": casting}
        explain(call.__name__, call, operands, keywords, error)
        raise


def elementwise(op: Op) -> Callable[..., Tensor]:
    """The callable of the elementwise `op`, generated from its operands: it takes them, and the options of
    NumPy's ufuncs. Its attribute ``eager`` is the eager function behind it."""
    scope: dict[str, Any] = {
        "NEW": _new, "STATE": STATE, "Tensor": Tensor, "__name__": __name__,
        "array_of": as_array if len(op.params) == 1 else operand, "asarray": np.asarray, "explain": explain,
        "explained": _explained, "ndarray": _ndarray, "op": op, "traced": _traced,
        "with_options": _with_options,
    }  # fmt: skip
    plain, method, call = functions_of(_elementwise_code(op.params), scope, "plain", "method", "call")
    OPS.follow_kernel(op, functools.partial(scope.__setitem__, "kernel"))
    function = ELEMENTWISE[op] = EagerFunction(op, plain)
    scope["remember"] = function.remember
    function.follow(functools.partial(scope.__setitem__, "run"))
    function.method = checks_itself(method)
    setattr(call, "eager", function)  # noqa: B010
    return checks_itself(call)


def operators(
    function: EagerFunction | Callable[..., Any], reflected: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The operator of Tensor that `function` of two operands is, and the one by which it serves another
    operand on the left. The former gives way to the method `reflected` of a user's class."""
    scope: dict[str, Any] = {"gives_way": gives_way, "TracejitError": TracejitError, "reflected": reflected}
    if isinstance(function, EagerFunction):
        function.follow(functools.partial(scope.__setitem__, "run"))
    else:
        scope["run"] = function
    forward, backward = functions_of(_OPERATORS, scope, "forward", "backward")
    return checks_itself(forward), checks_itself(backward)


_OPERATORS: Final = compile(
    """
def forward(x, y, /):
    try:
        return run(x, y)
    except TracejitError as error:
        if gives_way(error, y, reflected):
            return NotImplemented
        raise

def backward(x, y, /):
    return run(y, x)
""",
    GENERATED,
    "exec",
)


def product_of(multiply: EagerFunction) -> EagerFunction:
    """`multiply` as an operator: Python repeats a list, tuple or string that is multiplied by an integer of
    rank 0, as with NumPy's and Python's integers."""
    python = multiply.python

    def times(x: Any, y: Any, /) -> Any:
        for sequence, count in ((x, y), (y, x)):
            if type(sequence) in _SEQUENCES and not count.shape and count.dtype.kind in "iu":
                return NotImplemented
        return python(x, y)

    return EagerFunction(multiply.op, times)


_SEQUENCES: Final = frozenset([list, tuple, str, bytes])


@functools.cache
def _elementwise_code(params: tuple[str, ...]) -> CodeType:
    """The functions of an op of the operands `params`: ``plain`` runs its kernel, ``run`` is that or what is
    native, and ``call`` and ``method`` run it."""
    operands = "".join(f"{name}, " for name in params)
    declared = "".join(f"{name}: Any, " for name in params)
    arrays = "".join(f"{name}_array, " for name in params)
    convert = "; ".join(
        f"{name}_array = {name}._data if type({name}) is Tensor else array_of({name})" for name in params
    )
    tracked = " or ".join(f"(type({name}) is Tensor and {name}._requires_grad)" for name in params)
    source = f"""
def plain({operands}/):
    try:
        tracer = STATE.tracer
        if tracer is not None:
            return traced(tracer, op, ({operands}), {{}})
        {convert}
        try:
            out = kernel({arrays})
        except (TypeError, ValueError, OverflowError) as error:
            raise explained(op, ({arrays}), error) from error
        if type(out) is not ndarray:
            out = asarray(out)
        result = NEW(Tensor)
        result._data = out
        result._grad = result._node = result._memory = result._aliases = result._hooks = None
        result._requires_grad = False
        if ({tracked}) and out.dtype.kind in "fc":
            remember(result, {operands})
        return result
    except Exception as error:
        explain(call.__name__, call, ({operands}), {{}}, error, op.name)
        raise

def method({operands}/):
    return run({operands})

def call({declared}/, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None,
         order: Any = "K", subok: Any = True) -> Any:
    if out is None and where is True and dtype is None and casting is None:
        return run({operands})
    return with_options(call, ({operands}), out, where, dtype, casting)
"""
    code: CodeType = compile(source, GENERATED, "exec", _STRING_ANNOTATIONS)
    return code


#: Messages about arguments read annotations as text.
_STRING_ANNOTATIONS = __future__.annotations.compiler_flag
