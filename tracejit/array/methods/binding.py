"""Operators and methods of Tensor. ``bind()`` attaches them when ``tracejit.array`` is imported.

The functions themselves become the methods where the arguments agree, so that ``x + y`` costs no more than
``add(x, y)``. Methods have NumPy's meaning; of PyTorch's, those that do not contradict it.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...arguments.errors import checked, checks_itself
from ...arguments.giving_way import giving_way
from ...base.errors import ArgumentError, DomainError, DTypeError, GradientError, ShapeError
from ...dispatch.dispatch import operators, product_of
from ...dispatch.eager_functions import EagerFunction, without_options
from ...ir.dtypes import FLOAT64, INT64, DType, as_dtype, is_complex
from ...provided import NAMESPACE
from ...tape.recording import memory_of
from ...tensors.python_values import (
    is_followed,
    is_of_call,
    is_of_python,
    number_of,
    runs_as_python,
    users_frame,
)
from ...tensors.tensor import Tensor, wrap
from .. import (
    contraction,
    copying,
    cumulative,
    diagonals,
    manipulation,
    rearranging,
    reductions,
    statistics,
)
from ..elementwise import floats, powers, ufuncs
from ..indexing import access, inplace
from ..indexing.functional import IndexedAt
from ..indexing.taking import take
from ..manipulation import ROWS
from ..memory_order import axes_in_memory, in_memory_order
from ..numpy_calls import protocol
from ..operands import as_given, as_number, cast, cast_by, is_scalar
from ..ordering import sorting
from ..view_calls import ALL, MATRIX_TRANSPOSE, RESHAPE, REVERSED
from . import ndarray, torch

#: The versions of the standard that the names of the package follow.
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12")


def _namespace(x: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The module whose functions take tensors. Raises ArgumentError for other versions of the standard."""
    if not (api_version is None or (isinstance(api_version, str) and api_version in VERSIONS)):
        raise ArgumentError(
            f"__array_namespace__: api_version must be one of {VERSIONS}, got {reprlib.repr(api_version)}"
        )
    namespace: ModuleType = NAMESPACE()
    return namespace


def _device(x: Tensor) -> str:
    return "cpu"


def _to_device(x: Tensor, device: Any, *, stream: Any = None) -> Tensor:
    """`x`, which is on the only device there is. Raises DomainError for another one."""
    if not (isinstance(device, str) and device == "cpu") or stream is not None:
        raise DomainError(f"to_device: device must be 'cpu', without stream; got {reprlib.repr(device)}")
    return x


__all__ = ["bind"]

_Binary = Callable[[Any, Any], Any]


def _reflected(function: _Binary) -> _Binary:
    def call(x: Any, y: Any) -> Any:
        return function(y, x)

    return call


def _iterate(x: Tensor) -> Iterator[Tensor]:
    if x.ndim == 0:
        raise DTypeError("iteration over a tensor of rank 0")
    return (access.getitem(x, row) for row in range(x.shape[0]))


def _method_shape(sizes: tuple[Any, ...]) -> Any:
    """The argument of a method that takes sizes one by one or as one tuple."""
    if len(sizes) == 1:
        only = sizes[0]
        return only if isinstance(only, (tuple, list)) else (operator.index(only),)
    return sizes


@checks_itself
def _reshape(x: Tensor, *shape: Any, order: str = ROWS, copy: bool | None = None) -> Tensor:
    """``reshape`` with the sizes one by one or as a tuple."""
    sizes = shape[0] if len(shape) == 1 else shape
    if order is ROWS and copy is None:
        return RESHAPE.run(x, sizes)  # type: ignore[no-any-return]
    return manipulation.reshape(x, sizes, order, copy)


@checks_itself
def _ravel(x: Tensor, order: str = ROWS) -> Tensor:
    """``ravel``, and no more than that for what is called mostly."""
    return manipulation.raveled(x) if order is ROWS else manipulation.ravel(x, order)


@checks_itself
def _view(x: Tensor, *shape: Any) -> Tensor:
    """``reshape``, PyTorch's name; without sizes NumPy's ``view()``, all of `x`. With a dtype the bytes of
    `x` as elements of that, in its memory: in a traced function not compiled."""
    if not shape:
        return ALL.run(x)  # type: ignore[no-any-return]
    if isinstance(shape[0], (str, type, np.dtype)):
        return _bytes_as(x, as_dtype(shape[0]))
    return manipulation.reshape(x, shape[0] if len(shape) == 1 else _method_shape(shape))


