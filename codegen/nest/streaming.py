"""Stores of results that caches do not hold: non-temporal ones, or ones into lines that were prefetched.

An ordinary store first fetches the line that it writes to, and pushes out what is of use. Times as fast past
the cache, Zen 4 with 32 MB of last-level cache that other machines use, too, one thread, both in turns:

| nest | read | written | times |
|---|---|---|---|
| sum, f64 or c64 | 16 MB | 8 MB | 1.9 to 2.1 |
| exp(x) y, f64 | 16 MB | 8 MB | 1.35 |
| the same, then a running sum that reads the result | 16 MB | 8 MB | 1.0 |
| square, conj, c128 | 16 MB | 16 MB | 1.6 to 1.8 |
| sum, c128 | 32 MB | 16 MB | 1.5 |
| chain of 10 million, f32 and f64 | 40 and 80 MB | 40 and 80 MB | 1.1 |
| exp, f64, where it is done | 8 MB | 8 MB | 0.6 to 1.0 |
| tanh(x) y, f64 | 16 MB | 8 MB | 1.0 |
| sin(x) cos(y) + log(y), f64 | 16 MB | 8 MB | 0.65 |

So all of a nest's arrays must be five eighths of that cache, and a result an eighth, where moving them takes
most of the time; where arithmetic does, all must be that cache, and a result half. What is written over an
operand stays ordinary: its lines are there. Such stores want whole aligned vectors. Both conditions
are checked on entry to the kernel.

On Intel's servers, whose cores and caches are a mesh (`Target.asks_for_lines`), a store past the cache waits
in the core as long as a fetch does, and one thread gains nothing by it. What it waits for there is the line
to write to: stores are done in order, and the core asks for few lines ahead. So those lines are asked for, to
be written, a kilobyte before they are stored to, and what is read for them two kilobytes
(`prefetch.py`). Times as fast as before on a Xeon of 2.5 GHz (Cascade Lake, 36 MB), one thread, both
in turns:

| nest | read | written | times |
|---|---|---|---|
| sum, f64 | 2.4, 16 and 64 MB | 1.2, 8 and 32 MB | 1.0, 1.7 and 1.5 |
| sum and difference, f64 | 16 and 64 MB | 16 and 64 MB | 1.7 and 1.6 |
| x * 2, f64 | 2.4, 8 and 32 MB | 2.4, 8 and 32 MB | 1.03, 1.5 and 1.5 |
| x * 2, f32 | 4 and 16 MB | 4 and 16 MB | 1.4 and 1.5 |
| exp, f64 | 2.4, 8 and 32 MB | 2.4, 8 and 32 MB | 1.09, 1.25 and 1.24 |
| sin(x) tanh(x), f64 | 2.4, 8 and 32 MB | 2.4, 8 and 32 MB | 1.08, 1.11 and 1.14 |
| conj, c128 | 16 MB | 16 MB | 1.3 to 1.45 |
| rows of 1,000 without their mean, f64 | 8 MB | 8 MB | 1.15 to 1.4 |
| transposed, f64 | 8 MB | 8 MB | 1.3 to 1.5 |

What is read is 1.0 to 1.2 of that. Asking for what sums and extrema of lines read gained 0.98 to 1.04, for
what those of columns read 0.76 to 0.96; lines of several pages in turns gained nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...base.machine import machine
from ...ir.graph import Instruction
from ..llvm.emitter import BITS
from ..lowering.loop_nest import Memory, Nest, memories_of
from .neighbouring_columns import neighbouring_writes
from .prefetch import fetched_ahead

#: Arithmetic up to this part of the time that moving the arrays takes is hidden behind it.
_HIDDEN: Final = 0.8


def streamed_bytes() -> int:
    """Bytes from which a result of much work is written past the cache, if twice that is read and written."""
    return machine().l3_bytes // 2


def streamed(nest: Nest, fusion: Instruction) -> frozenset[Memory]:
    """The writes of `nest`, which computes `fusion`, that go past the cache."""
    least, all_arrays = streamed_bytes(), 2 * streamed_bytes()
    if nest.cycles <= (1.0 + _HIDDEN) * nest.nbytes / machine().bytes_per_cycle:
        least, all_arrays = least // 4, least * 5 // 4
    if nest.nbytes < all_arrays:
        return frozenset()
    large = [memory for memory, nbytes in _written(nest, fusion) if nbytes >= least]
    return frozenset(memory for memory in large if _whole_vectors(nest, memory))


def asked_bytes() -> int:
    """Bytes from which an array's lines are asked for; smaller ones are near. exp of 100,000 f32 takes 0.91
    of the time by this, of 30,000 the same."""
    return machine().l2_bytes // 4


def asked(nest: Nest, fusion: Instruction) -> frozenset[Memory]:
    """The accesses of `nest`, which computes `fusion`, whose lines are asked for ahead: large results, and
    what is read along memory for them. Of what is only read a core asks for enough by itself."""
    least = asked_bytes()
    written = {memory for memory, nbytes in _written(nest, fusion) if nbytes >= least}
    if not written or nest.vector_dim != len(nest.sizes) - 1 or fetched_ahead(nest):
        return frozenset(written)
    read = {
        memory for member in nest.members for operand in member.operands for memory in memories_of(operand)
    }
    large = [memory for memory in read if _is_large(nest, memory, fusion, least)]
    return frozenset(written | _first_to_read(large, least))


def _first_to_read(memories: list[Memory], nbytes: int) -> set[Memory]:
    """Accesses that come to a place of their array first; others find it near if they are less than `nbytes`
    behind."""
    first: dict[tuple[int | None, tuple[int, ...]], list[Memory]] = {}
    for memory in sorted(memories, key=lambda memory: memory.offset, reverse=True):
        earlier = first.setdefault((memory.buffer, memory.strides), [])
        if not earlier or (earlier[-1].offset - memory.offset) * max(BITS[memory.dtype], 8) >= 8 * nbytes:
            earlier.append(memory)
    return {memory for earlier in first.values() for memory in earlier}


def _is_large(nest: Nest, memory: Memory, fusion: Instruction, least: int) -> bool:
    """Whether `memory` is an operand of `least` bytes or more, whose elements are read once."""
    if memory.buffer is None or not 0 <= memory.buffer < len(fusion.operands):
        return False
    moves = all(stride or size == 1 for stride, size in zip(memory.strides, nest.sizes, strict=True))
    return moves and fusion.operands[memory.buffer].type.nbytes >= least


def _written(nest: Nest, fusion: Instruction) -> Iterator[tuple[Memory, int]]:
    """Results that the last stage writes as contiguous vectors, each with its bytes."""
    dim = nest.vector_dim
    if dim is None or nest.transposed:
        return
    pairs = neighbouring_writes(nest, nest.writes)
    for write in nest.writes:
        memory = write.memory
        if (
            write.fold is None
            and not write.row_level
            and write.stage == nest.stages - 1  # later stages read back what earlier ones wrote
            and (memory.strides[dim] == 1 or write in pairs)
            and memory.dtype != "bool"
        ):
            assert memory.buffer is not None
            yield memory, fusion.results[memory.buffer - len(fusion.operands)].type.nbytes


def _whole_vectors(nest: Nest, memory: Memory) -> bool:
    """Whether each line of `memory` begins where a vector does, if its first one does."""
    others = [stride for axis, stride in enumerate(memory.strides) if axis != nest.vector_dim]
    whole = all(number % nest.lanes == 0 for number in (*others, memory.offset))
    return whole and nest.lanes * BITS[memory.dtype] >= 128
