"""Limits for small matrices, which compiled code keeps in or near registers, with a lane for each matrix.

The code itself is in ``codegen.kernels.linalg``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...ir.dtypes import FLOAT32, FLOAT64
from ...ir.graph import Instruction
from ...ir.ops.linalg.adjugate import ADJUGATE
from ...ir.ops.linalg.cholesky import CHOLESKY
from ...ir.ops.linalg.lu import LU, LU_SOLVE
from ...ir.ops.linalg.triangular import TRIANGULAR_SOLVE
from ...ir.registry import Op

#: Rows and columns that matrices have at most.
MAX_SIZE: Final = 32
#: Elements of right sides, which are on the stack.
MAX_RIGHT: Final = MAX_SIZE**2
#: Elements of a matrix, or of its right sides, in registers: 8x8. Measured on Zen 5: loops over memory take
#: 1.3 to 2.6 times as long there. Unrolled code of 10x10 takes less time than loops, too, but three times as
#: long to compile.
MAX_IN_REGISTERS: Final = 64

#: Estimated cycles of each op that has such code: ``cycles(rows, columns of right sides)``.
CYCLES: Final[dict[Op, Callable[[int, int], float]]] = {
    CHOLESKY: lambda n, _: n**3 / 2 + 2 * n**2 + 30 * n,
    LU: lambda n, _: n**3 + 16 * n**2 + 30 * n,
    ADJUGATE: lambda n, _: 2 * n**2 * (n + 10) + 30 * n,
    LU_SOLVE: lambda n, k: 2 * n * k * (n + 8) + 30 * n,
    TRIANGULAR_SOLVE: lambda n, k: n * k * (n + 2) + 30 * n,
}


def sizes(instruction: Instruction) -> tuple[int, int, int]:
    """The rows and columns of the matrices of `instruction`, and the columns of their right sides."""
    rows, columns = instruction.operands[0].shape[-2:]
    solves = instruction.op in (LU_SOLVE, TRIANGULAR_SOLVE)
    return rows, columns, instruction.operands[-1].shape[-1] if solves else 0


def is_small(instruction: Instruction) -> bool:
    """Whether `instruction` has code for small matrices."""
    if instruction.op not in CYCLES or instruction.operands[0].dtype not in (FLOAT32, FLOAT64):
        return False
    rows, columns, right = sizes(instruction)
    return max(rows, columns) <= MAX_SIZE and rows * right <= MAX_RIGHT


def fits_registers(instruction: Instruction) -> bool:
    """Whether one matrix of `instruction`, with its right sides, is kept in registers."""
    if not is_small(instruction):
        return False
    rows, columns, right = sizes(instruction)
    return rows * max(columns, right) <= MAX_IN_REGISTERS


def cycles(instruction: Instruction) -> float:
    """Estimate the cycles of a small instruction for one matrix in each lane."""
    rows, _, right = sizes(instruction)
    return CYCLES[instruction.op](rows, right)
