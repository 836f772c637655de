"""Fusion of A x and u^T A, for a matrix A with many rows, into one pass over A.

Gradients of regressions are such programs: a table of 100,000 rows of 64 gives a number for each row, which
some arithmetic makes a factor of the row; what is wanted is the sum of the rows times their factors. As
products these are two passes over the table, which is what they cost where it is larger than a cache. Written
as sums,

    x @ v  =  sum(x * v, axis=1)        u @ x  =  sum(u[:, None] * x, axis=0)

both fit one row nest that folds across its rows (`cross_row_reductions.py`): each row is read once.
"""

from __future__ import annotations

from ....base.machine import machine
from ...access import element_strides, resolve
from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...types import contiguous_strides
from ..rewriting import Definitions, rewrite
from .cleanup import dce


def fuse_gemv_pairs(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: matrices of floats with many rows that are multiplied by vectors
    from both sides are multiplied and summed instead; no dead code where it changed anything."""
    if not any(op.name == "matmul" for op in function.ops):
        return function
    defs = function.defs
    sides: dict[Value, set[bool]] = {}
    for instruction in function.body:
        table_and_side = _table_of(instruction, defs) if instruction.op.name == "matmul" else None
        if table_and_side is not None:
            sides.setdefault(table_and_side[0], set()).add(table_and_side[1])
    tables = {table for table, both in sides.items() if len(both) == 2}
    if not tables:
        return function

    def rule(b: Builder, product: Instruction, defs: Definitions) -> Value | None:
        table_and_side = _table_of(product, defs)
        return (
            _sum(b, product, *table_and_side)
            if table_and_side is not None and table_and_side[0] in tables
            else None
        )

    return dce(rewrite(function, {"matmul": (rule,)}))


def _table_of(product: Instruction, defs: Definitions) -> tuple[Value, bool] | None:
    """Match a product of a tall matrix and a vector: the matrix, and whether the sum goes over its rows; None
    for other instructions."""
    if product.op.name != "matmul" or len(product.result.shape) != 2 or product.result.dtype.kind != "f":
        return None
    for position, turned in ((0, False), (1, True)):
        if product.operands[1 - position].shape[1 - position] != 1:
            continue
        source, access = resolve(product.operands[position], defs)
        if len(source.shape) != 2:
            return None
        strides, offset = element_strides(access, contiguous_strides(source.shape), 2)
        rows, columns = source.shape
        row = columns * source.dtype.itemsize
        # shorter rows are mostly a remainder, longer ones leave the first cache
        if offset or not 2 * machine().line_bytes <= row <= machine().l1_bytes // 16:
            return None
        if rows * row < 2 * machine().l2_bytes:
            return None  # it stays in a cache between the two
        as_it_is = product.operands[position].shape == source.shape and strides == (columns, 1)
        transposed = product.operands[position].shape == source.shape[::-1] and strides == (1, columns)
        if as_it_is or transposed:
            return source, as_it_is is turned
    return None


def _sum(b: Builder, product: Instruction, table: Value, over_rows: bool) -> Value:
    """`product` as a sum of products, over the rows or along each."""
    rows, columns = table.shape
    vector = next(operand for operand in product.operands if 1 in operand.shape)
    if over_rows:
        factors = b.broadcast(b.reshape(vector, shape=(rows, 1)), shape=table.shape)
    else:
        factors = b.broadcast(b.reshape(vector, shape=(1, columns)), shape=table.shape)
    total = b.sum(b.mul(table, factors), axes=(0 if over_rows else 1,))
    pair_sum: Value = b.reshape(total, shape=product.result.shape)
    return pair_sum
