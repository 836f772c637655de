"""Blocks of items: what the steps of a loop append, stacked, with a flag for each place where conditions
decide whether it is an item."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

from ...array.indexing.access import getitem
from ...array.joining import stack
from ...array.operands import cast, filled, run
from ...array.selection.masked_selection import Selection
from ...array.selection.positions import compact
from ...base.records import record
from ...control.carry import fitted
from ...ir.dtypes import BOOL, INT64, DType
from ...pytree import TreeDef, containers_in
from ...state import STATE
from ...tensors.tensor import Tensor
from ...tracing.tracer import tracing
from ..reports import LoopError


@record(eq=False)
class Column:
    """The items that the steps of a loop append at one place: the structure of an item, and its leaves,
    stacked. `weak` tells for each leaf whether it is a Python number."""

    structure: TreeDef
    leaves: list[Any]
    weak: list[bool]

    def item(self, leaves: Sequence[Any]) -> Any:
        """The item of these `leaves`, each an element of one of the column's."""
        for leaf, weak in zip(leaves, self.weak, strict=True):
            if weak and STATE.tracer is not None:
                STATE.tracer.mark_weak(leaf._data)
        item = self.structure.unflatten(leaves)
        for container in containers_in(item):
            STATE.tracer.merged_containers.add(container, ())
        return item


class Block:
    """The items that the `steps` of a loop append, in each step one of each of the `columns`.

    With `flags`, there is one column, and its items are those of the steps whose flag is set."""

    def __init__(self, columns: list[Column], steps: int, flags: Tensor | None = None) -> None:
        self.columns, self.steps, self.flags = columns, steps, flags
        self._tracer = STATE.tracer
        self._compacted: tuple[Tensor, list[Tensor]] | None = None

    def __len__(self) -> int:
        return self.steps * len(self.columns)

    def item(self, position: int) -> Any:
        """The item at `position`."""
        step, place = divmod(position, len(self.columns))
        column = self.columns[place]
        return column.item([leaf[step] for leaf in column.leaves])

    @property
    def has_containers(self) -> bool:
        """Whether items are lists or dicts, or have such in them: each must be the same at every reading."""
        return any(_has_containers(column.structure.shape) for column in self.columns)

    @property
    def can_be_changed(self) -> bool:
        """Whether items are arrays or containers, which code may change where it reads them."""
        return self.has_containers or any(leaf.ndim > 1 for column in self.columns for leaf in column.leaves)

    def stacked(self) -> Any:
        """All items as one tensor or selection, None where they are not tensors of one type."""
        if self.flags is not None:
            return self._selected()
        if not all(column.structure.is_leaf for column in self.columns):
            return None
        leaves = [column.leaves[0] for column in self.columns]
        if len(leaves) == 1:
            return leaves[0]
        if any(leaf.type != leaves[0].type for leaf in leaves):
            return None
        shape = (len(self), *leaves[0].shape[1:])
        return stack(leaves, axis=1).reshape(shape)

    def _selected(self) -> Selection | None:
        """The items for which flags are set; tuples of numbers as rows."""
        (column,) = self.columns
        if column.structure.is_leaf:
            return self.selections()[0]
        shape = column.structure.shape
        if shape[0] not in ("tuple", "list") or any(part is not None for part in shape[2]):
            return None
        if any(leaf.ndim > 1 for leaf in column.leaves):
            return None
        assert self.flags is not None
        return Selection(self.flags, 0, stack(column.leaves, axis=1)).padded()

    def selections(self) -> list[Selection]:
        """The leaves of the items for which flags are set."""
        assert self.flags is not None
        return [Selection(self.flags, 0, leaf).padded() for leaf in self.columns[0].leaves]

    def compacted(self) -> tuple[Tensor, list[Tensor]]:
        """The number of items for which flags are set, a traced number, and their leaves in front of as many
        as there are steps. They are computed once, where the block was made."""
        if self._compacted is None:
            with tracing(self._tracer):
                selections = self.selections()
                count: Tensor = run("sum", cast(selections[0]._mask, INT64), axes=(0,))
                self._tracer.mark_weak(count._data)
                self._compacted = count, [compact(selection)[0] for selection in selections]
        return self._compacted

    def as_line(self) -> Block:
        """This block with one column. Raises LoopError for items of several types."""
        if len(self.columns) == 1:
            return self
        return in_one_column(self.columns, self.steps, [None] * len(self.columns))

    def of_known_length(self) -> Block:
        """This block with as many steps as there are items. The running code asks how many that are."""
        if self.flags is None:
            return self
        (count, leaves), (column,) = self.compacted(), self.columns
        number = operator.index(count)
        leaves = [getitem(leaf, slice(0, number)) for leaf in leaves]
        return Block([Column(column.structure, leaves, column.weak)], number)


