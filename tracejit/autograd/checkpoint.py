"""``tj.checkpoint``: save memory by computing again in backward what would be saved for it.

Eagerly, what the function's operations save is dropped, and one value is kept for each: its number. The
first time backward asks for one, the function runs again to make them all. Under a trace the function
becomes a ``custom_vjp`` whose backward region repeats it behind barriers, which keep passes from sharing the
repetition with the first run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from ..base.errors import GradientError
from ..dispatch.regions import apply_with_regions
from ..generator import DEFAULT
from ..ir.dtypes import is_differentiable
from ..ir.graph import Function
from ..ir.ops.differentiation import repeated_backward
from ..ir.registry import OPS
from ..ir.types import TensorType
from ..pytree import flatten
from ..state import STATE
from ..tape.liveness import Instant, as_at
from ..tape.modes import enable_grad, untaped
from ..tape.recording import memory_of, versions_of
from ..tape.saved import Packed, unpacked
from ..tensors.tensor import Tensor, wrap
from ..tracing.regions import RegionTracer, trace_region
from ..tracing.tracer import not_tracing
from .graph import saved_tensors_hooks

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(fn: Callable[P, R]) -> Callable[P, R]: ...
@overload
def checkpoint(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...
def checkpoint(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``fn(*args, **kwargs)``, whose intermediate values are not kept for backward but computed again there.

    `fn` must do the same when it is called again. Random numbers of the default generator are the same in
    both runs. Tensors that `fn` closes over get their gradients, too. May be nested; works under ``@tj.jit``.
    Without arguments, where `fn` needs some, the result is the function that does this: a decorator.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> tj.checkpoint(lambda x: tj.sin(tj.exp(x)).sum(), x).backward()
        >>> x.grad
        tensor([-2.47834973,  3.31292942])
        >>> tj.grad(tj.checkpoint(lambda x: tj.sin(tj.exp(x)).sum()))(tj.tensor([1.0, 2.0]))
        tensor([-2.47834973,  3.31292942])

    Raises GradientError in backward where `fn` saves other values when it runs again. Semantics:
    ``torch.utils.checkpoint.checkpoint`` with ``use_reentrant=False``, ``jax.checkpoint``.
    """
    if not callable(fn):
        raise GradientError(f"checkpoint: expected a function, got {type(fn).__name__}")
    if not args and not kwargs and _needs_arguments(fn):

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return checkpoint(fn, *args, **kwargs) if args or kwargs else fn()

        return wrapped
    if STATE.tracer is not None:
        return _traced(fn, args, kwargs)
    if not STATE.recording:
        return fn(*args, **kwargs)
    run = _Run(fn, args, kwargs)
    with saved_tensors_hooks(run.drop, run.again):
        try:
            return fn(*args, **kwargs)
        finally:
            run.end()


def _needs_arguments(fn: Callable[..., Any]) -> bool:
    """Whether `fn` cannot be called without arguments."""
    try:
        inspect.signature(fn).bind()
    except TypeError:
        return True
    except ValueError:  # a builtin that does not say
        return False
    return False


class _Kept:
    """A placeholder for a saved value: its number and its type."""

    __slots__ = ("number", "type")

    def __init__(self, number: int, type: TensorType) -> None:
        self.number = number
        self.type = type


