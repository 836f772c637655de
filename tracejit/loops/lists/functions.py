"""Python's functions of lists that grow under conditions, which are selections while they are traced."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...array import reductions
from ...array.indexing.access import getitem
from ...array.operands import cast, choice, filled, given_as_scalar, run
from ...array.selection.masked_calls import element
from ...array.selection.masked_selection import Selection
from ...dispatch.dispatch import apply
from ...ir.dtypes import BOOL, is_inexact
from ...ir.registry import OPS
from ...state import STATE
from ...tensors.tensor import wrap
from .stacked_lists import StackedList


def of_lists(function: Any, own: Callable[..., Any], kinds: str) -> Any:
    """`function`; of one such list, of numbers whose dtypes are of the `kinds`, `own` of its items."""

    def call(*arguments: Any, **options: Any) -> Any:
        items = arguments[0] if len(arguments) == 1 and options.keys() <= {"default"} else None
        selection = items.selection() if isinstance(items, StackedList) else None
        if items is None or selection is None or selection.ndim > 1 or selection.dtype.kind not in kinds:
            return function(*arguments, **options)
        if options and type(options["default"]) not in (int, float):
            return function(*arguments, **options)
        result = own(selection, **options)
        if items.has_numbers and result.dtype is not BOOL:
            STATE.tracer.mark_weak(result._data)
        return result

    return call


def _sum(x: Selection) -> Any:
    total = x.sum(0)
    return total if x.dtype is BOOL else cast(total, x.dtype)


def _truths(x: Selection) -> Any:
    return x if x.dtype is BOOL else apply(OPS["ne"], (x, 0), {})


def _extreme(name: str) -> Callable[..., Any]:
    """`name` of a line as Python compares: the first of equals, and NaN alone where it stands first."""

    def call(x: Selection, default: Any = None) -> Any:
        whole, there = x._whole, x._mask
        if is_inexact(x.dtype):
            there = run("logical_and", there, run("logical_not", run("isnan", whole)))
        candidates = choice(there, whole, filled(_identity(name, x), (), x.dtype))
        place = getattr(reductions, f"arg{name}")(candidates, 0)
        tracer, is_any = STATE.tracer, run("any", x._mask, axes=(0,))
        if default is None:
            error, empty = f"DomainError: {name}() of an empty list", run("logical_not", is_any)
            place = wrap(tracer.checked(tracer.lift(place), tracer.lift(empty), error))
        result = getitem(candidates, place)
        if is_inexact(x.dtype):
            first = element(x, 0, is_there=True)
            result = run("where", run("isnan", first), first, result)
        return given_as_scalar(result if default is None else run("where", is_any, result, default))

    return call


def _identity(name: str, x: Selection) -> Any:
    """The value that no other is beyond."""
    if is_inexact(x.dtype):
        return -math.inf if name == "max" else math.inf
    limits = np.iinfo(x.dtype)
    return int(limits.min if name == "max" else limits.max)


#: Meanings by Python's functions: a function of the items, and the kinds of dtypes for which it is one.
FUNCTIONS: Final[dict[Any, tuple[Callable[..., Any], str]]] = {
    builtins.sum: (_sum, "biufc"),
    builtins.max: (_extreme("max"), "iuf"),
    builtins.min: (_extreme("min"), "iuf"),
    builtins.any: (lambda x: _truths(x).any(0), "biufc"),
    builtins.all: (lambda x: _truths(x).all(0), "biufc"),
}
