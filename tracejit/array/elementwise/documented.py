"""The callables that ``dispatch`` generates of elementwise ops, with names and docstrings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...eager.dispatch import elementwise
from ...eager.tensor import Tensor
from ...ir.ops.define import ufunc_behind
from ...ir.registry import OPS

#: Functions that NumPy lacks, and where their meaning is from.
_SOURCES = {"erf": "C99's ``erf``", "erfc": "C99's ``erfc``", "rsqrt": "``torch.rsqrt``"}


def documented(op: str, meaning: str, example: str, shows: str, *, name: str = "") -> Callable[..., Tensor]:
    """The callable of the elementwise op `op`, called `name`, or else as the ufunc or the op itself."""
    record = OPS[op]
    call, ufunc = elementwise(record), ufunc_behind(record.eval)
    name = name or (op if ufunc is None else ufunc[0].__name__)
    if len(record.params) == 1:
        shapes = "`x` is anything that `asarray` takes; the result has its shape."
    else:
        shapes = "`x` and `y` broadcast; ShapeError where they do not."
        add_ufunc_methods(call, name)
    _document(call, name, meaning, shapes, example, shows)
    return call


def add_ufunc_methods(call: Callable[..., Any], name: str) -> None:
    """Give `call` the methods that NumPy's ufunc `name` has, as in ``add.reduce``."""
    for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
        setattr(call, method, functools.partial(_run_method, method, name))


def _run_method(method: str, name: str, *inputs: Any, **options: Any) -> Any:
    """A method of NumPy's ufunc `name`, whose module loads at first use."""
    methods = import_module("tracejit.array.numpy_calls.ufunc_methods")
    return methods.run_method(method, name, inputs, options)


def _document(
    call: Callable[..., Any], name: str, meaning: str, shapes: str, example: str, shows: str
) -> None:
    source = _SOURCES.get(name, f"``numpy.{name}``")
    shown = shows.replace("\n", "\n        ")
    call.__name__ = call.__qualname__ = name
    call.__module__ = "tracejit.array"
    call.__doc__ = f"""{meaning}

    {shapes} DTypeError for dtypes without a meaning. `out` is a tensor that takes the result, `where`
    selects the places that are computed (the others keep the value of `out`, or are 0), and `dtype` is what
    it is computed in, to which `casting` must lead. `order` and `subok` make no difference.

    Example:
        >>> import tracejit as tj
        >>> {example}
        {shown}

    Semantics: {source}.
    """