def in_one_column(columns: Sequence[Column], steps: int, flags: Sequence[Tensor | None]) -> Block:
    """The items of `columns` as those of one, step by step: those of each column for whose steps its flags
    are set, or all where it has none. Raises LoopError for items of several types."""
    unified = _unified(columns)
    if len(columns) == 1:
        return Block(unified, steps, flags[0])
    count, leaves = steps * len(columns), []
    for parts in zip(*[column.leaves for column in unified], strict=True):
        leaves.append(stack(list(parts), axis=1).reshape((count, *parts[0].shape[1:])))
    column = Column(unified[0].structure, leaves, unified[0].weak)
    if all(flag is None for flag in flags):
        return Block([column], count)
    set_ = [filled(True, (steps,), BOOL) if flag is None else flag for flag in flags]
    return Block([column], count, stack(set_, axis=1).reshape((count,)))


def joined(blocks: Sequence[Block]) -> Block:
    """The items of `blocks` one after the other. Raises LoopError for items of several types."""
    lines = [block.as_line() for block in blocks]
    columns = _unified([line.columns[0] for line in lines])
    leaves = [run("concat", *parts, axis=0) for parts in zip(*[c.leaves for c in columns], strict=True)]
    column = Column(columns[0].structure, leaves, columns[0].weak)
    flags = [filled(True, (len(line),), BOOL) if line.flags is None else line.flags for line in lines]
    return Block([column], sum(map(len, lines)), run("concat", *flags, axis=0))


def _unified(columns: Sequence[Column]) -> list[Column]:
    """`columns` with items of one type: Python numbers adapt, as those do that conditionals choose from."""
    first = columns[0]
    leaves: list[list[Tensor]] = [[] for _ in columns]
    weak = []
    for place in range(len(first.leaves)):
        if any(column.structure != first.structure for column in columns):
            break
        parts = [column.leaves[place] for column in columns]
        numbers = [column.weak[place] for column in columns]
        dtype = common_dtype([(part.dtype, number) for part, number in zip(parts, numbers, strict=True)])
        if dtype is None or len({part.shape[1:] for part in parts}) > 1:
            break
        for own, part in zip(leaves, parts, strict=True):
            own.append(part if part.dtype is dtype else fitted(part, dtype))
        weak.append(all(numbers))
    else:
        return [Column(first.structure, own, weak) for own in leaves]
    raise LoopError("it appends items of several types under conditions")


def common_dtype(kinds: Sequence[tuple[DType, bool]]) -> DType | None:
    """The dtype of items of these `kinds`, each a dtype and whether it is of Python numbers, which adapt.
    None where there is none."""
    dtypes = {dtype for dtype, is_number in kinds if not is_number}
    common = max(dtypes or {dtype for dtype, _ in kinds}, key=lambda dtype: _KINDS.index(dtype.kind))
    fits = len(dtypes) <= 1
    if not fits or any(_KINDS.index(dtype.kind) > _KINDS.index(common.kind) for dtype, _ in kinds):
        return None
    return common


#: Kinds of dtypes, of which a Python number may become one that follows its own.
_KINDS: Final = "biufc"


def _has_containers(shape: Any) -> bool:
    """Whether trees of the structure `shape` have containers that can be changed."""
    if shape is None or shape[0] in ("none", "static"):
        return False
    return shape[0] not in ("tuple", "namedtuple") or any(map(_has_containers, shape[2]))
