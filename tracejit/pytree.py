"""Pytrees: nested containers of leaves. dict, list, tuple, namedtuple, instances of dataclasses and of attrs
classes, and None are containers; classes registered with `register_pytree_node` are too; everything else is
a leaf.

Leaves of dicts come in sorted key order where keys can be compared, else in insertion order, as in JAX. A
dict that is put together again has its keys in the order in which it had them, as Python's users expect.
Fields of dataclasses with ``metadata={"static": True}`` belong to the structure.
"""

from __future__ import annotations

import reprlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .base.errors import ArgumentError, NestingError, ShapeError, TracejitError
from .base.loading import LazyModule
from .base.records import record

if TYPE_CHECKING:
    import dataclasses
else:
    dataclasses = LazyModule("dataclasses")


class _Star:
    """The place of a leaf in a printed structure."""

    def __repr__(self) -> str:
        return "*"


class TreeDef:
    """The structure of a pytree, without its leaves. Compares and hashes by structure."""

    __slots__ = ("_hash", "leaves", "shape")

    def __init__(self, shape: Any, leaves: int) -> None:
        self.shape = shape
        self.leaves = leaves
        try:
            self._hash = hash(shape)
        except TypeError as error:
            raise TracejitError(
                f"a pytree's keys and a registered node's aux must be hashable: {error}"
            ) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeDef) and self.shape == other.shape

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_leaf(self) -> bool:
        return self.shape is None

    def __repr__(self) -> str:
        return f"TreeDef({self.stars()!r})"

    def __str__(self) -> str:
        """The containers, with a star for each leaf, as messages show them."""
        return "a single value" if self.is_leaf else repr(self.stars())

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with `leaves`."""
        if self.shape is None:
            return next(iter(leaves))
        return _build(self.shape, iter(leaves))

    def paths(self) -> list[str]:
        """The path to each leaf in Python's syntax: ``['w'][0].bias``."""
        paths: list[str] = []
        _paths(self.shape, "", paths)
        return paths

    def stars(self) -> Any:
        """The tree of this structure with a star in the place of each leaf, to print: dicts' keys in the
        order of the leaves."""
        return _build(self.shape, iter([_Star()] * self.leaves), ordered=False)


class _Order:
    """The order of a dict's keys, which makes no two structures different."""

    __slots__ = ("keys",)

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.keys = keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Order)

    def __hash__(self) -> int:
        return 0


#: The structure of a leaf.
LEAF: Final = TreeDef(None, 1)


@record
class _Registered:
    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Any, Sequence[Any]], Any]


_REGISTERED: dict[type, _Registered] = {}
#: Containers by themselves, and Python's values, which are leaves.
_BUILT_IN = frozenset(
    (bool, int, float, complex, str, bytes, list, tuple, dict, OrderedDict, defaultdict, type(None))
)
#: Classes whose instances are leaves, unless they are registered: nothing else has to be asked of them.
LEAVES: Final[set[type]] = {
    bool, int, float, complex, np.ndarray, np.float64, np.float32, FunctionType,
}  # fmt: skip


#: Registered classes whose instances cannot be changed.
FIXED: Final[set[type]] = set()
#: The functions that give the value for which a key of a dict stands, by the key's class: traced numbers.
KEYS: Final[dict[type, Callable[[Any], Any]]] = {}
#: Classes of keys that stand for themselves.
_PLAIN_KEYS: Final = frozenset((str, int, float, bool, bytes, type(None)))


def register_pytree_node(
    cls: type,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, Sequence[Any]], Any],
) -> None:
    """Make instances of `cls` containers.

    `flatten(x)` returns ``(children, aux)`` with hashable `aux`; `unflatten(aux, children)` is its inverse.

    Example:
        >>> import tracejit as tj
        >>> class Point:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> tj.register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
        >>> tj.tree_leaves([Point(1, 2), 3])
        [1, 2, 3]

    Semantics: ``jax.tree_util.register_pytree_node``.
    """
    if not isinstance(cls, type):
        raise ArgumentError(f"register_pytree_node: cls must be a class, got {cls!r}")
    if cls in _BUILT_IN:
        raise TracejitError(f"register_pytree_node: {cls.__name__} has its meaning in pytrees already")
    for name, function in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(function):
            raise ArgumentError(f"register_pytree_node: {name} must be a function, got {function!r}")
    if cls in _REGISTERED:
        raise TracejitError(f"{cls.__name__} is registered as a pytree node already")
    _REGISTERED[cls] = _Registered(flatten, unflatten)
    LEAVES.discard(cls)


