"""Gives the callables that ``dispatch`` makes of elementwise ops a name and a docstring with an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...eager.dispatch import binary, unary
from ...eager.tensor import Tensor

#: Functions that NumPy lacks, and where their meaning is from.
_SOURCES = {"erf": "C99's ``erf``", "erfc": "C99's ``erfc``", "rsqrt": "``torch.rsqrt``"}


def documented_unary(op: str, name: str, meaning: str, example: str, shows: str) -> Callable[[Any], Tensor]:
    """The callable of the unary elementwise op `op`, called `name`."""
    call = unary(op)
    _document(
        call, name, meaning, "`x` is anything that `asarray` takes; the result has its shape.", example, shows
    )
    return call


def documented_binary(
    op: str, name: str, meaning: str, example: str, shows: str
) -> Callable[[Any, Any], Tensor]:
    """The callable of the binary elementwise op `op`, called `name`."""
    call = binary(op)
    _document(call, name, meaning, "`x` and `y` broadcast; ShapeError where they do not.", example, shows)
    return call


def _document(
    call: Callable[..., Any], name: str, meaning: str, shapes: str, example: str, shows: str
) -> None:
    source = _SOURCES.get(name, f"``numpy.{name}``")
    shown = shows.replace("\n", "\n        ")
    call.__name__ = call.__qualname__ = name
    call.__module__ = "tracejit.array"
    call.__doc__ = f"""{meaning}

    {shapes} DTypeError for dtypes without a meaning.

    Example:
        >>> import tracejit as tj
        >>> {example}
        {shown}

    Semantics: {source}.
    """
