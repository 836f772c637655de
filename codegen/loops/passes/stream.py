"""Stores past the cache: a second body, where results begin at lines of the cache and take over no operand's
memory.

    f()    is    if aligned(b1[0]) and b1[0] apart from b0[0] { f() with streams } else { f() }  fence

*Requires*: nothing; results of which no store is whole vectors, from one line of the cache to the next, stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...llvm.emitter import BITS
from ..affine import Affine, affine, is_multiple
from ..nodes import LANES, STREAM, Aligned, Alloc, Fence, For, If, Kernel, Load, Node, Store
from ..rewriting import with_body

#: Bits of the narrowest vectors that are stored past the cache.
MIN_BITS = 128


def stream(kernel: Kernel, *buffers: str) -> Kernel:
    """Store past the cache what is stored to `buffers` as whole aligned vectors, where that can be."""
    streaming = _Streaming(kernel, buffers)
    allocs = tuple(node for node in kernel.body if isinstance(node, Alloc))
    ordinary = tuple(node for node in kernel.body if not isinstance(node, Alloc))
    streamed = streaming.block(ordinary, ())
    step = f"stream({', '.join(buffers)})"
    if not streaming.places:
        return kernel.with_body(kernel.body, step)
    condition = Aligned(tuple(streaming.places), streaming.apart(ordinary))
    return kernel.with_body((*allocs, If(condition, streamed, ordinary), Fence()), step)


class _Streaming:
    def __init__(self, kernel: Kernel, buffers: Sequence[str]) -> None:
        self.buffers = buffers
        self.dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
        #: The first places of stores past the cache, each with the terms of one of them.
        self.places: dict[tuple[str, Affine], tuple[tuple[str, int], ...]] = {}

    def block(self, nodes: Sequence[Node], around: tuple[For, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        for node in nodes:
            if isinstance(node, For):
                node = with_body(node, self.block(node.body, (*around, node)))
            elif isinstance(node, If):
                then, otherwise = self.block(node.then, around), self.block(node.otherwise, around)
                node = If(node.condition, then, otherwise)
            elif isinstance(node, Store) and around and self._fits(node, around):
                (lane,) = [loop.index for loop in around if loop.kind == LANES]
                walk = node.index.without(lane).terms
                self.places.setdefault((node.buffer, affine(node.index.constant)), walk)
                node = Store(
                    node.buffer, node.index, node.values, node.guard, node.mask, STREAM, node.origins
                )
            result.append(node)
        return tuple(result)

    def _fits(self, store: Store, around: tuple[For, ...]) -> bool:
        """Whether `store` is of whole vectors, each of which begins where one would if the buffer does."""
        dtype = self.dtypes.get(store.buffer, "")
        lanes = next((loop for loop in reversed(around) if loop.kind == LANES), around[-1])
        if store.buffer not in self.buffers or store.guard or store.mask is not None or dtype == "bool":
            return False
        width = lanes.width
        if lanes.hi != (affine(width),) or width * BITS[dtype] < MIN_BITS:
            return False
        if store.index.coefficient(lanes.index).number != len(store.values):
            return False
        starts = [affine(store.index.constant)]
        for loop in around:
            if loop is lanes:
                continue
            if any(lanes.index in hi.names for hi in loop.hi):
                return False
            factor = store.index.coefficient(loop.index)
            starts += [factor.scaled(loop.step), *[low.times(factor) for low in loop.lo]]
        return all(is_multiple(start, width) for start in starts)

    def apart(self, nodes: Sequence[Node]) -> tuple[tuple[tuple[str, Affine], tuple[str, Affine]], ...]:
        """The accesses of other buffers that are walked as one that is stored past the cache: where one of
        them is the same memory, its lines are in the cache."""
        others = dict.fromkeys(_accesses(nodes, ()))
        walks = set(self.places.values())
        return tuple([
            (place, (buffer, affine(index.constant)))
            for buffer, index, lane in others
            if (buffer, affine(index.constant)) not in self.places and buffer in self.dtypes
            and (index.without(lane) if lane else index).terms in walks
            for place in self.places
        ])  # fmt: skip


def _accesses(nodes: Sequence[Node], lanes: tuple[str, ...]) -> list[tuple[str, Affine, str]]:
    """The accesses of `nodes`, each with the index of the lanes around it, if any."""
    accesses: list[tuple[str, Affine, str]] = []
    for node in nodes:
        if isinstance(node, For):
            accesses += _accesses(node.body, (node.index,) if node.kind == LANES else lanes)
        elif isinstance(node, If):
            accesses += _accesses(node.then, lanes) + _accesses(node.otherwise, lanes)
        elif isinstance(node, (Load, Store)):
            accesses.append((node.buffer, node.index, lanes[0] if lanes else ""))
    return accesses
