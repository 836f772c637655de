"""Names and attributes that code reads, found without running any of the user's code."""

from __future__ import annotations

import builtins
import collections
import functools
import sys
import types
import weakref
from collections.abc import Callable
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, Final

import numpy as np

from ..tensors.tensor import Tensor
from .classes import SLOTS, Call, ClassAttributes, class_place, defining_class, in_classes
from .guards import Guard, is_constant
from .libraries.origins import is_library, is_library_class, is_standard
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


class Attributes:
    """Reads what values lead to, and notes what depends on them in `uses`."""

    def __init__(self, uses: Uses, call: Call, escape: Callable[[Any], None]) -> None:
        self.uses = uses
        #: Follows a call, such as that of a property's getter.
        self.call = call
        #: Says that a value is handed to code that is not followed.
        self.escape = escape
        self.classes = ClassAttributes(uses, call, escape)

    # -- names -------------------------------------------------------------------------------------

    def global_name(self, module: dict[str, Any], name: str) -> Any:
        """A global variable, or a builtin."""
        if name in module:
            return self.uses.read(Place(Source("global", module, name), module[name]))
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
        return self.loaded_module(name)

    def loaded_module(self, name: str) -> Any:
        """The module `name`, as it lies in ``sys.modules``; `UNKNOWN` if it is not loaded."""
        source = Source("global", sys.modules, name)
        loaded = sys.modules.get(name)
        if loaded is None:
            self.uses.missing(Place(source, None))
            return UNKNOWN
        self.uses.same(Place(source, loaded))
        return Place(source, loaded, settled=True)

    # -- attributes --------------------------------------------------------------------------------

    def read(self, owner: Any, name: str) -> Any:
        """``owner.name``"""
        return join(*[self.attribute_of(option, name) for option in options(owner)])

    def attribute_of(self, owner: Any, name: str) -> Any:
        if owner is TRACED:
            return TRACED if name in _TENSOR_ATTRIBUTES else Bound(TRACED, name)
        if isinstance(owner, Parent):
            return self.classes.inherited(owner, name)
        if isinstance(owner, Constant):
            return self._attribute_of_constant(owner.value, name)
        if isinstance(owner, (Group, Iteration)):
            return Bound(owner, name)
        if isinstance(owner, Instance):
            return self.classes.attribute_of_new(owner, name)
        if not isinstance(owner, Place):
            self.uses.shows_arrays |= name in ("__str__", "__repr__", "__format__")
            return UNKNOWN
        value = owner.value
        if isinstance(value, ModuleType):
            return self._attribute_of_module(owner, name)
        if isinstance(value, Tensor):
            return TRACED if name in _TENSOR_ATTRIBUTES else Bound(owner, name)
        if isinstance(value, np.ndarray):
            if name == "flags":
                return owner.attribute(name, value.flags)
            if type(value) is not np.ndarray and (
                name in instance_dict(value)
                or not is_library_class(defining_class(type(value).__mro__, name) or np.ndarray)
            ):
                return self.attribute_of_instance(owner, name)
            if name not in _SHAPE_ATTRIBUTES:
                self.uses.inspect(owner)
            return Bound(owner, name)
        if type(value) in (dict, MappingProxyType, *SEQUENCES, set, frozenset):
            slot = in_classes(type(value).__mro__, name)
            is_slot = isinstance(slot, SLOTS)  # as a deque's ``maxlen``
            return (
                self.uses.read(owner.attribute(name, getattr(value, name))) if is_slot else Bound(owner, name)
            )
        if is_constant(value) and is_library_class(type(value)):
            return Bound(owner, name)
        if isinstance(value, type):
            return self.classes.attribute_of_class(owner, value, name)
        if isinstance(value, weakref.finalize) and name in ("alive", "atexit"):
            return self.uses.read(owner.attribute(name, getattr(value, name)))
        return self.attribute_of_instance(owner, name)

    def _attribute_of_constant(self, value: Any, name: str) -> Any:
        if isinstance(value, (ModuleType, type)):
            attribute = getattr(value, name, MISSING)
            return UNKNOWN if attribute is MISSING else Constant(attribute)
        return Bound(Constant(value), name)

    def _attribute_of_module(self, owner: Place, name: str) -> Any:
        module = owner.value
        if name == "__dict__":
            return self.uses.read(owner.attribute(name, vars(module)))
        kinds = type(module).__mro__[:-2] if not is_library_class(type(module)) else ()
        if name == "__class__" or in_classes(kinds, name) is not MISSING:
            return self.attribute_of_instance(owner, name)
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
            if name in vars(module) and is_standard(module.__name__):
                self.uses.same(Place(Source("global", vars(module), name), value))
            if is_constant(value):
                return Constant(value)
            place.settled = callable(value) or isinstance(value, (ModuleType, *_ARRAYS))
        return self.uses.read(place)

    def _method(self, owner: Place, name: str, raw: Any) -> Place:
        """A method of an instance, guarded against another one of its class, and against an attribute of the
        instance that hides it."""
        cls = type(owner.value)
        self.classes.same_class(owner)
        function = raw if isinstance(raw, FunctionType) else raw.__func__
        if not instance_has_dict(owner.value):
            return self.classes.class_function(cls, name, function)
        if self.classes.may_be_replaced(cls, name, function):
            source = owner.source.attribute(name)
            source = source if isinstance(raw, staticmethod) else source.attribute("__func__")
            self.uses.guard(Guard, Place(source, function), function)
        return Place(
            Source("object", function, getattr(function, "__qualname__", name)), function, settled=True
        )

    def attribute_of_instance(self, owner: Place, name: str) -> Any:
        value = owner.value
        cls = type(value)
        if name == "__class__":
            return self.uses.read(owner.attribute(name, cls))
        raw = in_classes(cls.__mro__, name)
        if isinstance(raw, (property, types.DynamicClassAttribute)):
            self.classes.same_class(owner)
            self.classes.same_descriptor(cls, name, raw)
            return self.classes.run_getter(owner, cls, name, raw.fget)
        if isinstance(raw, SLOTS):
            try:
                return self.uses.read(owner.attribute(name, raw.__get__(value, cls)))
            except AttributeError:
                return UNKNOWN
        own = instance_dict(value)
        if not is_data(raw) and name in own:
            return self.uses.read(owner.attribute(name, own[name]))
        if raw is MISSING:
            return self.classes.absent(owner, cls, name)
        if isinstance(raw, (FunctionType, classmethod)):
            receiver = owner if isinstance(raw, FunctionType) else class_place(cls)
            return Bound(receiver, name, self._method(owner, name, raw))
        if isinstance(raw, staticmethod):
            return self._method(owner, name, raw)
        if isinstance(raw, functools.cached_property):
            self.classes.same_class(owner)
            self.classes.same_descriptor(cls, name, raw)
            self.uses.kept.append(owner.attribute("__dict__", own).item(name, MISSING))
            return self.classes.run_getter(owner, cls, name, raw.func)
        if not hasattr(type(raw), "__get__"):
            return self.uses.read(owner.attribute(name, raw))
        if instance_has_dict(value) and not is_data(raw) and not is_library_class(cls):
            self.uses.missing(owner.attribute("__dict__", own).item(name, None))  # which would hide it
        if isinstance(raw, functools.partialmethod):
            self.classes.same_class(owner)
            return self.classes.partial_method(owner, cls, name, raw)
        if is_library_class(cls):
            return Bound(owner, name)
        if callable(raw) and not isinstance(raw, type):  # a decorated method, of this library or another
            self.classes.same_class(owner)
            wrapped = Place(Source("object", cls, cls.__qualname__).attribute(name), raw)
            return Bound(owner, name, wrapped)
        if is_data(raw) and not isinstance(in_classes(type(raw).__mro__, "__get__"), FunctionType):
            return self.uses.read(owner.attribute(name, raw.__get__(value, cls)))  # as a field of ctypes
        self.escape(owner)
        return self.classes.described(cls, name, raw, owner)


def is_data(raw: Any) -> bool:
    """Whether a raw attribute of a class is a descriptor that goes before attributes of instances."""
    return raw is not MISSING and hasattr(type(raw), "__set__")


def instance_has_dict(value: Any) -> bool:
    """Whether an instance may have attributes of its own."""
    return bool(getattr(type(value), "__dictoffset__", 0))


def instance_dict(value: Any) -> dict[str, Any]:
    """The attributes of an instance that are its own, without running code of its class."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}
