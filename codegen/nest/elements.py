"""Statements of the loop form for what a nest computes at an element: reads, ops and writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Value
from ...ir.registry import OPS
from ..loops.affine import Affine, affine
from ..loops.nodes import (
    AHEAD,
    SERIAL,
    Buffer,
    Compute,
    Constant,
    For,
    Holds,
    InRange,
    Let,
    Load,
    Node,
    Operand,
    Quotient,
    Store,
)
from ..lowering.loop_nest import Leaf, Member, Memory, Nest, NestConstant, Window, Write, memories_of
from .divisors import is_division
from .neighbouring_columns import neighbouring_reads, neighbouring_writes

#: Indices of loops, from the outermost one on; those of `loops.passes` are others.
_INDICES = "ijkmnopq"


def index_of(dim: int) -> str:
    """The name of the index of loop dimension `dim`."""
    return _INDICES[dim] if dim < len(_INDICES) else f"i{dim}"


class ElementBuilder:
    """Builds the statements of one element, and of the loops around it."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.nodes: list[Node] = []
        self.names: dict[Value, str] = {}
        #: The names of the loops' indices, and indices by their accesses.
        self.dims = [index_of(dim) for dim in range(len(nest.sizes))]
        self.indices: dict[Memory, Affine] = {}
        #: Numbers of the names that there are.
        self.count = 0
        #: Columns that are read together, by each of them, and the values that were read.
        self.columns: dict[Memory, tuple[Memory, ...]] = {}
        self.held: dict[Leaf, str] = {}
        #: Whether what was read is not read again, and accesses whose lines are asked for ahead.
        self.reads_once = False
        self.asked: frozenset[Memory] = frozenset()
        #: Inverted divisors by what they invert.
        self.inverses: dict[Leaf | Value, str] = {}

    # -- the kernel -------------------------------------------------------------------------------

    def buffers(self, sizes: Sequence[int], members: Iterable[Member]) -> tuple[Buffer, ...]:
        """The buffers of a kernel, which have so many elements, for `members` and all writes."""
        nest = self.nest
        written = {f"b{write.memory.buffer}": write.memory.dtype for write in nest.writes}
        dtypes = dict(written)
        for source in [s for m in members for s in m.operands] + [w.source for w in nest.writes]:
            for memory in () if isinstance(source, Value) else memories_of(source):
                dtypes[f"b{memory.buffer}"] = memory.dtype
        for _, memory in nest.transposed.reads:
            dtypes[f"b{memory.buffer}"] = memory.dtype
        for _, memory in nest.transposed.writes:
            written[f"b{memory.buffer}"] = dtypes[f"b{memory.buffer}"] = memory.dtype
        return tuple(
            Buffer(f"b{number}", dtypes.get(f"b{number}", "u8"), affine(size), out=f"b{number}" in written)
            for number, size in enumerate(sizes)
        )

    def loops(self, body: tuple[Node, ...], dims: Iterable[int]) -> tuple[Node, ...]:
        """`body` in loops over `dims`, from the outermost one on."""
        for dim in reversed(list(dims)) if body else ():
            end = (affine(self.nest.sizes[dim]),)
            body = (For(self.dims[dim], (affine(0),), end, 1, SERIAL, body),)
        return body

    # -- an element -------------------------------------------------------------------------------

    def operand(self, source: Leaf | Value) -> Operand:
        """The value of `source`, which is read where it is in memory."""
        if isinstance(source, Value):
            return self.names[source]
        if isinstance(source, NestConstant):
            return Constant(source.value, source.dtype)
        if source in self.held and (self.reads_once or source in self.columns):
            return self.held[source]
        if isinstance(source, Window):
            name = self._window(source)
            self.held[source] = name
            return name
        together = self.columns.get(source, (source,))
        names = tuple(self.name("x") for _ in together)
        if source.buffer is None:
            self.nodes.append(Let(names[0], source.dtype, self.index(source)))
        else:
            hint = "" if self.asked.isdisjoint(together) else AHEAD
            index = self.index(together[0])
            self.nodes.append(Load(names, source.dtype, self.buffer(source), index, hint=hint))
        self.held.update(zip(together, names, strict=True))
        return self.held[source]

    def compute(self, member: Member) -> None:
        """Compute `member`."""
        instruction, dtype = member.instruction, SHORT_NAME[member.value.dtype]
        operands = tuple([self.operand(source) for source in member.operands])
        name = self.names.get(member.value)
        if name is None:
            name = self.names[member.value] = self.name("v")
        inverse = self.inverses.get(member.operands[1]) if self.inverses and is_division(member) else None
        if inverse is not None:
            self.nodes.append(Quotient(name, dtype, operands[0], inverse, instruction.origins))
        else:
            self.nodes.append(
                Compute(name, dtype, instruction.op, operands, instruction.attrs, instruction.origins)
            )

    def read_together(self, sources: Iterable[Leaf | Value]) -> None:
        """Read columns side by side among `sources` together, from here on."""
        leaves = [source for source in sources if isinstance(source, Memory)]
        self.columns = neighbouring_reads(self.nest, leaves)

    def store(self, writes: Sequence[Write], members: Iterable[Member]) -> None:
        """Store `writes` of what `members` computed, columns side by side together."""
        neighbours = neighbouring_writes(self.nest, writes)
        others = {write for together in neighbours.values() for write in together[1:]}
        origins = {member.value: member.instruction.origins for member in members}
        for write in writes:
            if write not in others:
                values = tuple([self.operand(column.source) for column in neighbours.get(write, (write,))])
                index, ops = self.index(write.memory), origins.get(write.source, ())  # type: ignore[arg-type]
                hint = AHEAD if self.reads_once and write.memory in self.nest.asked else ""
                self.nodes.append(Store(self.buffer(write.memory), index, values, hint=hint, origins=ops))

    def _window(self, window: Window) -> str:
        guard = tuple([InRange(self.index(index), affine(count)) for index, count in window.checks])
        inside, name = window.inside, self.name("x")
        if isinstance(inside, Memory):
            index = self.index(inside)
            self.nodes.append(Load((name,), inside.dtype, self.buffer(inside), index, guard))
            return name
        condition = self.name("c")
        values = Constant(inside.value, inside.dtype), Constant(0, inside.dtype)
        self.nodes.append(Holds(condition, guard))
        self.nodes.append(Compute(name, inside.dtype, OPS["where"], (condition, *values), {}))
        return name

    def name(self, prefix: str) -> str:
        """A new name of a value."""
        self.count += 1
        return f"{prefix}{self.count}"

    @staticmethod
    def buffer(memory: Memory) -> str:
        """The buffer that `memory` is in: one of the kernel, or memory on its stack."""
        assert memory.buffer is not None
        return f"b{memory.buffer}" if memory.buffer >= 0 else f"s{-memory.buffer}"

    def index(self, memory: Memory) -> Affine:
        """The index of an access."""
        index = self.indices.get(memory)
        if index is None:
            terms = [(self.dims[dim], stride) for dim, stride in enumerate(memory.strides) if stride]
            index = self.indices[memory] = Affine(memory.offset, tuple(sorted(terms)))
        return index
