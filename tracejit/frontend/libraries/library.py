"""Facts about functions that are not followed: Python's builtins, and this library's own."""

from __future__ import annotations

import contextvars
import dis
import functools
import gc
import inspect
import math
import os
import sys
import threading
import weakref
from collections.abc import Sequence
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Final

import numpy as np

from ...base.loading import Loaded
from ..guards import is_constant
from ..values import MISSING, Constant, Group, Place, Source, options
from .origins import is_own

#: Transforms: what they give calls the function that they are given.
TRANSFORMS: Final = frozenset(
    ("grad", "value_and_grad", "elementwise_grad", "jit", "vmap", "jacfwd", "jacrev", "hessian", "checkpoint",
     "custom_vjp", "custom_jvp", "custom_grad")
)  # fmt: skip
#: Transforms whose results are tensors, whatever the function returns.
GIVES_TENSORS: Final = frozenset(("grad", "elementwise_grad", "jacfwd", "jacrev", "hessian", "vmap"))
#: Functions whose function arguments get tensors, whatever else they are called with.
CONTROL: Final = frozenset(
    ("scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan", "pure_callback")
)
#: Functions and methods of the library that may give something else than tensors.
GIVES_OTHERS: Final = frozenset(
    ("item", "tolist", "numpy", "dim", "size", "numel", "element_size", "stride", "storage_offset",
     "data_ptr", "get", "keys", "index", "count", "pop", "ndim", "shape", "result_type", "can_cast",
     "iscomplexobj", "isrealobj", "isscalar", "broadcast_shapes", "finfo", "iinfo", "tree_map",
     "tree_leaves", "nelement", "is_floating_point", "num_threads", "default_dtype", "as_dtype",
     "tobytes", "set_default_dtype", "trace", "graph_of", "allclose", "requires_grad_", "register_hook",
     "backward", "named_parameters", "update", "init", "jvp", "vjp", "linearize")
)  # fmt: skip
#: Methods of containers that only look at keys or the length.
STRUCTURAL: Final = frozenset(("keys", "copy", "__len__", "__contains__"))
#: Methods that change a container.
MUTATING: Final = frozenset(
    ("append", "extend", "insert", "remove", "clear", "sort", "reverse", "pop", "popitem", "update",
     "setdefault", "add", "discard", "appendleft", "popleft", "extendleft", "rotate", "__setitem__",
     "__delitem__")
)  # fmt: skip
#: Builtins that only look at types, or at nothing.
TYPE_ONLY: Final = frozenset(("isinstance", "issubclass", "callable", "print", "super", "object", "property"))

