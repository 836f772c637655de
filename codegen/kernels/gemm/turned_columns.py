"""A small matrix whose columns lie in memory, put as rows into scratch memory: squares turned in registers.

Products whose lanes run along the rows of y would gather each of its rows, element by element, and again for
each row of tiles: 102 products of (2, 32) and a transposed (3, 32) in f64 took 32 us, 5 of y as it lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....ir.machine import machine
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.transpose import turned


def pays(strides: tuple[int, ...], k: int, n: int, dtype: str, lanes: int) -> bool:
    """Whether a (k, n) matrix with these strides is turned: it lies along its columns, each of half a vector
    at least, and its rows stay in the first cache."""
    return (
        dtype != "bool"
        and lanes > 1
        and strides[-2] == 1 != strides[-1]
        and k >= lanes // 2
        and 2 * k * pitch(n, lanes) * BITS[dtype] // 8 <= machine().l1_bytes
    )


def pitch(n: int, lanes: int) -> int:
    """From one row in scratch memory to the next: at least a vector."""
    return max(n, lanes)


def put_rows(
    w: FunctionWriter, source: str, apart: int, scratch: str, size: tuple[int, int], dtype: str, lanes: int
) -> None:
    """Write the rows of a matrix of `size` k by n, whose columns begin `apart` elements from each other at
    `source`, to `scratch`, `pitch` apart. What is behind short rows is zero. The last squares overlap the
    ones before."""
    k, n = size
    high, wide = min(k, lanes), min(n, lanes)
    mask = w.tail_mask(high, lanes) if high < lanes else None

    def place(index: Reg, size: int, edge: int) -> Reg:
        return w.min(index, constant(size - edge, "i64")) if size % edge else index

    def square(top: Reg, left: Reg) -> None:
        corner = w.offset(w.offset(source, dtype, top), dtype, w.mul(left, apart))
        block = [
            w.load(w.offset(corner, dtype, column * apart), dtype, lanes, mask) for column in range(wide)
        ]
        block += [constant(0, dtype, lanes)] * (lanes - wide)
        to = w.offset(w.offset(scratch, dtype, w.mul(top, pitch(n, lanes))), dtype, left)
        for row, vector in enumerate(turned(w, block)[:high]):
            w.store(vector, w.offset(to, dtype, row * pitch(n, lanes)))

    def down(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        top = place(row, k, high)

        def across(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            square(top, place(column, n, wide))
            return ()

        w.loop(0, math.ceil(n / wide) * wide, wide, across, nonempty=True)
        return ()

    w.loop(0, math.ceil(k / high) * high, high, down, nonempty=True)
