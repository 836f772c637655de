"""Calls with NumPy's parameters of functions that have the same meaning here under our parameters.

The first parameters agree by position. Of the others, those of the same name are passed on; what NumPy alone
has must be at its default, or must not change the result (`WITHOUT_MEANING`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, DTypeError
from ...dispatch.eager_functions import without_options
from ...ir.dtypes import as_dtype
from ...tensors.tensor import Tensor
from ..operands import cast
from .options import call_with_options, write_out

__all__ = ["WITHOUT_MEANING", "ArgumentMap", "argument_map", "as_numpy_call"]

#: Parameters about subclasses, devices, temporary memory, the order of elements in memory where a function
#: has no parameter for it, and algorithms: tensors have one of each.
WITHOUT_MEANING: Final = frozenset(
    ("order", "subok", "like", "device", "overwrite_input", "kind", "assume_unique", "sorted")
)
#: Names of the same parameter.
_RENAMED: Final = {"a_min": "min", "a_max": "max", "N": "rows", "M": "columns"}
#: Parameters that are passed on by name alone: the places where NumPy has them differ.
_BY_NAME: Final = frozenset(("out", "casting", "initial", "where", "keepdims", "dtype", "axis", "weights"))
_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ArgumentMap:
    """Map from the arguments of NumPy's `function` to those of `own`."""

    __slots__ = ("agreeing", "alike", "by_place", "defaults", "label", "order", "ours", "own", "variadic")

    def __init__(self, function: Callable[..., Any], own: Callable[..., Any]) -> None:
        theirs = list(inspect.signature(function).parameters.values())
        self.label = function.__name__
        self.own = own
        self.ours: Mapping[str, inspect.Parameter] = inspect.signature(own).parameters
        self.order = [parameter.name for parameter in theirs]
        self.defaults = {parameter.name: parameter.default for parameter in theirs}
        #: Parameters of one meaning, by NumPy's name; the first `by_place` by their place.
        self.agreeing: dict[str, str] = {}
        self.by_place = 0
        #: Parameters that tracejit's function takes by that name, where it takes no number of them.
        self.alike: frozenset[str] = frozenset()
        names = [parameter.name for parameter in self.ours.values() if parameter.kind in _BY_PLACE]
        kinds = [parameter.kind for parameter in theirs]
        self.variadic = inspect.Parameter.VAR_POSITIONAL in kinds
        if self.variadic:
            first = kinds.index(inspect.Parameter.VAR_POSITIONAL)
            self.agreeing = {name: name for name in self.order if name in self.ours}
            self.agreeing.update(zip(self.order[:first], names, strict=False))
            return
        spelled = {_RENAMED.get(name, name) for name in self.order}
        for place, name in enumerate(self.order):
            same = _RENAMED.get(name, name)
            if same in self.ours:
                self.agreeing[name] = same
            elif (
                place < len(names)
                and place == self.by_place
                and name not in _BY_NAME
                and names[place] not in spelled
            ):
                self.agreeing[name] = names[place]
            if place == self.by_place and place < len(names) and self.agreeing.get(name) == names[place]:
                self.by_place += 1
        self.alike = frozenset(
            name
            for name, same in self.agreeing.items()
            if name == same and self.ours[name].kind is not inspect.Parameter.POSITIONAL_ONLY
        )

    def __call__(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """``own`` of the arguments `args` and `options` of NumPy's function."""
        if (self.variadic or len(args) <= self.by_place) and not options:
            return self.own(*args)
        if len(args) <= self.by_place and options.keys() <= self.alike:
            for value in options.values():
                if value is np._NoValue:
                    break
            else:
                return self.own(*args, **options)
        if self.variadic:
            return self._called(args, dict(options))
        if len(args) > len(self.order):
            raise ArgumentError(
                f"{self.label}: expected at most {len(self.order)} arguments, got {len(args)}"
            )
        named = dict(zip(self.order[self.by_place :], args[self.by_place :], strict=False))
        named.update(options)
        positional: list[Any] = list(args[: self.by_place])
        for name in self.order[len(positional) : self.by_place]:  # positional-only parameters that are named
            if name not in named:
                break
            positional.append(named.pop(name))
        return self._called(positional, named)

    def _called(self, positional: Sequence[Any], named: dict[str, Any]) -> Any:
        out, casting = None, None
        if "out" not in self.ours:
            out = named.pop("out", None)
        if "casting" not in self.ours:
            casting = named.pop("casting", None)
        result = self.own(*positional, **self._kept(named))
        return result if out is None else _write(self.label, out, result, casting)

    def takes(self, name: str) -> bool:
        """Whether NumPy's parameter `name` may have any of its values here."""
        return name in self.agreeing or name in ("out", "casting") or self._passes_all

    @property
    def _passes_all(self) -> bool:
        return any(parameter.kind is parameter.VAR_KEYWORD for parameter in self.ours.values())

    def _kept(self, named: dict[str, Any]) -> dict[str, Any]:
        """`named` by our names, without what has no meaning here or is NumPy's default."""
        arguments = {}
        for name, value in named.items():
            if name in self.agreeing:
                if value is not np._NoValue:
                    arguments[self.agreeing[name]] = value
            elif self._passes_all:
                arguments[name] = value
            elif name not in WITHOUT_MEANING and not _is_default(
                value, self.defaults.get(name, inspect.Parameter.empty)
            ):
                raise ArgumentError(f"{self.label}: argument {name} is not supported for tensors")
        return arguments


@functools.cache
def argument_map(function: Callable[..., Any], own: Callable[..., Any]) -> ArgumentMap | None:
    """The map from NumPy's `function` to `own`; None where NumPy, before 2.4, does not tell what it takes."""
    try:
        return ArgumentMap(function, own)
    except ValueError:
        return None


def as_numpy_call(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Callable[[], Any] | None:
    """The call of our `function`, whose name is `name`, with arguments that only NumPy's function takes.

    None where NumPy's does not take them either.
    """
    theirs: Any = getattr(np, name, None)
    if getattr(theirs, "__module__", None) != "numpy" and not isinstance(theirs, np.ufunc):
        return None
    try:
        inspect.signature(theirs).bind(*args, **options)
    except (TypeError, ValueError):
        return None
    if isinstance(theirs, np.ufunc):
        return lambda: call_with_options(without_options(function), theirs, args, options)
    arguments = argument_map(theirs, function)
    if arguments is None or (arguments.variadic and not args):
        return None
    return lambda: arguments(args, options)


def _write(label: str, out: Any, result: Any, casting: Any) -> Any:
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if casting == "unsafe" and isinstance(result, Tensor):
        result = cast(result, as_dtype(out.dtype))
    if not isinstance(result, Tensor):
        raise DTypeError(f"{label}: out= is for one array, and this gives {type(result).__name__}")
    return write_out(label, out, result)


def _is_default(value: Any, default: Any) -> bool:
    return (
        value is default or value is np._NoValue or (type(value) is type(default) and bool(value == default))
    )
