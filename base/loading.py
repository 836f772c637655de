"""Loading on first use: modules that few programs need, and what a lower room asks of an upper one.

Objects of modules that nobody may have loaded are known by name (`Loaded`).
"""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from .process.collector import collector_paused, count_as_old

T = TypeVar("T")


def load_module(name: str, package: str | None = None) -> Any:
    """Import a module of this project by name, relative to a package. `tests/test_architecture.py` reads
    these names as it reads import statements: they lead to the same room or a lower floor."""
    count = len(sys.modules)
    with collector_paused():
        module = import_module(name, package)
        if len(sys.modules) != count:
            count_as_old()
    return module


class LazyModule:
    """A module that loads when something of it is first used. Beside it type checkers see an import:

    if TYPE_CHECKING:
        from . import compiling
    else:
        compiling = LazyModule(".compiling", __package__)
    """

    __slots__ = ("_module", "_name", "_package")

    def __init__(self, name: str, package: str | None = None) -> None:
        self._name, self._package = name, package
        self._module: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:
            self._module = load_module(self._name, self._package)
        return getattr(self._module, name)


class LazyMethods:
    """The functions of a module as methods of a class: the module loads when one of them is looked up.

    >>> text = LazyMethods(LazyModule("textwrap"))
    >>> class Text(str):
    ...     indented = text.indent
    >>> Text("a").indented("> ")
    '> a'
    """

    __slots__ = ("_module",)

    def __init__(self, module: LazyModule) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _LazyMethod(self._module, name)


class _LazyMethod:
    """A function in the place where a class has it, until it is looked up there."""

    __slots__ = ("_attribute", "_module", "_name", "_owner")

    def __init__(self, module: LazyModule, name: str) -> None:
        self._module, self._name = module, name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._owner, self._attribute = owner, attribute

    def __get__(self, instance: Any, owner: type) -> Any:
        function = getattr(self._module, self._name)
        setattr(self._owner, self._attribute, function)
        return function.__get__(instance, owner)


class Provided(Generic[T]):
    """A function or module that a lower room calls and an upper room provides.

    The lower room owns the object; `tracejit/providers.py` names the module that has what is provided, which
    loads at the first use.

    >>> greeting = Provided[str]("the name of a module")
    >>> greeting.provide("string", None, "digits")
    >>> greeting()
    '0123456789'
    """

    __slots__ = ("_attribute", "_found", "_module", "_package", "meaning")

    def __init__(self, meaning: str) -> None:
        self.meaning: Final = meaning
        self._module: str | None = None
        self._package: str | None = None
        self._attribute: str | None = None
        self._found: list[T] = []

    def provide(self, module: str, package: str | None, attribute: str | None = None) -> None:
        """Name the module, and what in it is meant: an attribute, or the module itself."""
        self._module, self._package, self._attribute = module, package, attribute
        self._found.clear()

    def __call__(self) -> T:
        """Load and return what is provided. Raises LookupError where nobody provided it."""
        if not self._found:
            if self._module is None:
                raise LookupError(f"nothing provides {self.meaning}")
            value: Any = load_module(self._module, self._package)
            self._found.append(value if self._attribute is None else getattr(value, self._attribute))
        return self._found[0]


class Loaded:
    """Objects of modules that may not be loaded, by their names: until they are, nobody has the objects.

    >>> decimals = Loaded("decimal:Decimal", "decimal:Context")
    >>> isinstance(1.0, decimals())
    False
    """

    __slots__ = ("_names", "_objects", "_waiting")

    def __init__(self, *names: str) -> None:
        self._waiting = names
        self._names: dict[Any, str] = {}
        self._objects: tuple[Any, ...] = ()

    def __call__(self) -> tuple[Any, ...]:
        """The objects of those modules that are loaded by now."""
        if self._waiting:
            self._look()
        return self._objects

    def holds(self, value: object) -> bool:
        """Whether `value` is one of the objects."""
        return any(value is known for known in self())

    def name_of(self, value: object) -> str | None:
        """The name of `value`, which can be a key; None where it is none of these objects."""
        if self._waiting:
            self._look()
        return self._names.get(value)

    def _look(self) -> None:
        waiting = []
        for name in self._waiting:
            module, _, attribute = name.partition(":")
            if module in sys.modules:
                try:
                    value = attrgetter(attribute)(sys.modules[module])
                except (KeyError, AttributeError):  # another thread runs the module
                    waiting.append(name)
                else:
                    self._names[value] = name
                    self._objects = (*self._objects, value)
            else:
                waiting.append(name)
        self._waiting = tuple(waiting)
