"""Stores past the cache, for results so large that nobody finds them there.

An ordinary store first fetches the line that it writes to, and pushes out what is of use. Measured on Zen 4
with 32 MB of last-level cache, one thread, both in turns on a busy machine: a chain over 10 million elements
ran 1.11 (f64) and 1.14 (f32) times as fast; but exp of a million f64, which else stays in cache, 0.6 times.
A layernorm that reads 16 MB and writes 16 MB ran 1.3 to 1.4 times as fast, columns made standard 1.15 to 1.3:
the two do not fit together. Such stores want whole aligned vectors, which is tested as the kernel begins.
"""

from __future__ import annotations

from ...ir.graph import Instruction
from ...ir.machine import machine
from .loop_nest import Memory, Nest


def streamed_bytes() -> int:
    """Bytes from which a result is written past the cache, if the nest reads and writes twice that."""
    return machine().l3_bytes // 2


def streamed(nest: Nest, fusion: Instruction) -> frozenset[Memory]:
    """The writes of `nest`, which computes `fusion`, that go past the cache."""
    dim = nest.vector_dim
    if dim is None or nest.nbytes < 2 * streamed_bytes():
        return frozenset()
    memories = []
    for write in nest.writes:
        if write.fold is not None:
            continue
        memory = write.memory
        assert memory.buffer is not None
        value = fusion.results[memory.buffer - len(fusion.operands)]
        others = [stride for axis, stride in enumerate(memory.strides) if axis != dim]
        if (
            value.type.nbytes >= streamed_bytes()
            and not write.row_level
            and write.stage == nest.stages - 1  # later stages read back what earlier ones wrote
            and memory.strides[dim] == 1
            and all(number % nest.lanes == 0 for number in (*others, memory.offset))
            and nest.lanes * value.dtype.itemsize >= 16
            and memory.dtype != "bool"
        ):
            memories.append(memory)
    return frozenset(memories)
