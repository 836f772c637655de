"""Python callables in the IR: an attribute that prints as a name, and a table of the living callables by
name.

An instruction holds its callable through a `CallbackName`, a string such as ``log#3`` that carries it. So a
callable lives as long as a Function or an executable refers to it. Text carries the name alone: what the
parser reads back runs while the callable is alive, and raises after that.
"""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Callable
from typing import Any, Final

from ..base.errors import TraceError
from ..base.process.finalization import forgotten_with


class CallbackName(str):
    """The name of a callable, which it keeps alive."""

    callback: Callable[..., Any]


_ALIVE: Final[dict[str, weakref.ref[CallbackName]]] = {}
_NUMBERS: Final = itertools.count()


def named(callback: Callable[..., Any], hint: str) -> CallbackName:
    """A name for `callback` that nothing else has, made of `hint` and a number.

    Example:
        >>> name = named(len, "length of list")
        >>> name.split("#")[0], callable_of(str(name)) is len
        ('length_of_list', True)
    """
    text = re.sub(r"[^A-Za-z0-9_.]+", "_", hint).strip("_") or "callback"
    name = CallbackName(f"{text}#{next(_NUMBERS)}")
    name.callback = callback
    _ALIVE[str(name)] = forgotten_with(name, _ALIVE, str(name))
    return name


def callable_of(name: str) -> Callable[..., Any]:
    """The callable behind `name`. Raises TraceError where there is none any more."""
    reference = None if isinstance(name, CallbackName) else _ALIVE.get(name)
    callback_name = name if reference is None else reference()
    if not isinstance(callback_name, CallbackName):
        raise TraceError(
            f"there is no callback {name!r} in this process: it was read from text, and the function that "
            "it belonged to is gone. Trace the function again"
        )
    return callback_name.callback
