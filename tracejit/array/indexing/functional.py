"""``x.at[key]``: writes that make a new tensor, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arguments.errors import named
from ...eager.tensor import Tensor
from ...ir.dtypes import result_type
from ...ir.errors import ArgumentError
from ..elementwise.arithmetic import divide
from ..operands import as_tensor, run
from .access import folded_at, getitem, written_at


class IndexedAt:
    """``x.at``: takes the key."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> ElementsAt:
        return ElementsAt(self._x, key)

    def __repr__(self) -> str:
        return f"<at of {self._x!r}>"


class ElementsAt:
    """``x.at[key]``: its methods return a new tensor, `x` with other elements at `key`; `x` stays.

    Where a key names an element several times, ``set`` keeps the last value, and the others fold in each.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0, 3.0])
        >>> x.at[0].set(9.0)
        tensor([9., 2., 3.])
        >>> x.at[[1, 1]].multiply([3.0, 5.0])
        tensor([ 1., 30.,  3.])

    Raises OutOfBoundsError and ShapeError, and DTypeError for a value of another kind of number. Semantics:
    JAX's ``x.at``, but an index outside is an error.
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Tensor, key: Any) -> None:
        self._x, self._key = x, key

    def __repr__(self) -> str:
        return f"<{self._x!r} at {self._key!r}>"

    @named("at[...].get")
    def get(self) -> Tensor:
        """The elements: ``x[key]``."""
        return getitem(self._x, self._key)

    @named("at[...].set")
    def set(self, value: Any) -> Tensor:
        """`value` in their place, broadcast and converted to the dtype of `x`."""
        return written_at("at[...].set", self._x, self._key, value)

    @named("at[...].add")
    def add(self, value: Any) -> Tensor:
        """`value` added to them."""
        return folded_at("at[...].add", self._x, self._key, value, "add")

    @named("at[...].subtract")
    def subtract(self, value: Any) -> Tensor:
        """`value` subtracted from them."""
        return folded_at("at[...].subtract", self._x, self._key, -as_tensor(value), "add")

    @named("at[...].multiply")
    def multiply(self, value: Any) -> Tensor:
        """`value` multiplied to them."""
        return folded_at("at[...].multiply", self._x, self._key, value, "mul")

    @named("at[...].divide")
    def divide(self, value: Any) -> Tensor:
        """They divided by `value`."""
        x, divisor = self._x, as_tensor(value)
        ones = run("full", value=1, shape=x.shape, dtype=result_type(x.dtype, divisor.dtype))
        return divide(x, folded_at("at[...].divide", ones, self._key, divisor, "mul"))

    mul, div = multiply, divide

    @named("at[...].max")
    def max(self, value: Any) -> Tensor:
        """The larger of them and `value`; NaN if either is NaN."""
        return folded_at("at[...].max", self._x, self._key, value, "max")

    @named("at[...].min")
    def min(self, value: Any) -> Tensor:
        """The smaller of them and `value`; NaN if either is NaN."""
        return folded_at("at[...].min", self._x, self._key, value, "min")

    @named("at[...].power")
    def power(self, value: Any) -> Tensor:
        """They to the power of `value`, from what they were: once each."""
        return written_at("at[...].power", self._x, self._key, getitem(self._x, self._key) ** value)

    @named("at[...].apply")
    def apply(self, function: Callable[[Tensor], Any]) -> Tensor:
        """`function` of them, from what they were: once each."""
        if not callable(function):
            raise ArgumentError(f"at[...].apply: function must be a function, got {function!r}")
        return written_at("at[...].apply", self._x, self._key, function(getitem(self._x, self._key)))
