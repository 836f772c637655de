"""Linear algebra of repeated matrices: each matrix once.

    lu(broadcast(a))          =  broadcast(lu(a))             of matrices that are repeated as a whole
    solve(a, broadcast(b))    =  broadcast(solve(a, b))       of columns that are repeated
    solve(broadcast(a), b)    =  solve(a, the columns of all b side by side)

The last is the batching rule of ops that have one for a matrix that examples share: what is repeated along
an axis in front is what all examples share, so that these ops are batched where they stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ....builder import Builder
from ....graph import Instruction, Value
from ....ops.linalg.pairs import complex_instruction
from ....registry import Kind
from ....transforms.batching import batch_pointwise
from ...rewriting import Definitions, constant_of
from .repeated_axes import Line

#: Ops whose last operand is a right side, with columns that are solved apart.
_SOLUTIONS: Final = (
    "lu_solve", "triangular_solve", "banded_solve", "banded_cholesky_solve", "toeplitz_solve",
)  # fmt: skip


def once_for_repeated_matrices(
    b: Builder, instruction: Instruction, plain: Callable[[Value], Line | None], defs: Definitions
) -> tuple[Value, ...] | None:
    """The results of an `instruction` of linear algebra, of whose operands `plain` says what they repeat."""
    lines = [plain(operand) for operand in instruction.operands]
    if all(line is not None for line in lines[:-1]) and lines[-1] is None:
        lines[-1] = _of_numbers(b, instruction.operands[-1], defs)
    operands, lead = list(instruction.operands), _batch_rank(instruction)
    sizes = [list(operand.shape) for operand in operands]
    for axis in range(lead):
        if all(line is not None and line.repeated[axis] for line in lines):
            for own in sizes:
                own[axis] = 1
    complexes = complex_instruction(instruction)
    columns = len(complexes.operands[-1].shape) - 1
    right = lines[-1]
    if complexes.op.name in _SOLUTIONS and right is not None and right.repeated[columns]:
        sizes[-1][columns] = 1
    if all(tuple(own) == operand.shape for own, operand in zip(sizes, operands, strict=True)):
        return _side_by_side(b, instruction, lines, lead)
    small = [
        b.broadcast_to(line.value if line is not None else operand, tuple(own))
        for line, operand, own in zip(lines, operands, sizes, strict=True)
    ]
    results = b.append(instruction.op, tuple(small), instruction.attrs)
    return tuple(
        [b.broadcast_to(result, old.shape) for result, old in zip(results, instruction.results, strict=True)]
    )


def _of_numbers(b: Any, value: Value, defs: Definitions) -> Line | None:
    """A `value` computed from the numbers of rows and columns, as unit matrices are, by what it repeats."""
    shape, instruction = value.shape, defs.get(value)
    plain = (1,) * len(shape)
    if instruction is None:
        return None
    if instruction.op.name == "iota":
        axis = instruction.attrs["axis"]
        line = b.iota(shape=(*plain[:axis], shape[axis], *plain[axis + 1 :]), axis=axis, dtype=value.dtype)
        return Line(line, shape, plain)
    constant = constant_of(value, defs)
    if constant is not None:
        return Line(b.full(value=constant, shape=plain, dtype=value.dtype), shape, plain)
    if instruction.op.kind is not Kind.ELEMENTWISE:
        return None
    operands = []
    for operand in instruction.operands:
        line = _of_numbers(b, operand, defs)
        if line is None:
            return None
        operands.append(line.value)
    sizes = tuple([max(own) for own in zip(*[operand.shape for operand in operands], strict=True)])
    (result,) = b.append(
        instruction.op, tuple([b.broadcast_to(operand, sizes) for operand in operands]), instruction.attrs
    )
    return Line(result, shape, plain)


def _batch_rank(instruction: Instruction) -> int:
    """The axes in front of the matrices, or of the lines of pivots."""
    first = complex_instruction(instruction).operands[0].type
    return first.ndim - (1 if first.dtype.kind == "i" else 2)


def _side_by_side(
    b: Any, instruction: Instruction, lines: Sequence[Line | None], lead: int
) -> tuple[Value, ...] | None:
    """A solution of which only the right sides differ along axes in front, by the op's batching rule."""
    rule, (*matrices, right) = instruction.op.batch, instruction.operands
    shared = [
        axis
        for axis in range(lead)
        if right.shape[axis] > 1 and all(line is not None and line.repeated[axis] for line in lines[:-1])
    ]
    if not shared or rule is None or rule is batch_pointwise:
        return None
    own = [axis for axis in range(len(right.shape)) if axis not in shared]
    order, count = [*shared, *own], math.prod(right.shape[axis] for axis in shared)
    examples = b.reshape(
        b.transpose(right, perm=tuple(order)), shape=(count, *[right.shape[axis] for axis in own])
    )
    alone = []
    for matrix, line in zip(matrices, lines[:-1], strict=True):
        assert line is not None
        whole = [1 if axis in shared else size for axis, size in enumerate(matrix.shape)]
        value = b.broadcast_to(line.value, tuple(whole))
        alone.append(
            b.reshape(value, shape=tuple([size for axis, size in enumerate(whole) if axis not in shared]))
        )
    example = Instruction(
        instruction.op,
        (*alone, Value(right.type.with_shape(examples.shape[1:]))),
        instruction.attrs,
        (Value(right.type.with_shape(examples.shape[1:])),),
        instruction.location,
    )
    mapped = (*[False] * len(alone), True)
    (solved,) = rule(b, example, (*alone, examples), mapped, count)
    solved = b.reshape(solved, shape=tuple([right.shape[axis] for axis in order]))
    return (b.transpose(solved, perm=tuple([order.index(axis) for axis in range(len(order))])),)
