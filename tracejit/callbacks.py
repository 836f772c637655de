"""``pure_callback``: a Python function as a part of a program, jitted or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .base.errors import DTypeError, ShapeError, TracejitError
from .callback_results import KeptResults
from .ir.callbacks import named
from .ir.dtypes import NUMBERS, as_dtype
from .ir.ops.callbacks import no_gradient
from .ir.registry import OPS
from .ir.types import TensorType
from .location import user_location
from .pytree import TreeDef, flatten, leaf_paths
from .state import STATE
from .tape.nodes import refuse_gradients
from .tensors.tensor import Array, Tensor, as_array, wrap
from .tracing.tracer import Tracer, as_value, not_tracing


def pure_callback(fn: Callable[..., Any], result_spec: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``fn(*args, **kwargs)`` by Python, in a jitted function too.

    `fn` gets an ndarray of its own for each tensor, array and number in `args` and `kwargs`, in the same
    containers. `result_spec` says what it returns: a pytree of ``tj.TensorType(dtype, shape)``, or of tensors
    or arrays of the same types. In jitted code `fn` runs at each call, not while tracing; since it is *pure*
    it may run any number of times, or not at all where nothing needs its result. What it raises reaches the
    caller as it is. It may call jitted functions.

    There is no gradient; `tj.custom_vjp` around the call gives it one.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> def order(x):
        ...     return np.argsort(x)
        >>> @tj.jit
        ... def f(x):
        ...     return tj.pure_callback(order, tj.TensorType(tj.int64, x.shape), x * 2)
        >>> f(tj.tensor([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])

    Raises ShapeError or DTypeError, in the call, where `fn` returns something else than `result_spec` says.
    Semantics: ``jax.pure_callback``.
    """
    if not callable(fn):
        raise TracejitError(f"pure_callback: expected a function, got {type(fn).__name__}")
    name = getattr(fn, "__name__", type(fn).__name__)
    types, results_structure = _result_types(result_spec)
    leaves, structure = flatten((args, kwargs))
    for leaf, path in zip(leaves, leaf_paths((args, kwargs)), strict=True):
        if not isinstance(leaf, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
            raise DTypeError(
                f"pure_callback of {name}: expected tensors, arrays and numbers, got {type(leaf).__name__} "
                f"at argument {path}; give other values to the function with functools.partial"
            )
    tracer = STATE.tracer
    number = None if tracer is None else _number(tracer)
    run = _Checked(fn, name, structure, types, results_structure, number)
    if tracer is None:
        results = [wrap(array) for array in run(*[own_array(leaf) for leaf in leaves])]
    else:
        attrs = {
            "callback": named(run, name),
            "shapes": tuple([type_.shape for type_ in types]),
            "dtypes": tuple([type_.dtype for type_ in types]),
        }
        results = append(tracer, "pure_callback", leaves, attrs)
    refuse_gradients("PureCallbackBackward", results, leaves, no_gradient(name.strip("<>")))
    return results_structure.unflatten(results)


def own_array(leaf: Any) -> Array:
    """A copy of a concrete leaf's value, for a callback to keep or change."""
    if isinstance(leaf, Tensor):
        return np.array(leaf._concrete("a callback", "the callback inside the traced function"))
    return np.array(as_array(leaf))


def append(tracer: Tracer, op: str, leaves: Sequence[Any], attrs: dict[str, Any]) -> list[Tensor]:
    """The results of a callback op, added to the running trace."""
    if not tracer.pinned_location:
        tracer.location = user_location()
    values = tuple([as_value(tracer, leaf) for leaf in leaves])
    return [wrap(value) for value in tracer.append(OPS[op], values, attrs)]


def _number(tracer: Tracer) -> int | None:
    """The number of a callback of the running trace, None where no other trace repeats that one."""
    while tracer.parent is not None:
        tracer = tracer.parent
    if tracer.branches is None:
        return None
    tracer.branches.callbacks += 1
    return tracer.branches.callbacks


def _result_types(result_spec: Any) -> tuple[list[TensorType], TreeDef]:
    leaves, structure = flatten(result_spec)
    types = []
    for leaf, path in zip(leaves, leaf_paths(result_spec), strict=True):
        if type(leaf) in (bool, int, float, complex):
            leaf = as_array(leaf)
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise DTypeError(
                f"pure_callback: result_spec{path} must be a tj.TensorType(dtype, shape), a tensor, an array "
                f"or a number, got {type(leaf).__name__}"
            )
        types.append(TensorType(as_dtype(leaf.dtype), tuple(leaf.shape)))
    if not types:
        raise ShapeError(
            "pure_callback: result_spec has no results, so the function need not run; use tj.debug.callback "
            "for a function that is called for what it does"
        )
    return types, structure


class _Checked:
    """A user's function on flat arrays, whose results are what was promised.

    `number` says which callback of its trace it is, None where no other trace repeats that one.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str,
        structure: TreeDef,
        types: list[TensorType],
        results: TreeDef,
        number: int | None,
    ) -> None:
        self.fn, self.name, self.structure, self.types, self.results = fn, name, structure, types, results
        self.number = number

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        kept: KeptResults | None = STATE.callback_results
        if kept is None or self.number is None:
            return self._call(arrays)
        return kept.call((self.number, self.name), self._call, arrays)

    def _call(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        if STATE.tracer is not None:  # a decision of the trace needs the results
            with not_tracing():
                return self._call(arrays)
        positional, keyword = self.structure.unflatten(arrays)
        outcome = self.fn(*positional, **keyword)
        leaves, structure = flatten(outcome)
        if structure != self.results:
            raise ShapeError(
                f"pure_callback: {self.name} returned a result of another structure than result_spec: "
                f"expected {self.results}, got {structure}"
            )
        paths = leaf_paths(outcome)
        return tuple([self._checked(*each) for each in zip(leaves, self.types, paths, strict=True)])

    def _checked(self, leaf: Any, expected: TensorType, path: str) -> Array:
        where = f"pure_callback: {self.name} returned"
        if type(leaf) in NUMBERS:  # adopts the dtype, where that loses nothing of its kind
            array = np.asarray(leaf)
            if array.shape == expected.shape and "biufc".index(array.dtype.kind) <= "biufc".index(
                expected.dtype.kind
            ):
                return np.asarray(leaf, expected.dtype)
        array = leaf._concrete(where, "arrays") if isinstance(leaf, Tensor) else np.asarray(leaf)
        if array.shape != expected.shape:
            raise ShapeError(f"{where} shape {array.shape} at result{path}, result_spec says {expected}")
        if array.dtype != expected.dtype:
            raise DTypeError(f"{where} dtype {array.dtype.name} at result{path}, result_spec says {expected}")
        return array
