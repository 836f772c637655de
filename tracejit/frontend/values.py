"""Abstract values of code that is followed without running it, and the places that hold them.

A value is `UNKNOWN`, `TRACED` (a tensor, or containers of tensors: never a plain number), a `Constant`, a
`Place` that the code reads, something that the code makes of those (`Group`, `Closure`, `Iteration`,
`Bound`), or a `Choice` of several of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType
from typing import Any, Final

from ..base.records import record
from ..generator import Draws
from ..tensors.generator_states import GeneratorState, kind_of

#: The result of `Source.read` where there is nothing.
MISSING: Final = object()


@record(eq=False)
class Source:
    """A place: a closure ``cell``, a ``global`` name, or just an ``object``.

    `path` leads on from there by items, attributes and calls of methods without arguments (``__call__`` of
    itself). `key` is the name of the variable, for an object what messages call it.
    """

    kind: str
    holder: Any
    key: str = ""
    path: tuple[tuple[str, Any], ...] = ()
    #: Whether what lies here is a Python float that is an input.
    is_number: bool = False

    @property
    def identity(self) -> Any:
        """The key of this place; those of ``x[1]`` and ``x[True]`` differ."""
        steps = tuple([(how, type(step), step) for how, step in self.path])
        return self.kind, id(self.holder), self.key if self.kind == "global" else "", steps

    def attribute(self, name: str) -> Source:
        """The place of an attribute of what lies here."""
        return Source(self.kind, self.holder, self.key, (*self.path, ("attr", name)))

    def item(self, key: Any) -> Source:
        """The place of an item of what lies here."""
        return Source(self.kind, self.holder, self.key, (*self.path, ("item", key)))

    def call(self, method: str = "__call__") -> Source:
        """The place of what a method of what lies here gives."""
        return Source(self.kind, self.holder, self.key, (*self.path, ("call", method)))

    def state(self, kind: str) -> Source:
        """The place of the state of the generator of NumPy's that lies here, of this kind."""
        return Source(self.kind, self.holder, self.key, (*self.path, ("state", kind)))

    def read(self) -> Any:
        """The value there now; `MISSING` if there is none."""
        try:
            value = self._bound()
            for how, step in self.path:
                value = _STEPS[how](value, step)
        except (AttributeError, LookupError, TypeError, ValueError):
            return MISSING
        return value

    def containers(self) -> list[Any]:
        """The present objects in which the steps of the path are taken."""
        if not self.path:
            return []
        values = [self._bound()]
        for how, step in self.path[:-1]:
            values.append(_STEPS[how](values[-1], step))
        return values[: len(self.path)]

    def _bound(self) -> Any:
        if self.kind == "object":
            return self.holder
        return self.holder.cell_contents if self.kind == "cell" else self.holder[self.key]

    def __str__(self) -> str:
        if self.kind == "object" and isinstance(self.holder, Draws):
            return str(self.holder)
        steps = "".join(_SHOWN[how].format(step) for how, step in self.path).replace(".__call__()", "()")
        if self.kind == "object" and not self.key:
            return f"{steps} of an object without a name" if steps else "an object without a name"
        return self.key + steps


def _attribute(value: Any, name: str) -> Any:
    """An attribute; of the class, whatever the object says of it."""
    return type(value) if name == "__class__" else getattr(value, name)


def _item(container: Any, key: Any) -> Any:
    """An item, without the insertion that ``defaultdict`` and its kind make for a missing key."""
    return dict.__getitem__(container, key) if isinstance(container, dict) else container[key]


def _called(value: Any, method: str) -> Any:
    """The result of a value's method."""
    return getattr(value, method)()


def _generator_state(value: Any, kind: str) -> GeneratorState:
    """The state of a generator of NumPy's, of this kind."""
    if kind_of(value) != kind:
        raise TypeError(f"no generator of kind {kind}")
    return GeneratorState(value, kind)


