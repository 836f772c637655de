"""Static arguments of jitted functions: which they are, and their values as part of a signature's key."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import TracejitError
from ..tensors.tensor import Tensor


def selected_arguments(
    fn: Callable[..., Any], which: str, nums: int | Sequence[int], names: str | Sequence[str]
) -> tuple[frozenset[int], frozenset[str]]:
    """The arguments that ``{which}_argnums`` and ``{which}_argnames`` of ``jit`` select, both lists completed
    by each other through `fn`'s parameter names."""
    nums = (nums,) if isinstance(nums, int) else tuple(nums)
    names = (names,) if isinstance(names, str) else tuple(names)
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return frozenset(nums), frozenset(names)
    order = [parameter.name for parameter in parameters]
    positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    has_more = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for num in nums:
        if not -len(positional) <= num < len(positional) and not has_more:
            raise TracejitError(
                f"jit: {which}_argnums {num} is out of range for {len(positional)} parameters"
            )
    if has_more and any(num < 0 for num in nums):
        raise TracejitError(f"jit: a negative {which}_argnums needs a function without *args")
    for name in names:
        if name not in order and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            raise TracejitError(f"jit: {which}_argnames {name!r} is not a parameter; expected one of {order}")
    indices = {num % len(positional) if num < 0 else num for num in nums}
    indices |= {positional.index(name) for name in names if name in positional}
    return frozenset(indices), frozenset(names) | {positional[i] for i in indices if i < len(positional)}


def ordered_keywords(function: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """`kwargs` in sorted order; as they come, and marked so, for a function that takes any: it may go through
    them."""
    if len(kwargs) < 2:
        return kwargs
    code = getattr(function, "__code__", None)
    if getattr(code, "co_flags", 0) & inspect.CO_VARKEYWORDS:
        return OrderedDict(kwargs)
    return dict(sorted(kwargs.items()))


def split_static(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: frozenset[int],
    argnames: frozenset[str],
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], dict[str, Any]]]:
    """Static arguments as a hashable tuple, and the others."""
    if not argnums and not argnames:
        return (), (args, kwargs)
    static = [
        *[(position, value) for position, value in enumerate(args) if position in argnums],
        *[(key, value) for key, value in kwargs.items() if key in argnames],
    ]
    positional = tuple([value for position, value in enumerate(args) if position not in argnums])
    named = type(kwargs)((key, value) for key, value in kwargs.items() if key not in argnames)
    return tuple([static_key(name, which, value) for which, value in static]), (positional, named)


def with_static(args: tuple[Any, ...], others: Sequence[Any], static: frozenset[int]) -> list[Any]:
    """The positional arguments: those of `args` that are `static`, between `others`."""
    following = iter(others)
    return [value if position in static else next(following) for position, value in enumerate(args)]


def static_key(name: str, which: Any, value: Any) -> tuple[Any, type, Any, str]:
    """A static argument as part of a signature's key. Raises TracejitError unless it is hashable.

    The text tells 0.0 from -0.0 and (1,) from (1.0,), which compare equal.
    """
    if isinstance(value, (Tensor, np.ndarray)):
        raise TracejitError(f"{name}: the static argument {which!r} must be hashable, got a tensor")
    try:
        hash(value)
        text = repr(value) if isinstance(value, (int, float, complex, tuple)) else ""
    except (TypeError, ValueError, RecursionError) as error:  # ValueError: of a writable memoryview
        raise TracejitError(
            f"{name}: the static argument {which!r} must be hashable, got {type(value).__name__}"
        ) from error
    return which, type(value), value, text


def static_text(static: tuple[Any, ...]) -> str:
    """Static arguments for messages."""
    return ", ".join(f"{which}={value!r}" for which, _, value, _ in static) or "none"
