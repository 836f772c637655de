"""Sorting one short line by the ranks of its keys.

Ranks take n^2 comparisons: how many keys of the line go before each one is its place. But these are of
vectors, and nothing depends on what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import Bound, FunctionWriter
from ...llvm.target import Target
from ...lowering.kernel import signature
from .ordered_keys import key_of
from .strategy import SortPlan


class RankWriter:
    """Writes the kernel. Lanes hold neighbouring keys, each of which is compared with all of the line's."""

    def __init__(self, plan: SortPlan, target: Target, declarations: Declarations) -> None:
        self.plan, self.w = plan, FunctionWriter(declarations)
        self.lanes = target.lanes(plan.wide)
        padded = -(-plan.extent // self.lanes) * self.lanes
        self.keys = self.w.slot(plan.wide, padded)

    def write(self, name: str) -> Code:
        """The code of ``@name(ptr %b0, ptr %b1, i64 %begin, i64 %end)`` over lines."""
        w = self.w

        def line(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            start = w.mul(index, self.plan.extent)
            self._blocks(lambda at, mask: self._keys(start, at, mask))
            self._blocks(lambda at, mask: self._ranks(start, at, mask))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, line)
        w.ret()
        return [w.function(signature(name, 2), "nounwind")]

    def _blocks(self, body: Callable[[Reg, Reg | None], None]) -> None:
        """Call ``body(first, mask)`` for vectors of the line."""
        extent, lanes = self.plan.extent, self.lanes
        whole = extent // lanes * lanes

        def block(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(index, None)
            return ()

        self.w.loop(0, whole, lanes, block)
        if whole < extent:
            body(constant(whole, "i64"), self.w.tail_mask(extent - whole, lanes))

    def _load(self, start: Reg, at: Reg, mask: Reg | None) -> Reg:
        place = self.w.offset("%b0", self.plan.dtype, self.w.add(start, at))
        return self.w.load(place, self.plan.dtype, self.lanes, mask)

    def _keys(self, start: Reg, at: Reg, mask: Reg | None) -> None:
        w, plan = self.w, self.plan
        key = key_of(w, self._load(start, at, mask), merged=plan.places)
        w.store(w.cast(key, plan.wide), w.offset(self.keys, plan.wide, at))

    def _ranks(self, start: Reg, at: Reg, mask: Reg | None) -> None:
        """Put the elements from `at` on in their places."""
        w, plan, lanes = self.w, self.plan, self.lanes
        mine = w.load(w.offset(self.keys, plan.wide, at), plan.wide, lanes)
        own = w.add(w.splat(w.cast(at, plan.wide), lanes), w.ramp(lanes, plan.wide))

        def before(first: Bound, stop: Bound, rank: Reg, goes: Callable[[Reg, Reg], Reg]) -> Reg:
            def other(index: Reg, state: list[Reg]) -> Sequence[Reg]:
                key = w.splat(w.load(w.offset(self.keys, plan.wide, index), plan.wide), lanes)
                reg = w.convert("sext", goes(key, index), plan.wide)
                return [w.sub(state[0], reg)]

            (rank,) = w.loop(first, stop, 1, other, [rank])
            return rank

        def among(key: Reg, index: Reg) -> Reg:
            earlier = w.lt(w.splat(w.cast(index, plan.wide), lanes), own)
            return w.or_(w.lt(key, mine), w.and_(w.eq(key, mine), earlier))

        stop = w.min(w.add(at, lanes), plan.extent)
        rank = before(0, at, constant(0, plan.wide, lanes), lambda key, _: w.le(key, mine))
        rank = before(at, stop, rank, among)
        rank = before(stop, plan.extent, rank, lambda key, _: w.lt(key, mine))
        result = w.cast(own, "i64") if plan.places else self._load(start, at, mask)
        line = w.offset("%b1", result.dtype, start)
        w.scatter_at(result, line, w.cast(rank, "i64"), mask)
