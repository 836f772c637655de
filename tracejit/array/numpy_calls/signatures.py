"""Calls with NumPy's parameters of functions that have the same meaning here under our parameters.

The first parameters agree by position. Of the others, those of the same name are passed on; what NumPy alone
has must be at its default, or must not change the result (`_WITHOUT_MEANING`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...eager.tensor import Tensor
from ...ir.dtypes import as_dtype
from ...ir.errors import ArgumentError, DTypeError
from ..operands import cast
from .options import write_out

__all__ = ["Adapter", "adapter_of"]

Adapter = Callable[[tuple[Any, ...], dict[str, Any]], Any]

#: Parameters about memory layout, subclasses and devices: tensors have one of each.
_WITHOUT_MEANING: Final = frozenset(
    ("order", "subok", "like", "device", "overwrite_input", "kind", "assume_unique", "sorted")
)
#: Names of the same parameter.
_RENAMED: Final = {"a_min": "min", "a_max": "max", "N": "rows", "M": "columns"}


def adapter_of(function: Callable[..., Any], own: Callable[..., Any]) -> Adapter:
    """A caller of `own` with the arguments of NumPy's `function`, positional and by name."""
    try:
        theirs = list(inspect.signature(function).parameters.values())
    except ValueError:  # NumPy before 2.4 does not tell what its builtin functions take: as ours do
        return lambda args, options: own(*args, **options)
    ours = inspect.signature(own).parameters
    places = [parameter for parameter in ours.values() if parameter.kind in _BY_PLACE]
    names = [parameter.name for parameter in places]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in ours.values()):
        return lambda args, options: own(*args, **options)
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in theirs):
        return lambda args, options: own(*args, **_kept(function.__name__, options, {}, ours))
    # parameters of the same meaning, by NumPy's name; the first ones by their place
    agreeing: dict[str, str] = {}
    by_place = 0
    for place, parameter in enumerate(theirs):
        name = parameter.name
        same = _RENAMED.get(name, name)
        if same in ours:
            agreeing[name] = same
        elif (
            place < len(names)
            and place == by_place
            and name not in _NUMPY_ONLY
            and names[place] not in _names(theirs)
        ):
            agreeing[name] = names[place]
        if place == by_place and place < len(names) and agreeing.get(name) == names[place]:
            by_place += 1
    defaults = {parameter.name: parameter.default for parameter in theirs}
    order = [parameter.name for parameter in theirs]
    label = function.__name__

    def call(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if len(args) <= by_place and not options:
            return own(*args)
        if len(args) > len(order):
            raise ArgumentError(f"{label}: expected at most {len(order)} arguments, got {len(args)}")
        named = dict(zip(order[by_place:], args[by_place:], strict=False))
        named.update(options)
        positional: list[Any] = list(args[:by_place])
        for name in order[len(positional) : by_place]:  # positional-only parameters that are named
            if name not in named:
                break
            positional.append(named.pop(name))
        out, casting = None, None
        if "out" not in ours:
            out = named.pop("out", None)
        if "casting" not in ours:
            casting = named.pop("casting", None)
        arguments = _kept(label, named, defaults, agreeing)
        result = own(*positional, **arguments)
        return result if out is None else _write(label, out, result, casting)

    return call


_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NUMPY_ONLY: Final = frozenset(("out", "casting", "initial", "where", "keepdims", "dtype", "axis", "weights"))


def _names(parameters: list[inspect.Parameter]) -> set[str]:
    return {_RENAMED.get(parameter.name, parameter.name) for parameter in parameters}


def _write(label: str, out: Any, result: Any, casting: Any) -> Any:
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if casting == "unsafe" and isinstance(result, Tensor):
        result = cast(result, as_dtype(out.dtype))
    if not isinstance(result, Tensor):
        raise DTypeError(f"{label}: out= is for one array, and this gives {type(result).__name__}")
    return write_out(label, out, result)


def _kept(label: str, named: dict[str, Any], defaults: dict[str, Any], agreeing: Any) -> dict[str, Any]:
    """`named` by our names, without what has no meaning here or is NumPy's default."""
    arguments = {}
    for name, value in named.items():
        if name in agreeing:
            if value is not np._NoValue:
                arguments[agreeing[name] if isinstance(agreeing, dict) else name] = value
        elif name not in _WITHOUT_MEANING and not _is_default(
            value, defaults.get(name, inspect.Parameter.empty)
        ):
            raise ArgumentError(f"{label}: argument {name} is not supported for tensors")
    return arguments


def _is_default(value: Any, default: Any) -> bool:
    return (
        value is default or value is np._NoValue or (type(value) is type(default) and bool(value == default))
    )