_FUNCTIONS: Final = (BuiltinFunctionType, FunctionType, type(np.dot))
#: Types of NumPy's functions of arrays.
ARRAY_FUNCTIONS: Final[tuple[type, ...]] = (np.ufunc, type(np.dot))
#: NumPy's names of parameters that are arrays.
_ARRAY_PARAMETERS: Final = frozenset(
    ("A", "a", "a1", "a2", "ar", "arr", "array", "ary", "b", "f", "fp", "m", "p", "u", "v", "values",
     "weights", "x", "x1", "x2", "xp", "y")
)  # fmt: skip
#: NumPy's functions that make arrays of numbers, which may be traced.
_ARRAY_BUILDERS: Final = frozenset(
    (
        np.arange,
        np.array,
        np.asarray,
        np.asanyarray,
        np.ascontiguousarray,
        np.asfortranarray,
        np.full,
        np.require,
    )
)
#: Prefixes of the names of SciPy's modules that have functions here, too.
OF_SCIPY: Final = ("scipy.special.", "scipy.linalg.", "scipy.fft.", "scipy.signal.")
#: Functions of ``math`` that call methods of their arguments.
_BY_METHODS: Final = frozenset((math.floor, math.ceil))
#: Functions that take integers of Python's alone, and not what becomes one.
_TAKING_INTEGERS: Final = frozenset(
    ("numpy.fft.fftfreq", "numpy.fft.rfftfreq", "numpy.random.default_rng", "collections.deque",
     "numpy.random._generator.default_rng", "itertools.permutations")
)  # fmt: skip
#: NumPy's functions that make arrays whose elements are written later.
_CREATIONS: Final[frozenset[Any]] = frozenset(
    (np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like)
)
#: NumPy's functions that make arrays with elements, which may be written later.
_MAKERS: Final[frozenset[Any]] = frozenset(
    (np.arange, np.array, np.asarray, np.copy, np.diag, np.eye, np.identity, np.linspace, np.repeat, np.tile)
)
#: Functions of NumPy's that write their first argument.
WRITERS: Final = frozenset(("at", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))
#: Methods of arrays that write the array.
ARRAY_WRITERS: Final = frozenset(
    ("fill", "itemset", "partition", "put", "resize", "setfield", "sort", "__setitem__",
     "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__",
     "__imatmul__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__")
)  # fmt: skip
#: Functions whose results have as many elements as a mask that they get says.
SELECTING: Final = frozenset(("compress", "extract", "flatnonzero", "nonzero", "where"))
#: Names of functions and methods that write arrays, or give access to their memory.
_WRITING_NAMES: Final = ARRAY_WRITERS | WRITERS | {"byteswap", "setitem", "shuffle"}
_STORES_ITEMS: Final = dis.opmap["STORE_SUBSCR"]
_STORES_SLICES: Final = dis.opmap.get("STORE_SLICE", _STORES_ITEMS)
#: Statements that change objects: ``del d[k]``, ``o.a = v``, ``del o.a``.
_CHANGES: Final = frozenset(dis.opmap[name] for name in ("DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR"))
#: Methods of lists and dicts that change them.
_CONTAINER_WRITERS: Final = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "update",
     "__delitem__", "setattr", "delattr", "delitem", "iadd", "iconcat", "imul", "ior")
)  # fmt: skip
_BINARY_OP: Final = dis.opmap["BINARY_OP"]
_IN_PLACE: Final = [
    number
    for number, (name, _) in enumerate(dis._nb_ops)  # type: ignore[attr-defined]
    if name.startswith("NB_INPLACE")
]
_FIRST_IN_PLACE, _LAST_IN_PLACE = _IN_PLACE[0], _IN_PLACE[-1]
#: Calls whose result nobody takes.
_CALLS_FOR_EFFECT: Final = tuple(
    bytes((dis.opmap[name], dis.opmap["POP_TOP"]))
    for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
    if name in dis.opmap
)

#: Generators of random numbers, whose draws change them.
GENERATORS: Final = Loaded(
    "numpy.random:Generator", "numpy.random:RandomState", "numpy.random:BitGenerator", "random:Random",
)  # fmt: skip
_SEEDED: Final = Loaded(
    "numpy.random:RandomState", "numpy.random:BitGenerator", "numpy.random:SeedSequence", "random:Random",
)  # fmt: skip
_MAKER: Final = Loaded("numpy.random:default_rng")
_GENERATOR_OF_PYTHON: Final = Loaded("random:Random")
#: Prefixes of the names of modules that draw random numbers, with a dot behind.
_IN_RANDOM_MODULES: Final = ("numpy.random.", "random.", "secrets.")
_CLOCKS: Final = frozenset(
    ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
     "process_time_ns", "now", "today", "utcnow", "urandom")
)  # fmt: skip


#: Functions of the process's state, which is read again at each call: what they give is compared.
_STATE: Final[dict[Any, tuple[Any, str]]] = {
    getattr(module, name): (module, name)
    for module, names in (
        (os, ("getcwd", "getpid")), (sys, ("getrecursionlimit",)), (np, ("geterr", "get_printoptions")),
        (threading, ("get_ident",)),
    )
    for name in names
}  # fmt: skip


def state_of(function: Any, positional: Sequence[Any]) -> Place | None:
    """The place of what `function` gives, where that is a part of the process's state."""
    if function is os.getenv and positional and isinstance(positional[0], Constant):
        name = positional[0].value
        return Place(Source("object", os.environ, "os.environ").item(name), os.environ.get(name, MISSING))
    if not isinstance(function, _FUNCTIONS) or function not in _STATE:
        return None
    module, name = _STATE[function]
    source = Source("object", module, module.__name__).call(name)
    return Place(source, source.read())