def flatten(
    tree: Any,
    *,
    static_strings: bool = False,
    exact: bool = False,
    is_leaf: Callable[[Any], bool] | None = None,
) -> tuple[list[Any], TreeDef]:
    """The leaves of `tree` in order, and its structure, to which strings belong if `static_strings`, and if
    it is to be `exact` these and the order of dicts' keys.

    Of what `is_leaf` is true, that is a leaf as it is.
    """
    if type(tree) in LEAVES:
        return [tree], LEAF
    leaves: list[Any] = []
    try:
        shape = _walk(tree, leaves, _EXACT if exact else static_strings or is_leaf or False)
        return leaves, TreeDef(shape, len(leaves))
    except RecursionError as error:
        raise _endless("flatten", tree) from error


def _endless(name: str, tree: Any) -> NestingError:
    return NestingError(f"{name}: a {type(tree).__name__} is nested too deep, or contains itself")


#: The rule by which strings and the order of dicts' keys belong to the structure.
_EXACT: Final = 2


def _walk(tree: Any, leaves: list[Any], rule: int | Callable[[Any], bool] = False) -> Any:
    """Append leaves; return the structure: None for a leaf, else (kind, meta, children).

    With the `rule` True strings belong to the structure; what a function is true of is a leaf.
    """
    if rule and callable(rule) and rule(tree):
        leaves.append(tree)
        return None
    cls = type(tree)
    if cls in LEAVES:
        leaves.append(tree)
        return None
    if cls is tuple or cls is list:
        shapes: list[Any] = []
        for child in tree:
            if not rule and type(child) in LEAVES:  # no call for it
                leaves.append(child)
                shapes.append(None)
            else:
                shapes.append(_walk(child, leaves, rule))
        return ("tuple" if cls is tuple else "list", None, tuple(shapes))
    if cls is dict or cls is OrderedDict or cls is defaultdict:
        factory = tree.default_factory if cls is defaultdict else None
        order = tuple(tree)
        if not _PLAIN_KEYS.issuperset(map(type, order)):
            order = tuple(map(key_value, order))
            tree = dict(zip(order, tree.values(), strict=True))
        keys = order if cls is OrderedDict else _ordered_keys(tree)
        if order == keys:
            order = keys
        return (
            "dict",
            (cls, keys, factory, order if rule is _EXACT else _Order(order)),
            tuple([_walk(tree[key], leaves, rule) for key in keys]),
        )
    if tree is None:
        return ("none", None, ())
    if cls is str and (rule is True or rule is _EXACT):
        return ("static", tree, ())
    registered = _REGISTERED.get(cls)
    if registered is not None:
        children, aux = registered.flatten(tree)
        return ("node", (cls, aux), tuple([_walk(child, leaves, rule) for child in children]))
    if isinstance(tree, tuple) and hasattr(cls, "_fields"):
        return ("namedtuple", cls, tuple([_walk(child, leaves, rule) for child in tree]))
    if hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__attrs_attrs__"):
        names, constant = _field_names(cls)
        values = tuple([(name, _Constant(getattr(tree, name))) for name in constant])
        children = tuple([_walk(getattr(tree, name), leaves, rule) for name in names])
        return ("dataclass", (cls, names, values), children)
    leaves.append(tree)
    return None


def is_container(cls: type) -> bool:
    """Whether instances of `cls` are containers."""
    if not isinstance(cls, type):
        raise ArgumentError(f"is_container: cls must be a class, got {reprlib.repr(cls)}")
    return (
        cls in (list, tuple, dict, OrderedDict, defaultdict, type(None))
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
        or cls in _REGISTERED
        or hasattr(cls, "__dataclass_fields__")
        or hasattr(cls, "__attrs_attrs__")
    )


def children_of(tree: Any) -> list[Any] | None:
    """Contents of the container `tree`, None for a leaf."""
    cls = type(tree)
    if cls in LEAVES or not is_container(cls):
        return None
    if cls not in _REGISTERED and isinstance(tree, (dict, list, tuple)):
        return list(tree.values() if isinstance(tree, dict) else tree)
    return flatten(tree, is_leaf=lambda value: value is not tree)[0]


def containers_in(tree: Any) -> Iterator[Any]:
    """The containers in `tree` that can be changed, in the order of its leaves, each as often as it is
    there."""
    if type(tree) in LEAVES or not is_container(type(tree)) or tree is None:
        return
    if not isinstance(tree, tuple) and type(tree) not in FIXED:
        yield tree
    for child in flatten(tree, is_leaf=lambda value: value is not tree)[0]:
        yield from containers_in(child)


def count_leaves(shape: Any) -> int:
    """Number of leaves of the structure `shape` of a TreeDef."""
    if shape is None:
        return 1
    if not (isinstance(shape, tuple) and len(shape) == 3 and isinstance(shape[2], tuple)):
        raise ArgumentError(f"count_leaves: shape must be that of a TreeDef, got {reprlib.repr(shape)}")
    return sum(map(count_leaves, shape[2]))


