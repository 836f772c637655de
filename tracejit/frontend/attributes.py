"""Names and attributes that code reads, found without running any of the user's code."""

from __future__ import annotations

import builtins
import collections
import functools
import inspect
import sys
import types
from collections.abc import Callable
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from ..tensors.foreign_arrays import is_foreign
from ..tensors.tensor import Tensor
from .guards import Guard, is_constant
from .library import GENERATORS
from .usage import Uses
from .values import (
    MISSING,
    TRACED,
    UNKNOWN,
    Bound,
    Constant,
    Group,
    Instance,
    Iteration,
    Parent,
    Place,
    Source,
    join,
    options,
)

_ARRAYS: Final = (Tensor, np.ndarray)
#: The attribute by which instances keep their jitted methods (`jitted.methods`).
METHODS: Final = "__tracejit_methods__"
SEQUENCES: Final = (list, tuple, collections.deque)
#: Attributes of a tensor that are tensors.
_TENSOR_ATTRIBUTES: Final = frozenset(("T", "mT", "real", "imag"))
#: Attributes of an array that do not depend on its elements.
_SHAPE_ATTRIBUTES: Final = frozenset(("shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides"))
_STANDARD: Final = sys.stdlib_module_names


def is_library(module: str | None) -> bool:
    """Whether functions of `module` are this package's, NumPy's or Python's, whose globals nobody rebinds."""
    root = (module or "").partition(".")[0]
    return root in ("tracejit", "numpy", "llvmlite", "scipy", "_pytest") or (
        root in _STANDARD and root != "__main__"
    )


def is_user_function(function: FunctionType) -> bool:
    """Whether `function` is the user's code. Its globals tell: a library's wrapper has the user's module."""
    return not is_library(function.__globals__.get("__name__"))


def is_own(module: str | None) -> bool:
    """Whether functions of `module` are this package's."""
    return (module or "").partition(".")[0] == "tracejit"


#: ``call(callee, positional, named, run, instruction)``: the result of a call that is followed. The execution
#: and its instruction are None where no instruction calls.
Call: TypeAlias = Callable[[Any, list[Any], dict[str, Any], Any, Any], Any]