#: Modules whose functions look at how functions, classes and modules are made.
REFLECTIVE: Final = frozenset(
    ("inspect", "typing", "dataclasses", "types", "abc", "copy", "pickle", "_pickle")
)
#: Modules whose functions copy all that is in an object.
COPIERS: Final = frozenset(("copy", "pickle", "_pickle"))
#: Functions that give an object of the class of their first argument.
COPYING: Final = Loaded("copy:copy", "copy:deepcopy", "dataclasses:replace")
#: Methods of builtin classes that read the attribute that they are given.
ATTRIBUTE_READERS: Final[frozenset[Any]] = frozenset((object.__getattribute__, type.__getattribute__))


#: Functions that read files, and the modules that they are in.
_FILES: Final = frozenset(
    ("open", "read_text", "read_bytes", "exists", "lexists", "isfile", "isdir", "is_file", "is_dir",
     "listdir", "scandir", "stat", "lstat", "getsize", "getmtime", "iterdir", "glob", "rglob", "walk")
)  # fmt: skip
_FILE_MODULES: Final = frozenset(
    ("io", "_io", "os", "posix", "nt", "genericpath", "posixpath", "ntpath", "pathlib", "pathlib._local",
     "glob")
)  # fmt: skip
#: Functions that look at frames, contexts and references.
_INSIGHTS: Final = frozenset(
    (sys._getframe, sys._current_frames, sys.getrefcount, inspect.currentframe, inspect.stack,
     contextvars.copy_context, weakref.getweakrefcount, gc.isenabled, gc.get_count, gc.get_objects,
     gc.get_referrers, gc.get_stats, gc.get_threshold)
)  # fmt: skip


#: Functions of this library whose results are others while a function is traced.
_MODES: Final = frozenset(("is_grad_enabled", "is_inference_mode_enabled"))


def handles_state(callee: Any) -> bool:
    """Whether `callee` gives a generator of NumPy's another state, without a draw, or returns its state."""
    owner = getattr(callee, "__self__", None)
    module = str(getattr(callee, "__module__", None) if owner is None else type(owner).__module__)
    named = getattr(callee, "__name__", "") in (
        "seed", "set_state", "get_state", "__setstate__", "__getstate__", "__reduce__"
    )  # fmt: skip
    return named and f"{module}.".startswith("numpy.random.")


def frozen_source(callee: Any) -> str | None:
    """The name of `callee` in messages if each call gives another value (random numbers, clocks); else
    None."""
    owner = getattr(callee, "__self__", None)
    name = getattr(callee, "__name__", "")
    module = getattr(callee, "__module__", None) or ""
    for candidate in (module, type(owner).__module__ if owner is not None else ""):
        root = candidate or ""
        if f"{root}.".startswith(_IN_RANDOM_MODULES) and not isinstance(callee, type):
            label = "np.random" if root.startswith("numpy") else root
            return f"{label}.{name}" if not name.startswith(("seed", "default_rng", "__")) else None
    if name in _MODES and is_own(module):
        return f"tj.{name}"
    if (name in _FILES and module in _FILE_MODULES) or _is_insight(callee):
        return f"{module.lstrip('_')}.{name}"
    if name in _CLOCKS and (
        module in ("time", "uuid", "posix", "os") or type(owner).__module__ == "builtins"
    ):
        owner_module = getattr(owner, "__module__", None) if isinstance(owner, type) else module
        if module in ("time", "uuid", "posix", "os") or owner_module == "datetime":
            return f"{owner_module or module}.{name}"
    return None


def is_method_of_generator(function: Any) -> bool:
    """Whether `function` is a method of Python's generator of random numbers, whose state tells of draws."""
    return isinstance(function, FunctionType) and any(
        vars(generator).get(function.__name__) is function for generator in _GENERATOR_OF_PYTHON()
    )


def is_unseeded(callee: Any, arguments: Sequence[Any]) -> bool:
    """Whether `callee` makes a generator of random numbers, and gets no seed."""
    makes = issubclass(callee, _SEEDED()) if isinstance(callee, type) else _MAKER.holds(callee)
    if makes:
        return all(isinstance(value, (Constant, Place)) and value.value is None for value in arguments)
    return False


def _is_insight(callee: Any) -> bool:
    return isinstance(callee, _FUNCTIONS) and callee in _INSIGHTS


#: Functions that reveal that a traced argument is a Tensor, where code expects a number or an array.
TELLING: Final = (isinstance, type, hasattr, getattr, repr, np.isscalar)


