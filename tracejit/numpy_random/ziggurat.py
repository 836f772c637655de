"""Tables of NumPy's ziggurat methods for normal and exponential numbers, with 256 strips.

Source: G. Marsaglia and W. Tsang, "The Ziggurat Method for Generating Random Variables" (2000). Strip i
reaches to x_i, and the last one begins the tail. The widths of the exponential tables follow from where the
tail begins. Those of the normal ones, as NumPy has them, carry rounding errors of the program that once
computed them: so they are drawn from NumPy, by states of a generator whose next word is known.
"""

from __future__ import annotations

import functools
import math
from decimal import Decimal, localcontext
from typing import Any, Final

import numpy as np

from ..base.records import record
from ..tensors.tensor import Array

STRIPS: Final = 256
#: The bits of a normal and of an exponential number's place in its strip.
NORMAL_BITS, EXPONENTIAL_BITS = 52, 53
#: The beginnings of the tails.
NORMAL_TAIL: Final = 3.6541528853610087963519472518
EXPONENTIAL_TAIL: Final = 7.6971174701310497140446280481
_EXPONENTIAL_TAIL: Final = Decimal("7.6971174701310497140446280481")
#: The multiplier of PCG64.
_MULTIPLIER: Final = 0x2360ED051FC65DA44385DF649FCCF645


@record(eq=False)
class Ziggurat:
    """The tables of one distribution.

    Attributes:
        inside: by strip, the places below which a number lies under the curve whatever its height.
        widths: by strip, the width of one place.
        heights: of the curve where each strip ends.
    """

    inside: Array
    widths: Array
    heights: Array


@functools.cache
def exponential() -> Ziggurat:
    """The tables of the exponential distribution."""
    with localcontext() as context:
        context.prec = 50
        height = (-_EXPONENTIAL_TAIL).exp()
        area = _EXPONENTIAL_TAIL * height + height
        ends = [_EXPONENTIAL_TAIL]
        while len(ends) < STRIPS - 1:
            ends.append(-(area / ends[-1] + (-ends[-1]).exp()).ln())
        ends = [area / height, *reversed(ends)]
        places = Decimal(2) ** EXPONENTIAL_BITS
        # NumPy's are even
        inside = [2 * int(_EXPONENTIAL_TAIL / ends[0] * places / 2), 0]
        inside += [2 * int(ends[i - 1] / ends[i] * places / 2) for i in range(2, STRIPS)]
        widths = [float(end / places) for end in ends]
        heights = [1.0, *[float((-end).exp()) for end in ends[1:]]]
    return Ziggurat(np.array(inside, np.uint64), np.array(widths), np.array(heights))


@functools.cache
def normal() -> Ziggurat:
    """The tables of the normal distribution."""
    generator = np.random.Generator(np.random.PCG64(0))
    state: Any = generator.bit_generator.state
    inverse = pow(_MULTIPLIER, -1, 1 << 128)

    def drawn(strip: int, place: int) -> tuple[float, bool]:
        """The number for a place in a strip, and whether it lies under the curve whatever its height."""
        following = place << 9 | strip  # which is the next word of a state that it is
        state["state"] = {"state": (following - 1) * inverse % (1 << 128), "inc": 1}
        generator.bit_generator.state = state
        number = generator.standard_normal()
        return number, generator.bit_generator.state["state"]["state"] == following

    # the number at place 1 lies under the curve
    widths = np.array([drawn(strip, 1)[0] for strip in range(STRIPS)])
    ends = widths * 2.0**NORMAL_BITS
    ratios = [NORMAL_TAIL / ends[0], 0.0, *(ends[1:-1] / ends[2:]).tolist()]
    inside = [int(ratio * 2.0**NORMAL_BITS) for ratio in ratios]
    for strip, limit in enumerate(inside):  # which is rounded
        inside[strip] += int(strip != 1 and drawn(strip, limit)[1])
    heights = [1.0, *[math.exp(-0.5 * end * end) for end in ends[1:].tolist()]]
    return Ziggurat(np.array(inside, np.uint64), widths, np.array(heights))
