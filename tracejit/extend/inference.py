"""The type rule of a user's op: his ``infer``, asked once per types and attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.errors import TracejitError
from ..ir.registry import Attrs, Infer
from ..ir.types import TensorType

Types = tuple[TensorType, ...]
#: How many answers are remembered per op.
_LIMIT = 4096


def type_rule(name: str, infer: Callable[..., Any]) -> Infer:
    """The record's `infer` from the user's, ``infer(*types, **attrs) -> type or several``."""
    inferred: dict[Any, Types] = {}

    def rule(types: Types, attrs: Attrs) -> Types:
        key = (types, tuple(attrs.items()))
        results = inferred.get(key)
        if results is None:
            results = result_types(name, infer(*types, **attrs))
            if len(inferred) >= _LIMIT:
                inferred.clear()
            inferred[key] = results
        return results

    return rule


def result_types(name: str, returned: Any) -> Types:
    """What an ``infer`` returned, as a tuple of types."""
    several: Sequence[Any] = returned if isinstance(returned, (tuple, list)) else (returned,)
    for type_ in several:
        if not isinstance(type_, TensorType):
            raise TracejitError(
                f"{name}: its infer must return a TensorType or a tuple of them, got {returned!r}; for "
                "instance x.with_shape((3,)) or tj.TensorType(tj.float64, (3,))"
            )
    if not several:
        raise TracejitError(f"{name}: its infer returned no type; an op has at least one result")
    return tuple(several)


def text_of(types: Sequence[TensorType]) -> str:
    """Types for messages."""
    return ", ".join(map(str, types)) or "none"
