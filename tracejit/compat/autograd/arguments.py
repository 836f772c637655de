"""What the wrappers share: which arguments are differentiated, and `fun` as a function of these alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...eager.tensor import Tensor
from ...ir.errors import ArgumentError

ArgumentNumbers = int | Sequence[int]


def checked_argnum(name: str, argnum: Any) -> int | tuple[int, ...]:
    """`argnum` as an integer or a tuple of them. Raises ArgumentError for anything else."""
    if type(argnum) is int:
        return argnum
    if isinstance(argnum, (tuple, list)) and all(type(number) is int for number in argnum):
        return tuple(argnum)
    raise ArgumentError(f"{name}: argnum must be an integer or a tuple of integers, got {argnum!r}")


def chosen(argnum: int | tuple[int, ...], args: Sequence[Any]) -> Any:
    """The argument that `argnum` names; a tuple of them where it is a tuple."""
    return args[argnum] if isinstance(argnum, int) else tuple([args[number] for number in argnum])


def unary(
    name: str, fun: Callable[..., Any], argnum: int | tuple[int, ...], args: Sequence[Any], kwargs: Any
) -> tuple[Callable[[Any], Any], Any]:
    """`fun` as a function of what `argnum` names, and that at `args`. Raises ArgumentError where an argument
    is missing."""
    for number in (argnum,) if isinstance(argnum, int) else argnum:
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"{name}: argnum is {number}, but the function was called with {len(args)} arguments"
            )

    @functools.wraps(fun)
    def of_chosen(x: Any) -> Any:
        full = list(args)
        if isinstance(argnum, int):
            full[argnum] = x
        else:
            for number, value in zip(argnum, x, strict=True):
                full[number] = value
        return fun(*full, **kwargs)

    return of_chosen, chosen(argnum, args)


def scalar_of(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, whose result of one element has rank 0: a gradient is taken of any such array."""

    @functools.wraps(fun)
    def scalar(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        if isinstance(value, Tensor) and value.ndim and value.size == 1:
            return value.reshape(())
        return value

    return scalar
