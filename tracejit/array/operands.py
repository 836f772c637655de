"""Conversion of operands for array functions: to tensors, of one dtype, in one shape.

Relies on ``tracejit.dispatch`` and what that relies on, so that each other module of the package can build on
this one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.exceptions import ComplexWarning

from ..base.errors import DomainError, DTypeError, NestingError, NotNumbersError, ShapeError, TracejitError
from ..base.user_code import user_stacklevel
from ..dispatch.dispatch import apply
from ..ir.dtypes import (
    BOOL,
    NUMBERS,
    DType,
    Number,
    Operand,
    as_dtype,
    complex_dtype,
    default_dtype,
    describe,
    is_complex,
    is_differentiable,
    is_inexact,
    result_type,
    ufunc_types,
)
from ..ir.graph import Value
from ..ir.registry import OPS
from ..ir.types import Shape
from ..provided import NUMPY_OPTIONS
from ..state import STATE
from ..tape.recording import ForeignMemory
from ..tensors.python_values import is_of_python
from ..tensors.tensor import Array, Tensor, as_array, is_eager_scalar, noted_array, wrap

__all__ = ["write_out"]


def write_out(name: str, out: Any, result: Tensor) -> Tensor:
    """Write the `result` of the function `name` to `out`, and return that.

    The module that does it loads at first use, and imports the modules of the functions that call this.
    """
    options = NUMPY_OPTIONS()
    return options.write_out(name, out, result)  # type: ignore[no-any-return]


SCALARS = NUMBERS
#: Arrays up to this size become part of the program under a trace; larger ones are captured.
_CONSTANT_SIZE = 64


def run(name: str, *operands: Any, **attrs: Any) -> Tensor:
    """The op `name` on `operands`: eagerly, on the tape, or into the trace."""
    result: Tensor = apply(OPS[name], operands, attrs)
    return result


def candidate(x: Any, *, safe: bool = False) -> Any:
    """`x`, whose gradients know that they come of a choice, or of a `safe` one, where it may have
    gradients."""
    if not isinstance(x, Tensor):
        return x
    name = "safe_candidate" if safe else "candidate"
    if STATE.tracer is None:  # behind a leaf there is nothing
        return run(name, x) if x._requires_grad and x._node is not None and STATE.recording else x
    if not is_differentiable(x.dtype):
        return x
    marked = run(name, x)
    if type(kind_of(x)) is type:  # to promotion it stays a Python number
        STATE.tracer.mark_weak(marked._data)
    return marked


def choice(condition: Any, x: Any, y: Any) -> Tensor:
    """`x` where the user's `condition` holds, else `y`, with strong zeros in the gradients of both."""
    return run("where", condition, candidate(x), candidate(y))


def is_tracing() -> bool:
    """Whether operations go to a graph."""
    return STATE.tracer is not None


def is_scalar(x: Tensor) -> bool:
    """Whether `x` is an immutable scalar to Python code, as NumPy's are, and no array of rank 0."""
    if x.shape:
        return False
    return STATE.tracer.is_scalar(x) if isinstance(x._data, Value) else is_eager_scalar(x)


def given_as_array(x: Tensor, source: Any = None) -> Tensor:
    """`x`, the result of a function that gives arrays of rank 0, too, of its argument `source`: itself, or a
    copy of a scalar."""
    if x.shape or not is_scalar(x):
        return x
    if isinstance(x._data, Value):
        return _traced_array(x)
    return noted_array(run("copy", x) if x is source else x)


def _traced_array(x: Tensor, source: Tensor | None = None) -> Tensor:
    """The traced scalar `x` as an array, which it is where `source` is one."""
    x = another(x)
    STATE.tracer.note_array(x, source)
    return x


def given_as_scalar(x: Tensor) -> Tensor:
    """`x`, the result of a function that gives scalars where it has rank 0: then it shares no memory."""
    return x if x.shape or is_scalar(x) else another(x)


def given_as(source: Tensor, x: Tensor) -> Tensor:
    """`x`, which a method of `source` gives: an array of rank 0 where `source` is one, not a scalar."""
    if x.shape or source.shape:
        return x
    if is_scalar(source):
        return given_as_scalar(x)
    if isinstance(x._data, Value) and isinstance(source._data, Value) and is_scalar(x):
        return _traced_array(x, source)
    return given_as_array(x)


