"""Functions of pytrees under the names of ``jax.tree``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

from . import pytree
from .arguments.errors import check_public as _check_public
from .base.errors import ArgumentError, ShapeError
from .pytree import TreeDef

__all__ = ["flatten", "leaves", "map", "map_with_path", "reduce", "structure", "unflatten"]

_NONE: Final = object()


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of `tree` in order, among them what `is_leaf` is true of, and its structure.

    Example:
        >>> import tracejit as tj
        >>> tj.tree.flatten({"b": [1, 2], "a": 3})
        ([3, 1, 2], TreeDef({'a': *, 'b': [*, *]}))

    Semantics: ``jax.tree.flatten``.
    """
    return pytree.flatten(tree, is_leaf=is_leaf)


def unflatten(structure: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of `structure` with `leaves`.

    Example:
        >>> import tracejit as tj
        >>> leaves, structure = tj.tree.flatten({"w": 1, "b": 2})
        >>> tj.tree.unflatten(structure, [10 * leaf for leaf in leaves])
        {'w': 10, 'b': 20}

    Raises ShapeError for another number of leaves. Semantics: ``jax.tree.unflatten``.
    """
    if not isinstance(structure, TreeDef):
        raise ArgumentError(f"tree.unflatten: structure must be that of a tree, got {structure!r}")
    values = list(leaves)
    if len(values) != structure.leaves:
        raise ShapeError(
            f"tree.unflatten: {len(values)} leaves for a structure with {structure.leaves}: {structure}"
        )
    return structure.unflatten(values)


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeDef:
    """The structure of `tree`, without its leaves.

    Example:
        >>> import tracejit as tj
        >>> tj.tree.structure((1, {"a": 2}))
        TreeDef((*, {'a': *}))

    Semantics: ``jax.tree.structure``.
    """
    return pytree.flatten(tree, is_leaf=is_leaf)[1]


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `tree` in order, among them what `is_leaf` is true of.

    Example:
        >>> import tracejit as tj
        >>> tj.tree.leaves({"b": [1, 2], "a": (3, None)})
        [3, 1, 2]

    Semantics: ``jax.tree.leaves``.
    """
    return pytree.tree_leaves(tree, is_leaf)


def map(f: Callable[..., Any], tree: Any, *others: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`f` of each leaf of `tree` (and of the leaves at the same places of `others`), in the same structure.

    What `is_leaf` is true of is a leaf.

    Example:
        >>> import tracejit as tj
        >>> tj.tree.map(lambda p, g: p - g, {"w": 3, "b": 1}, {"w": 1, "b": 1})
        {'w': 2, 'b': 0}

    Raises ShapeError where the structures differ. Semantics: ``jax.tree.map``.
    """
    return pytree.tree_map(f, tree, *others, is_leaf=is_leaf)


def map_with_path(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`f` of the path of each leaf, and of the leaf (and those at the same places of `others`).

    A path is written as Python writes it: ``['w'][0].bias``.

    Example:
        >>> import tracejit as tj
        >>> tj.tree.map_with_path(lambda path, leaf: f"{path} {leaf}", {"w": [1, 2]})
        {'w': ["['w'][0] 1", "['w'][1] 2"]}

    Raises ShapeError where the structures differ. Semantics: ``jax.tree.map_with_path``, whose paths are
    tuples of keys, which ``jax.tree_util.keystr`` writes like this.
    """
    paths = pytree.flatten(tree)[1]
    return pytree.tree_map(f, paths.unflatten(paths.paths()), tree, *others)


def reduce(f: Callable[[Any, Any], Any], tree: Any, initial: Any = _NONE) -> Any:
    """The leaves of `tree` folded by `f` from the left, from `initial` on where it is given.

    Example:
        >>> import tracejit as tj
        >>> tj.tree.reduce(lambda total, leaf: total + leaf, {"w": [1, 2], "b": 3})
        6

    Raises ArgumentError for a tree without leaves, and no `initial`. Semantics: ``jax.tree.reduce``.
    """
    values = pytree.tree_leaves(tree)
    if not callable(f):
        raise ArgumentError(f"tree.reduce: f must be a function, got {f!r}")
    if initial is not _NONE:
        return functools.reduce(f, values, initial)
    if not values:
        raise ArgumentError("tree.reduce: tree has no leaves; give an initial value")
    return functools.reduce(f, values)


_check_public(globals(), __all__, "tree.")
