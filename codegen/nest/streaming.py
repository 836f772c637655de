"""How nests store results that caches do not hold: past the cache, or into lines that were claimed before.

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
operand stays ordinary: its lines are there. Such stores want whole aligned vectors. Both is tested as the
kernel begins.

On Intel's servers, whose cores and caches are a mesh (`Target.claims_lines`), a store past the cache waits in
the core as long as a fetch does, and one thread gains nothing by it. What it waits for there is the line to
write to: stores are done in order, and the core asks for few lines ahead. So those lines are asked for, to be
written, a kilobyte before they are stored to (`writing/prefetch.py`). Times as fast as before on a Xeon of
2.5 GHz (Cascade Lake, 36 MB), one thread, both in turns:

| nest | read | written | times |
|---|---|---|---|
| sum, f64 | 16 and 64 MB | 8 and 32 MB | 1.46 and 1.42 |
| sum and difference, f64 | 4.8 and 16 MB | 4.8 and 16 MB | 1.15 and 1.56 |
| x * 2, f64 | 2.4, 8 and 32 MB | 2.4, 8 and 32 MB | 1.01, 1.49 and 1.30 |
| x * 2, f32 | 4 and 16 MB | 4 and 16 MB | 1.35 and 1.38 |
| exp, f64 | 8 and 32 MB | 8 and 32 MB | 1.10 and 1.13 |
| sin(x) tanh(x), f64 | 8 and 32 MB | 8 and 32 MB | 1.02 and 1.03 |
| conj, c128, all of it in the last cache | 16 MB | 16 MB | 1.33 |
| the same among arrays of 80 MB | 16 MB | 16 MB | 1.17 |
| rows of 1,000 without their mean, f64 | 8 MB | 8 MB | 1.49 |

Asking for what is read, too, gained nothing once arrays leave the last cache (0.98 to 1.01), and neither did
lines of several pages in turns, but for 1.04 with each part of the arrays a loop of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...ir.graph import Instruction
from ...ir.machine import machine
from ..llvm.emitter import BITS
from .loop_nest import Memory, Nest
from .writing.columns import neighbouring_writes

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


def claimed_bytes() -> int:
    """Bytes from which a result's lines are claimed: those of a smaller one may be in the second cache."""
    return machine().l2_bytes


def claimed(nest: Nest, fusion: Instruction) -> frozenset[Memory]:
    """The writes of `nest`, which computes `fusion`, whose lines are claimed before they are stored to."""
    return frozenset(memory for memory, nbytes in _written(nest, fusion) if nbytes >= claimed_bytes())


def _written(nest: Nest, fusion: Instruction) -> Iterator[tuple[Memory, int]]:
    """Results that the last stage writes as contiguous vectors, each with its bytes."""
    dim = nest.vector_dim
    if dim is None:
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