class Attributes:
    """Reads what values lead to, and notes what depends on them in `uses`."""

    def __init__(self, uses: Uses, call: Call, escape: Callable[[Any], None]) -> None:
        self.uses = uses
        #: Follows a call, such as that of a property's getter.
        self.call = call
        #: Says that a value is handed to code that is not followed.
        self.escape = escape

    # -- names -------------------------------------------------------------------------------------

    def global_name(self, module: dict[str, Any], name: str) -> Any:
        """A global variable, or a builtin."""
        if name in module:
            return self.place(Place(Source("global", module, name), module[name]))
        value = getattr(builtins, name, MISSING)
        if not isinstance(value, type):  # a builtin class is one for good
            self.uses.missing(Place(Source("global", module, name), None))
        if value is MISSING:
            return UNKNOWN
        if not isinstance(value, type):
            self.uses.same(Place(Source("global", vars(builtins), name), value))
        return Constant(value)

    def imported(self, name: str, level: Any, names: Any, module: dict[str, Any]) -> Any:
        """The module that an import statement inside a function gives; `UNKNOWN` unless it is loaded."""
        depth = level.value if isinstance(level, Constant) else 0
        if depth:
            package = str(module.get("__package__", "")).split(".")
            name = ".".join([*package[: len(package) - depth + 1], *([name] if name else [])])
        if not (isinstance(names, Constant) and names.value):
            name = name.partition(".")[0]
        loaded = sys.modules.get(name)
        return UNKNOWN if loaded is None else Place(Source("global", sys.modules, name), loaded, settled=True)

    def place(self, place: Place) -> Any:
        """`place` as code gets it: tensors and arrays are noted. Those of other libraries must stay the same
        objects; their memory is read at each call."""
        if isinstance(place.value, _ARRAYS):
            self.uses.array(place)
        elif isinstance(place.value, GENERATORS):
            self.uses.generators.setdefault(id(place.value), place)
        elif is_foreign(place.value):
            self.uses.same(place)
        return place

    # -- attributes --------------------------------------------------------------------------------

    def read(self, owner: Any, name: str) -> Any:
        """``owner.name``"""
        return join(*[self.attribute_of(option, name) for option in options(owner)])

    def attribute_of(self, owner: Any, name: str) -> Any:
        if owner is TRACED:
            return TRACED if name in _TENSOR_ATTRIBUTES else Bound(TRACED, name)
        if isinstance(owner, Parent):
            return self._inherited(owner, name)
        if isinstance(owner, Constant):
            return self._attribute_of_constant(owner.value, name)
        if isinstance(owner, (Group, Iteration)):
            return Bound(owner, name)
        if isinstance(owner, Instance):
            return self._attribute_of_new(owner, name)
        if not isinstance(owner, Place):
            return UNKNOWN
        value = owner.value
        if isinstance(value, ModuleType):
            return self._attribute_of_module(owner, name)
        if isinstance(value, Tensor):
            return TRACED if name in _TENSOR_ATTRIBUTES else Bound(owner, name)
        if isinstance(value, np.ndarray):
            if name not in _SHAPE_ATTRIBUTES:
                self.uses.inspect(owner)
            return Bound(owner, name)
        if is_constant(value) or type(value) in (dict, MappingProxyType, *SEQUENCES, set, frozenset):
            return Bound(owner, name)
        if isinstance(value, type):
            return self._attribute_of_class(owner, value, name)
        return self.attribute_of_instance(owner, name)

    def _attribute_of_constant(self, value: Any, name: str) -> Any:
        if isinstance(value, (ModuleType, type)):
            attribute = getattr(value, name, MISSING)
            return UNKNOWN if attribute is MISSING else Constant(attribute)
        return Bound(Constant(value), name)

    def _attribute_of_module(self, owner: Place, name: str) -> Any:
        module = owner.value
        library = is_library(module.__name__)
        value = getattr(module, name, MISSING) if library else vars(module).get(name, MISSING)
        if value is MISSING:
            self.uses.missing(owner.attribute(name, None))
            getter = vars(module).get("__getattr__")
            if not isinstance(getter, FunctionType):
                return UNKNOWN
            return self.call(owner.attribute("__getattr__", getter), [Constant(name)], {}, None, None)
        place = owner.attribute(name, value)
        if library:
            if name in vars(module) and module.__name__.partition(".")[0] in _STANDARD:
                self.uses.same(Place(Source("global", vars(module), name), value))
            if is_constant(value):
                return Constant(value)
            place.settled = True
        return self.place(place)

    def _attribute_of_class(self, owner: Place, cls: type, name: str) -> Any:
        self.uses.same(owner)  # what leads to the class may lead to another one later
        raw = in_classes(cls.__mro__, name)
        if raw is MISSING:
            raw = in_classes(inspect.getmro(type(cls)), name)
            if raw is MISSING:
                return self._absent(owner, type(cls), name)
            if isinstance(raw, property):
                self._same_descriptor(type(cls), name, raw)
                return self._run_getter(owner, type(cls), name, raw.fget)
            if isinstance(raw, FunctionType) and is_user_function(raw):
                return Bound(owner, name, self.class_function(type(cls), name, raw))
            plain = raw is not MISSING and not hasattr(type(raw), "__get__")
            return self.place(owner.attribute(name, raw)) if plain else Bound(owner, name)
        if isinstance(raw, (classmethod, staticmethod)):
            function = self.class_function(cls, name, raw.__func__)
            return Bound(owner, name, function) if isinstance(raw, classmethod) else function
        if isinstance(raw, FunctionType):
            return self.class_function(cls, name, raw)
        if hasattr(type(raw), "__get__"):
            return self._described(cls, name, raw, Constant(None))
        return self.place(owner.attribute(name, raw))

    def _described(self, cls: type, name: str, raw: Any, instance: Any) -> Any:
        """The result of the descriptor `raw` of `cls`, followed if its ``__get__`` is the user's."""
        getter = in_classes(type(raw).__mro__, "__get__")
        if not (isinstance(getter, FunctionType) and is_user_function(getter)):
            if is_library(cls.__module__):
                return Constant(getattr(cls, name, None))
            self.escape(Place(Source("object", raw, f"{cls.__qualname__}.{name}"), raw, settled=True))
            return UNKNOWN
        place = Place(Source("object", raw, f"{cls.__qualname__}.{name}"), raw)
        function = self.class_function(type(raw), "__get__", getter)
        return self.call(function, [place, instance, _class_place(cls)], {}, None, None)

    def _attribute_of_new(self, owner: Instance, name: str) -> Any:
        """An attribute of an object that the code makes: what its class has, or what it may hold itself."""
        cls = owner.cls
        if name == "__class__":
            return _class_place(cls)
        raw = in_classes(cls.__mro__, name)
        if raw is MISSING:
            getter = in_classes(cls.__mro__, "__getattr__")
            if not isinstance(getter, FunctionType):
                return UNKNOWN
            function = self.class_function(cls, "__getattr__", getter)
            return join(UNKNOWN, self.call(function, [owner, Constant(name)], {}, None, None))
        if isinstance(raw, FunctionType):
            return Bound(owner, name, self.class_function(cls, name, raw))
        if isinstance(raw, (property, functools.cached_property)):
            self._same_descriptor(cls, name, raw)
            return self._run_getter(owner, cls, name, raw.fget if isinstance(raw, property) else raw.func)
        if isinstance(raw, (classmethod, staticmethod)):
            return self._attribute_of_class(_class_place(cls), cls, name)
        if isinstance(raw, functools.partialmethod):
            return self._partial_method(owner, raw)
        if hasattr(type(raw), "__get__"):
            return self._described(cls, name, raw, owner)
        return join(UNKNOWN, self.place(_class_place(cls).attribute(name, raw)))

    def _partial_method(self, owner: Any, raw: functools.partialmethod[Any]) -> Any:
        """A method with some arguments, of which nothing is known here."""
        if isinstance(raw.func, FunctionType):
            place = Place(Source("object", raw.func, raw.func.__qualname__), raw.func, settled=True)
            self.escape(self.call(place, [owner], {"*": TRACED}, None, None))
        return UNKNOWN

    def class_function(self, cls: type, name: str, function: Any) -> Place:
        """A function that `cls` defines or inherits, guarded against another in its place."""
        source = Source("object", cls, cls.__qualname__).attribute(name)
        current = source.read()
        place = Place(Source("object", function, getattr(function, "__qualname__", name)), function)
        place.settled = True
        if not isinstance(function, FunctionType) or is_user_function(function):
            expected = current if isinstance(current, FunctionType) else getattr(current, "__func__", None)
            holder = source if isinstance(current, FunctionType) else source.attribute("__func__")
            if expected is not None:
                self.uses.guard(Guard, Place(holder, expected), expected)
        return place

    def _method(self, owner: Place, name: str, function: FunctionType) -> Place:
        """A method of an instance, guarded against another of its class, and against an attribute of the
        instance that hides it."""
        if not hasattr(owner.value, "__dict__"):
            return self.class_function(type(owner.value), name, function)
        if is_user_function(function):
            source = owner.source.attribute(name).attribute("__func__")
            self.uses.guard(Guard, Place(source, function), function)
        return Place(Source("object", function, function.__qualname__), function, settled=True)

    def attribute_of_instance(self, owner: Place, name: str) -> Any:
        value = owner.value
        cls = type(value)
        if name == "__class__":
            return self.place(owner.attribute(name, cls))
        raw = in_classes(cls.__mro__, name)
        if isinstance(raw, (property, types.DynamicClassAttribute)):
            self._of_class(owner)
            self._same_descriptor(cls, name, raw)
            return self._run_getter(owner, cls, name, raw.fget)
        if isinstance(raw, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            try:
                return self.place(owner.attribute(name, raw.__get__(value, cls)))
            except AttributeError:
                return UNKNOWN
        own = instance_dict(value)
        if not (hasattr(type(raw), "__set__") and raw is not MISSING) and name in own:
            return self.place(owner.attribute(name, own[name]))
        if raw is MISSING:
            return self._absent(owner, cls, name)
        if isinstance(raw, FunctionType):
            self._of_class(owner)
            return Bound(owner, name, self._method(owner, name, raw))
        if isinstance(raw, classmethod):
            self._of_class(owner)
            return Bound(_class_place(cls), name, self.class_function(cls, name, raw.__func__))
        if isinstance(raw, staticmethod):
            self._of_class(owner)
            return self.class_function(cls, name, raw.__func__)
        if isinstance(raw, functools.cached_property):
            self._of_class(owner)
            self._same_descriptor(cls, name, raw)
            self.uses.kept.append(owner.attribute("__dict__", own).item(name, MISSING))
            return self._run_getter(owner, cls, name, raw.func)
        if not hasattr(type(raw), "__get__"):
            return self.place(owner.attribute(name, raw))
        if isinstance(raw, functools.partialmethod):
            self._of_class(owner)
            return self._partial_method(owner, raw)
        if is_library(getattr(cls, "__module__", None)):
            return Bound(owner, name)
        if callable(raw) and not isinstance(raw, type):  # a decorated method, of this library or another
            self._of_class(owner)
            wrapped = Place(Source("object", cls, cls.__qualname__).attribute(name), raw)
            return Bound(owner, name, wrapped)
        self.escape(owner)
        return self._described(cls, name, raw, owner)

    def _same_descriptor(self, cls: type, name: str, raw: Any) -> None:
        """The function depends on what computes the attribute `name` of instances of `cls`."""
        self.uses.guard(Guard, Place(Source("object", cls, cls.__qualname__).attribute(name), raw), raw)

    def _of_class(self, owner: Place) -> None:
        """The function depends on the class of what lies at `owner`."""
        if not owner.settled:
            self.uses.guard(Guard, owner.attribute("__class__", type(owner.value)), type(owner.value))

    def _run_getter(self, owner: Any, cls: type, name: str, getter: Any) -> Any:
        if getter is None:
            return UNKNOWN
        source = Source("object", getter, f"{cls.__qualname__}.{name}")
        return self.call(Place(source, getter, settled=True), [owner], {}, None, None)

    def _absent(self, owner: Place, cls: type, name: str) -> Any:
        getter = in_classes(cls.__mro__, "__getattr__")
        if getter is MISSING:
            place = owner.attribute(name, owner.source.attribute(name).read())
            if place.value is not MISSING:  # as of threading.local, whose attributes lie elsewhere
                return self.place(place)
            self.uses.missing(place)
        if not isinstance(getter, FunctionType):
            return UNKNOWN
        self._of_class(owner)
        function = self.class_function(cls, "__getattr__", getter)
        return self.call(function, [owner, Constant(name)], {}, None, None)

    def _inherited(self, parent: Parent, name: str) -> Any:
        owner = parent.owner
        cls = type(owner.value) if isinstance(owner, Place) else parent.cls
        order = cls.__mro__
        behind = order[order.index(parent.cls) + 1 :] if parent.cls in order else order
        raw = in_classes(behind, name)
        defining = next((class_ for class_ in behind if name in vars(class_)), None)
        if defining is None:
            return UNKNOWN
        if isinstance(raw, FunctionType):
            return Bound(owner, name, self.class_function(defining, name, raw))
        if isinstance(raw, property):
            self._same_descriptor(defining, name, raw)
            return self._run_getter(owner, defining, name, raw.fget)
        if isinstance(raw, (classmethod, staticmethod)):
            function = self.class_function(defining, name, raw.__func__)
            return function if isinstance(raw, staticmethod) else Bound(_class_place(cls), name, function)
        if callable(raw) and not isinstance(raw, type) and hasattr(type(raw), "__get__"):  # decorated
            source = Source("object", defining, defining.__qualname__).attribute(name)
            return Bound(owner, name, Place(source, raw))
        return UNKNOWN


def _class_place(cls: type) -> Place:
    return Place(Source("object", cls, cls.__qualname__), cls, settled=True)


def in_classes(classes: tuple[type, ...], name: str) -> Any:
    """The raw attribute `name` of the first of `classes` that has one, without binding; else `MISSING`."""
    for cls in classes:
        if name in vars(cls):
            return vars(cls)[name]
    return MISSING


def instance_dict(value: Any) -> dict[str, Any]:
    """The attributes of an instance that are its own, without running code of its class."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}
