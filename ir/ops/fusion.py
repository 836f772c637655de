"""Grouping ops, whose regions are computed as a whole. ``fusion`` is a group of ops that codegen turns into
one loop nest; the pass ``fuse`` makes it. ``tiled`` holds transforms and fusions that run one after the other
on each line; the pass ``tile-transforms`` makes it. ``interpreted`` is a part of a program that the compiler
failed on; ``recovery`` makes it.

A fusion's attributes say how its region is computed: the `domain`, a shape over which the loops go; the
`axes` of it that are reduced, whose elements are a *row*. Each instruction of the region has a level:

| level | what it is | which reads of the others |
|---|---|---|
| `each` | an elementwise op over the domain | `each`, `row`, `fold` |
| `row` | an elementwise op over the domain without the axes | `row`, `fold` |
| `fold` | a reduction of each row over the axes | `each`, `row`, `fold` |
| `across` | a reduction whose result is known after the last row | `each`, `row`, `fold` |
| `columns` | a concatenation of parts of one shape, each written into its place | `each`, `row`, `fold` |
| `read` | a view, constant, counter or window, repeated in its readers | a view: `each`, `row`, `fold` |
"""

from __future__ import annotations

from typing import Any, Final

from ...base.errors import AttributeValueError
from ..access import resolve
from ..graph import Function, Instruction, Value
from ..registry import NONDIFF, Attrs, Kind, Regions
from ..transforms.batching import all_mapped, inline_batched
from ..types import Shape, TensorType
from .define import define_with_regions, same_as_region

EACH: Final = "each"
ROW: Final = "row"
FOLD: Final = "fold"
ACROSS_ROWS: Final = "across"
COLUMNS: Final = "columns"
READ: Final = "read"

#: The levels that ops of a kind may have; those of other kinds are read.
_LEVELS: Final = {
    Kind.ELEMENTWISE: (EACH, ROW),
    Kind.REDUCTION: (FOLD, ACROSS_ROWS),
    Kind.CONCAT: (COLUMNS,),
}


def _types(
    types: tuple[TensorType, ...], attrs: Attrs, regions: tuple[Function, ...]
) -> tuple[TensorType, ...]:
    results = same_as_region(types, attrs, regions)
    _Levels(attrs, regions[0]).check()
    return results


