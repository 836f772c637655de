"""Special functions as ops: one op for each number of operands, whose attributes say which function it is and
which derivative.

Semantics: the functions of `ir.special`, which are SciPy's of the same names unless they say otherwise. All
operands have one floating dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import AttributeValueError, DTypeError, GradientError
from ..dtypes import DType, Operand, is_complex, is_real_floating, result_type
from ..registry import Attrs, Kind, Op
from ..special.table import evaluate, special
from ..types import TensorType
from .define import define, same_shape

_OPERANDS: Final = ("x", "y", "z", "w")
#: Derivatives of more than this order in one operand are refused: their code would be too long.
_MAX_ORDER: Final = 4
#: Cycles of a function that is called, and of one whose few steps are written in place.
_CALL: Final = 150.0
_IN_PLACE: Final = 20.0


def _promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    dtype = result_type(*operands)
    if is_complex(dtype):
        raise DTypeError(f"special functions: expected real operands, got dtype {dtype.name}")
    if not is_real_floating(dtype):
        dtype = result_type(dtype, float)
    return (dtype,) * len(operands)


def _infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    name, orders = attrs["function"], attrs["orders"]
    if len(special(name).params) != len(types) or len(orders) != len(types):
        raise AttributeValueError(
            f"special: {name} has {len(special(name).params)} operands, got {len(types)} and orders {orders}"
        )
    for type_ in types:
        if not is_real_floating(type_.dtype) or type_.dtype is not types[0].dtype:
            operands = ", ".join(map(str, types))
            raise DTypeError(f"{name}: expected operands of one floating dtype, got ({operands})")
    return (TensorType(types[0].dtype, same_shape(name, types)),)


def computed_in(*operands: Any) -> DType:
    """The dtype of results for `operands`, arrays and Python numbers."""
    return _promote(tuple(type(x) if isinstance(x, (int, float)) else np.asarray(x).dtype for x in operands))[
        0
    ]


def _kernel(*operands: Any, function: str, orders: tuple[int, ...]) -> Any:
    dtype = computed_in(*operands)
    return evaluate(function, orders, [np.asarray(x, dtype) for x in operands])


def _emit(b: Any, *operands: Any, function: str, orders: tuple[int, ...]) -> Any:
    return b.special(function, orders, *operands)


def _cost(function: str, orders: tuple[int, ...]) -> float:
    return _IN_PLACE if special(function).inline and not any(orders) else _CALL


def _rule(count: int, place: int) -> Callable[..., Any]:
    def slope(b: Any, function: str, orders: tuple[int, ...], operands: tuple[Any, ...]) -> Any:
        definition = special(function)
        written = definition.slopes[place]
        if written is None:
            raise GradientError(f"{function}: no derivative with respect to {definition.params[place]}")
        if callable(written):
            return written(b, orders, *operands)
        raised = tuple(order + (other == place) for other, order in enumerate(orders))
        if max(raised) > _MAX_ORDER:
            raise GradientError(
                f"{function}: no derivatives of an order above {_MAX_ORDER} with respect to "
                f"{definition.params[place]}"
            )
        return apply_special(b, function, operands, raised)

    if count == 1:
        return lambda b, ct, x, function, orders: b.mul(ct, slope(b, function, orders, (x,)))
    if count == 2:
        return lambda b, ct, x, y, function, orders: b.mul(ct, slope(b, function, orders, (x, y)))
    if count == 3:
        return lambda b, ct, x, y, z, function, orders: b.mul(ct, slope(b, function, orders, (x, y, z)))
    return lambda b, ct, x, y, z, w, function, orders: b.mul(ct, slope(b, function, orders, (x, y, z, w)))


def apply_special(b: Any, function: str, operands: tuple[Any, ...], orders: tuple[int, ...] = ()) -> Any:
    """The op of the derivative `orders` of `function`, written with the namespace `b`."""
    write = getattr(b, f"special{len(operands)}")
    return write(*operands, function=function, orders=orders or (0,) * len(operands))


def _define(count: int) -> Op:
    names = _OPERANDS[:count]
    return define(
        f"special{count}", Kind.ELEMENTWISE, " ".join(names), infer=_infer, eval=_kernel, promote=_promote,
        vjp={name: _rule(count, place) for place, name in enumerate(names)}, emit=_emit, cost=_CALL,
        cost_of_attributes=_cost, emit_kinds="f", attrs={"function": (str,), "orders": (tuple,)},
        doc=f"a derivative of a special function of {count} operand{'s' * (count > 1)}",
    )  # fmt: skip


SPECIAL: Final = tuple(_define(count) for count in range(1, 5))
