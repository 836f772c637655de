"""Plans of transforms: the algorithm, chosen from the instruction and the width of vectors alone."""

from __future__ import annotations

import math
from typing import Final

from ....base.machine import machine
from ....base.records import record
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ...llvm.target import Target
from .codelets import PRIMES
from .primes import generator
from .stockham import buffer_bytes

#: Transforms of more elements are cut into two steps, or left to NumPy.
LONGEST: Final = 8192
#: Transforms one behind the other of fewer elements are transposed, so that lanes are transforms.
_TRANSPOSED: Final = 32
#: Bytes of buffers on the stack; larger ones are in the kernel's workspace.
ON_STACK: Final = 5 << 16


@record
class TwoSteps:
    """A transform as one of the columns of a matrix of `height` rows, then one of its rows (`two_steps`)."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    #: Columns, or rows, that are transformed at a time.
    columns: int
    #: Most tasks that a step has.
    tasks: int

    @property
    def height(self) -> int:
        """Rows of the matrix."""
        return math.prod(self.first)

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return math.prod(self.second)

    @property
    def blocks(self) -> int:
        """Blocks of columns."""
        return -(-self.width // self.columns)

    @property
    def low(self) -> int:
        """Roots of unity are products of one of so many, a power of two, and one of as many."""
        return 1 << (self.height * self.width).bit_length() // 2 + 1


class TransformPlan:
    """Algorithm for the transforms of an instruction."""

    def __init__(self, instruction: Instruction, target: Target, *, line_by_line: bool = False) -> None:
        """The plan for an `instruction`, with lanes along the line where it is computed `line_by_line`."""
        (x,) = instruction.operands
        attrs, result = instruction.attrs, instruction.result
        #: Whether the operand, or the result, is real.
        self.from_real = "inverse" not in attrs and "n" not in attrs
        self.to_real = "n" in attrs
        self.real = self.from_real or self.to_real
        self.inverse, self.scale = attrs.get("inverse", self.to_real), attrs["scale"]
        #: Factor of the elements that stand for two, of the spectrum of real numbers.
        self.interior: float = attrs.get("interior", 1.0)
        self.dtype = SHORT_NAME[x.dtype]
        #: Whether operand and result are not in the second cache together.
        self.is_large = x.type.nbytes + result.type.nbytes > machine().l2_bytes
        axis = attrs["axis"]
        reals = x if self.from_real else result
        shape = reals.shape if self.real else reals.shape[:-1]
        self.size, self.outer, self.inner = shape[axis], math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        #: Real transforms of even sizes are complex ones of half the size.
        self.halved = self.real and self.size % 2 == 0
        #: The size of the complex transforms.
        self.complex_size = self.size // 2 if self.halved else self.size
        #: Elements of a line of pairs: half of the spectrum for real transforms.
        self.spectrum = self.size // 2 + 1 if self.real else self.size
        factors = radices(self.complex_size)
        #: Whether transforms are convolutions with a chirp (`chirp`), by transforms of `passes`.
        self.chirped = factors is None
        #: Whether they are cyclic convolutions of one element less (`primes`).
        self.prime = False
        if factors is None and generator(self.complex_size) is not None:
            factors = radices(self.complex_size - 1)
            self.prime, self.chirped = factors is not None, factors is None
        self.radices = factors or convolution_radices(2 * self.complex_size - 1)
        #: Rows of the buffers.
        self.rows = max(math.prod(self.radices), self.spectrum if self.halved else self.complex_size)
        lanes = target.lanes(self.dtype)
        count = self.outer if self.inner == 1 else self.inner
        width = min(lanes, 1 << count.bit_length() - 1) if count and not line_by_line else 1
        short = self.complex_size < _TRANSPOSED or (self.complex_size % 4 != 0 and not self.chirped)
        #: Whether transforms one behind the other are transposed to columns.
        self.transposed = self.inner == 1 and width > 1 and short
        self.columns = width if self.inner > 1 or self.transposed else 1
        self.lanes = lanes
        #: Groups of columns beside each other, or of transforms that are transposed.
        self.blocks = -(-count // self.columns) if self.columns > 1 else count
        self.groups = self.blocks * (self.outer if self.inner > 1 else 1)
        self.buffer_bytes = buffer_bytes(self.dtype, self.rows, self.columns)
        self.on_stack = self.buffer_bytes <= ON_STACK
        self.tasks = self.groups if self.on_stack else min(self.groups, machine().chunks)

    @property
    def fits(self) -> bool:
        """Whether transforms fit in a core's caches."""
        return math.prod(self.radices) <= LONGEST

    @property
    def in_place(self) -> bool:
        """Whether the result may be written over the operand: each task reads all that it transforms before
        it writes that, and no other task reads it."""
        if self.real or self.chirped or self.prime:
            return False
        if not self.fits:
            return self.two_steps() is not None
        return len(self.radices) > 1 and not self.transposed

    def two_steps(self) -> TwoSteps | None:
        """The two steps of transforms that do not fit; None where NumPy has to do them."""
        if self.inner > 1 or self.chirped or self.prime or (self.real and not self.halved):
            return None
        height = _middle_divisor(self.complex_size)
        first, second = radices(height), radices(self.complex_size // height)
        assert first is not None
        assert second is not None
        columns = self.lanes
        while buffer_bytes(self.dtype, self.complex_size // height, columns) > ON_STACK:
            columns //= 2
        if columns < 2 or columns > height:
            return None
        return TwoSteps(first, second, columns, machine().chunks)

    @property
    def cycles(self) -> float:
        """Rough estimate of the cycles of all transforms."""
        size = math.prod(self.radices)
        work = 5.0 * size * max(1.0, math.log2(size)) * (2.3 if self.chirped or self.prime else 1.0)
        return self.outer * self.inner * (work / (self.lanes * 1.5) + 20)

    @property
    def description(self) -> str:
        """The passes in words."""
        passes = " x ".join(map(str, self.radices))
        how = f"radices {passes}"
        if self.prime:
            how = f"a cyclic convolution of {how}"
        elif self.chirped:
            how = f"a chirp's convolution of {how}"
        if self.columns > 1:
            return f"{how}, {self.columns} transforms at a time"
        return how


def radices(size: int) -> tuple[int, ...] | None:
    """The radices of the passes for transforms of `size`; None where a prime factor is too large."""
    if size == 1:
        return (1,)
    counts = {}
    for prime in PRIMES:
        counts[prime] = 0
        while size % prime == 0:
            size //= prime
            counts[prime] += 1
    if size > 1:
        return None
    twos, threes = counts[2], counts[3]
    result = _powers_of_two(twos)
    result += [9] * (threes // 2) + [3] * (threes % 2)
    for prime in PRIMES[2:]:
        result += [prime] * counts[prime]
    return tuple(result)


def _powers_of_two(exponent: int) -> list[int]:
    """Radices 8 and one or two others, the largest first."""
    if exponent == 0:
        return []
    eights, rest = divmod(exponent, 3)
    if rest == 0:
        return [8] * eights
    if rest == 2:
        return [8] * eights + [4]
    return [2] if eights == 0 else [8] * (eights - 1) + [4, 4]


def _middle_divisor(size: int) -> int:
    """The largest divisor of `size`, which has the factors `PRIMES`, up to its square root."""
    divisors, rest = {1}, size
    for prime in PRIMES:
        while rest % prime == 0:
            rest //= prime
            divisors |= {divisor * prime for divisor in divisors}
    return max(divisor for divisor in divisors if divisor * divisor <= size)


def convolution_radices(least: int) -> tuple[int, ...]:
    """The radices of the best size from `least` on, of small factors, a multiple of 8 where it is large."""
    best: tuple[float, tuple[int, ...]] | None = None
    for odd in (1, 3, 5, 9, 15):
        size = odd * (1 << max(3, math.ceil(math.log2(least / odd))))
        factors = radices(size)
        assert factors is not None
        cost = size * sum(math.log2(factor) + 1 for factor in factors)
        if best is None or cost < best[0]:
            best = cost, factors
    assert best is not None
    return best[1]
