"""Stores past the cache, of nests that read and write more than the last cache holds beside other work.

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
"""

from __future__ import annotations

from typing import Final

from ...ir.graph import Instruction
from ...ir.machine import machine
from .loop_nest import Memory, Nest
from .writing.columns import neighbouring_writes

#: Arithmetic up to this part of the time that moving the arrays takes is hidden behind it.
_HIDDEN: Final = 0.8


def streamed_bytes() -> int:
    """Bytes from which a result of much work is written past the cache, if twice that is read and written."""
    return machine().l3_bytes // 2


def streamed(nest: Nest, fusion: Instruction) -> frozenset[Memory]:
    """The writes of `nest`, which computes `fusion`, that go past the cache."""
    dim = nest.vector_dim
    least, all_arrays = streamed_bytes(), 2 * streamed_bytes()
    if nest.cycles <= (1.0 + _HIDDEN) * nest.nbytes / machine().bytes_per_cycle:
        least, all_arrays = least // 4, least * 5 // 4
    if dim is None or nest.nbytes < all_arrays:
        return frozenset()
    pairs = neighbouring_writes(nest, nest.writes)
    memories = []
    for write in nest.writes:
        if write.fold is not None:
            continue
        memory = write.memory
        assert memory.buffer is not None
        value = fusion.results[memory.buffer - len(fusion.operands)]
        others = [stride for axis, stride in enumerate(memory.strides) if axis != dim]
        if (
            value.type.nbytes >= least
            and not write.row_level
            and write.stage == nest.stages - 1  # later stages read back what earlier ones wrote
            and (memory.strides[dim] == 1 or write in pairs)
            and all(number % nest.lanes == 0 for number in (*others, memory.offset))
            and nest.lanes * value.dtype.itemsize >= 16
            and memory.dtype != "bool"
        ):
            memories.append(memory)
    return frozenset(memories)