def another(x: Tensor) -> Tensor:
    """Another tensor with the value of `x`, in its place in the graph."""
    if not isinstance(x._data, Value):
        return run("copy", x)
    other = wrap(x._data)
    other._node, other._requires_grad = x._node, x._requires_grad
    return other


def as_number(x: Tensor) -> Tensor:
    """`x`; a Python bool that is traced as the integer that it is to Python's arithmetic."""
    is_bool = x.dtype is BOOL and isinstance(x, Tensor) and is_of_python(x._data)
    return wrap(STATE.tracer.as_number(x._data)) if is_bool else x


def as_given(source: Tensor, x: Tensor) -> Tensor:
    """`x`, which Python's function of the traced number `source` gives: a Python number where that is one."""
    if x is not source and isinstance(source, Tensor) and is_of_python(source._data):
        STATE.tracer.mark_weak(x._data)
    return x


def as_numpy_scalars(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    """`numbers` as a ufunc of NumPy's takes them: where all are Python's, as the scalars that it makes of
    them, so that what it gives is one, too."""
    if not all(is_of_python(x._data) if isinstance(x, Tensor) else type(x) in NUMBERS for x in numbers):
        return numbers
    tracer = STATE.tracer
    return tuple(wrap(tracer.numpy_scalar(x)) if isinstance(x, Tensor) else x for x in numbers)


def is_everywhere(where: Any) -> bool:
    """Whether the option ``where=`` selects all elements: None is the same as not given."""
    return where is True or where is None


def as_tensor(value: Any) -> Tensor:
    """`value` itself if it is a Tensor, else what it holds as one.

    Under a trace, arrays are captured by reference, and lists and numbers become constants.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and holds_tensors(value):
        return array_of_traced(value, None)
    tracer = STATE.tracer
    if tracer is None:
        tensor = wrap(as_array(value))
        if STATE.recording and isinstance(value, np.ndarray):
            tensor._memory = ForeignMemory((0,))
        return tensor
    if isinstance(value, np.ndarray):
        return wrap(tracer.lift(value))
    return constant_of(as_array(value))


def tensor_argument(name: str, value: Any, parameter: str = "x") -> Tensor:
    """`value` as a tensor, on behalf of the function `name`, whose errors name it and `parameter`."""
    try:
        return as_tensor(value)
    except TracejitError as error:
        if not str(error).startswith(f"{name}: "):
            error.args = (f"{name}: argument {parameter}: {error}", *error.args[1:])
        raise
    except RecursionError as error:
        raise NestingError(f"{name}: argument {parameter} is nested too deep, or contains itself") from error


def constant_of(array: Array) -> Tensor:
    """`array` as a tensor whose elements are fixed: under a trace a constant, or a capture when large."""
    tracer = STATE.tracer
    if tracer is None:
        return wrap(array)
    if array.ndim == 0:
        return run("full", value=array.item(), shape=(), dtype=array.dtype)
    if array.size <= _CONSTANT_SIZE:
        elements = tuple(array.ravel().tolist())
        return run("constant", data=elements, shape=array.shape, dtype=array.dtype)
    return wrap(tracer.lift(array))


def holds_tensors(data: Any) -> bool:
    """Whether nested lists `data` contain a Tensor."""
    if isinstance(data, (list, tuple)):
        return any(holds_tensors(item) for item in data)
    return isinstance(data, Tensor)


def array_of_traced(data: Any, dtype: Any) -> Tensor:
    """Nested lists that hold Tensors, stacked to one tensor that depends on them.

    Raises ShapeError where the nesting is ragged.
    """
    leaves: list[Any] = []
    _collect(data, leaves)
    common = as_dtype(dtype) if dtype is not None else result_type(*[_element_dtype(leaf) for leaf in leaves])
    return _stacked(data, common)


def _element_dtype(value: Any) -> DType:
    # in a nesting Python numbers are not weak, as for NumPy's array()
    return value.dtype if isinstance(value, Tensor) else as_array(value).dtype


def _collect(data: Any, leaves: list[Any]) -> None:
    if isinstance(data, (list, tuple)):
        for item in data:
            _collect(item, leaves)
    else:
        leaves.append(data)


def _stacked(data: Any, dtype: DType) -> Tensor:
    if not isinstance(data, (list, tuple)):
        if isinstance(data, Tensor):
            return cast(data, dtype, copy=True)
        return constant_of(as_array(data).astype(dtype))
    parts = [_stacked(item, dtype) for item in data]
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise ShapeError(f"tensor: ragged nesting, with parts of shapes {sorted(shapes)}")
    if not parts:
        return constant_of(np.empty(0, dtype))
    rows = [run("reshape", part, shape=(1, *part.shape)) for part in parts]
    return run("concat", *rows, axis=0)


def kind_of(value: Any) -> Operand:
    """The kind of `value` for type promotion: a dtype, or the type of a Python number, literal or
    argument."""
    if isinstance(value, Tensor):
        tracer = STATE.tracer
        if tracer is not None and isinstance(value._data, Value):
            kind: Operand = tracer.operand_kind(value._data)
            return kind
        return value.dtype
    if isinstance(value, bool) or type(value) not in SCALARS:
        strong: DType = as_array(value).dtype
        return strong
    weak: Operand = type(value)
    return weak


def cast(x: Tensor, dtype: DType, *, copy: bool = False) -> Tensor:
    """`x` in `dtype`; itself where it has that already, unless `copy`. Raises DTypeError rather than lose
    imaginary parts: see `converted`."""
    if is_complex(x.dtype) and not is_complex(dtype) and dtype is not BOOL:
        raise DTypeError(f"expected real numbers, got dtype {x.dtype.name}; take x.real, x.imag or abs(x)")
    return converted(x, dtype, copy=copy)


def converted(x: Tensor, dtype: DType, *, copy: bool = False) -> Tensor:
    """`x` in `dtype`; itself where it has that already, unless `copy`. Warns of lost imaginary parts."""
    if x.dtype is dtype:
        return run("copy", x) if copy else x
    warn_of_lost_parts(x.dtype, dtype)
    return run("cast", x, dtype=dtype)


_CASTINGS: Final = ("no", "equiv", "safe", "same_kind", "unsafe")


def cast_by(name: str, x: Tensor, dtype: DType, casting: Any) -> Tensor:
    """`x` in `dtype`, to which NumPy's rule `casting` must lead; the function is `name`."""
    if not isinstance(casting, str) or casting not in _CASTINGS:
        raise DomainError(f"{name}: casting must be one of {', '.join(_CASTINGS)}, got {casting!r}")
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"{name}: dtype {x.dtype.name} does not become {dtype.name} with casting={casting!r}"
        )
    return cast(x, dtype)


