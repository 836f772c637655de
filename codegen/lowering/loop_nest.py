"""Loop nests as plain data that prints: scheduling makes them, and code is written from them.

A `Nest` has loop dimensions (parallel ones, then reduced ones), one of which carries the vector lanes. It has
members with their level and stage, the leaves they read, and outputs. *Stages* are passes over one row: a
reduction folded in stage s is known from stage s + 1 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...base.records import field, record
from ...ir.graph import Instruction, Value
from ...ir.registry import Kind

if TYPE_CHECKING:
    from ...ir.analysis.moments import Moment

#: The cost of what is done at an element up to which LLVM takes no longer for four copies than for a loop.
SHORT_BODY: Final = 8.0


@record(eq=False)
class NestConstant:
    """Constant leaf. 0.0 and -0.0 are different constants."""

    value: Any
    dtype: str

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, NestConstant) and self._key() == other._key()

    def __hash__(self) -> int:
        is_nan = self.value != self.value  # each has a hash of its own
        return hash((self.dtype, None if is_nan else self.value))

    def _key(self) -> tuple[str, str]:
        return repr(self.value), self.dtype


@record
class Memory:
    """Elements of a buffer: `offset` plus the loop indices times `strides`, in elements.

    A negative `buffer` is scratch; ``iota`` leaves have no buffer: the address itself is the value.
    """

    buffer: int | None
    dtype: str
    strides: tuple[int, ...]
    offset: int


@record
class Window:
    """Padded read: the value `inside` where every check holds, and zero elsewhere.

    A check is an index, as an iota, and how many values it may have: from 0 on.
    """

    inside: NestConstant | Memory
    checks: tuple[tuple[Memory, int], ...]
    dtype: str

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Accesses that move with the loops."""
        own = (self.inside,) if isinstance(self.inside, Memory) else ()
        return (*own, *(index for index, _ in self.checks))


Leaf: TypeAlias = NestConstant | Memory | Window


def memories_of(leaf: Leaf | Value) -> tuple[Memory, ...]:
    """The accesses of a leaf."""
    if isinstance(leaf, Memory):
        return (leaf,)
    return leaf.memories if isinstance(leaf, Window) else ()


@record(eq=False, frozen=False)
class Member:
    """One op of the nest: its operands, level and stage."""

    instruction: Instruction
    operands: tuple[Leaf | Value, ...]
    row_level: bool
    stage: int

    @property
    def value(self) -> Value:
        return self.instruction.results[0]

    @property
    def is_reduction(self) -> bool:
        return self.instruction.op.kind is Kind.REDUCTION

    @property
    def in_any_order(self) -> bool:
        """Whether it is a reduction whose result does not depend on the order of its elements."""
        fold = self.instruction.op.reduction
        return self.is_reduction and fold is not None and fold.idempotent


def body_cost(members: Iterable[Member]) -> float:
    """Cost of the members that compute something at each element before it is folded."""
    return sum(member.instruction.cost for member in members if not (member.row_level or member.is_reduction))


@record
class Write:
    """Write of a result: what is stored where, at which level and stage; or, where `fold` is a reduction
    across rows, what is folded into the memory."""

    source: Leaf | Value
    memory: Memory
    row_level: bool
    stage: int
    fold: Instruction | None = None


@record
class Split:
    """The outermost reduced dimension in `chunks` of `size` iterations, walked `block` at a time: all at
    once, and what fills no chunk by itself, or blocks, of which the last chunk has those that are left."""

    chunks: int
    size: int
    block: int


@record
class Chunks:
    """The outermost loop in `count` chunks of `size` iterations, which are the tasks."""

    count: int
    size: int


@record
class Accumulator:
    """Memory that each chunk folds rows into, so many elements; of long sums also what rounding takes off
    them (`totals`). Each element is a `width` of numbers, one for each lane, where lanes are folded, too.
    What a chunk has when it is done is put where `target` is, or stays."""

    memory: Memory
    error: Memory | None
    count: int
    width: int = 1
    target: Memory | None = None


@record
class Across:
    """Rows in `chunks` of `size`, each of which folds them into memory of its own; into the results where it
    is one chunk, but for long sums."""

    chunks: int
    size: int


