"""Operations that write their result to the tensor they are called on: ``x += y``, ``x.add_(y)``.

Dtype and shape of the tensor stay; a result of another shape, or of a dtype that does not fit, is an error.
What shares the memory sees the write, and gradients follow it; see `writing`. Semantics: NumPy for what fits,
PyTorch for names, arguments and gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arguments.errors import explain
from ...arguments.giving_way import gives_way
from ...base.errors import DTypeError, ShapeError, TracejitError
from ...ir.graph import Value
from ...state import STATE
from ...tensors.tensor import Tensor, is_eager_scalar
from ..elementwise import floats, powers, ufuncs
from ..operands import SCALARS, as_tensor, cast
from . import access
from .writing import before, check_writeable, count_write, replace, writes_memory

__all__ = ["METHODS", "in_place_operator"]


def write(x: Tensor, name: str, operands: tuple[Any, ...], compute: Callable[..., Tensor]) -> Tensor:
    """``x`` with ``compute(x, *operands)`` written to it, on behalf of the method `name`."""
    in_memory = writes_memory(x, operands, name)
    old = x if in_memory else before(x)
    result = compute(old, *[old if operand is x else operand for operand in operands])
    if result.shape != x.shape:
        raise ShapeError(
            f"{name}: the result has shape {result.shape}, which does not fit {x.shape} in place"
        )
    if not np.can_cast(result.dtype, x.dtype, "same_kind"):
        raise DTypeError(
            f"{name}: x has dtype {x.dtype.name}, which cannot take the result's {result.dtype.name}"
        )
    result = cast(result, x.dtype)
    if not in_memory:
        replace(x, result, name)
        return x
    check_writeable(x, name)
    x._data[...] = result._data
    count_write(x, name)
    return x


def in_place_operator(
    name: str, function: Callable[[Any, Any], Any], reflected: str
) -> Callable[[Any, Any], Any]:
    """``x += y`` and the other augmented assignments, which give way to the method `reflected` of `y`."""

    def call(x: Tensor, y: Any) -> Any:
        try:
            if not x.shape and _treats_as_scalar(x):
                return function(x, y)  # the name gets a new one
            return write(x, name, (y,), function)
        except RecursionError as error:  # what else there is to say `function` says
            explain(name, call, (x, y), {}, error)
            raise
        except TracejitError as error:
            if gives_way(error, y, reflected):
                return NotImplemented
            raise

    return call


def _treats_as_scalar(x: Tensor) -> bool:
    if isinstance(x._data, Value):
        return STATE.tracer is not None and bool(STATE.tracer.treats_as_scalar(x))
    return is_eager_scalar(x)


def _unary(name: str, function: Callable[[Any], Tensor]) -> Callable[[Tensor], Tensor]:
    def call(self: Tensor) -> Tensor:
        return write(self, name, (), function)

    call.__doc__ = f"``{name.removesuffix('_')}`` in place. Returns the tensor."
    return call


def _binary(name: str, function: Callable[[Any, Any], Tensor]) -> Callable[[Tensor, Any], Tensor]:
    def call(self: Tensor, other: Any) -> Tensor:
        return write(self, name, (other,), function)

    call.__doc__ = f"``{name.removesuffix('_')}`` with `other` in place. Returns the tensor."
    return call


def _add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Add ``alpha * other`` in place. Returns the tensor."""
    return write(self, "add_", (other,), lambda x, y: ufuncs.add(x, _scaled(y, alpha)))


def _sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Subtract ``alpha * other`` in place. Returns the tensor."""
    return write(self, "sub_", (other,), lambda x, y: ufuncs.subtract(x, _scaled(y, alpha)))


def _scaled(y: Any, alpha: Any) -> Any:
    return y if type(alpha) in SCALARS and alpha == 1 else ufuncs.multiply(y, alpha)


def _fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to `value`, in place. Returns the tensor."""
    if not (type(value) in SCALARS or as_tensor(value).ndim == 0):
        raise ShapeError(f"fill_: expected a number or a tensor of rank 0, got shape {np.shape(value)}")
    access.setitem(self, Ellipsis, value)
    return self


def _zero_(self: Tensor) -> Tensor:
    """Set every element to 0, in place. Returns the tensor."""
    return _fill_(self, 0)


def _copy_(self: Tensor, source: Any) -> Tensor:
    """The elements of `source`, broadcast and converted, become this tensor's. Returns the tensor."""
    access.setitem(self, Ellipsis, source)
    return self


def _clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit the elements to ``[min, max]`` in place. Returns the tensor."""
    return write(self, "clamp_", (min, max), floats.clip)


def _clamp_min_(self: Tensor, min: Any) -> Tensor:
    """Raise elements below `min` to it, in place. Returns the tensor."""
    return write(self, "clamp_min_", (min,), lambda x, low: floats.clip(x, low, None))


def _clamp_max_(self: Tensor, max: Any) -> Tensor:
    """Lower elements above `max` to it, in place. Returns the tensor."""
    return write(self, "clamp_max_", (max,), lambda x, high: floats.clip(x, None, high))


def _sigmoid_(self: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))`` in place. Returns the tensor."""
    # sigma(x) = (1 + tanh(x / 2)) / 2, which does not overflow
    return write(self, "sigmoid_", (), lambda x: ufuncs.tanh(x * 0.5) * 0.5 + 0.5)


def _relu_(self: Tensor) -> Tensor:
    """Set negative elements to 0, in place; the gradient at 0 is 0. Returns the tensor."""
    return write(self, "relu_", (), lambda x: floats.where(x > 0, x, cast(as_tensor(0), x.dtype)))


def _masked_fill_(self: Tensor, mask: Any, value: Any) -> Tensor:
    """Set the elements where the boolean `mask` (broadcast) is true to `value`, in place. Returns the
    tensor."""
    chosen = as_tensor(mask)
    if chosen.dtype.kind != "b":
        raise DTypeError(f"masked_fill_: expected a boolean mask, got dtype {chosen.dtype.name}")
    return write(
        self, "masked_fill_", (value,), lambda x, v: floats.where(chosen, cast(as_tensor(v), x.dtype), x)
    )


#: The methods by PyTorch's names.
METHODS: dict[str, Callable[..., Tensor]] = {
    **{name: _unary(name, function) for name, function in ufuncs.IN_PLACE[1].items()},
    **{name: _binary(name, function) for name, function in ufuncs.IN_PLACE[2].items()},
    "pow_": _binary("pow_", powers.power),
    "round_": _unary("round_", floats.round),
    "add_": _add_,
    "clamp_": _clamp_,
    "clamp_max_": _clamp_max_,
    "clamp_min_": _clamp_min_,
    "clip_": _clamp_,
    "copy_": _copy_,
    "fill_": _fill_,
    "masked_fill_": _masked_fill_,
    "relu_": _relu_,
    "sigmoid_": _sigmoid_,
    "sub_": _sub_,
    "zero_": _zero_,
}
