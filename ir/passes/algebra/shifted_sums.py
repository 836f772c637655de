"""Convolutions of single channels with short kernels become sums of shifted images.

    convolve(x, w)  =  w[0, 0] x[:-1, :-1] + w[0, 1] x[:-1, 1:] + ...

The vectors of a convolution hold its output channels; a single channel would leave them nearly empty. As
arithmetic they lie along rows of pixels, and the sum is one nest with what is around it.
"""

from __future__ import annotations

import itertools
import math
from typing import Final

from ...builder import Builder
from ...graph import Instruction, Value
from ...registry import OPS
from ..rewriting import Definitions

#: Elements of a kernel, and columns of the result: fewer fill no vectors.
MAX_ELEMENTS: Final = 25
MIN_COLUMNS: Final = 16


def shifted_sums(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A convolution of a single channel with a short kernel as a sum of shifted images."""
    (x, w), result, attrs = instruction.operands, instruction.result, instruction.attrs
    kernel, padding = w.shape[-2:], attrs["padding"]
    if w.shape[:-2] != (1, 1) or math.prod(kernel) > MAX_ELEMENTS or result.dtype.kind != "f":
        return None
    if result.shape[-1] < MIN_COLUMNS or attrs["stride"] != (1, 1) or min(padding) < 0:
        return None
    rank = x.type.ndim
    padded = x
    if any(padding):
        sizes = [size + sum(padding[2 * axis : 2 * axis + 2]) for axis, size in enumerate(x.shape[-2:])]
        zeros = b.broadcast_to(b.scalar(0, x.dtype), (*x.shape[:-2], *sizes))
        start = (*(0,) * (rank - 2), padding[0], padding[2])
        (padded,) = b.append(OPS["update"], (zeros, x), {"start": start, "step": (1,) * rank})
    total: Value | None = None
    for at in itertools.product(*map(range, kernel)):
        shift = tuple(place * step for place, step in zip(at, attrs["dilation"], strict=True))
        image = b.slice(padded, start=(*(0,) * (rank - 2), *shift), size=result.shape, step=(1,) * rank)
        weight = b.slice(w, start=(0, 0, *at), size=(1, 1, 1, 1), step=(1,) * rank)
        term = b.mul(image, b.broadcast_to(weight, result.shape))
        total = term if total is None else b.add(total, term)
    return total