@record
class TransposedRows:
    """Accesses of blocks of rows by way of scratch memory (`transposed_rows`): pairs of the access that the
    nest's members and writes name, and the one of a buffer that it stands for."""

    reads: tuple[tuple[Memory, Memory], ...] = ()
    writes: tuple[tuple[Memory, Memory], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reads or self.writes)

    def lies_at(self, memory: Memory) -> Memory:
        """Access of a buffer that `memory` stands for: another one where it names scratch memory."""
        return dict((*self.reads, *self.writes)).get(memory, memory)


@record(eq=False, frozen=False)
class Nest:
    """A scheduled fusion region."""

    name: str
    sizes: tuple[int, ...]
    #: Number of leading dimensions that are parallel; the others are reduced.
    parallel: int
    lanes: int
    members: list[Member]
    writes: list[Write]
    stages: int
    #: Full-level values kept in scratch, with where.
    kept: dict[Value, Memory] = field(default_factory=dict)
    scratch_sizes: list[tuple[str, int]] = field(default_factory=list)
    #: Accesses that are transposed for each block of rows, so that each lane has a row.
    transposed: TransposedRows = TransposedRows()
    #: Estimated cycles of the whole nest on one thread.
    cycles: float = 0.0
    #: Bytes read and written.
    nbytes: int = 0
    #: Vectors handled together.
    unroll: int = 1
    #: Copies of the body that passes over rows have for those vectors, at most.
    copies: int = 4
    #: Whether the lanes run along a reduced dimension.
    row_lanes: bool = False
    #: Split of the reductions among tasks, where nothing outside them is parallel.
    split: Split | None = None
    #: Sums of squared distances from a mean that the first stage folds, too.
    moments: dict[Value, Moment] = field(default_factory=dict)
    #: Chunks of rows, where something is folded across them.
    across: Across | None = None
    #: Accesses whose lines are asked for before they are read or stored to.
    asked: frozenset[Memory] = frozenset()
    #: Values of rows that an earlier nest has computed, with where they are.
    known: dict[Value, Memory] = field(default_factory=dict)
    #: Whether one task does all.
    serial: bool = False
    #: Chunks of the outermost loop, and what the writes that fold across it fold into.
    chunks: Chunks | None = None
    accumulators: dict[Write, Accumulator] = field(default_factory=dict)
    #: Elements from one chunk's own memory to the next one's.
    pitches: dict[Memory, int] = field(default_factory=dict)

    @property
    def vector_dim(self) -> int | None:
        """The loop dimension along which lanes run."""
        if not self.sizes:
            return None
        if self.row_lanes:
            return len(self.sizes) - 1
        return self.parallel - 1 if self.parallel else None

    @property
    def reads_across(self) -> bool:
        """Whether the lanes run across what lies in memory along another dimension.

        There NumPy, whose results lie like its operands, adds along memory, in pairs.
        """
        dim = self.vector_dim
        if dim is None or len(self.sizes) < 2:
            return False
        leaves = [
            memory
            for member in self.members
            for operand in member.operands
            for memory in memories_of(operand)
        ]
        steps = [[abs(stride) for stride in leaf.strides] for leaf in leaves]
        return any(step[dim] > 1 and 1 in step for step in steps)

    def limit_copies(self, most: int) -> bool:
        """Write at most `most` copies of a body, where no result shows it; whether that changes the code."""
        self.copies = most
        if not self.row_lanes:  # the vectors have nothing to do with each other
            limited = self.unroll > most and self.across is None
            if limited:
                self.unroll = most
            return limited
        folds = [member for member in self.members if member.is_reduction]
        folding = {member.stage for member in folds}
        return (most == 1 and any(member.in_any_order for member in folds)) or (
            self.unroll > most
            and (
                body_cost(self.members) > SHORT_BODY
                or any(not (write.row_level or write.stage in folding) for write in self.writes)
            )
        )

    def __str__(self) -> str:
        return "\n".join(text for text, _ in self.rows())

    def rows(
        self, names: Mapping[Value, str] | None = None, buffers: Sequence[str] = ()
    ) -> list[tuple[str, Instruction | None]]:
        """The lines of the nest's text, each with the op that it is for; `names` are the values' in place of
        numbers, `buffers` those of the first buffers."""
        kind = "row" if self.row_lanes else ("column" if len(self.sizes) > self.parallel else "map")
        head = f"{kind} nest {self.name}: for {list(self.sizes[: self.parallel])}"
        if len(self.sizes) > self.parallel:
            head += f" reduce {list(self.sizes[self.parallel :])}"
        head += f", {self.lanes} lanes x {self.unroll}, {self.nbytes} bytes, ~{self.cycles:.0f} cycles"
        if self.split is not None:
            head += f", in {self.split.chunks} chunks of {self.split.size}"
        if self.moments:
            head += ", stage 1 with stage 0"
        if self.transposed:
            head += f", {self.lanes} rows at a time"
        if self.across is not None and self.across.chunks > 1:
            head += f", in {self.across.chunks} chunks of {self.across.size} rows"
        lines: list[tuple[str, Instruction | None]] = [(head, None)]
        for scratch, memory in self.transposed.reads:
            lines.append((f"  {_leaf_text(scratch)} <- transposed {_leaf_text(memory, buffers)}", None))
        outer_names, names = names, dict[Value, str]()
        by_value = {member.value: member for member in self.members}
        for stage in range(self.stages):
            if self.stages > 1:
                lines.append((f"  stage {stage}:", None))
            for member in self.members:
                names.setdefault(
                    member.value,
                    f"%{len(names)}" if outer_names is None else outer_names.get(member.value, "%?"),
                )
                if member.stage == stage:
                    lines.append(("    " + self._member_text(member, names, buffers), member.instruction))
            for value, memory in self.kept.items():
                if by_value[value].stage == stage:
                    text = f"    scratch{-(memory.buffer or 0)} <- {names[value]}"
                    lines.append((text, by_value[value].instruction))
            for write in self.writes:
                if write.stage == stage:
                    source = self._source_text(write.source, names, buffers)
                    if write.fold is not None:
                        source = f"{write.fold.op.name} across rows of {source}"
                    text = f"    {_leaf_text(write.memory, buffers)} <- {source}"
                    written = by_value[write.source].instruction if isinstance(write.source, Value) else None
                    lines.append((text, written))
        for scratch, memory in self.transposed.writes:
            lines.append((f"  {_leaf_text(memory, buffers)} <- transposed {_leaf_text(scratch)}", None))
        return lines

    def _member_text(self, member: Member, names: dict[Value, str], buffers: Sequence[str]) -> str:
        operands = ", ".join(self._source_text(operand, names, buffers) for operand in member.operands)
        level = "fold" if member.is_reduction else ("row" if member.row_level else "each")
        return f"{level} {names[member.value]} = {member.instruction.op.name}({operands})"

    @staticmethod
    def _source_text(source: Leaf | Value, names: dict[Value, str], buffers: Sequence[str]) -> str:
        return names.get(source, "%?") if isinstance(source, Value) else _leaf_text(source, buffers)


