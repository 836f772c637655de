"""What derivative rules of special functions are written with."""

from __future__ import annotations

from typing import Any

from .jets import Index


def write(b: Any, name: str, *operands: Any, orders: Index = ()) -> Any:
    """The op of the derivative `orders` of the special function `name`, in the namespace `b`."""
    op = getattr(b, f"special{len(operands)}")
    return op(*operands, function=name, orders=orders or (0,) * len(operands))
