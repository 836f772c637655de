"""Windows that move with the steps of loops, ``x[i - 1 : i + 2]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.analysis.affine import Affine
from ..ir.graph import Value
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from .tracer import Tracer


def window(tracer: Tracer, start: Any, stop: Any, extent: int) -> int | None:
    """Number of elements of ``start:stop`` in each step, if all lie inside of `extent`, else None. Outside of
    regions Python code asks for values."""
    if not tracer.is_region:
        return None
    first = affine(tracer, start)
    size = affine(tracer, stop).plus(first, -1).number
    return size if size is not None and size >= 0 and _is_between(tracer, first, extent - size) else None


def lies_within(tracer: Tracer, integer: Any, extent: int) -> bool:
    """Whether `integer` is from 0 to `extent` in each step."""
    return _is_between(tracer, affine(tracer, integer), extent)


def _is_between(tracer: Tracer, form: Affine, extent: int) -> bool:
    low = high = form.constant
    for counter, factor in form.scalars:
        reach = factor * (tracer.integers.counts.get(counter, max(extent, 0) + 2) - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low >= 0 and high <= extent


def affine(tracer: Tracer, integer: Any) -> Affine:
    """`integer` by integers that cannot be asked for, as counters of loops."""
    value = integer._data if isinstance(integer, Tensor) else integer
    if not isinstance(value, Value):
        return Affine(int(value), 0, ())
    while tracer.parent is not None and not tracer.owns(value):
        tracer = tracer.parent
    number = tracer.integers.number(value)
    if number is not None:
        return Affine(number, 0, ())
    captured: dict[Value, Value] = getattr(tracer, "captured", {})
    for outer, inner in captured.items():
        if inner is value and tracer.parent is not None:
            form = affine(tracer.parent, outer)
            if form.number is not None:
                tracer.integers.learn(value, form.number)
            return form
    name, operands = tracer.integers.definition(value)
    parts = [affine(tracer, operand) for operand in operands]
    if name in ("add", "sub"):
        return parts[0].plus(parts[1], 1 if name == "add" else -1)
    parts.sort(key=lambda part: part.number is not None)
    if name == "mul" and parts[1].number is not None:
        return parts[0].times(parts[1].number)
    if value not in tracer.integers.counts and tracer.is_weak(value) and tracer.can_decide(value):
        return Affine(int(tracer.decide(value)), 0, ())
    return Affine(0, 0, (), ((value, 1),))
