"""Attributes of a user's op: their declaration, and what a call gives for them."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from ..ir.dtypes import as_dtype
from ..ir.errors import AttributeValueError, TracejitError
from ..ir.registry import Op, check_attrs

#: The types that the IR's text has a form for; arrays are inputs.
TYPES: Final[tuple[type, ...]] = (bool, int, float, str, tuple, np.dtype)


def is_name(text: object) -> bool:
    """Whether `text` can name an op, an input or an attribute, in Python and in the IR's text."""
    return isinstance(text, str) and text.isidentifier() and text.isascii() and not iskeyword(text)


def declared(
    name: str, attrs: Mapping[str, Any], inputs: tuple[str, ...]
) -> tuple[dict[str, tuple[type, ...]], dict[str, Any]]:
    """The types and the defaults in ``{name: (type, default)}`` or ``{name: type}``."""
    types: dict[str, tuple[type, ...]] = {}
    defaults: dict[str, Any] = {}
    for key, spec in attrs.items():
        kind = spec[0] if isinstance(spec, tuple) and len(spec) == 2 else spec
        if kind not in TYPES:
            accepted = ", ".join(type_.__name__ for type_ in TYPES)
            raise TracejitError(
                f"register_op {name}: attribute {key!r} must be declared as (type, default) or type, with "
                f"one of the types {accepted}, got {spec!r}; tensors are inputs"
            )
        if not is_name(key) or key in inputs or "*" + key in inputs:
            raise TracejitError(f"register_op {name}: {key!r} cannot name an attribute")
        types[key] = (kind,)
        if kind is not spec:
            defaults[key] = _coerced(spec[1], kind)
            if not isinstance(defaults[key], kind):
                raise TracejitError(
                    f"register_op {name}: the default of attribute {key!r} must be {kind.__name__}, got "
                    f"{spec[1]!r}"
                )
    return types, defaults


def complete(op: Op, passed: Mapping[str, Any]) -> dict[str, Any]:
    """`passed` with the defaults of `op`, in the order of its declaration.

    Raises AttributeValueError for an attribute that is unknown, missing or of another type.
    """
    attrs = {**op.defaults, **passed}
    for key, value in attrs.items():
        accepted = op.attrs.get(key)
        if accepted is not None and len(accepted) == 1:
            attrs[key] = _coerced(value, accepted[0])
    check_attrs(op, attrs)
    for key, value in attrs.items():
        if isinstance(value, tuple) and not _writable(value):
            raise AttributeValueError(
                f"{op.name}: attribute {key!r} may hold numbers, strings, dtypes and tuples of them, got "
                f"{value!r}"
            )
    return {key: attrs[key] for key in op.attrs}


def _writable(items: tuple[Any, ...]) -> bool:
    return all(_writable(item) if isinstance(item, tuple) else isinstance(item, TYPES) for item in items)


def _coerced(value: Any, kind: type) -> Any:
    """`value` as `kind` where nothing is lost: whole numbers as floats, lists as tuples, names as dtypes."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and type(value) is int:
        return float(value)
    if kind is tuple and isinstance(value, list):
        return tuple(tuple(items) if isinstance(items, list) else items for items in value)
    if kind is np.dtype and not isinstance(value, np.dtype):
        return as_dtype(value)
    return value
