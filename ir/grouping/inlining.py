"""Inlining of values into their readers, which repeat them: views, uniform constants, counters, windows.

A *window* is an `update` of zeros, as the gradient of a slice is: its readers take elements of the value
inside, and zero elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypeAlias

from ..access import compose, counter_strides, identity, resolve, view_access
from ..graph import Function, Instruction, Value
from ..registry import Access, Kind

#: Text of zero, and not of minus zero.
_ZEROS: Final = ("0", "0.0", "False")

#: More columns are put side by side by copying them: single elements far apart are slow to write.
MAX_COLUMNS: Final = 4
#: The most parts of a concatenation that one nest writes, and the least length of its stretches.
MAX_PARTS: Final = 8
MIN_STRETCH: Final = 32

#: The kinds of what may be inline.
_INLINE: Final = frozenset((Kind.VIEW, Kind.CREATION, Kind.UPDATE))

Definitions: TypeAlias = Mapping[Value, Instruction]
#: The source that is read for a value, and the index map to it; None where a window lies between.
Source: TypeAlias = tuple[Value, Access | None]


class Reads:
    """Inline instructions of a Function, and the sources that are read for its values, each looked up
    once."""

    def __init__(self, function: Function) -> None:
        self.defs = function.defs
        #: The inline instructions by their results.
        self.inline: dict[Value, Instruction] = {}
        #: The results of affine views, with the index map to the operand.
        self._views: dict[Value, Source] = {}
        self._sources: dict[Value, Source] = {}
        if _INLINE.isdisjoint([op.kind for op in function.ops]):
            return
        for instruction in function.body:
            kind = instruction.op.kind
            if kind not in _INLINE:
                continue
            result = instruction.results[0]
            if kind is Kind.VIEW and (access := view_access(instruction)) is not None:
                self._views[result] = instruction.operands[0], access
                self.inline[result] = instruction
            elif is_inline(instruction, self.defs):
                self.inline[result] = instruction

    def source(self, value: Value) -> Source:
        """The source that is read for `value`."""
        source = self._sources.get(value)
        if source is None:
            source = self._sources[value] = self._source(value)
        return source

    def _source(self, value: Value) -> Source:
        if value not in self.inline:
            return value, identity(len(value.type.shape))
        source, access = self._through_views(value)
        definition = self.inline.get(source)
        if definition is not None and definition.op.kind is Kind.UPDATE:
            return self._through_views(definition.operands[1])[0], None
        return source, access

    def _through_views(self, value: Value) -> Source:
        access: Access | None = None
        while (view := self._views.get(value)) is not None:
            value, step = view
            assert step is not None
            access = step if access is None else compose(access, step)
        return value, identity(len(value.type.shape)) if access is None else access

    def is_inline(self, instruction: Instruction) -> bool:
        """Whether `instruction` is repeated in its readers rather than computed once."""
        return bool(instruction.results) and instruction.results[0] in self.inline


def is_inline(instruction: Instruction | None, defs: Definitions) -> bool:
    """Whether an instruction is repeated in its readers rather than computed once."""
    if instruction is None or instruction.op.kind not in _INLINE:
        return False
    if instruction.op.name in ("full", "iota") or view_access(instruction) is not None:
        return True
    return counter_strides(instruction, defs) is not None or is_window(instruction, defs)


def is_window(instruction: Instruction, defs: Definitions) -> bool:
    """Whether an instruction puts a value, in steps of 1, among zeros; not one that is itself read through a
    window, or counts."""
    if instruction.op.kind is not Kind.UPDATE or any(step != 1 for step in instruction.attrs["step"]):
        return False
    if instruction.operands[1].type.size == 0:
        return False
    around, inside = (defs.get(resolve(operand, defs)[0]) for operand in instruction.operands)
    if around is None or around.op.name != "full" or str(around.attrs["value"]) not in _ZEROS:
        return False
    return inside is None or (counter_strides(inside, defs) is None and not is_window(inside, defs))


def parts_of(instruction: Instruction, defs: Definitions) -> tuple[Value, ...]:
    """The parts of a concatenation, of one shape, where a nest that computes some of them can write each into
    its place, and copies the others there; none for anything else.

    A computed part is an op's result or that with an axis of 1: the one along which it is stacked.
    """
    if instruction.op.kind is not Kind.CONCAT or len({part.shape for part in instruction.operands}) != 1:
        return ()
    axis, parts, shape = instruction.attrs["axis"], instruction.operands, instruction.result.shape
    if parts[0].type.ndim == axis + 1 and parts[0].shape[axis] == 1:
        if len(parts) > MAX_COLUMNS:
            return ()
    elif len(parts) > MAX_PARTS or math.prod(shape[axis:]) < MIN_STRETCH * len(parts):
        return ()
    computed = [is_computed(part, defs) for part in parts]
    if not any(computed):
        return ()
    for part, own in zip(parts, computed, strict=True):
        source, access = resolve(part, defs)
        wide = [dim for dim, size in zip(access.dims, source.shape, strict=True) if size != 1]
        if own and wide != [(place, 1, 0) for place, size in enumerate(part.shape) if size != 1]:
            return ()
    return parts


def is_computed(value: Value, defs: Definitions) -> bool:
    """Whether `value` is what some op of a nest computes, or a view of that."""
    definition = defs.get(resolve(value, defs)[0])
    return definition is not None and definition.op.kind.traits.fusable