_STEPS: Final = {"attr": _attribute, "item": _item, "call": _called, "state": _generator_state}
_SHOWN: Final = {"attr": ".{}", "item": "[{!r}]", "call": ".{}()", "state": ""}
#: Most alternatives that are kept apart.
MAX_ALTERNATIVES: Final = 256


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN: Final = _Named("unknown")
TRACED: Final = _Named("traced")


@record
class Constant:
    """A value that the code contains."""

    value: Any

    def __hash__(self) -> int:
        return hash((type(self.value), id(self.value)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.value is other.value


#: The types of values in which there is nothing to look at.
PLAIN: Final = frozenset((_Named, Constant))


class Place:
    """The value that lies at a source now. A `settled` value needs no guard: a library's function, or a value
    that a guard on something else implies."""

    __slots__ = ("identity", "settled", "source", "value")

    def __init__(self, source: Source, value: Any, *, settled: bool = False, identity: Any = None) -> None:
        self.source, self.value, self.settled = source, value, settled
        self.identity = source.identity if identity is None else identity

    def attribute(self, name: str, value: Any) -> Place:
        """The place of an attribute with `value`."""
        return Place(self.source.attribute(name), value)

    def call(self, value: Any, method: str = "__call__") -> Place:
        """The place of what a method gives, which is `value`."""
        return Place(self.source.call(method), value)

    def item(self, key: Any, value: Any) -> Place:
        """The place of an item with `value`."""
        kind, holder, name, steps = self.identity
        identity = kind, holder, name, (*steps, ("item", type(key), key))
        return Place(self.source.item(key), value, identity=identity)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.identity == other.identity and self.value is other.value


@record(eq=False)
class Group:
    """A tuple, list or dict that the code builds; `keys` of a dict, None where they are not known."""

    kind: str
    items: tuple[Any, ...]
    keys: tuple[Any, ...] | None = None


@record(eq=False)
class Closure:
    """A function that the code defines."""

    code: CodeType
    module: dict[str, Any]
    cells: dict[str, Cell]
    defaults: tuple[Any, ...]
    keyword_defaults: dict[str, Any]


class Cell:
    """A variable that inner functions share: everything that was stored in it."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def store(self, value: Any) -> None:
        """Add `value` to the possible values of the variable."""
        self.value = value if self.value is None else join(self.value, value)


@record(eq=False)
class Iteration:
    """An iterator or iterable whose elements are `element`."""

    element: Any


@record(eq=False)
class Bound:
    """`name` of `owner` as a method: of a builtin type or a tensor; with `function`, of the user's class."""

    owner: Any
    name: str
    function: Any = None


@record(eq=False)
class Transformed:
    """`function` wrapped by the library's transform `name`."""

    name: str
    function: Any


@record(eq=False)
class Parent:
    """The result of ``super()``: `owner` as an instance of the classes behind `cls`."""

    cls: type
    owner: Any


@record
class Instance:
    """An object that the code makes of the user's class `cls`. What its attributes hold is not known."""

    cls: type


class Choice:
    """Abstract value that is one of several."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Any, ...]) -> None:
        self.options = options

    def __hash__(self) -> int:
        return hash(frozenset(self.options))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and set(self.options) == set(other.options)


def options(value: Any) -> tuple[Any, ...]:
    """The alternatives of a value."""
    return value.options if isinstance(value, Choice) else (value,)


def join(*values: Any) -> Any:
    """The value that is one of `values`."""
    if len(values) == 1:
        return values[0]
    if len(values) == 2 and values[0] == values[1]:
        return values[0]
    every = dict.fromkeys(option for value in values for option in options(value))
    return next(iter(every)) if len(every) == 1 else Choice(tuple(every))


def choice_of(values: Iterable[Any]) -> Any:
    """The value that is one of `values`; `UNKNOWN` if there are none."""
    every = tuple(dict.fromkeys(values))
    if not every:
        return UNKNOWN
    return every[0] if len(every) == 1 else Choice(every)
