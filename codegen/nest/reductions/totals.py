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


def add_block(w: FunctionWriter, totals: Sequence[Reg], block: Sequence[Reg]) -> list[Reg]:
    """Add what one block sums up to `totals`: sums, and behind them their errors."""
    errors = totals[len(block) :]
    added = [add_compensated(w, *terms) for terms in zip(totals, errors, block, strict=False)]
    return [total for total, _ in added] + [error for _, error in added]


def finished(w: FunctionWriter, totals: Sequence[Reg]) -> list[Reg]:
    """The sums, with their rounding errors added."""
    half = len(totals) // 2
    return [compensated(w, *pair) for pair in zip(totals[:half], totals[half:], strict=True)]


def add_blocks(
    w: FunctionWriter, zeros: list[Reg], bounds: tuple[Bound, Bound], size: int,
    fold: Callable[[Reg, Reg], list[Reg]],
) -> list[Reg]:  # fmt: skip
    """The totals of ``fold(first, stop)`` for blocks of `size` iterations between `bounds`."""
    first, last = bounds

    def block(index: Reg, state: list[Reg]) -> Sequence[Reg]:
        end = w.add(index, size)
        if isinstance(first, Reg) or isinstance(last, Reg) or (last - first) % size:
            end = w.min(end, last if isinstance(last, Reg) else constant(last, "i64"))
        return add_block(w, state, fold(index, end))

    return w.loop(first, last, size, block, zeros + zeros, nonempty=True)
