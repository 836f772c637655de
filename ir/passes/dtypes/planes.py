"""Planes: a complex value as its real parts and its imaginary parts."""

from __future__ import annotations

from typing import Any

from ....base.records import record


@record(eq=False)
class Planes:
    """The real and the imaginary parts of a complex value; both have its shape."""

    re: Any
    im: Any

    @property
    def dtype(self) -> Any:
        """The dtype of the parts."""
        return self.re.dtype


def is_single(x: Planes) -> bool:
    """Whether the parts are of single precision."""
    return bool(x.dtype.itemsize == 4)


def limit_of(x: Planes, single: float, double: float) -> float:
    """The limit that goes with the precision of the parts."""
    return single if is_single(x) else double


def both(b: Any, function: Any, *operands: Planes) -> Planes:
    """`function` of the real parts, and of the imaginary ones."""
    return Planes(function(*[x.re for x in operands]), function(*[x.im for x in operands]))


def pick(b: Any, condition: Any, x: float, y: float, like: Any) -> Any:
    """The number x where `condition`, else y, in the dtype of `like`."""
    return b.where(condition, b.full(value=x, shape=like.shape, dtype=like.dtype), y)


def choose(b: Any, condition: Any, x: Planes, y: Planes) -> Planes:
    """x where `condition`, else y."""
    return Planes(b.where(condition, x.re, y.re), b.where(condition, x.im, y.im))


def turned(b: Any, x: Planes) -> Planes:
    """i x."""
    return Planes(b.neg(x.im), x.re)


def turned_back(b: Any, x: Planes) -> Planes:
    """-i x."""
    return Planes(x.im, b.neg(x.re))


def larger_part(b: Any, x: Planes) -> Any:
    """The larger one of the sizes of both parts; NaN if either is NaN."""
    return b.maximum(b.abs(x.re), b.abs(x.im))
