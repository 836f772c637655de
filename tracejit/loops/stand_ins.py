"""Replacements of functions of Python, NumPy and SciPy for traced arguments: ``min``, ``numpy.float32``,
``numpy.array``.
"""

from __future__ import annotations

import builtins
import functools
import heapq
import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..array import creation, joining
from ..array.elementwise import floats, ufuncs
from ..array.operands import given_as_scalar
from ..array.selection.masked_selection import Selection, refused
from ..base.loading import LazyModule, Loaded, load_module
from ..dispatch.dispatch import apply
from ..frontend.libraries.library import (
    ARRAY_FUNCTIONS,
    CONTROL,
    GENERATORS,
    OF_SCIPY,
    TRANSFORMS,
    array_parameters,
    handles_state,
    takes_integers,
)
from ..frontend.libraries.origins import is_user_function
from ..ir.dtypes import as_dtype
from ..ir.registry import OPS
from ..pytree import tree_leaves
from ..state import STATE
from ..tensors.python_values import plain_class
from ..tensors.tensor import Tensor
from ..tensors.texts import asked_repr
from .lists.buffered_dicts import BufferedDict, BufferedSet
from .lists.functions import FUNCTIONS, of_lists
from .lists.stacked_lists import StackedList
from .maths import MATH
from .optional_values import check_present
from .scalars import as_bool, as_complex, as_float, as_int, truth
from .scipy_functions import handed_on, of_scipy
from .variables import is_traced

#: The package; the name `array` of its parent is that of a function.
array: Any = load_module("..array", __package__)
if TYPE_CHECKING:
    from ..numpy_random import traced as draws
else:
    draws = LazyModule("..numpy_random.traced", __package__)