def _bytes_as(x: Tensor, dtype: DType) -> Tensor:
    """The memory of `x` as elements of `dtype`."""
    if x.is_traced and is_of_call():
        raise runs_as_python("x.view(dtype)", users_frame()[1])
    if x.requires_grad:
        raise GradientError("view: the bytes of a tensor that requires grad have no gradient; use x.detach()")
    result = wrap(x._concrete("x.view(dtype)", "x.astype(dtype), or the view outside").view(dtype))
    result._memory = memory_of(x)
    return result


@checks_itself
def _transpose(x: Tensor, *axes: Any) -> Tensor:
    """``transpose`` with the axes one by one or as a tuple; without any, reversed."""
    return manipulation.transpose(x, axes[0] if len(axes) == 1 else axes or None)


def _permute(x: Tensor, *axes: Any) -> Tensor:
    """``permute_dims``, PyTorch's name."""
    return manipulation.transpose(x, _method_shape(axes))


def _t(x: Tensor) -> Tensor:
    """The transpose of a tensor of rank 2 or less. PyTorch's."""
    if x.ndim > 2:
        raise ShapeError(f"t: expected rank 2 or less, got shape {x.shape}; use mT or permute")
    return manipulation.transpose(x)


def _numel(x: Tensor) -> int:
    """The number of elements. PyTorch's name of ``size``."""
    return x.size


def _dim(x: Tensor) -> int:
    """The number of dimensions. PyTorch's name of ``ndim``."""
    return x.ndim


def _positive(x: Tensor) -> Tensor:
    """``+x``, of a number of Python's that itself."""
    return as_number(x) if is_of_python(x._data) else floats.positive(x)


def _round(x: Tensor, decimals: int | None = None) -> Tensor:
    """``round(x)``; of a number in a trace as Python has it: without `decimals` an integer."""
    if not is_followed(x._data) or not is_scalar(x) or is_complex(x.dtype):
        return floats.round(x, 0 if decimals is None else operator.index(decimals))
    number = as_number(x)
    if decimals is not None:
        places = operator.index(decimals)
        is_float = is_of_python(x._data) and x.dtype is FLOAT64
        return as_given(x, (floats.nearest_decimal if is_float else floats.round)(number, places))
    return wrap(number_of(cast(floats.round(number), INT64)))