class _Constant:
    """The value of a static field; 1, 1.0 and True, 0.0 and -0.0 are different ones."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        text = repr(value) if isinstance(value, (int, float, complex, tuple)) else ""
        self._key = (type(value), value, text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and bool(self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)


def _field_names(cls: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a dataclass or an attrs class that hold trees, and the static ones."""
    if hasattr(cls, "__dataclass_fields__"):
        all_fields: Sequence[Any] = dataclasses.fields(cls)
    else:
        all_fields = cls.__attrs_attrs__
    constant = tuple([field.name for field in all_fields if field.metadata.get("static")])
    return tuple([field.name for field in all_fields if field.name not in constant]), constant


def key_value(key: Any) -> Any:
    """The value for which a dict's `key` stands, by itself or in a tuple."""
    value = KEYS.get(type(key))
    if value is not None:
        return value(key)
    return tuple(map(key_value, key)) if type(key) is tuple else key


def _ordered_keys(tree: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(tree))
    except TypeError:
        return tuple(tree)


def _key_order(meta: tuple[Any, ...]) -> tuple[Any, ...]:
    """The order of a dict's keys; where it is that of the leaves, the same object as their keys."""
    order: tuple[Any, ...] = meta[3].keys if type(meta[3]) is _Order else meta[3]
    return order


def _build(shape: Any, leaves: Any, *, ordered: bool = True) -> Any:
    if shape is None:
        return next(leaves)
    kind, meta, children = shape
    parts = [next(leaves) if child is None else _build(child, leaves, ordered=ordered) for child in children]
    if kind == "tuple":
        return tuple(parts)
    if kind == "list":
        return parts
    if kind == "dict":
        cls, keys, factory, _ = meta
        pairs: Iterable[tuple[Any, Any]] = zip(keys, parts, strict=True)
        order = _key_order(meta)
        if ordered and order is not keys:
            by_key = dict(pairs)
            pairs = [(key, by_key[key]) for key in order]
        return cls(factory, pairs) if cls is defaultdict else cls(pairs)
    if kind in ("none", "static"):
        return meta
    if kind == "node":
        cls, aux = meta
        return _REGISTERED[cls].unflatten(aux, parts)
    if kind == "namedtuple":
        return meta(*parts)
    cls, names, constant = meta
    result = object.__new__(cls)
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(result, name, part)
    for name, fixed in constant:
        object.__setattr__(result, name, fixed.value)
    return result


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `tree` in order, among them what `is_leaf` is true of.

    Example:
        >>> import tracejit as tj
        >>> tj.tree_leaves({"b": [1, 2], "a": (3, None)})
        [3, 1, 2]
    """
    return flatten(tree, is_leaf=is_leaf)[0]


def tree_map(
    f: Callable[..., Any], tree: Any, *others: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`f` of each leaf of `tree` (and of the leaves at the same places of `others`), in the same structure.

    What `is_leaf` is true of is a leaf.

    Example:
        >>> import tracejit as tj
        >>> tj.tree_map(lambda p, g: p - g, {"w": 3, "b": 1}, {"w": 1, "b": 1})
        {'w': 2, 'b': 0}

    Raises ShapeError where the structures differ. Semantics: ``jax.tree.map``.
    """
    if type(tree) in LEAVES:
        for other in others:
            if type(other) not in LEAVES:
                break
        else:
            return f(tree, *others)
    leaves, structure = flatten(tree, is_leaf=is_leaf)
    columns = [leaves]
    for other in others:
        more, theirs = flatten(other, is_leaf=is_leaf)
        if theirs != structure:
            raise ShapeError(f"tree_map: structures differ: {structure} and {theirs}")
        columns.append(more)
    return structure.unflatten([f(*each) for each in zip(*columns, strict=True)])


def leaf_paths(tree: Any) -> list[str]:
    """The path to each leaf in Python's syntax: ``['w'][0].bias``."""
    try:
        return flatten(tree)[1].paths()
    except RecursionError as error:
        raise _endless("leaf_paths", tree) from error


def _paths(shape: Any, prefix: str, paths: list[str]) -> None:
    if shape is None:
        paths.append(prefix)
        return
    kind, meta, children = shape
    for position, child in enumerate(children):
        if kind == "dict":
            step = f"[{meta[1][position]!r}]"
        elif kind == "dataclass":
            step = f".{meta[1][position]}"
        elif kind == "namedtuple":
            step = f".{meta._fields[position]}"
        else:
            step = f"[{position}]"
        _paths(child, prefix + step, paths)
