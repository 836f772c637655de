"""Forward mode of Functions.

It has no rules of its own: ``ct @ J`` is linear in `ct`, and its derivative by `ct`, along a tangent `t`, is
``J @ t``. What only the detour needed is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import Builder, inline
from ..dataflow import needed
from ..graph import Function, Value
from .differentiation import pull_back

__all__ = ["push_forward"]


def push_forward(function: Function, wrt: Sequence[int], positions: Sequence[int]) -> Function:
    """``(*params, *tangents of the params wrt) -> (*results, *tangents of the results at positions)``.

    *Requires*: the parameters `wrt` and the results at `positions` are floating. Raises GradientError where
    an op has no gradient, or its gradient has none.

    Example:
        >>> import tracejit as tj
        >>> from tracejit.ir.interpreter import interpret
        >>> f = tj.trace(lambda x: x * x, 3.0)
        >>> [value.item() for value in interpret(push_forward(f, [0], [0]), [3.0, 0.5])]
        [9.0, 3.0]
    """
    b = Builder()
    params = [b.parameter(param.type, param.hint) for param in function.params]
    outputs = inline(b, function, params)
    b.location = None
    count = len(b.body)
    seeds = [_zeros(b, outputs[i]) for i in positions]
    pulled = _Sum(b)
    for position, seed in zip(positions, seeds, strict=True):
        pulled.add(outputs[position], seed)
    slopes = pull_back(b, tuple(b.body[:count]), pulled.parts, [params[i] for i in wrt])
    b.location = None
    last = len(b.body)
    tangents = [b.parameter(params[i].type, f"t_{params[i].hint or i}") for i in wrt]
    pushed = _Sum(b)
    for slope, tangent in zip(slopes, tangents, strict=True):
        if slope is not None:
            pushed.add(slope, tangent)
    # the sums of seeds are linear in them, too
    gradients = pull_back(b, tuple(b.body[count:last]), pushed.parts, seeds)
    b.location = None
    results = [
        _zeros(b, outputs[i]) if gradient is None else gradient
        for i, gradient in zip(positions, gradients, strict=True)
    ]
    joint = b.finish(f"{function.name}_pushed", [*outputs, *results])
    live = needed(joint, joint.results)
    body = tuple(
        [instruction for instruction in joint.body if any(result in live for result in instruction.results)]
    )
    return Function(joint.name, joint.params, body, joint.results)


class _Sum:
    """Cotangents by value, where a value may come more than once."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.parts: dict[Value, Value] = {}

    def add(self, value: Value, part: Value) -> None:
        sum_so_far = self.parts.get(value)
        self.parts[value] = part if sum_so_far is None else self.b.add(sum_so_far, part)


def _zeros(b: Builder, like: Value) -> Value:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)  # type: ignore[no-any-return]