def _leaf_text(leaf: Leaf, buffers: Sequence[str] = ()) -> str:
    if isinstance(leaf, NestConstant):
        return f"{leaf.value}"
    if isinstance(leaf, Window):
        checks = " and ".join(f"{_leaf_text(index)} < {count}" for index, count in leaf.checks)
        return f"({_leaf_text(leaf.inside, buffers)} if {checks})"
    where = "iota" if leaf.buffer is None else f"b{leaf.buffer}"
    if leaf.buffer is not None and leaf.buffer < 0:
        where = f"scratch{-leaf.buffer}"
    if leaf.buffer is not None and 0 <= leaf.buffer < len(buffers):
        where = buffers[leaf.buffer]
    offset = f"+{leaf.offset}" if leaf.offset else ""
    return f"{where}{list(leaf.strides)}{offset}"


def placed(source: Leaf | Value, place: Callable[[Memory], Memory]) -> Leaf | Value:
    """`source` with its accesses where `place` puts them."""
    if isinstance(source, Window):
        inside = place(source.inside) if isinstance(source.inside, Memory) else source.inside
        return Window(inside, tuple((place(index), count) for index, count in source.checks), source.dtype)
    return place(source) if isinstance(source, Memory) else source


def remapped(source: Leaf | Value, groups: Sequence[Sequence[int]]) -> Leaf | Value:
    """Strides over the merged dimensions: those of each group's last member."""
    if isinstance(source, Window):
        checks = tuple((remapped(index, groups), count) for index, count in source.checks)
        return Window(remapped(source.inside, groups), checks, source.dtype)  # type: ignore[arg-type]
    if not isinstance(source, Memory):
        return source
    strides = tuple(source.strides[group[-1]] for group in groups)
    return Memory(source.buffer, source.dtype, strides, source.offset)