class _Run:
    """One call of a checkpointed function, and the values of its second run while backward needs them."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.fn = fn
        leaves, self.structure = flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        # the tensors in their place in the graph now, whatever becomes of the user's handles
        self.arguments = [_Argument(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.memories = versions_of(tensors)
        self.random = DEFAULT.state
        self.moment = Instant()
        self.saved = 0
        self.running = True
        self.values: dict[int, Tensor] = {}

    def drop(self, tensor: Tensor) -> _Kept:
        """Keep only the number of a saved value."""
        self.saved += 1
        return _Kept(self.saved - 1, tensor.type)

    def end(self) -> None:
        """The first run is over."""
        self.running = False
        self.values.clear()

    def again(self, kept: _Kept) -> Tensor:
        """The value, of a second run."""
        if kept.number not in self.values:
            self._repeat()
        value = self.values.pop(kept.number)
        if value.type != kept.type:
            raise GradientError(
                f"checkpoint: the function saved {kept.type} as value {kept.number} when it first ran, and "
                f"{value.type} when it was computed again in backward; it must do the same each time"
            )
        return value

    def _repeat(self) -> None:
        values: list[Tensor] = []

        def collect(tensor: Tensor) -> Tensor:
            values.append(tensor)
            return tensor

        if any(memory[0] != version for memory, version in self.memories):
            raise GradientError(
                "checkpoint: an argument was modified in place after the function ran, so that it cannot be "
                "computed again in backward"
            )
        leaves = [
            argument.tensor() if isinstance(argument, _Argument) else argument for argument in self.arguments
        ]
        args, kwargs = self.structure.unflatten(leaves)
        random, DEFAULT.state = DEFAULT.state, self.random
        # a pass that is traced, as the pullback that jacrev maps, asks for values of a run that was not
        try:
            keeping = saved_tensors_hooks(collect, lambda tensor: tensor)
            with not_tracing(), enable_grad(), as_at(self.moment), keeping:
                self.fn(*args, **kwargs)
        finally:
            DEFAULT.state = random
        # a gradient inside the function asks before the first run has saved all
        if len(values) != self.saved and not (self.running and len(values) > self.saved):
            raise GradientError(
                f"checkpoint: the function saved {self.saved} values when it first ran, and {len(values)} "
                "when it was computed again in backward; it must do the same each time"
            )
        self.values = dict(enumerate(values))


class _Argument:
    """An argument in its place in the graph, saved through the hooks around the call, as operations save
    theirs: so a checkpoint around another keeps none of what the inner one is given."""

    __slots__ = ("data", "memory", "place", "requires_grad")

    def __init__(self, tensor: Tensor) -> None:
        self.place, self.requires_grad = tensor._node, tensor._requires_grad
        self.memory = memory_of(tensor)
        leaf = self.requires_grad and self.place is None  # the graph keeps it anyway
        hooks = None if leaf else STATE.saved_hooks
        self.data = tensor._data if hooks is None else Packed(tensor._data, hooks)

    def tensor(self) -> Tensor:
        """A handle of its own, so that the function cannot change the user's."""
        result = wrap(unpacked(self.data))
        result._node, result._requires_grad = self.place, self.requires_grad
        result._memory = self.memory
        return result


def _traced(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    assert STATE.tracer is not None
    leaves, structure = flatten((args, kwargs))
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    types = [TensorType(leaves[i].dtype, leaves[i].shape) for i in tensors]
    tracer = RegionTracer(STATE.tracer)
    shape: list[Any] = []
    outputs: list[Any] = []

    def forward(*symbols: Tensor) -> list[Any]:
        full = list(leaves)
        for position, symbol in zip(tensors, symbols, strict=True):
            full[position] = symbol
        before = [symbol._data for symbol in symbols]
        positional, named = structure.unflatten(full)
        results, result_structure = flatten(fn(*positional, **named))
        if any(symbol._data is not value for symbol, value in zip(symbols, before, strict=True)):
            raise GradientError(
                "checkpoint: the function writes an argument in place, so that it cannot be computed again "
                "in backward; compute a new tensor instead"
            )
        shape.append(result_structure)
        outputs.extend(results)
        return [result for result in results if isinstance(result, Tensor)]

    with untaped():
        names = [f"x{i}" for i in range(len(types))]
        results = trace_region(tracer, forward, types, names, [leaves[i] for i in tensors])
    params = (*tracer.params, *tracer.captured.values())
    region = Function("checkpoint", params, tuple(tracer.body), tuple(results))
    wrt = tuple([i for i, param in enumerate(params) if is_differentiable(param.dtype)])
    operands = [leaves[i] for i in tensors] + list(tracer.holders.values())
    attrs = {"name": "checkpoint", "outputs": len(results), "wrt": wrt, "repeats": True}
    regions = (region, repeated_backward(region, wrt))
    produced = apply_with_regions(OPS["custom_vjp"], operands, attrs, regions)
    following = iter(produced)
    return shape[0].unflatten(
        [next(following) if isinstance(output, Tensor) else output for output in outputs]
    )