class _Levels:
    """The check of a fusion's attributes against its region."""

    def __init__(self, attrs: Attrs, region: Function) -> None:
        self.domain, self.axes, self.levels = attrs["domain"], attrs["axes"], attrs["levels"]
        self.region = region

    def check(self) -> None:
        """Raise AttributeValueError unless the region can be computed so."""
        domain, axes = self.domain, self.axes
        if not all(type(size) is int and size >= 0 for size in domain):
            raise AttributeValueError(f"fusion: domain must be a shape, got {domain}")
        if not all(type(axis) is int for axis in axes) or list(axes) != sorted(
            {axis for axis in axes if 0 <= axis < len(domain)}
        ):
            raise AttributeValueError(
                f"fusion: axes must be axes of the domain {domain} in order, got {axes}"
            )
        count = len(self.region.body)
        if len(self.levels) != count:
            raise AttributeValueError(
                f"fusion: levels must be one for each of the region's {count} instructions, got "
                f"{len(self.levels)}"
            )
        if axes and FOLD not in self.levels:
            raise AttributeValueError(f"fusion: nothing folds rows, so axes must be (), got {axes}")
        self.row = _wide([size for axis, size in enumerate(domain) if axis not in axes])
        self.defs = {
            result: instruction for instruction in self.region.body for result in instruction.results
        }
        self.level_of = dict(zip(self.region.body, self.levels, strict=True))
        for instruction in self.region.body:
            self._check(instruction, self.level_of[instruction])
        for position, result in enumerate(self.region.results):
            definition = self.defs.get(result)
            if (definition is None or self.level_of[definition] == READ) and result.shape != domain:
                raise AttributeValueError(
                    f"fusion: result {position} is read, so its shape must be the domain {domain}, got "
                    f"{result.shape}"
                )

    def _check(self, instruction: Instruction, level: str) -> None:
        name, accepted = instruction.op.name, _LEVELS.get(instruction.op.kind, (READ,))
        if level not in accepted:
            raise AttributeValueError(
                f"fusion: the level of {name} must be {' or '.join(map(repr, accepted))}, got {level!r}"
            )
        if level in (EACH, ROW):
            self._check_shape(name, level, instruction.result.shape)
        elif level == FOLD:
            self._check_shape(name, EACH, instruction.operands[0].shape)
            if instruction.attrs["axes"] != self.axes:
                raise AttributeValueError(
                    f"fusion: {name} folds rows, so its axes must be {self.axes}, got "
                    f"{instruction.attrs['axes']}"
                )
        elif level == ACROSS_ROWS:
            self._check_across(instruction)
        elif level == COLUMNS and len({operand.shape for operand in instruction.operands}) != 1:
            raise AttributeValueError(
                f"fusion: {name} is written part by part, so its operands must have one shape, got "
                f"{', '.join(str(operand.shape) for operand in instruction.operands)}"
            )
        if instruction.op.kind is not Kind.VIEW:  # whose readers are checked
            for operand in instruction.operands:
                self._check_read(instruction, level, operand)

    def _check_shape(self, name: str, level: str, shape: Shape) -> None:
        if level == EACH and shape != self.domain:
            raise AttributeValueError(
                f"fusion: {name} is computed for each element, so its shape must be the domain "
                f"{self.domain}, got {shape}"
            )
        if level == ROW and (shape == self.domain or _wide(shape) != self.row):
            raise AttributeValueError(
                f"fusion: {name} is computed for each row, so its sizes but for 1 must be {self.row}, and "
                f"its shape not the domain, got {shape}"
            )

    def _check_across(self, reduction: Instruction) -> None:
        """Vectors lie along rows; chunks of the outermost dimension that rows lie along fold on their own."""
        name, (operand,) = reduction.op.name, reduction.operands
        if operand.shape != self.domain:
            self._check_shape(name, ROW, operand.shape)
        wide = [axis for axis, size in enumerate(self.domain) if size != 1]
        outer, row = ([axis for axis in wide if (axis in self.axes) is inside] for inside in (False, True))
        along = self._coordinates(operand.shape)
        folded = {along[axis] for axis in reduction.attrs["axes"]}
        if 0 in self.domain or not outer or wide[-1] not in row or outer[0] not in folded:
            raise AttributeValueError(
                f"fusion: {name} folds across rows, which must lie along the last axis of {self.domain}, so "
                f"it must reduce the first axis that is not in {self.axes}, got {reduction.attrs['axes']}"
            )
        if folded.intersection(row) and not folded.issuperset(row):
            raise AttributeValueError(
                f"fusion: {name} folds across rows, so it must reduce all of the axes {self.axes} or none, "
                f"got {reduction.attrs['axes']}"
            )

    def _check_read(self, reader: Instruction, level: str, operand: Value) -> None:
        """Check that `reader` reads computed values at its own place only, also through views."""
        source, access = resolve(operand, self.defs)
        definition = self.defs.get(source)
        if definition is None or self.level_of[definition] == READ:
            return
        theirs = self.level_of[definition]
        if level == READ or theirs in (ACROSS_ROWS, COLUMNS):
            raise AttributeValueError(
                f"fusion: {reader.op.name} with the level {level!r} cannot read what has the level {theirs!r}"
            )
        where = self._coordinates(source.shape)
        own = self._coordinates(operand.shape)
        if level == COLUMNS:  # the axes of a part, but for those of 1, are those of what is computed
            left = iter([along for along, size in zip(where, source.shape, strict=True) if size != 1])
            own = [next(left, None) if size != 1 else None for size in operand.shape]
        for (axis, step, offset), along, size in zip(access.dims, where, source.shape, strict=True):
            if size != 1 and (axis is None or (own[axis], step, offset) != (along, 1, 0)):
                raise AttributeValueError(
                    f"fusion: {reader.op.name} reads other elements of {definition.op.name} than its own"
                )

    def _coordinates(self, shape: Shape) -> list[int | None]:
        """The domain's axes along which a member's value of `shape` lies; None for those of size 1."""
        if shape == self.domain:
            return list(range(len(shape)))
        left = iter([axis for axis, size in enumerate(self.domain) if axis not in self.axes and size != 1])
        return [next(left, None) if size != 1 else None for size in shape]


def _wide(shape: Any) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _run(call: Any, regions: Any, operands: Any, attrs: Any) -> Any:
    return call(regions[0], operands)


def _batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """Batch the fused ops outside a group; the pass will find the groups again."""
    return all_mapped(b, *inline_batched(b, instruction.regions[0], operands, mapped, size), size)


FUSION = define_with_regions(
    "fusion", Kind.REGION, "*inputs",
    doc="the results of its region, computed as one loop nest", vjp=NONDIFF, batch=_batch,
    attrs={"domain": (tuple,), "axes": (tuple,), "levels": (tuple,)},
    regions=Regions(types=_types, run=_run),
)  # fmt: skip

TILED = define_with_regions(
    "tiled", Kind.TILED, "*inputs",
    doc="the results of its region of fusions and Fourier transforms, computed line by line of a `batch`",
    vjp=NONDIFF, batch=_batch, attrs={"batch": (tuple,)},
    regions=Regions(types=same_as_region, run=_run),
)  # fmt: skip

INTERPRETED = define_with_regions(
    "interpreted", Kind.HOST, "*inputs",
    doc="the results of its region, computed by the NumPy kernels of the ops in it", vjp=NONDIFF,
    batch=_batch, regions=Regions(types=same_as_region, run=_run),
)  # fmt: skip
