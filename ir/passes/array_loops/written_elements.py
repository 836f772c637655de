"""Regions of an array that an op or all steps of a loop write, and that they may read before that.

A *region* has an interval along each axis, from ``low`` to ``high`` beyond an affine function of what is
around it: of the step of the loop outside, of scalars. Regions of what is written have elements that are
written for certain; regions of what is read have all that may be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ....base.records import record
from ...analysis.affine import Affine, AffineValues, loop_forms
from ...graph import Function, Instruction, Value
from ...ops.indexing import indexed_axes
from ...registry import Kind
from ...types import Shape
from .boxes import Box

_ZERO: Final = Affine(0, 0, ())


@record
class Interval:
    """The indices from ``form + low`` to ``form + high``."""

    form: Affine
    low: int
    high: int


Region: TypeAlias = tuple[Interval, ...]


class UnknownAccess(Exception):
    """Exception for a use of an array that may read any of its elements."""


@record(eq=False, frozen=False)
class Accesses:
    """Regions of an array that some ops write, and those of its earlier content that they read."""

    writes: list[Region]
    reads: list[Region]


def box_of(region: Region, shape: Shape) -> Box | None:
    """The elements of a region that depends on no step and no scalar; None of others, and of indices some of
    which wrap around or are out of range."""
    box = []
    for interval, size in zip(region, shape, strict=True):
        if interval.form.number is None:
            return None
        low, high = interval.form.constant + interval.low, interval.form.constant + interval.high
        around = size if high < 0 else 0
        if low + around < 0 or high + around >= size:
            return None
        box.append((low + around, high + around + 1))
    return tuple(box)


def accesses(instruction: Instruction, position: int, values: AffineValues) -> Accesses:
    """The accesses of an op that writes its operand at `position`. Raises UnknownAccess."""
    kind = instruction.op.kind
    if kind is Kind.UPDATE and position == 0:
        return Accesses(_updated(instruction), [])
    if kind is Kind.SCATTER and position == 0 and instruction.attrs["mode"] == "set":
        region = _indexed(instruction, 2, values, exact=True)
        return Accesses([] if region is None else [region], [])
    if kind is Kind.SCAN and position < instruction.attrs["carries"]:
        return _of_scan(instruction, position, values)
    if kind is Kind.SWITCH and position > 0:
        return _of_switch(instruction, position - 1, values)
    raise UnknownAccess


def read_region(instruction: Instruction, values: AffineValues) -> Region:
    """The elements that a view or a gather may read of its first operand. Raises UnknownAccess."""
    x = instruction.operands[0]
    if instruction.op.name == "slice":
        attrs = instruction.attrs
        return tuple(
            [
                Interval(Affine(start, 0, ()), min(step * (size - 1), 0), max(step * (size - 1), 0))
                for start, size, step in zip(attrs["start"], attrs["size"], attrs["step"], strict=True)
            ]
        )
    if instruction.op.kind is Kind.GATHER and x not in instruction.operands[1:]:
        region = _indexed(instruction, 1, values, exact=False)
        if region is not None:
            return region
    raise UnknownAccess


def _updated(update: Instruction) -> list[Region]:
    part = update.operands[1]
    if any(abs(step) != 1 and size > 1 for step, size in zip(update.attrs["step"], part.shape, strict=True)):
        return []
    region = [
        Interval(Affine(start, 0, ()), min(step * (size - 1), 0), max(step * (size - 1), 0))
        for start, size, step in zip(update.attrs["start"], part.shape, update.attrs["step"], strict=True)
    ]
    return [tuple(region)] if part.type.size else []


def _indexed(access: Instruction, first: int, values: AffineValues, *, exact: bool) -> Region | None:
    """The region of a gather or scatter; None where it is not known. It is `exact` where all elements in it
    are touched."""
    x, indices = access.operands[0], access.operands[first:]
    region = [Interval(_ZERO, 0, size - 1) for size in x.shape]
    axes = indexed_axes(len(indices), access.attrs["axes"])
    along = set[int]()
    for axis, index in zip(axes, indices, strict=True):
        form = values.of(index)
        if form is None:
            return None
        spread = [
            (place, factor * (size - 1))
            for place, (factor, size) in enumerate(zip(form.axes, index.shape, strict=True))
            if factor and size > 1
        ]
        if exact:
            gaps = any(abs(reach) != index.shape[place] - 1 for place, reach in spread)
            if gaps or len(spread) > 1 or along & {place for place, _ in spread}:
                return None
        along |= {place for place, _ in spread}
        low, high = sum(min(reach, 0) for _, reach in spread), sum(max(reach, 0) for _, reach in spread)
        region[axis] = Interval(Affine(form.constant, form.step, (), form.scalars), low, high)
    return tuple(region) if not indices or indices[0].type.size or not exact else None


# -- what regions of control flow do ----------------------------------------------------------------


def _of_body(body: Function, place: int, result: int, values: AffineValues) -> Accesses:
    """The accesses of one run of `body` to its parameter at `place`, which becomes its result at `result`."""
    latest = body.params[place]
    versions = {latest}
    done = Accesses([], [])
    for step in body.body:
        touched = [i for i, operand in enumerate(step.operands) if operand in versions]
        if not touched:
            continue
        if step.op.kind is Kind.GATHER or step.op.name == "slice":
            region = read_region(step, values)
            if len(touched) > 1 or step.operands[0] is not latest:
                raise UnknownAccess
            if region not in done.writes:
                done.reads.append(region)
            continue
        if len(touched) > 1 or step.operands[touched[0]] is not latest:
            raise UnknownAccess
        inside = accesses(step, touched[0], values)
        done.reads += [region for region in inside.reads if region not in done.writes]
        done.writes += inside.writes
        latest = version_after(step, touched[0])
        versions.add(latest)
    if body.results[result] is not latest or sum(value in versions for value in body.results) != 1:
        raise UnknownAccess
    return done


def version_after(instruction: Instruction, position: int) -> Value:
    """The result of `instruction` that is the new version of its operand at `position`, which it writes.
    Raises UnknownAccess."""
    if instruction.op.kind is not Kind.SWITCH:
        if position >= instruction.attrs.get("carries", 1):
            raise UnknownAccess
        return instruction.results[position]
    return instruction.results[_result_of(instruction, position - 1)]


def _of_scan(scan: Instruction, carry: int, outer: AffineValues) -> Accesses:
    (body,), length = scan.regions, scan.attrs["length"]
    if length < 1:
        raise UnknownAccess
    inside = _of_body(body, carry, carry, loop_forms(scan, AffineValues(outer.defs)))
    count = scan.attrs["carries"]
    place = dict(zip(body.params[count:], scan.operands[count:], strict=True))
    moved = _Moved(place, body, outer)
    writes = [_over_steps(region, length, exact=True) for region in inside.writes]
    reads = [_over_steps(region, length, exact=False) for region in inside.reads]
    outside = [moved.region(region) for region in reads if region is not None]
    if len(outside) < len(inside.reads) or None in outside:
        raise UnknownAccess
    written = [moved.region(region) for region in writes if region is not None]
    return Accesses([r for r in written if r is not None], [r for r in outside if r is not None])


def _over_steps(region: Region, length: int, *, exact: bool) -> Region | None:
    """The elements that all steps touch; None where these are no region."""
    moving = [interval for interval in region if interval.form.step]
    if exact and length > 1 and moving:
        (interval, *more) = moving
        if more or abs(interval.form.step) > interval.high - interval.low + 1:
            return None
    intervals = []
    for interval in region:
        reach = interval.form.step * (length - 1)
        form = Affine(interval.form.constant, 0, (), interval.form.scalars)
        intervals.append(Interval(form, interval.low + min(reach, 0), interval.high + max(reach, 0)))
    return tuple(intervals)


def _result_of(switch: Instruction, place: int) -> int:
    """The result of a switch that is the last version of its parameter at `place`."""
    origins = [_last_version(region, place) for region in switch.regions]
    if len(set(origins)) != 1 or origins[0] is None:
        raise UnknownAccess
    return origins[0]


def _last_version(region: Function, place: int) -> int | None:
    latest = region.params[place]
    for step in region.body:
        if latest in step.operands and (step.op.kind.traits.updates_operand or step.op.kind.traits.control):
            latest = version_after(step, step.operands.index(latest))
    return region.results.index(latest) if latest in region.results else None


def _of_switch(switch: Instruction, place: int, outer: AffineValues) -> Accesses:
    """The accesses of a branch instruction: writes that all branches do, and reads that any of them does."""
    result = _result_of(switch, place)
    branches = []
    for body in switch.regions:
        around = dict(zip(body.params, switch.operands[1:], strict=True))
        forms = {param: form for param, value in around.items() if (form := outer.of(value)) is not None}
        defs = {value: step for step in body.body for value in step.results}
        branches.append(_of_body(body, place, result, AffineValues(defs, forms, set())))
    first, *others = branches
    writes = [region for region in first.writes if all(region in other.writes for other in others)]
    return Accesses(writes, [region for branch in branches for region in branch.reads])


class _Moved:
    """Regions of a loop's body, as functions of what is outside of the loop."""

    def __init__(self, place: Mapping[Value, Value], body: Function, outer: AffineValues) -> None:
        self.place, self.outer = place, outer
        self.inside = {value for step in body.body for value in step.results} | set(body.params)

    def region(self, region: Region) -> Region | None:
        intervals: Sequence[Interval | None] = [self._interval(interval) for interval in region]
        moved = [interval for interval in intervals if interval is not None]
        return tuple(moved) if len(moved) == len(region) else None

    def _interval(self, interval: Interval) -> Interval | None:
        form = Affine(interval.form.constant, interval.form.step, ())
        for scalar, factor in interval.form.scalars:
            outside = self.place.get(scalar, None if scalar in self.inside else scalar)
            other = self.outer.of(outside) if outside is not None and not outside.shape else None
            if other is None:
                return None
            form = form.plus(other, factor)
        return Interval(form, interval.low, interval.high)