def require_real(name: str, *operands: Any) -> None:
    """Raise DTypeError where an operand of the function `name` is complex."""
    for operand in operands:
        kind = kind_of(operand)
        if kind is complex or (isinstance(kind, np.dtype) and is_complex(kind)):
            raise DTypeError(f"{name}: no meaning for complex numbers, got {describe(kind)}")


def promoted(*operands: Any) -> list[Tensor]:
    """`operands` as tensors of their common dtype; Python numbers are weak."""
    if {*map(type, operands)} == {Tensor} and len({operand.dtype for operand in operands}) == 1:
        return list(operands)
    dtype = result_type(*map(kind_of, operands))
    return [cast(as_tensor(operand), dtype) for operand in operands]


def strong(value: Any) -> Tensor:
    """`value` as a tensor, of a dtype of its own also where it is a Python number."""
    x = as_tensor(value)
    kind = kind_of(x)
    if not isinstance(kind, type):
        return x
    if kind is complex:
        return cast(x, complex_dtype(default_dtype()), copy=True)
    return cast(x, default_dtype() if kind is float else x.dtype, copy=True)


def promoted_arrays(*operands: Any) -> list[Tensor]:
    """`operands` as tensors of their common dtype, Python numbers with a dtype of their own.

    So they are to those of NumPy's functions that are no ufuncs.
    """
    if STATE.tracer is None and {*map(type, operands)} == {Tensor}:
        return promoted(*operands)  # there are no numbers
    return promoted(*map(strong, operands))


