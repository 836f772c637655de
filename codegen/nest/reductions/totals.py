"""Sums of many terms at the accuracy of pairwise summation, at the price of plain ones.

An accumulator takes at most `LONG` terms one after the other. What a block of terms sums to is added to a
total with what rounding takes off it (fast two-sum: Dekker 1971), and that is added up beside it. So a result
is off by the rounding of some `LONG` additions, however many terms there are: blocked summation (Blanchard,
Higham and Mary, SIAM J. Sci. Comput. 42, 2020), whose second level is compensated. A total costs four
operations for each block and nothing for each term. Sums of up to `LONG` terms per accumulator, and folds
that are no sums of floats, have no blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....ir.dtypes import is_real_floating
from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ...llvm.loops import Bound, FunctionWriter
from ...maths.support import add_compensated, compensated

#: Terms that an accumulator takes one after the other: as many as NumPy's, whose sums are added up in pairs.
LONG: Final = 16

#: Terms of a column up to which it is one block: NumPy adds up columns one term after the other.
LONG_COLUMN: Final = 256


def is_float_sum(reduction: Instruction) -> bool:
    """Whether `reduction` adds floats, and so rounds."""
    fold = reduction.op.reduction
    return fold is not None and fold.additive and is_real_floating(reduction.result.dtype)


class Totals:
    """Accumulators that are folded side by side, each with how it combines, and their totals over blocks: a
    list of those, and behind it the errors of the ones that are sums of floats."""

    def __init__(
        self,
        w: FunctionWriter,
        identities: Sequence[Reg],
        combine: Sequence[Callable[[Reg, Reg], Reg]],
        sums: Sequence[bool],
    ) -> None:
        self.w, self.combine = w, combine
        #: Identities of the folds.
        self.identities = list(identities)
        #: Numbers of the accumulators that are sums of floats.
        self.sums = [number for number, is_sum in enumerate(sums) if is_sum]

    @property
    def start(self) -> list[Reg]:
        """The totals of no block."""
        zeros = [self.w.const(0.0, self.identities[number]) for number in self.sums]
        return [*self.identities, *zeros]

    def add(self, totals: Sequence[Reg], block: Sequence[Reg]) -> list[Reg]:
        """Add the values that one block folded to `totals`."""
        count = len(self.identities)
        out = list(totals)
        for number, term in enumerate(block):
            if number not in self.sums:
                out[number] = self.combine[number](totals[number], term)
                continue
            place = count + self.sums.index(number)
            out[number], out[place] = add_compensated(self.w, totals[number], totals[place], term)
        return out

    def finish(self, totals: Sequence[Reg]) -> list[Reg]:
        """Results of the folds over all blocks, with the rounding errors added to the sums."""
        out = list(totals[: len(self.identities)])
        for number, error in zip(self.sums, totals[len(out) :], strict=True):
            out[number] = compensated(self.w, out[number], error)
        return out


def add_blocks(
    w: FunctionWriter, totals: Totals, state: list[Reg], bounds: tuple[Bound, Bound], size: int,
    fold: Callable[[Reg, Reg], list[Reg]],
) -> list[Reg]:  # fmt: skip
    """Add ``fold(first, stop)`` to the totals `state` for blocks of `size` iterations between `bounds`."""
    first, last = bounds

    def block(index: Reg, state: list[Reg]) -> Sequence[Reg]:
        end = w.add(index, size)
        if isinstance(first, Reg) or isinstance(last, Reg) or (last - first) % size:
            end = w.min(end, last if isinstance(last, Reg) else constant(last, "i64"))
        return totals.add(state, fold(index, end))

    return w.loop(first, last, size, block, state, nonempty=True)
