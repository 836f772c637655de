"""The argument ``out=`` of functions whose own code knows nothing of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arguments.errors import checked

__all__ = ["takes_out"]


def takes_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with a keyword ``out``: a tensor or an ndarray that takes the result, and is returned."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if out is None:
            return result
        return import_module(".numpy_calls.options", __package__).write_out(function.__name__, out, result)

    functools.update_wrapper(call, function)
    signature = inspect.signature(function)
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    parameters = list(signature.parameters.values())
    keywords = [parameter for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
    others = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    call.__signature__ = signature.replace(parameters=[*others, out, *keywords])  # type: ignore[attr-defined]
    return checked(function.__name__, call)
