"""What kernels of matrix products share: operands as strided memory, and loops over batch dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...ir.records import record
from ...ir.types import TensorType
from ..emitter import Reg
from ..loops import FunctionWriter


@record
class Strided:
    """An operand: element strides per dimension and an offset into its buffer."""

    strides: tuple[int, ...]
    offset: int


def over_batch(
    w: FunctionWriter,
    types: tuple[TensorType, TensorType, TensorType],
    operands: tuple[Strided, Strided],
    pointers: list[str],
    dtype: str,
    body: Callable[[list[str]], None],
    *,
    first: tuple[Reg, Reg] | None = None,
) -> None:
    """Call `body` with the operands' pointers at each place of the batch dimensions."""
    shape = types[2].shape[:-2]
    m, n = types[2].shape[-2:]
    result_strides = [math.prod(shape[axis + 1 :]) * m * n for axis in range(len(shape))]
    strides = [list(operands[0].strides[:-2]), list(operands[1].strides[:-2]), result_strides]

    def at(axis: int, here: list[str]) -> None:
        if axis == len(shape):
            body(here)
            return

        def inside(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            moved = [
                w.offset(place, dtype, w.mul(index, by[axis])) if by[axis] else place
                for place, by in zip(here, strides, strict=True)
            ]
            at(axis + 1, moved)
            return ()

        if axis == 0 and first is not None:
            w.loop(first[0], first[1], 1, inside, nonempty=True)
        else:
            w.loop(0, shape[axis], 1, inside)

    at(0, pointers)