def _extreme(compare: Callable[[Any, Any], Any], function: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        values = arguments
        container = arguments[0] if len(arguments) == 1 else None
        if not options and (is_traced(container) or isinstance(container, (list, tuple))):
            values = tuple(arguments[0])
        if options or not any(map(is_traced, values)):
            return function(*arguments, **options)
        return functools.reduce(_better(compare), values)

    return call


def _better(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def choose(best: Any, value: Any) -> Any:
        test = compare(value, best)
        if not is_traced(test):
            return value if test else best
        result = given_as_scalar(floats.where(truth(test), value, best))
        tracer = STATE.tracer
        if all(not isinstance(x, Tensor) or tracer.is_weak(tracer.lift(x)) for x in (value, best)):
            tracer.mark_weak(result._data)
        return result

    return choose


def _sum(iterable: Any, start: Any = 0) -> Any:
    if is_traced(iterable) and iterable.ndim:
        return iterable.sum(0) + start if not isinstance(start, int) or start else iterable.sum(0)
    return sum(iterable, start)


def _length(value: Any) -> Any:
    """``len``; of what a traced mask selects, and of a list that grows under conditions, a traced number."""
    if isinstance(value, (StackedList, BufferedDict, BufferedSet)):
        return value.length()
    return value.shape[0] if hasattr(value, "apply_selected") else len(value)


def _list(*arguments: Any) -> Any:
    """``list``; of a list or deque whose length is traced, another such list."""
    block = arguments[0].block if len(arguments) == 1 and isinstance(arguments[0], StackedList) else None
    return list(*arguments) if block is None or block.flags is None else StackedList((), block)


def _divmod(x: Any, y: Any) -> Any:
    return (x // y, x % y) if is_traced(x) or is_traced(y) else divmod(x, y)


def _numpy_scalar(scalar: type[np.generic]) -> Any:
    """``numpy.float32`` and the other scalar types."""
    dtype = as_dtype(scalar)

    def call(*arguments: Any) -> Any:
        if len(arguments) != 1 or not is_traced(arguments[0]):
            return scalar(*arguments)
        value = arguments[0]
        if value.dtype.kind == "f" and dtype.kind in "iu":
            value = ufuncs.trunc(value)
        if value.dtype is not dtype:
            return apply(OPS["cast"], (value,), {"dtype": dtype})
        return apply(OPS["copy"], (value,), {})  # of a Python number, one that is none

    return call


def _numpy_array(function: Any, ours: Any) -> Any:
    """``numpy.array`` and ``asarray`` of lists with traced elements: NumPy would ask for their values."""

    def call(*arguments: Any, **options: Any) -> Any:
        data = arguments[0] if arguments else None
        if isinstance(data, StackedList):
            items, data = data, _stack_of(data)
            if isinstance(data, Selection):
                if data.ndim > 1 and not items:  # then there is no row whose length tells the shape
                    return function(list(items), *arguments[1:], **options)
                return _array_of_selection(data, *arguments[1:], **options)
            return ours(data, *arguments[1:], **options)
        traced = is_traced(data) or (
            isinstance(data, (list, tuple)) and any(map(is_traced, tree_leaves(data)))
        )
        return (ours if traced else function)(*arguments, **options)

    return call


def _array_of_selection(data: Selection, dtype: Any = None, **options: Any) -> Any:
    """``numpy.array`` of selected items."""
    if options:
        raise refused("an array of a list that grows under conditions, with other options than dtype=,")
    whole = apply(OPS["copy"], (data,), {})
    return whole if dtype is None else whole.astype(dtype)


def _deferred(name: str) -> Callable[..., Any]:
    """A function of this package that loads at first use."""
    return lambda *arguments, **options: getattr(array, name)(*arguments, **options)


@functools.cache
def _numpy_of_lists(function: Any) -> Any:
    """`function` of NumPy's, with lists of traced elements made arrays: NumPy would ask for their values."""
    places = array_parameters(function)
    if not places:
        return function

    def call(*arguments: Any, **options: Any) -> Any:
        arguments = tuple(
            _array_of(value) if place in places else value for place, value in enumerate(arguments)
        )
        options = {name: _array_of(value) if name in places else value for name, value in options.items()}
        return function(*arguments, **options)

    return functools.wraps(function)(call)


def _array_of(value: Any) -> Any:
    """`value`; if it is a list or tuple with traced elements, an array of them."""
    if isinstance(value, StackedList):
        value = _stack_of(value)
    if isinstance(value, (list, tuple)) and any(map(is_traced, tree_leaves(value))):
        return creation.array(value)
    return value


def _numpy_full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
    """``numpy.full``, of a traced number too."""
    if options or not (is_traced(fill_value) or any(map(is_traced, tree_leaves(fill_value)))):
        return np.full(shape, fill_value, dtype, order, **options)  # type: ignore[call-overload]
    return creation.full(shape, fill_value, dtype)


def _numpy_arange(*arguments: Any, **options: Any) -> Any:
    """``numpy.arange``: a traced integer decides how many numbers there are, as the sizes of ``zeros`` do."""
    options = {name: _decided(value) for name, value in options.items()}
    return np.arange(*map(_decided, arguments), **options)


def _decided(bound: Any) -> Any:
    return operator.index(bound) if is_traced(bound) and bound.dtype.kind in "iu" else bound


def _of_integers(function: Any) -> Any:
    """`function`, which takes integers of Python's alone."""

    def call(*arguments: Any, **options: Any) -> Any:
        options = {name: _decided(value) for name, value in options.items()}
        return function(*map(_decided, arguments), **options)

    return call


class _NumpyIndexed:
    """``numpy.r_`` and ``numpy.c_``, of what is traced too."""

    def __init__(self, theirs: Any, name: str) -> None:
        self._theirs, self._name = theirs, name

    def __getitem__(self, key: Any) -> Any:
        traced = any(map(is_traced, tree_leaves(key)))
        return (getattr(array, self._name) if traced else self._theirs)[key]


def _numpy_vectorize(*arguments: Any, **options: Any) -> Any:
    """``numpy.vectorize``, whose functions take what is traced too."""
    arguments, options = _handed_on(arguments, options)
    theirs = np.vectorize(*arguments, **options)
    ours = None

    def call(*positional: Any, **named: Any) -> Any:
        nonlocal ours
        if not any(map(is_traced, tree_leaves((positional, named)))):
            return theirs(*positional, **named)
        ours = array.vectorize(*arguments, **options) if ours is None else ours
        return ours(*positional, **named)

    return functools.wraps(theirs.pyfunc)(call)


def _joined(function: Any) -> Any:
    """``stack``, of the list that a loop has made, too."""

    def call(*arguments: Any, **options: Any) -> Any:
        if arguments and isinstance(arguments[0], StackedList):
            if len(arguments) == 1 and not options:
                data = _stack_of(arguments[0])
                if isinstance(data, Selection) and not arguments[0]:
                    data = []  # which is an error
                if isinstance(data, (Tensor, Selection)) and arguments[0].has_single_leaves:
                    return apply(OPS["copy"], (data,), {})
            arguments = (list(arguments[0]), *arguments[1:])
        return function(*arguments, **options)

    return call


def _stack_of(data: StackedList) -> Any:
    stacked = data.stacked()
    return list(data) if stacked is None else stacked


def _is_instance(value: Any, classes: Any) -> bool:
    """``isinstance``; what is traced is also a Tensor, if that is asked for by name."""
    check_present(value)
    if not is_traced(value):
        return isinstance(value, classes)
    return issubclass(plain_class(value), classes) or _names_tensor(classes)


def _names_tensor(classes: Any) -> bool:
    parts = classes if isinstance(classes, tuple) else getattr(classes, "__args__", ())
    return classes is Tensor or any(map(_names_tensor, parts))


def _type(*arguments: Any, **options: Any) -> Any:
    """``type``"""
    check_present(arguments)
    if len(arguments) == 1 and is_traced(arguments[0]):
        return plain_class(arguments[0])
    if len(arguments) == 1 and isinstance(arguments[0], StackedList):
        return list
    return type(*arguments, **options)


def _has_attribute(value: Any, name: str) -> bool:
    """``hasattr``; arrays have what Tensors have."""
    if not is_traced(value):
        return hasattr(value, name)
    return hasattr(plain_class(value), name) or (bool(value.shape) and hasattr(Tensor, name))


def _attribute(value: Any, name: str, *default: Any) -> Any:
    """``getattr``; numbers have no more than Python's or NumPy's own."""
    if default and is_traced(value) and not _has_attribute(value, name):
        return default[0]
    return getattr(value, name, *default)


def _power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """``pow``; with a `modulus`, of the values of integers."""
    if modulus is None:
        return pow(base, exponent)
    return pow(*map(_decided, (base, exponent, modulus)))


def _is_scalar(value: Any) -> bool:
    """``numpy.isscalar``"""
    return plain_class(value) is not np.ndarray if is_traced(value) else np.isscalar(value)


_SCALARS: Final = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64,
)  # fmt: skip
#: Python's functions of lists that grow under conditions.
_OF_LISTS: Final = {function: of_lists(function, *own) for function, own in FUNCTIONS.items()}
#: Replacements that hold around loops and in loops that run step by step, too. Python's own functions would
#: ask for the value there, and the function would be compiled for each value.
EVERYWHERE: Final[dict[Any, Any]] = {
    builtins.int: as_int,
    builtins.float: as_float,
    builtins.complex: as_complex,
    builtins.len: _length,
    builtins.list: _list,
    builtins.isinstance: _is_instance,
    builtins.type: _type,
    builtins.hasattr: _has_attribute,
    builtins.getattr: _attribute,
    builtins.repr: asked_repr,
    builtins.pow: _power,
    np.isscalar: _is_scalar,
    np.array: _numpy_array(np.array, creation.array),
    np.asarray: _numpy_array(np.asarray, creation.asarray),
    np.asanyarray: _numpy_array(np.asanyarray, creation.asarray),
    np.ascontiguousarray: _numpy_array(np.ascontiguousarray, _deferred("ascontiguousarray")),
    np.asfortranarray: _numpy_array(np.asfortranarray, _deferred("asfortranarray")),
    np.require: _numpy_array(np.require, _deferred("require")),
    np.arange: _numpy_arange,
    np.full: _numpy_full,
    np.vectorize: _numpy_vectorize,
    np.r_: _NumpyIndexed(np.r_, "r_"),
    np.c_: _NumpyIndexed(np.c_, "c_"),
    creation.array: _numpy_array(creation.array, creation.array),
    creation.asarray: _numpy_array(creation.asarray, creation.asarray),
    creation.tensor: _numpy_array(creation.tensor, creation.tensor),
    np.stack: _joined(joining.stack),
    joining.stack: _joined(joining.stack),
    **{scalar: _numpy_scalar(scalar) for scalar in _SCALARS},
    **{function: MATH[function] for function in MATH if function not in (math.floor, math.ceil)},
    **_OF_LISTS,
}


#: Makers of generators of random numbers from seeds.
_MAKERS: Final = Loaded("numpy.random:default_rng", "numpy.random:RandomState")
#: Functions that call the function that they get first.
_CALLING: Final = (builtins.map, builtins.filter, functools.reduce)
#: The module of C whose functions read and write the memory of lists.
_HEAPS: Final = heapq.heapify.__module__
#: Names of NumPy's and of our functions that call functions that they get.
_TAKING_FUNCTIONS: Final = TRANSFORMS | CONTROL | {"vectorize"}


def everywhere(function: Any) -> Any:
    """`function`, or what stands in for it in all rewritten code."""
    try:
        stand_in = EVERYWHERE.get(function)
    except TypeError:  # not hashable
        return function
    if stand_in is not None:
        return stand_in
    is_of_python = isinstance(function, FunctionType)
    may_draw = not is_of_python and getattr(function, "__self__", None) is not builtins
    if may_draw and handles_state(function):
        return draws.setting(function)
    if may_draw and _MAKERS.holds(function):
        return draws.making(_of_integers(function) if takes_integers(function) else function)
    if takes_integers(function):
        return _of_integers(function)
    if isinstance(function, ARRAY_FUNCTIONS):
        return _numpy_of_lists(function)
    if is_of_python:
        if function.__name__ in _TAKING_FUNCTIONS:
            return _taking_functions(function)
    elif isinstance(function, functools.partial):
        return functools.partial(everywhere(function.func), *function.args, **function.keywords)
    elif function in _CALLING:
        return lambda called, *arguments: function(everywhere(called), *arguments)
    if may_draw and isinstance(getattr(function, "__self__", None), GENERATORS()):
        drawn = draws.traced_draw(function)
        return function if drawn is None else _drawing(drawn, function)
    module = getattr(function, "__module__", None)
    if module == _HEAPS:
        return lambda *arguments: function(*map(_with_items, arguments))
    if isinstance(module, str) and module.startswith(OF_SCIPY):
        return of_scipy(function, module)
    return function


def _with_items(value: Any) -> Any:
    """`value`; a list that a loop has made has its items in its own memory."""
    return value.with_items() if isinstance(value, StackedList) else value


def _drawing(drawn: Callable[..., Any], theirs: Any) -> Any:
    """The draw `drawn`, and what is not compiled by `theirs`: the trace is refused then."""

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return drawn(*arguments, **options)
        except draws.Uncovered:
            return theirs(*arguments, **options)

    return call


def _taking_functions(function: Any) -> Any:
    """`function`, with what stands in for functions that it gets."""
    if is_user_function(function):
        return function

    def call(*arguments: Any, **options: Any) -> Any:
        arguments, options = _handed_on(arguments, options)
        return function(*arguments, **options)

    return call


def _handed_on(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`arguments` and `options`, with what stands in for functions of Python's and SciPy's among them."""
    return tuple(map(handed_on, arguments)), {name: handed_on(value) for name, value in options.items()}


#: Replacements of functions where a loop is traced once.
STAND_INS: Final[dict[Any, Any]] = {
    **EVERYWHERE,
    builtins.min: of_lists(_extreme(operator.lt, min), *FUNCTIONS[min]),
    builtins.max: of_lists(_extreme(operator.gt, max), *FUNCTIONS[max]),
    builtins.sum: of_lists(_sum, *FUNCTIONS[sum]),
    builtins.divmod: _divmod,
    builtins.bool: as_bool,
    **MATH,
}
