"""Operands that operators of Tensor leave to Python: objects that are no arrays of numbers, and whose class
has the operator itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..base.errors import DTypeError, TracejitError
from ..base.loading import load_module

__all__ = ["gives_way", "giving_way", "refuse_opted_out"]

#: Packages whose classes are numbers, arrays, or what has been decided on already.
_OWN: Final = ("builtins", "numpy", "tracejit")
#: Methods that every object has.
_OF_IDENTITY: Final = ("__eq__", "__ne__")


def opts_out(value: Any) -> bool:
    """Whether the class of `value` says that NumPy's ufuncs and operators shall not take it."""
    return getattr(type(value), "__array_ufunc__", NotImplemented) is None


def refuse_opted_out(value: Any) -> None:
    """Raise DTypeError where `value` is no operand by its own choice, as NumPy's ufuncs do."""
    if opts_out(value):
        raise DTypeError(
            f"a {type(value).__name__} is no operand of NumPy's functions: its __array_ufunc__ is None"
        )


def gives_way(error: TracejitError, operand: Any, reflected: str) -> bool:
    """Whether an operator that ended with `error` leaves its right `operand` to the method `reflected` of
    that, as NumPy's operators do. == and != leave all that is no array of numbers to Python's identity."""
    if reflected in _OF_IDENTITY:
        return isinstance(error, DTypeError)
    kind = type(operand)
    method = getattr(kind, reflected, None)
    if (
        kind.__module__.partition(".")[0] in _OWN
        or method is None
        or method is getattr(object, reflected, None)
    ):
        return False
    return opts_out(operand) or not load_module(".kinds", __package__).is_array(operand)


def giving_way(function: Callable[[Any, Any], Any], reflected: str) -> Callable[[Any, Any], Any]:
    """`function` as an operator, which gives way to the method `reflected` of its right operand."""

    def operator(x: Any, y: Any, /) -> Any:
        try:
            return function(x, y)
        except TracejitError as error:
            if gives_way(error, y, reflected):
                return NotImplemented
            raise

    return operator
