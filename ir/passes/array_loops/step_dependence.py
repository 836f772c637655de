"""Dependence of the steps of a loop on each other, through elements at affine indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....base.records import record
from ...analysis.affine import Affine, AffineValues
from ...graph import Instruction, Value
from ...ops.indexing import indexed_axes
from ...types import Shape


@record(eq=False)
class StepAccess:
    """Access of an indexed op to an array in each step: a read or a write.

    Attributes:
        indices: by axis of the array; other axes are read or written as a whole.
        shape: that of the indices.
        alone: whether no other access may touch these elements, not even in the same step.
    """

    indices: Mapping[int, Affine]
    shape: Shape
    writes: bool
    alone: bool = False


def access_of(instruction: Instruction, values: AffineValues, *, alone: bool = False) -> StepAccess | None:
    """The access of a gather or scatter; None where an index is not affine."""
    writes = instruction.op.kind.traits.updates_operand
    indices = instruction.operands[2 if writes else 1 :]
    forms: dict[int, Affine] = {}
    for axis, index in zip(indexed_axes(len(indices), instruction.attrs["axes"]), indices, strict=True):
        form = values.of(index)
        if form is None:
            return None
        forms[axis] = form
    return StepAccess(forms, indices[0].shape, writes, alone)


def is_inside(read: Instruction, operands: Sequence[Value], values: AffineValues, length: int) -> bool:
    """Whether the indices of a gather from and at `operands` are in range in all of `length` steps."""
    array, *indices = operands
    for axis, index in zip(indexed_axes(len(indices), read.attrs["axes"]), indices, strict=True):
        form = values.of(index)
        bounds = form.bounds(index.shape, length) if form is not None else None
        if bounds is None or bounds[0] < -array.shape[axis] or bounds[1] >= array.shape[axis]:
            return False
    return True


def independent(accesses: list[StepAccess], shape: Shape, length: int) -> bool:
    """Whether the accesses of an array of `shape`, in the order of a step, may each be done for all of
    `length` steps before the next one is.

    So it is if of two at one element, one of which writes, the first is in no later step than the second."""
    for position, access in enumerate(accesses):
        for other in accesses[position:]:
            if not access.writes and not other.writes:
                continue
            if access is other and access.alone:
                continue
            anywhere = access.alone or other.alone
            later = (1 - length, length - 1) if anywhere else (1, length - 1)
            if not _apart(access, other, shape, length, later):
                return False
    return True


def _apart(x: StepAccess, y: StepAccess, shape: Shape, length: int, later: tuple[int, int]) -> bool:
    """Whether no element of `x` in one step is one of `y` in another, where the step of `x` is later by a
    number in the interval `later`."""
    return any(
        axis in y.indices and _differ(form, x.shape, y.indices[axis], y.shape, shape[axis], length, later)
        for axis, form in x.indices.items()
    )


def _differ(
    x: Affine, x_shape: Shape, y: Affine, y_shape: Shape, size: int, length: int, later: tuple[int, int]
) -> bool:
    """Whether indices along an axis of `size` are never the same in such steps."""
    if set(x.scalars) != set(y.scalars) or x.step != y.step:
        return False
    low = high = x.constant - y.constant
    for form, shape, sign in ((x, x_shape, 1), (y, y_shape, -1)):
        for factor, extent in zip(form.axes, shape, strict=True):
            reach = sign * factor * (extent - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
    # -1 is the last element: indices that differ by the size may be the same
    around = () if _inside(x, x_shape, size, length) and _inside(y, y_shape, size, length) else (size, -size)
    return not any(_reached(target - high, target - low, x.step, later) for target in (0, *around))


def _inside(form: Affine, shape: Shape, size: int, length: int) -> bool:
    bounds = form.bounds(shape, length)
    return bounds is not None and bounds[0] >= 0 and bounds[1] < size


def _reached(low: int, high: int, step: int, later: tuple[int, int]) -> bool:
    """Whether ``step * number`` is between `low` and `high` for a number in the interval `later`."""
    if step < 0:
        low, high, step = -high, -low, -step
    if step == 0:
        return low <= 0 <= high and later[0] <= later[1]
    return max(-(-low // step), later[0]) <= min(high // step, later[1])