def floating(x: Any) -> Tensor:
    """`x` as a floating tensor: integers in the dtype that NumPy's floating functions give them."""
    x = as_tensor(x)
    return x if is_inexact(x.dtype) else cast(x, ufunc_types(np.exp, (x.dtype,))[0])


def conjugated(x: Tensor) -> Tensor:
    """The conjugate; `x` itself where it is real."""
    return run("conj", x) if is_complex(x.dtype) else x


def squared_size(x: Tensor) -> Tensor:
    """The square of the absolute value of each element: real, also where `x` is complex."""
    if not is_complex(x.dtype):
        return run("square", x)
    return run("add", run("square", run("real", x)), run("square", run("imag", x)))


def broadcast(x: Tensor, shape: Shape) -> Tensor:
    """`x` repeated to `shape`; itself where it has that already."""
    return x if x.shape == shape else run("broadcast", x, shape=shape)


def copied_from(x: Tensor, result: Tensor) -> Tensor:
    """`result`, which was computed from `x`; copied where it is a view: writing to it must not reach `x`."""
    return run("copy", result) if result is x or type(result._aliases) is tuple else result


def reshaped(x: Tensor, shape: Shape) -> Tensor:
    """`x` in `shape`; itself where it has that already."""
    return x if x.shape == shape else run("reshape", x, shape=shape)


def permuted(x: Tensor, perm: Sequence[int]) -> Tensor:
    """`x` with its axes in the order `perm`; itself where that is the order."""
    order = tuple(perm)
    return x if order == tuple(range(len(order))) else run("transpose", x, perm=order)


@functools.cache
def new_axis(axis: int) -> tuple[Any, ...]:
    """The index that makes a new axis at the place `axis`."""
    return (*[slice(None)] * axis, None, Ellipsis)


def with_an_axis(x: Tensor, axis: Any) -> Tensor:
    """`x`; as a vector of one element where it has rank 0 and `axis` is named.

    NumPy takes axis 0 and -1 of a scalar in ``take``, ``repeat``, ``cumsum``, ``argsort`` and ``argmax``.
    """
    return x if axis is None or x.ndim else reshaped(x, (1,))


def sliced(x: Tensor, axis: int, start: int, size: int, step: int = 1) -> Tensor:
    """`size` elements along `axis` from `start`, `step` apart."""
    if start == 0 and step == 1 and size == x.shape[axis]:
        return x
    starts, sizes, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], sizes[axis], steps[axis] = (start if size else 0), size, step
    return run("slice", x, start=tuple(starts), size=tuple(sizes), step=tuple(steps))


def filled(value: Number, shape: Shape, dtype: DType) -> Tensor:
    """`value` everywhere. Raises DTypeError where `dtype` cannot hold it."""
    return run("full", value=scalar_of(value, dtype), shape=shape, dtype=dtype)


def warn_of_lost_parts(source: DType, target: DType) -> None:
    """Warn as NumPy does where numbers of dtype `source` lose their imaginary parts in `target`."""
    if is_complex(source) and not is_complex(target) and target is not BOOL:
        warnings.warn(
            "Casting complex values to real discards the imaginary part; use x.real",
            ComplexWarning,
            stacklevel=user_stacklevel(),
        )


def assigned(x: Tensor, dtype: DType) -> Tensor:
    """`x` in `dtype`, as in an assignment: a Python integer that is an argument of the traced function has to
    fit, as one that is written down has."""
    if STATE.tracer is not None and isinstance(x._data, Value):
        STATE.tracer.narrow(x._data, dtype)
    return converted(x, dtype)


def scalar_of(value: Any, dtype: DType) -> Number:
    """The Python number `value`, converted to `dtype` as an assignment would."""
    try:
        item: Number = dtype.type(value).item()
    except (OverflowError, ValueError, TypeError) as error:
        kind = NotNumbersError if isinstance(error, ValueError) else DTypeError
        raise kind(f"{value!r} does not fit dtype {dtype.name}: {error}") from error
    return item


def real_where_known(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The real parts of complex `tensors` where the first is known, and real everywhere."""
    values = tensors[0]
    if values.is_traced or values.detach().numpy().imag.any():
        return tensors
    return tuple([run("real", tensor) for tensor in tensors])
