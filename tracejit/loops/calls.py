"""Calls and writes in what is traced once: only those whose effects are known.

A loop's body runs once for all steps, and again where a carry changes its type. So it may call what computes:
functions of this library, of NumPy and Python that have no effects, methods of tensors, and functions of the
user's, which are followed by a copy that checks its own calls.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import operator
import types
from collections import Counter, defaultdict, deque
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..base.loading import LazyModule
from ..base.user_code import is_user_file
from ..frontend.libraries.library import GENERATORS, handles_state
from ..frontend.libraries.origins import is_own, is_user_function
from ..pytree import tree_leaves
from ..state import STATE
from ..tensors.tensor import Tensor
from ..tracing.inlined_calls import inlined
from .lists import heaps
from .lists.buffered_dicts import BufferedDict, BufferedSet
from .lists.buffered_lists import BufferedList
from .lists.buffers import ChangesListError
from .lists.stacked_lists import StackedList
from .reports import CURRENT, LoopError
from .scipy_functions import handed_on
from .source.functions import inner_copy, is_checked
from .stand_ins import STAND_INS
from .variables import is_integer, is_traced

if TYPE_CHECKING:
    from ..numpy_random import traced as draws
else:
    draws = LazyModule("..numpy_random.traced", __package__)

_PURE_BUILTINS: Final = frozenset(
    getattr(builtins, name)
    for name in (
        "abs", "all", "any", "bool", "callable", "complex", "dict", "divmod", "enumerate", "float",
        "frozenset", "getattr", "hasattr", "int", "isinstance", "issubclass", "len", "list", "max", "min",
        "pow", "range", "repr", "reversed", "round", "set", "slice", "str", "sum", "tuple", "type", "zip",
        "ValueError", "TypeError", "RuntimeError", "IndexError", "AssertionError", "ZeroDivisionError",
    )
)  # fmt: skip
_PURE_MODULES: Final = (math, cmath, operator)
#: Classes of containers that steps make and change.
_MADE: Final = frozenset((list, dict, deque, set, defaultdict, Counter))
#: Classes whose methods may change an object.
_WRITTEN: Final = (list, dict, set, deque, np.ndarray)
#: Functions of ``operator`` that write their first operand: ``iadd``, ``setitem`` and their like.
_WRITING_OPERATORS: Final = frozenset(
    getattr(operator, name)
    for name in operator.__all__
    if name in ("setitem", "delitem")
    or (
        (name[0] == "i" and hasattr(operator, f"__{name}__"))
        and name not in ("inv", "invert", "index", "is_", "is_not", "indexOf", "itemgetter")
    )
)
_PURE_METHODS: Final[dict[type, frozenset[str]]] = {
    dict: frozenset(("get", "items", "keys", "values", "copy")),
    deque: frozenset(("copy", "count", "index")),
    set: frozenset(("copy", "union", "intersection", "difference", "issubset", "issuperset", "isdisjoint")),
    list: frozenset(("copy", "count", "index")),
    tuple: frozenset(("count", "index")),
}


def checked_callee(function: Any) -> Any:
    """`function`, or what stands in for it in code that is traced once. Raises LoopError where its effects
    are not known."""
    try:
        stand_in = STAND_INS.get(function)
    except TypeError:  # not hashable
        stand_in = None
    if isinstance(function, type) and function in _MADE:
        return _making_fresh(stand_in or function)
    if stand_in is not None:
        return stand_in
    if isinstance(function, FunctionType):
        return _function(function)
    if function in heaps.HEAP_FUNCTIONS:
        return _of_heap(function)
    if handles_state(function):
        return draws.setting(function)
    if isinstance(getattr(function, "__self__", None), GENERATORS()):
        return _draw(function)
    if isinstance(function, MethodType):
        return _method(function)
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ in _WRITTEN:
        return _called_by_class(function)
    if function in _WRITING_OPERATORS:
        return _writing(function)
    if isinstance(function, (types.BuiltinMethodType, BuiltinFunctionType, types.MethodWrapperType)):
        return _builtin(function)
    if isinstance(function, (np.ufunc, types.MethodDescriptorType, operator.itemgetter)):
        return function
    if isinstance(function, type):
        if (
            function in _PURE_BUILTINS
            or issubclass(function, (np.generic, np.dtype))
            or _is_library(function)
        ):
            return function
        if issubclass(function, tuple) and hasattr(function, "_fields"):
            return function
        raise LoopError(f"it creates a {function.__name__}, whose effects are not known")
    inner = getattr(function, "_fn", None)
    if callable(inner) and _is_library(type(function)):  # a jitted function
        return inlined(checked_callee(inner))
    if hasattr(type(function), "of"):  # what a transform made of a function
        return function.of(checked_callee(function.__wrapped__))
    if isinstance(function, functools.partial):
        return functools.partial(checked_callee(function.func), *function.args, **function.keywords)
    if _is_library(type(function)) or _is_library(function):
        return function
    call = type(function).__dict__.get("__call__")
    if isinstance(call, FunctionType):
        return functools.partial(_function(call), function)
    raise LoopError(f"it calls {_name(function)}, whose effects are not known")


def _called_by_class(method: Any) -> Any:
    """A method of a class whose objects it may change, as ``list.append``, which gets the object."""

    def call(owner: Any, *arguments: Any, **options: Any) -> Any:
        return checked_callee(getattr(owner, method.__name__))(*arguments, **options)

    return call


def _writing(function: Any) -> Any:
    """A `function` of ``operator`` that writes its first operand."""

    def call(target: Any, *operands: Any) -> Any:
        return function(checked_target(target), *operands)

    return call


def _draw(function: Any) -> Any:
    """A method of a generator of random numbers. Raises LoopError where it is not compiled."""
    drawn = draws.traced_draw(function)
    if drawn is None:
        raise LoopError(f"it calls {_name(function)}, whose effects are not known")

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return drawn(*arguments, **options)
        except draws.Uncovered:
            raise LoopError(
                f"it calls {_name(function)} with arguments for which that is not compiled"
            ) from None

    return call


def _of_heap(function: Any) -> Any:
    """A `function` of ``heapq``."""
    own = inner_copy(heaps.HEAP_FUNCTIONS[function])  # type: ignore[arg-type]

    def call(heap: Any, *arguments: Any) -> Any:
        if isinstance(heap, BufferedList) and heap.is_buffered:
            return own(heap, *arguments)  # type: ignore[operator]
        problem = f"it calls heapq.{function.__name__} of a list that it does not carry"
        raise ChangesListError(problem, id(heap))

    return call


def _making_fresh(kind: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        value = kind(*arguments, **options)
        CURRENT.session.note_fresh(value)
        return value

    return call


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or f"a {type(function).__name__}"


def _is_library(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return is_own(module) or (module.split(".")[0] == "numpy" and not module.startswith("numpy.random"))


def _function(function: FunctionType) -> Any:
    if not is_user_function(function) and function.__module__ != heaps.__name__:
        if _is_library(function):
            return _with_checked_functions(function)
        wrapped = getattr(function, "__wrapped__", None)
        if is_user_file(function.__code__.co_filename) or not isinstance(wrapped, FunctionType):
            wrapped = None
        if wrapped is not None and (is_checked(wrapped.__code__) or not is_user_function(wrapped)):
            return function
        if function.__module__ in ("functools", "operator"):
            return function
        raise LoopError(f"it calls {_name(function)}, whose effects are not known")
    if is_checked(function.__code__):
        return function
    copy = inner_copy(function)
    if isinstance(copy, str):
        raise LoopError(f"it calls {_name(function)}: {copy}")
    return copy


def _with_checked_functions(function: FunctionType) -> Any:
    """A function of the library, whose functional arguments are checked, too."""

    def call(*arguments: Any, **options: Any) -> Any:
        named = {name: _checked_argument(value) for name, value in options.items()}
        return function(*map(_checked_argument, arguments), **named)

    return call


def _checked_argument(argument: Any) -> Any:
    if isinstance(argument, FunctionType) and not is_user_function(argument):
        return argument
    if isinstance(argument, (FunctionType, MethodType)) or callable(getattr(argument, "_fn", None)):
        return checked_callee(argument)
    return handed_on(argument)


def _method(method: MethodType) -> Any:
    owner = method.__self__
    if isinstance(owner, StackedList):
        return _method_of_container(method, list)
    if isinstance(owner, Tensor):
        if method.__name__.endswith("_") and not method.__name__.startswith("_"):
            checked_target(owner)
        return method
    if isinstance(method.__func__, FunctionType) and is_user_function(method.__func__):
        return MethodType(_function(method.__func__), owner)
    if _is_library(type(owner)) or _is_library(owner):
        return method
    raise LoopError(f"it calls {_name(method)}, whose effects are not known")


def _builtin(function: Any) -> Any:
    owner = getattr(function, "__self__", None)
    if function in _PURE_BUILTINS:
        return function
    if isinstance(owner, types.ModuleType) or owner is None:
        module = (getattr(function, "__module__", None) or "").split(".")
        if owner in _PURE_MODULES or (module[0] in ("numpy", "math", "_operator") and "random" not in module):
            return function
    elif isinstance(owner, (Tensor, str, bytes, int, float, complex, np.generic, np.ufunc)):
        return function
    elif isinstance(owner, (dict, list, tuple, deque, set)):
        return _method_of_container(function, type(owner))
    if isinstance(owner, np.ndarray) and function.__name__ not in (
        "fill",
        "itemset",
        "put",
        "sort",
        "resize",
    ):
        return function
    raise LoopError(f"it calls {_name(function)}, whose effects are not known")


def note_change(function: Any) -> None:
    """Note that `function`, which is about to be called, may change a list or dict whose method it is, and
    what earlier calls have changed."""
    containers = STATE.tracer.merged_containers
    if containers.groups:
        containers.note_changes()
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (list, dict, deque, set)):
        kind = next(kind for kind in (list, dict, deque, set) if isinstance(owner, kind))
        if function.__name__ not in _PURE_METHODS[kind]:
            containers.write(owner)


def checked_method(method: Any) -> Any:
    """A `method` of a list, deque or dict. Raises LoopError where it may change one that was there before."""
    owner = method.__self__
    return _method_of_container(method, list if isinstance(owner, list) else type(owner))


def _method_of_container(method: Any, kind: type) -> Any:
    """A method of a list, dict or tuple: `kind` is the type whose methods without effects it may be."""
    owner = method.__self__
    if _is_carried(owner):
        return method
    if issubclass(kind, (dict, set)):
        method = _with_plain_keys(method)
    if method.__name__ in _PURE_METHODS.get(kind, ()) or CURRENT.session.is_fresh(owner):
        return method
    if isinstance(owner, list) and method.__name__ == "append":
        problem = "it appends to a list that it also reads, or that another name refers to"
        raise ChangesListError(problem, id(owner))
    problem = f"it calls {kind.__name__}.{method.__name__}, whose effects are not known"
    raise ChangesListError(problem, id(owner))


def _is_carried(value: Any) -> bool:
    """Whether `value` is a container whose items are in arrays."""
    if isinstance(value, (BufferedDict, BufferedSet)):
        return True
    return isinstance(value, BufferedList) and value.is_buffered


def _with_plain_keys(method: Any) -> Any:
    """A `method` of a dict or set, which becomes one that loops carry where a key is traced."""

    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        if arguments and any(map(is_traced, tree_leaves(arguments[0]))):
            raise ChangesListError(f"it calls {method.__qualname__} of what is traced", id(method.__self__))
        return method(*arguments, **options)

    return call


def checked_target(value: Any) -> Any:
    """`value`, which is about to be written in place. Raises LoopError where other steps would not see it."""
    if hasattr(value, "apply_selected") and STATE.tracer.owns(value._whole._data):
        return value  # which this step has selected
    if not isinstance(value, Tensor):
        if isinstance(value, (bool, int, float, complex, str, tuple, np.generic)):
            return value  # they have new values, not changed ones
        if _is_carried(value):
            return value
        if CURRENT.session.is_fresh(value):
            return value
        kind = list if isinstance(value, StackedList) else type(value)
        problem = f"it writes a {kind.__name__} in place"
        is_container = isinstance(value, (list, deque, dict))
        raise ChangesListError(problem, id(value)) if is_container else LoopError(problem)
    return value


class Subarray:
    """The part of a tensor that integers select, which is not read yet: ``a[i][j]`` is read and written as
    ``a[i, j]``, without a row of a traced index."""

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]) -> None:
        self._tensor, self._indices = tensor, indices

    @classmethod
    def of(cls, value: Subarray | Tensor, index: Any) -> Subarray:
        """``value[index]``"""
        if isinstance(value, Subarray):
            return cls(value._tensor, (*value._indices, index))
        return cls(value, (index,))

    @property
    def ndim(self) -> int:
        """The rank of the part."""
        return self._tensor.ndim - len(self._indices)

    def _whole(self, key: Any) -> tuple[Any, ...] | None:
        """The index of the whole tensor; None for indices that NumPy broadcasts with the integers."""
        keys = key if isinstance(key, tuple) else (key,)
        plain = all(is_integer(k) or k is None or k is Ellipsis or isinstance(k, slice) for k in keys)
        return (*self._indices, *keys) if plain else None

    def __getitem__(self, key: Any) -> Any:
        whole = self._whole(key)
        return self._tensor[self._indices][key] if whole is None else self._tensor[whole]

    def __setitem__(self, key: Any, value: Any) -> None:
        whole = self._whole(key)
        if whole is None:
            checked_target(self._tensor[self._indices])[key] = value
        else:
            checked_target(self._tensor)[whole] = value
