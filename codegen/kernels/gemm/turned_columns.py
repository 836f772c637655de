"""A small matrix whose columns lie in memory, put as rows into scratch memory: squares turned in registers.

Products whose lanes run along the rows of y would gather each of its rows, element by element, and again for
each row of tiles: 102 products of (2, 32) and a transposed (3, 32) in f64 took 32 us, 5 of y as it lies.
"""

from __future__ import annotations

from ....ir.machine import machine
from ...llvm.emitter import BITS


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
