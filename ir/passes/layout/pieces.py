"""Large values computed piece by piece, in a scan: beside the result, the memory of one piece is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...builder import Builder
from ...dtypes import INT64
from ...graph import Value
from ...registry import OPS

#: Elements of a piece: what is computed of them stays in a second-level cache, and a step is short beside it.
_MOST: Final = 1 << 14
_LEAST: Final = 1 << 10


def piece_size(total: int, least: int = _LEAST) -> int:
    """The largest size, from `least` on, of equal pieces of `total` elements; that of all where there is
    none."""
    sizes = range(max(least, min(_MOST, total)), least - 1, -1)
    return next((size for size in sizes if total % size == 0), total)


def in_pieces(
    b: Any, total: int, shared: Sequence[Value], compute: Callable[[Any, Value, Sequence[Value]], Value]
) -> Sequence[Value]:
    """The elements that ``compute(b, numbers, shared)`` makes of their numbers up to `total`, in rows: pieces
    that it is called for, which all read `shared`."""
    size = piece_size(total)
    count = total // size
    body: Any = Builder()
    body.location = b.location
    params = [body.parameter(value.type) for value in shared]
    first = body.parameter(b.iota(shape=(count,), axis=0, dtype=INT64).type.with_shape(()))
    number = body.add(body.iota(shape=(size,), axis=0, dtype=INT64), body.broadcast_to(first, (size,)))
    region = body.finish("piece", [compute(body, number, params)])
    firsts = b.mul(b.iota(shape=(count,), axis=0, dtype=INT64), size)
    attrs = {"carries": 0, "slices": 1, "length": count, "reverse": False}
    return b.append(OPS["scan"], (*shared, firsts), attrs, regions=(region,))  # type: ignore[no-any-return]
