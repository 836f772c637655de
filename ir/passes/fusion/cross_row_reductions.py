"""Reductions across the rows of a group that reduces each row: the gradients of a layernorm's scale and
shift, of a bias, the sum of all rows' losses.

Rows come one after the other, so the results are known after the last one, and nothing in the group may read
them. Folded is at least the outermost of the dimensions that rows lie along: chunks of rows then fold on
their own. Of a row's own dimensions all are folded (the row first, then the rows) or none (each element with
those of other rows).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...graph import Instruction
from ...types import Shape

#: For each dimension of a value, the domain dimension it runs along; None for size 1.
Coordinates: TypeAlias = tuple[int | None, ...]
#: The coordinates of what is folded across rows: nowhere, as long as rows are folded.
ACROSS: Final[Coordinates] = (-1,)
#: What is folded across rows has at most so many bytes: it has to stay in the first cache, row after row.
ACROSS_BYTES: Final = 1 << 15


def folds_across(reduction: Instruction, own: Coordinates, domain: Shape, axes: tuple[int, ...]) -> bool:
    """Whether `reduction`, which reads at `own`, can be folded across the rows of a group whose rows are
    reduced over `axes`, with lanes along the rows."""
    wide = [axis for axis, size in enumerate(domain) if size != 1]
    outer = [axis for axis in wide if axis not in axes]
    if 0 in domain or not outer or wide[-1] not in axes:
        return False
    folded = {own[axis] for axis in reduction.attrs["axes"]}
    row = {axis for axis in wide if axis in axes}
    if outer[0] not in folded or (row & folded and not row <= folded):
        return False
    return reduction.result.type.nbytes <= ACROSS_BYTES
