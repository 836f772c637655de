"""``tj.autograd.Function``: operations with a backward of the user's own. Semantics:
``torch.autograd.Function``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from ..array.indexing.writing import adopt, count_write, writes_memory
from ..backward.engine import connected
from ..backward.functions import FunctionCtx, FunctionNode, outputs_of
from ..base.errors import GradientError
from ..dispatch.dispatch import apply
from ..ir.dtypes import is_differentiable
from ..ir.registry import OPS
from ..state import STATE
from ..tape.modes import no_grad, untaped
from ..tape.nodes import Output
from ..tape.views import UNRECORDED, share
from ..tensors.tensor import Tensor, wrap
from .traced import apply_traced


class Function:
    """An operation with its own backward. Derive from it, and call the class's ``apply``.

    ``forward(ctx, *args)`` computes the result (a tensor, or a tuple of values) from tensors and anything
    else; nothing in it is recorded. ``backward(ctx, *cotangents)`` gets the cotangents of the outputs, and
    returns one gradient per argument, None where there is none. Instead of a `ctx` in forward there may be
    ``setup_context(ctx, inputs, output)``. Works eagerly, under ``@tj.jit`` and under the transforms.

    Under a trace backward is traced where the function is applied, ``ctx.needs_input_grad`` is True for every
    floating argument, and a backward that cannot be traced is an error to those who differentiate.

    Example:
        >>> import tracejit as tj
        >>> class Square(tj.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, ct):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * ct
        >>> x = tj.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)

    Semantics: ``torch.autograd.Function``.
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result. To be overridden."""
        raise GradientError("a tj.autograd.Function must define forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Prepare `ctx` where forward does not take it. May be overridden."""

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Compute the gradients. To be overridden."""
        raise GradientError(
            "a tj.autograd.Function must define backward(ctx, *cotangents) to be differentiated"
        )

    def __init__(self) -> None:
        raise GradientError(
            f"{type(self).__name__} is a tj.autograd.Function: call {type(self).__name__}.apply(...) "
            "instead of making an instance"
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the operation on `args`. Tensors among them that require grad get gradients."""
        if STATE.tracer is not None:
            return apply_traced(cls, args)
        needs = tuple([isinstance(argument, Tensor) and argument._requires_grad for argument in args])
        recording = STATE.recording and any(needs)
        ctx = FunctionCtx(cls, needs if recording else (False,) * len(args))
        with no_grad():
            result = cls.run_forward(ctx, args)
        outputs = outputs_of(cls, result)
        _check_dirty(cls, ctx, args, outputs)
        if not recording:
            for tensor in ctx._dirty:
                count_write(tensor, cls.__name__)
            return result
        node = FunctionNode(cls, ctx, args, outputs)
        connected = [
            _connect(ctx, node, index, output, args) if isinstance(output, Tensor) else output
            for index, output in enumerate(outputs)
        ]
        ctx.keep(outputs, node)
        ctx._dirty = ctx._constant = ()  # outputs, which would hold themselves alive
        return tuple(connected) if isinstance(result, tuple) else connected[0]

    @classmethod
    def has_backward(cls) -> bool:
        """Whether the class defines ``backward``."""
        return cls.backward is not Function.backward

    @classmethod
    def run_forward(cls, ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
        """The result of forward, by whichever of the two styles the class has."""
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output


def _check_dirty(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any]) -> None:
    """Raise GradientError unless each tensor that forward marks as written is an argument that may be written
    and is returned."""
    for tensor in ctx._dirty:
        if not any(tensor is arg for arg in args):
            raise GradientError(f"{cls.__name__}: mark_dirty takes arguments of forward")
        if not any(tensor is output for output in outputs):
            raise GradientError(
                f"{cls.__name__}: an argument given to mark_dirty must be returned by forward"
            )
        if STATE.recording:
            writes_memory(tensor, args, cls.__name__)


def _connect(
    ctx: FunctionCtx, node: FunctionNode, index: int, output: Tensor, args: tuple[Any, ...]
) -> Tensor:
    """`output` of forward as output `index` of `node`."""
    place = Output(node, index)
    if any(output is tensor for tensor in ctx._dirty):
        count_write(output, node.name())
        adopt(output, connected(output._data, place))
        return output
    if any(
        output is argument for argument in args
    ):  # returned as it came: a tensor of its own, in the same memory
        alias = wrap(output._data)
        share(output, alias, UNRECORDED)
        output = alias
    if type(output._aliases) is tuple:
        output._aliases = (output._aliases[0], UNRECORDED)
    if is_differentiable(output.dtype) and not any(output is tensor for tensor in ctx._constant):
        output._node, output._requires_grad = place, True
    return output


_TWICE: Final = "trying to differentiate twice a function that was marked with @once_differentiable"


class _Last(Function):
    """A gradient that cannot be differentiated, whatever it came from."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *sources: Tensor) -> Tensor:
        return wrap(x._data)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise GradientError(_TWICE)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` that cannot be differentiated itself: doing so raises GradientError.

    Semantics: ``torch.autograd.function.once_differentiable``.

    Example:
        >>> import tracejit as tj
        >>> class Square(tj.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**2
        ...     @staticmethod
        ...     @tj.autograd.once_differentiable
        ...     def backward(ctx, ct):
        ...         return 2 * ctx.saved_tensors[0] * ct
        >>> tj.grad(Square.apply)(3.0)
        tensor(6.)
    """

    @functools.wraps(fn)
    def wrapped(ctx: Any, *cotangents: Any) -> Any:
        # under a trace the gradient must stay in sight of what refuses to differentiate it
        with no_grad() if STATE.tracer is None else untaped():
            results = fn(ctx, *cotangents)
        gradients = results if isinstance(results, tuple) else (results,)
        if STATE.tracer is not None or STATE.recording:
            sources = [
                cotangent for cotangent in cotangents if isinstance(cotangent, Tensor)
            ] + ctx.inputs_in_graph()
            gradients = tuple(
                [_last(tensor, sources) if isinstance(tensor, Tensor) else tensor for tensor in gradients]
            )
        return gradients if isinstance(results, tuple) else gradients[0]

    return wrapped


def _last(gradient: Tensor, sources: list[Tensor]) -> Tensor:
    """`gradient`, and the error on every way from it to `sources`."""
    if STATE.tracer is not None:
        last: Tensor = apply(OPS["undifferentiable"], (gradient,), {"message": _TWICE})
        return last
    source = wrap(gradient._data)
    source._requires_grad = True
    final: Tensor = _Last.apply(source, *sources)
    return final