def asks_for_values(callee: Any) -> bool:
    """Whether `callee` would ask for the values of traced arguments, and rewritten code has something that
    stands in for it: functions of ``math``, ``cmath`` and SciPy, of NumPy's those that make arrays
    and numbers, and Python's types of numbers."""
    if takes_integers(callee) or any(callee is function for function in (*TELLING, pow)):
        return True
    if isinstance(callee, _FUNCTIONS):
        module = str(callee.__module__)
        of_python = module in ("math", "cmath") and callee not in _BY_METHODS
        return of_python or module.startswith(OF_SCIPY) or callee in _ARRAY_BUILDERS
    if isinstance(callee, type):
        return issubclass(callee, (np.generic, np.vectorize)) or callee in (float, int, complex)
    return callee is np.r_ or callee is np.c_


def takes_integers(callee: Any) -> bool:
    """Whether `callee` takes integers of Python's alone."""
    module, name = getattr(callee, "__module__", None), getattr(callee, "__name__", None)
    return f"{module}.{name}" in _TAKING_INTEGERS


@functools.cache
def array_parameters(function: Any) -> frozenset[Any]:
    """Positions and names of the parameters that `function`, one of `ARRAY_FUNCTIONS`, takes for arrays."""
    if isinstance(function, np.ufunc):
        return frozenset(range(function.nin))
    if str(function.__module__).partition(".")[0] != "numpy":
        return frozenset()
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # of a function in C that has none, as NumPy 2.1's
        return frozenset((0, 1)) if function.__name__ in ("dot", "inner", "vdot") else frozenset()
    taken = [(place, name) for place, name in enumerate(names) if name in _ARRAY_PARAMETERS]
    return frozenset(part for pair in taken for part in pair)


def takes_list(callee: Any, arguments: Sequence[Any]) -> bool:
    """Whether `callee` is a function of NumPy's that gets a list with traced elements for an array: NumPy
    would ask for their values."""
    if not isinstance(callee, ARRAY_FUNCTIONS):
        return False
    lists = [
        place
        for place, argument in enumerate(arguments)
        for option in options(argument)
        if isinstance(option, Group) and may_be_traced(option)
    ]
    return bool(lists) and not array_parameters(callee).isdisjoint(lists)


def makes_array(callee: Any) -> bool:
    """Whether `callee` makes an array of NumPy's, in which what is traced cannot be written."""
    return callee is np.ndarray or (isinstance(callee, _FUNCTIONS) and callee in _CREATIONS | _MAKERS)


def writes_items(code: CodeType) -> bool:
    """Whether `code`, or a function that it calls for its effect, may write items of arrays."""
    opcodes = code.co_code[::2]
    bare = opcodes.replace(b"\0", b"")  # without caches
    return (
        _STORES_ITEMS in opcodes
        or _STORES_SLICES in opcodes
        or any(call in bare for call in _CALLS_FOR_EFFECT)
        or not WRITERS.isdisjoint(code.co_names)
        or any(isinstance(constant, tuple) and "out" in constant for constant in code.co_consts)
    )


def may_write_arrays(code: CodeType) -> bool:
    """Whether `code` may change elements of arrays."""
    opcodes = code.co_code
    in_place = any(
        opcodes[i] == _BINARY_OP and _FIRST_IN_PLACE <= opcodes[i + 1] <= _LAST_IN_PLACE
        for i in range(0, len(opcodes), 2)
    )
    return in_place or writes_items(code) or not _WRITING_NAMES.isdisjoint(code.co_names)


def may_change_containers(code: CodeType) -> bool:
    """Whether `code` may change a list, dict or object, by a statement or a method of theirs."""
    changes = not _CHANGES.isdisjoint(code.co_code[::2])
    return changes or may_write_arrays(code) or not _CONTAINER_WRITERS.isdisjoint(code.co_names)


def may_be_traced(value: Any) -> bool:
    """Whether a value that code was followed to may be a tensor, or hold one."""
    for option in options(value):
        if isinstance(option, Group):
            if any(map(may_be_traced, option.items)):
                return True
        elif isinstance(option, Place):
            if not (is_constant(option.value) or isinstance(option.value, np.ndarray)):
                return True
        elif not isinstance(option, Constant):
            return True
    return False
