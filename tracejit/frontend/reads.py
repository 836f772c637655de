"""Reads a function for one call: what it depends on besides its arguments."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import CompilerWarning
from ..base.loading import LazyModule
from ..base.process.collector import collector_paused
from ..ir.failures import failure_text, not_ours
from ..pytree import flatten
from ..tensors.tensor import Tensor
from . import branching, variables  # noqa: F401 - they register what instructions do
from .calls import Reader, TooLongError
from .usage import Uses
from .values import TRACED, UNKNOWN, Place, Source

if TYPE_CHECKING:
    from . import handlers
else:
    handlers = LazyModule(".handlers", __package__)

_CONTAINERS = (tuple, list, dict)


def read_function(
    fn: Any, args: Sequence[Any], kwargs: dict[str, Any], static_names: frozenset[Any], name: str
) -> Uses:
    """Follow a call ``fn(*args, **kwargs)``; return what it reads outside its arguments, and the uses of
    that.

    `static_names` are the positions and names of arguments that the trace takes for constants.
    """
    reader = Reader(fn)
    positional = [
        _argument(value, position in static_names, f"argument {position}")
        for position, value in enumerate(args)
    ]
    named = {key: _argument(value, key in static_names, key) for key, value in kwargs.items()}
    reader.operations.unknown_arguments = UNKNOWN in (*positional, *named.values())
    root = Place(Source("object", fn, name), fn, settled=True)
    try:
        with collector_paused():  # each number of a long list is a place
            reader.escapes.escape(reader.call(root, positional, named, None, None))
    except TooLongError:
        reader.uses.give_up("the function is too long to be followed to its end")
    except not_ours():
        raise
    except Exception as error:
        what = f"the guards of {name}"
        warnings.warn_explicit(
            failure_text(what, error, " A change of what it reads may go unnoticed."),
            CompilerWarning,
            __file__,
            1,
        )
        reader.uses.unwatched["the function could not be followed to its end"] = None
    else:
        _watch_numpy(reader)
        return reader.uses
    finally:
        reader.release()
    # what was not followed may ask for values
    reader.uses.asking.update(id(function.__code__) for function in reader.uses.followed.values())
    return reader.uses


def _watch_numpy(reader: Reader) -> None:
    """Watch the state of NumPy on which arrays depend that the code makes or computes with while it is
    traced."""
    uses = reader.uses
    if uses.makes_arrays and uses.shows_arrays:
        reader.escapes.state.watch("the print options of NumPy")
    computes = uses.makes_arrays or uses.inspected
    if computes and any(
        handlers.handles_anywhere(each, (FloatingPointError,)) for each in uses.followed.values()
    ):
        reader.escapes.state.watch("the error state of NumPy")


def _argument(value: Any, is_static: bool, name: str) -> Any:
    if is_static:
        return Place(Source("object", value, name), value)
    return TRACED if _is_plain(value) else UNKNOWN


def _is_plain(tree: Any) -> bool:
    """Whether a pytree consists of Python's own containers alone, so that all it leads to are leaves."""
    if isinstance(tree, _CONTAINERS):
        children = tree.values() if isinstance(tree, dict) else tree
        return all(map(_is_plain, children))
    return (
        isinstance(tree, (Tensor, np.ndarray, np.generic, bool, int, float, complex))
        or not flatten(tree)[0]
        or (flatten(tree)[0][0] is tree)
    )