def _astype(
    x: Tensor, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Tensor:
    """The elements in `dtype`, to which `casting` must allow to go; `order` is that in memory."""
    if type(casting) is not str or casting != "unsafe":
        x = cast_by("astype", x, as_dtype(dtype), casting)
    result = manipulation.astype(x, dtype, copy=copy)
    if type(order) is str and order == "K":
        return result
    return in_memory_order(result, axes_in_memory("astype", order, x.ndim, x))


def _sort(
    x: Tensor,
    axis: int = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> None:
    """``sort`` in place, as NumPy's method; ``tj.sort(x)`` does not change `x`."""
    options: dict[str, Any] = {"descending": descending, "stable": stable}
    inplace.write(x, "sort", (), lambda old: sorting.sort(old, axis, kind, order, **options))


OPERATORS: Final[dict[str, _Binary]] = {
    "add": ufuncs.add,
    "sub": ufuncs.subtract,
    "mul": ufuncs.multiply,
    "truediv": ufuncs.divide,
    "floordiv": ufuncs.floor_divide,
    "mod": ufuncs.remainder,
    "pow": powers.power,
    "matmul": contraction.matmul,
    "and": ufuncs.bitwise_and,
    "or": ufuncs.bitwise_or,
    "xor": ufuncs.bitwise_xor,
    "lshift": ufuncs.left_shift,
    "rshift": ufuncs.right_shift,
}
#: Comparisons, with the method of the other operand that each gives way to.
COMPARISONS: Final[dict[str, tuple[_Binary, str]]] = {
    "__lt__": (ufuncs.less, "__gt__"),
    "__le__": (ufuncs.less_equal, "__ge__"),
    "__gt__": (ufuncs.greater, "__lt__"),
    "__ge__": (ufuncs.greater_equal, "__le__"),
    "__eq__": (ufuncs.equal, "__eq__"),
    "__ne__": (ufuncs.not_equal, "__ne__"),
}
METHODS: Final[dict[str, Callable[..., Any]]] = {
    **ufuncs.METHODS,
    "__array_namespace__": _namespace,
    "to_device": _to_device,
    "__pos__": _positive,
    "__divmod__": giving_way(floats.divmod, "__rdivmod__"),
    "__rdivmod__": _reflected(floats.divmod),
    "__round__": _round,
    "__getitem__": access.getitem,
    "__setitem__": access.setitem,
    "__iter__": _iterate,
    "__copy__": copying.copied,
    "__deepcopy__": copying.deep_copied,
    # NumPy's methods
    "sum": reductions.sum,
    "prod": reductions.prod,
    "mean": reductions.mean,
    "var": statistics.var,
    "std": statistics.std,
    "min": reductions.min,
    "max": reductions.max,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "cumsum": cumulative.cumsum,
    "cumprod": cumulative.cumprod,
    "cummax": cumulative.cummax,
    "cummin": cumulative.cummin,
    "argsort": sorting.argsort,
    "argpartition": sorting.argpartition,
    "searchsorted": sorting.searchsorted,
    "sort": _sort,
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": manipulation.flatten,
    "transpose": _transpose,
    "swapaxes": manipulation.swapaxes,
    "squeeze": manipulation.squeeze,
    "astype": _astype,
    "clip": floats.clip,
    "round": floats.round,
    "dot": contraction.dot,
    "copy": copying.copy,
    "clone": manipulation.copy,
    "repeat": rearranging.repeat,
    "take": take,
    "fill": inplace.METHODS["fill_"],
    "trace": diagonals.trace,
    "diagonal": diagonals.diagonal,
    # PyTorch's, where they mean the same
    "pow": powers.power,
    "matmul": contraction.matmul,
    "clamp": floats.clip,
    "view": _view,
    "t": _t,
    "permute": _permute,
    "unsqueeze": manipulation.expand_dims,
    "norm": statistics.euclidean_norm,
    "numel": _numel,
    "dim": _dim,
}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` without the options that functions have, and operators and methods have not."""
    method = without_options(function)
    if method is not function:
        method.__name__ = method.__qualname__ = function.__name__
        method.__doc__ = function.__doc__
    return method


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    return function


def _operators_of(function: Any, reflected: str) -> tuple[_Binary, _Binary]:
    """The operator that `function` is, and that of a Tensor on the right."""
    if function is powers.power:
        return operators(_method(function), reflected)
    eager: EagerFunction = function.eager
    return operators(product_of(eager) if function is ufuncs.multiply else eager, reflected)


def bind() -> None:
    """Attach every operator and method to Tensor. Calling it again changes nothing."""
    for name, function in OPERATORS.items():
        in_place = inplace.in_place_operator(f"__i{name}__", _method(function), f"__r{name}__")
        forward, backward = _operators_of(function, f"__r{name}__")
        for spelled, method in (("", forward), ("r", backward), ("i", in_place)):
            setattr(Tensor, f"__{spelled}{name}__", _named(f"__{spelled}{name}__", method))
    for name, (function, reflected) in COMPARISONS.items():
        setattr(Tensor, name, _named(name, _operators_of(function, reflected)[0]))
    for name, function in inplace.METHODS.items():
        setattr(Tensor, name, checked(name, _named(name, function)))
    for name, function in {**torch.METHODS, **ndarray.METHODS, **METHODS}.items():
        setattr(Tensor, name, checked(name, _method(function)))
    ndarray.become_buffers()
    for name in ("zero_grad", "requires_grad_", "__contains__"):
        setattr(Tensor, name, checked(name, getattr(Tensor, name)))
    Tensor.__array_ufunc__ = protocol.array_ufunc  # type: ignore[assignment,method-assign]
    Tensor.__array_function__ = protocol.array_function  # type: ignore[assignment,method-assign]
    for name, attribute in ndarray.PROPERTIES.items():
        setattr(Tensor, name, attribute)
    Tensor.device = property(_device, doc="Where the elements lie: the processor.")  # type: ignore[assignment,method-assign]
    Tensor.at = property(IndexedAt, doc="``x.at[key]``: writes that make a new tensor.")  # type: ignore[assignment,method-assign]
    for name, call, doc in (
        ("T", REVERSED, "The axes reversed."),
        ("mT", MATRIX_TRANSPOSE, "The last two axes exchanged."),
    ):
        call.follow(lambda run, name=name, doc=doc: setattr(Tensor, name, property(run, doc=doc)))  # type: ignore[misc]
