"""Scheduling of a fusion region to a loop nest, as plain data that prints.

Dimensions of size 1 are dropped, and neighbours that every access walks alike are merged, so that a map over
contiguous arrays is one loop.

The lanes run along the last dimension of the domain: if it is reduced the nest is a *row* nest (lanes are
folded together at the end), otherwise a *column* nest (a map, if nothing is reduced). Extrema of what lies
contiguously along the dimension before are those of columns, too. A row nest may fold across its rows
(`reductions/cross_row_reductions.py`). Domain, axes and the level of each instruction are attributes of the
fusion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from ...base.loading import LazyModule
from ...base.machine import machine
from ...ir.access import compose, counter_strides, element_strides, resolve
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Function, Instruction, Value
from ...ir.ops.fusion import ACROSS_ROWS, COLUMNS, EACH, FOLD, READ, ROW
from ...ir.registry import Access, Attrs, Kind
from ...ir.types import Shape, contiguous_strides
from ..llvm.target import Target
from ..lowering.loop_nest import (
    Leaf,
    Member,
    Memory,
    Nest,
    NestConstant,
    Window,
    Write,
    memories_of,
    placed,
    remapped,
)
from .narrow_dims import unrolled
from .scratch import keep_between_stages
from .transposed_rows import transpose_rows

if TYPE_CHECKING:
    from .reductions import chunks, moments
else:  # with the first nest that folds something
    chunks = LazyModule(".reductions.chunks", __package__)
    moments = LazyModule(".reductions.moments", __package__)

#: Vectors of a line of a map from which on several are worth code of their own.
LONG_LINE: Final = 64


def schedule(region: Function, attrs: Attrs, name: str, target: Target) -> Nest:
    """The loop nest for `region` with the attributes of a fusion: domain, axes and levels; its buffers are
    the parameters and then the results."""
    return _Scheduler(region, attrs, name, target).run()


def schedule_tile(
    region: Function, attrs: Attrs, name: str, target: Target, sizes: Shape, place: Callable[[Memory], Memory]
) -> Nest:
    """The loop nest of one tile of a map, with `sizes` along the dimensions of its domain, and each access
    where `place` puts it.

    *Requires*: a tile has 1 or all elements along dimensions along which counters and windows vary.
    """
    return _Scheduler(region, attrs, name, target, sizes, place).run()


class _Scheduler:
    def __init__(
        self,
        region: Function,
        attrs: Attrs,
        name: str,
        target: Target,
        sizes: Shape | None = None,
        place: Callable[[Memory], Memory] | None = None,
    ) -> None:
        self.region = region
        self.name = name
        self.target = target
        self.domain: Shape = attrs["domain"]
        self.axes: tuple[int, ...] = attrs["axes"]
        self.levels: dict[Instruction, str] = dict(zip(region.body, attrs["levels"], strict=True))
        self.defs = {result: instruction for instruction in region.body for result in instruction.results}
        self.buffers = {param: i for i, param in enumerate(region.params)}
        #: Sources that are read from outside the region, by value and shape, for each row or not.
        self.sources: dict[tuple[Value, Shape, bool], Leaf | Value] = {}
        self.computed = {
            instruction.result: instruction
            for instruction, level in self.levels.items()
            if level not in (READ, COLUMNS)
        }
        #: Reductions across rows, and the fold of each row for those that fold rows first.
        self.across = {
            instruction.result: chunks.fold_of_rows(instruction, self.domain, self.axes)
            for instruction, level in self.levels.items()
            if level == ACROSS_ROWS
        }
        kept = [axis for axis in range(len(self.domain)) if axis not in self.axes]
        self.order = kept + list(self.axes)
        #: Extents of the loops along the dimensions of the domain.
        self.extents = self.domain if sizes is None else sizes
        self.place = place
        self.kept_wide = [axis for axis in kept if self.domain[axis] != 1]
        self.wide = [axis for axis, size in enumerate(self.domain) if size != 1]

    def run(self) -> Nest:
        members = self._members()
        writes = self._writes({member.value: member for member in members})
        if self.place is not None:
            for member in members:
                member.operands = tuple(placed(operand, self.place) for operand in member.operands)
            writes = [
                Write(placed(w.source, self.place), self.place(w.memory), w.row_level, w.stage, w.fold)
                for w in writes
            ]
        row_lanes = bool(self.axes) and self._last_wide_axis() in self.axes
        sizes, parallel, merge = self._merged_dims(members, writes)
        if merge != [[dim] for dim in range(len(self.order))]:
            for member in members:
                member.operands = tuple([remapped(operand, merge) for operand in member.operands])
            writes = [
                Write(remapped(w.source, merge), remapped(w.memory, merge), w.row_level, w.stage, w.fold)  # type: ignore[arg-type]
                for w in writes
            ]
        if not self.axes and self.place is None:
            sizes, members, writes = unrolled(sizes, members, writes, self.target)
            parallel = len(sizes)
        row_lanes = row_lanes and not self._lies_in_columns(members, sizes, parallel)
        stages = 1 + max([member.stage for member in members] + [write.stage for write in writes], default=0)
        nest = Nest(self.name, sizes, parallel, 1, members, writes, stages, row_lanes=row_lanes)
        self._choose_lanes(nest)
        if self.place is None:
            transpose_rows(nest)
        self._estimate(nest)
        if any(member.is_reduction for member in members):
            nest.split = chunks.split_of(nest)
        if nest.split is None:
            keep_between_stages(nest)
        else:
            nest.moments = moments.joined_moments(nest, self.region)
            if nest.moments:
                nest.split = chunks.in_larger_blocks(nest)
        if self.across:
            nest.across = chunks.across_of(nest)
        return nest

    def _lies_in_columns(self, members: list[Member], sizes: tuple[int, ...], parallel: int) -> bool:
        """Whether rows of which extrema are taken lie apart in memory, and columns together."""
        folds = [member for member in members if member.is_reduction]
        if self.across or not parallel or not all(member.in_any_order for member in folds):
            return False
        if sizes[parallel - 1] < self.target.lanes("f64"):
            return False
        leaves = {
            memory.strides
            for member in members
            if not member.row_level or member.is_reduction
            for operand in member.operands
            for memory in memories_of(operand)
            if memory.buffer is not None
        }
        apart = [strides for strides in leaves if strides[-1] not in (0, 1)]
        return bool(apart) and all(strides[parallel - 1] in (0, 1) for strides in leaves)

    def _last_wide_axis(self) -> int:
        wide = [axis for axis, size in enumerate(self.domain) if size != 1]
        return wide[-1] if wide else len(self.domain) - 1

    # -- members and leaves -----------------------------------------------------------------------

    def _members(self) -> list[Member]:
        members: list[Member] = []
        by_value: dict[Value, Member] = {}
        for instruction, level in self.levels.items():
            if level in (READ, COLUMNS):
                continue
            if level == ACROSS_ROWS:
                folded = self.across[instruction.result]
                if folded is None:
                    continue
                instruction, level = folded, FOLD
            row = level == ROW
            shape = instruction.results[0].type.shape if row else self.domain
            stage, operands = 0, list[Leaf | Value]()
            for operand in instruction.operands:
                source: Leaf | Value = operand
                producer = by_value.get(operand)
                if producer is None:
                    key = operand, shape, row
                    if key not in self.sources:
                        self.sources[key] = self._source(operand, shape, row=row)
                    source = self.sources[key]
                    producer = by_value[source] if isinstance(source, Value) else None
                if producer is not None:  # what is folded in a stage is known in the next one
                    stage = max(stage, producer.stage + producer.is_reduction)
                operands.append(source)
            member = Member(instruction, tuple(operands), level != EACH, stage)
            members.append(member)
            by_value[instruction.results[0]] = member
        return members

    def _source(self, operand: Value, shape: Shape, *, row: bool) -> Leaf | Value:
        """Source that an op over `shape`, for each element or each `row`, reads for `operand`: a member's
        value or a leaf."""
        source, access = resolve(operand, self.defs)
        if source in self.computed:
            return source
        definition = self.defs.get(source)
        dtype = SHORT_NAME[source.dtype]
        if definition is None:
            strides, offset = element_strides(access, contiguous_strides(source.shape), len(shape))
            return Memory(self.buffers[source], dtype, self._spread(strides, shape, row=row), offset)
        if definition.op.name == "full":
            return NestConstant(definition.attrs["value"], dtype)
        if definition.op.kind is Kind.UPDATE:
            return self._window(definition, access, shape, row=row)
        counted = counter_strides(definition, self.defs)
        assert counted is not None
        strides, offset = element_strides(access, counted, len(shape))
        return Memory(None, dtype, self._spread(strides, shape, row=row), offset)

    def _window(self, update: Instruction, access: Access, shape: Shape, *, row: bool) -> Leaf:
        """A value among zeros, read by `access`: where its indices are inside, its element."""
        value = update.operands[1]
        dtype = SHORT_NAME[value.dtype]
        moved = tuple(
            (axis, step, offset - start)
            for (axis, step, offset), start in zip(access.dims, update.attrs["start"], strict=True)
        )
        source, own = resolve(value, self.defs)
        definition, inside = self.defs.get(source), compose(Access(moved), own)
        leaf: NestConstant | Memory
        if definition is None:
            strides, offset = element_strides(inside, contiguous_strides(source.shape), len(shape))
            leaf = Memory(self.buffers[source], dtype, self._spread(strides, shape, row=row), offset)
        else:
            leaf = NestConstant(definition.attrs["value"], dtype)
        checks = []
        for (axis, step, offset), size in zip(moved, value.shape, strict=True):
            last = offset + (step * (shape[axis] - 1) if axis is not None else 0)
            if min(offset, last) >= 0 and max(offset, last) < size:
                continue  # always inside
            by_axis = tuple(step if place == axis else 0 for place in range(len(shape)))
            checks.append((Memory(None, "i64", self._spread(by_axis, shape, row=row), offset), size))
        return Window(leaf, tuple(checks), dtype) if checks else leaf

    def _spread(self, strides: tuple[int, ...], shape: Shape, *, row: bool) -> tuple[int, ...]:
        """Strides over the dimensions of `shape`, which is the domain or that of what each `row` has, as
        strides over the domain's, in loop order."""
        by_axis = list(strides)
        if row or shape != self.domain:
            by_axis = [0] * len(self.domain)
            wide = [stride for stride, size in zip(strides, shape, strict=True) if size != 1]
            for axis, stride in zip(self.kept_wide if row else self.wide, wide, strict=True):
                by_axis[axis] = stride
        return tuple(by_axis[axis] for axis in self.order)

    def _writes(self, by_value: dict[Value, Member]) -> list[Write]:
        writes = []
        for position, result in enumerate(self.region.results):
            buffer = len(self.region.params) + position
            definition = self.defs.get(result)
            if result in self.across:
                writes.append(self._write_across(result, buffer, by_value))
                continue
            if definition is not None and self.levels[definition] == COLUMNS:
                writes += self._write_columns(definition, buffer, by_value)
                continue
            source = self._source(result, result.shape, row=False)
            member = by_value.get(source) if isinstance(source, Value) else None
            row = member is not None and member.row_level
            strides = self._spread(contiguous_strides(result.shape), result.shape, row=row)
            memory = Memory(buffer, SHORT_NAME[result.dtype], strides, 0)
            writes.append(Write(source, memory, row, member.stage if member else 0))
        return writes

    def _write_columns(
        self, concat: Instruction, buffer: int, by_value: dict[Value, Member]
    ) -> Iterator[Write]:
        """Writes of the parts of `concat` into their places in its result."""
        result, axis = concat.result, concat.attrs["axis"]
        strides, dtype = contiguous_strides(result.shape), SHORT_NAME[result.dtype]
        computed = [by_value.get(resolve(operand, self.defs)[0]) for operand in concat.operands]
        row = any(member is not None and member.row_level for member in computed)
        for position, (operand, member) in enumerate(zip(concat.operands, computed, strict=True)):
            offset = position * operand.shape[axis] * strides[axis]
            memory = Memory(buffer, dtype, self._spread(strides, operand.shape, row=row), offset)
            if member is None:  # copied
                yield Write(self._source(operand, operand.shape, row=row), memory, row, 0)
            else:
                yield Write(member.value, memory, row, member.stage)

    def _write_across(self, result: Value, buffer: int, by_value: dict[Value, Member]) -> Write:
        """Write that folds rows into `result`. Its memory does not move along the folded dimensions."""
        reduction, folded = self.computed[result], self.across[result]
        (operand,) = reduction.operands
        row = operand.shape != self.domain
        strides = iter(contiguous_strides(result.shape))
        by_axis = tuple(
            0 if axis in reduction.attrs["axes"] else next(strides) for axis in range(len(operand.shape))
        )
        spread = self._spread(by_axis, operand.shape, row=row)
        memory = Memory(buffer, SHORT_NAME[result.dtype], spread, 0)
        source = folded.result if folded is not None else self._source(operand, operand.shape, row=row)
        member = by_value.get(source) if isinstance(source, Value) else None
        return Write(source, memory, folded is not None or row, member.stage if member else 0, reduction)

    # -- dimensions -------------------------------------------------------------------------------

    def _merged_dims(
        self, members: list[Member], writes: list[Write]
    ) -> tuple[tuple[int, ...], int, list[list[int]]]:
        """Loop sizes, how many are parallel, and which of the ordered dimensions make up each."""
        sizes = [self.extents[axis] for axis in self.order]
        accesses = set[Memory]()
        if len(sizes) > 1:
            sources = [*(s for m in members for s in m.operands), *(w.source for w in writes)]
            accesses = {memory for source in sources for memory in memories_of(source)}
            accesses |= {write.memory for write in writes}
        boundary = len(self.order) - len(self.axes)
        groups: list[list[int]] = []
        for dim, size in enumerate(sizes):
            if size == 1:
                continue
            last = groups[-1][-1] if groups else None
            if (
                last is not None
                and (last < boundary) == (dim < boundary)
                and all(access.strides[last] == access.strides[dim] * size for access in accesses)
            ):
                groups[-1].append(dim)
            else:
                groups.append([dim])
        merged = []
        for group in groups:
            total = 1
            for dim in group:
                total *= sizes[dim]
            merged.append(total)
        parallel = sum(1 for group in groups if group[0] < boundary)
        return tuple(merged), parallel, groups

    # -- decisions --------------------------------------------------------------------------------

    def _choose_lanes(self, nest: Nest) -> None:
        """Choose the lanes, as many as a vector holds of the widest element, and the unroll factor. Nests are
        unrolled where the body is short, or a chain of some length, of which several together take less
        time."""
        if nest.vector_dim is None:
            return
        extent = nest.sizes[nest.vector_dim]
        dtypes = {SHORT_NAME[member.value.dtype] for member in nest.members}
        for member in nest.members:
            dtypes |= {operand.dtype for operand in member.operands if not isinstance(operand, Value)}
        dtypes |= {write.memory.dtype for write in nest.writes}
        wide = [self.target.lanes(dtype) for dtype in dtypes if dtype != "bool"]
        nest.lanes = min(wide, default=self.target.lanes("u8"))
        cost = sum(member.instruction.cost for member in nest.members if not member.row_level)
        reduces = any(member.is_reduction for member in nest.members)
        if reduces and cost <= 16 and nest.stages <= 3:
            nest.unroll = 4
        elif reduces and cost <= 40:
            nest.unroll = 2
        elif not reduces and 8 <= cost <= 24 and extent >= LONG_LINE * nest.lanes:
            nest.unroll = 4
        while nest.unroll > 1 and extent < nest.unroll * nest.lanes:
            nest.unroll //= 2

    def _estimate(self, nest: Nest) -> None:
        elements = 1
        for size in nest.sizes:
            elements *= size
        per_element = sum(
            member.instruction.cost for member in nest.members if not member.row_level or member.is_reduction
        )
        nest.nbytes = sum(param.type.nbytes for param in self.region.params) + sum(
            result.type.nbytes for result in self.region.results
        )
        if self.extents is not self.domain:
            nest.nbytes = nest.nbytes * elements // math.prod(self.domain)
        strided = any(
            isinstance(operand, Memory) and operand.buffer is not None and nest.vector_dim is not None
            and operand.strides[nest.vector_dim] not in (0, 1)
            for member in nest.members
            for operand in member.operands
        )  # fmt: skip
        nest.cycles = (
            elements * (per_element + 1) / nest.lanes * (4 if strided else 1)
            + nest.nbytes / machine().bytes_per_cycle
        )
