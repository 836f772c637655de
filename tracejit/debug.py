"""``tj.debug``: print, or call a function, from within a program that is jitted or not; find NaN.

Printing and calling have an *effect*: under ``jit`` they happen at each call rather than while tracing, in
the order in which they were written, whether or not anything uses what they look at.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments.errors import check_public
from .base.errors import TracejitError
from .base.loading import load_module
from .callback_results import QUIET, without_kept_results
from .callbacks import append, own_array
from .ir.callbacks import named
from .pytree import flatten
from .state import STATE
from .tensors.tensor import Tensor

__all__ = ["callback", "check_nans", "print"]

if TYPE_CHECKING:
    from .profiling.nonfinite import check_nans
else:

    def __getattr__(name: str) -> Any:
        if name == "check_nans":  # loads what observes programs, which only who looks for NaN needs
            return load_module(".profiling.nonfinite", __package__).check_nans
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def callback(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    """Call ``fn(*args, **kwargs)`` for what it does, in a jitted function too.

    `fn` gets an ndarray of its own for each tensor and array among the arguments; everything else as it is.
    What it returns is ignored, what it raises reaches the caller. Gradients pass it by: a function that is
    computed again for its gradient (`tj.checkpoint`) calls it again.

    Example:
        >>> import tracejit as tj
        >>> seen = []
        >>> @tj.jit
        ... def f(x):
        ...     tj.debug.callback(seen.append, x.sum())
        ...     return x * 2
        >>> _ = f(tj.ones(3)), f(tj.zeros(3))
        >>> [float(one) for one in seen]
        [3.0, 0.0]

    Semantics: ``jax.debug.callback`` with ``ordered=True``.
    """
    if not callable(fn):
        raise TracejitError(f"debug.callback: expected a function, got {type(fn).__name__}")
    if QUIET.on:
        return
    leaves, structure = flatten((args, kwargs))
    positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (Tensor, np.ndarray))]
    tensors = [leaves[i] for i in positions]
    for position in positions:
        leaves[position] = None  # what was traced must not be kept alive by the program that it became

    def run(*arrays: Any) -> None:
        full = list(leaves)
        for position, array in zip(positions, arrays, strict=True):
            full[position] = array
        positional, keyword = structure.unflatten(full)
        with without_kept_results():
            fn(*positional, **keyword)

    if STATE.tracer is None:
        run(*[own_array(tensor) for tensor in tensors])
        return
    name = named(run, getattr(fn, "__name__", type(fn).__name__))
    append(STATE.tracer, "debug_callback", tensors, {"callback": name})


def print(fmt: str, /, *args: Any, **kwargs: Any) -> None:
    """Print ``fmt.format(*args, **kwargs)``, in a jitted function too, with the values of tensors.

    Example:
        >>> import tracejit as tj
        >>> @tj.jit
        ... def f(x):
        ...     tj.debug.print("x is {x}, its sum {:.1f}", x.sum(), x=x)
        ...     return x * 2
        >>> _ = f(tj.tensor([1.0, 2.0]))
        x is [1. 2.], its sum 3.0

    Raises TracejitError where `fmt` and the arguments do not fit each other. Semantics: ``jax.debug.print``
    with ``ordered=True``.
    """
    _check(fmt, args, kwargs)

    def show(*positional: Any, **keyword: Any) -> None:
        builtins.print(fmt.format(*positional, **keyword))

    show.__name__ = "print"
    callback(show, *args, **kwargs)


class _Used(Formatter):
    """Notes which arguments a format uses, and formats nothing."""

    def __init__(self) -> None:
        self.keys: set[int | str] = set()

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        self.keys.add(key)
        return super().get_value(key, args, kwargs)

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first = field_name.split(".")[0].split("[")[0]
        self.get_value(int(first) if first.isdigit() else first, args, kwargs)
        return "", first

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""


def _check(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not isinstance(fmt, str):
        raise TracejitError(f"debug.print: expected a format string, got {type(fmt).__name__}")
    used = _Used()
    try:
        used.vformat(fmt, args, kwargs)
    except (IndexError, KeyError, ValueError) as error:
        raise TracejitError(
            f"debug.print: {fmt!r} does not fit {len(args)} positional arguments and the names "
            f"{sorted(kwargs)}: {error}"
        ) from error
    unused = [key for key in [*range(len(args)), *kwargs] if key not in used.keys]
    if unused:
        raise TracejitError(
            f"debug.print: {fmt!r} does not use argument {unused[0]!r}; write a format with {{}} rather than "
            "an f-string, whose values are not known while tracing"
        )


check_public(globals(), ["callback", "print"], "debug.")
