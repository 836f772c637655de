"""Steps of algorithms that draw: what one side of a condition draws, and attempts until one is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..control.branches import cond
from ..control.loops import while_loop
from ..dispatch.dispatch import apply
from ..ir.dtypes import FLOAT64
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.tensor import wrap
from .bit_generators import BitGenerator, overwrite, own_words


def rounded(x: Any) -> Any:
    """`x`, a product that is rounded before it is added to anything."""
    return x if isinstance(x, float) else apply(OPS["rounded"], (x,), {})


def of_c(function: str, x: Any) -> Any:
    """``exp``, ``log`` or ``log1p`` of x as NumPy's C code has it."""
    return apply(OPS["libm"], (float64(x),), {"function": function})


def power_of_c(x: Any, y: Any) -> Any:
    """x to the power y as NumPy's C code has it."""
    return apply(OPS["libm_pow"], (float64(x), float64(y)), {})


def float64(x: Any) -> Any:
    """The float64 `x` as a tensor."""
    return wrap(STATE.tracer.scalar(x, FLOAT64)) if isinstance(x, float) else x


def chosen(
    bits: BitGenerator,
    test: Any,
    then: Callable[[BitGenerator], tuple[Any, ...]],
    otherwise: Callable[[BitGenerator], tuple[Any, ...]],
) -> Any:
    """The values of ``then(bits)`` where `test` holds, else of ``otherwise(bits)``; only that draws."""
    if isinstance(test, bool):
        return then(bits) if test else otherwise(bits)

    def branch(draw: Callable[[BitGenerator], tuple[Any, ...]]) -> Callable[[], tuple[Any, ...]]:
        def run() -> tuple[Any, ...]:
            own = type(bits)(own_words(bits.words))
            values = draw(own)
            return (own.words, *values)

        return run

    words, *values = cond(test, branch(then), branch(otherwise))
    overwrite(bits.words, words)
    return values


def repeated(bits: BitGenerator, step: Callable[..., Sequence[Any]], start: Sequence[Any]) -> Sequence[Any]:
    """The values of the last step; ``step(bits, *values)`` gives whether another follows, and new values of
    the types of `start`."""

    def body(carry: Sequence[Any]) -> tuple[Any, ...]:
        words, _, *values = carry
        own = type(bits)(words)
        again, *values = step(own, *values)
        return own.words, again, *values

    carry = wrap(bits.words._data), True, *start
    words, _, *last = while_loop(lambda carry: carry[1], body, carry)
    overwrite(bits.words, words)
    return tuple(last)


def accepted(bits: BitGenerator, attempt: Callable[[BitGenerator], tuple[Any, Any]], zero: Any) -> Any:
    """The value of the first attempt that is not rejected; `attempt` gives whether it is, and its value,
    which has the type of `zero`."""
    return repeated(bits, lambda bits, _: attempt(bits), (zero,))[0]
