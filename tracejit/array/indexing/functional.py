"""``x.at[key]``: writes that make a new tensor, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ...arguments.errors import named
from ...base.errors import ArgumentError
from ...ir.dtypes import result_type
from ...tensors.tensor import Tensor
from ..elementwise.ufuncs import divide
from ..operands import as_tensor, run
from .access import folded_at, getitem, written_at
from .outside import default_fill, within

#: The treatment of indices out of bounds: see `outside.MODES`.
Mode: TypeAlias = str | None


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

    An index outside is an error, unless `mode` says what becomes of it: ``clip`` takes the nearest element,
    ``wrap`` counts on from the other end, ``drop``, also called ``fill``, writes nothing and reads
    `fill_value`, which is NaN if it is None, or the least or the largest integer. ``promise_in_bounds`` is
    the default. Negative indices count from the end in each.

        >>> x.at[[0, 7]].add(1.0, mode="drop")
        tensor([2., 2., 3.])

    Raises OutOfBoundsError and ShapeError, ArgumentError for another mode, and DTypeError for a value of
    another kind of number. Semantics: JAX's ``x.at``, but for the default.
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Tensor, key: Any) -> None:
        self._x, self._key = x, key

    def __repr__(self) -> str:
        return f"<{self._x!r} at {self._key!r}>"

    @named("at[...].get")
    def get(self, mode: Mode = None, fill_value: Any = None) -> Tensor:
        """The elements: ``x[key]``; `fill_value` for those outside, in the modes ``fill`` and ``drop``."""
        fill = default_fill(self._x) if fill_value is None else fill_value
        return getitem(*within("at[...].get", self._x, self._key, mode, fill))

    @named("at[...].set")
    def set(self, value: Any, mode: Mode = None) -> Tensor:
        """`value` in their place, broadcast and converted to the dtype of `x`."""
        return self._changed("set", lambda name, x, key: written_at(name, x, key, value), mode)

    @named("at[...].add")
    def add(self, value: Any, mode: Mode = None) -> Tensor:
        """`value` added to them."""
        return self._changed("add", lambda name, x, key: folded_at(name, x, key, value, "add"), mode)

    @named("at[...].subtract")
    def subtract(self, value: Any, mode: Mode = None) -> Tensor:
        """`value` subtracted from them."""
        negative = -as_tensor(value)
        return self._changed("subtract", lambda name, x, key: folded_at(name, x, key, negative, "add"), mode)

    @named("at[...].multiply")
    def multiply(self, value: Any, mode: Mode = None) -> Tensor:
        """`value` multiplied to them."""
        return self._changed("multiply", lambda name, x, key: folded_at(name, x, key, value, "mul"), mode)

    @named("at[...].divide")
    def divide(self, value: Any, mode: Mode = None) -> Tensor:
        """The elements divided by `value`."""
        divisor = as_tensor(value)

        def divided(name: str, x: Tensor, key: Any) -> Tensor:
            ones = run("full", value=1, shape=x.shape, dtype=result_type(x.dtype, divisor.dtype))
            return divide(x, folded_at(name, ones, key, divisor, "mul"))

        return self._changed("divide", divided, mode)

    mul, div = multiply, divide

    @named("at[...].max")
    def max(self, value: Any, mode: Mode = None) -> Tensor:
        """The larger of them and `value`; NaN if either is NaN."""
        return self._changed("max", lambda name, x, key: folded_at(name, x, key, value, "max"), mode)

    @named("at[...].min")
    def min(self, value: Any, mode: Mode = None) -> Tensor:
        """The smaller of them and `value`; NaN if either is NaN."""
        return self._changed("min", lambda name, x, key: folded_at(name, x, key, value, "min"), mode)

    @named("at[...].power")
    def power(self, value: Any, mode: Mode = None) -> Tensor:
        """The original elements raised to the power of `value`; an element that the key repeats is raised
        once."""
        return self._changed(
            "power", lambda name, x, key: written_at(name, x, key, getitem(x, key) ** value), mode
        )

    @named("at[...].apply")
    def apply(self, function: Callable[[Tensor], Any], mode: Mode = None) -> Tensor:
        """`function` of the original elements; an element that the key repeats changes once."""
        if not callable(function):
            raise ArgumentError(f"at[...].apply: function must be a function, got {function!r}")
        return self._changed(
            "apply", lambda name, x, key: written_at(name, x, key, function(getitem(x, key))), mode
        )

    def _changed(self, method: str, change: Callable[[str, Tensor, Any], Tensor], mode: Mode) -> Tensor:
        """The result of ``change(name, x, key)`` for keys within `x`, cut to its shape."""
        name, x = f"at[...].{method}", self._x
        extended, key = within(name, x, self._key, mode)
        result = change(name, extended, key)
        if extended is x:
            return result
        return run("slice", result, start=(0,) * x.ndim, size=x.shape, step=(1,) * x.ndim)
