"""Sums of products of arrays that are repeated become matrix products.

    sum over k of a[i, k] * b[k, j]                   matmul(a, b)

So the repeated arrays are never written. Products of numbers are rounded with the sum then, as in any
product of matrices.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Final

from ...access import resolve
from ...builder import Builder
from ...dataflow import read_counts
from ...dtypes import is_real_floating
from ...graph import Function, Instruction, Value
from ...types import Shape
from ..rewriting import Definitions, Rule, rewrite

#: A product of fewer multiplications is as quick as a loop nest.
MIN_PRODUCT: Final = 1 << 12


def contract_product_sums(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results up to the order of sums; no large sum of products of
    floats goes along axes of which each factor misses one that the other has."""
    uses = read_counts(function)
    return rewrite(function, {"sum": (_contracted(uses),)})


def _contracted(uses: Counter[Value]) -> Rule:
    def rule(b: Builder, total: Instruction, defs: Definitions) -> Value | None:
        product = defs.get(total.operands[0])
        if product is not None and product.op.name == "rounded" and uses[product.result] == 1:
            product = defs.get(product.operands[0])
        if product is None or product.op.name != "mul" or uses[product.result] != 1:
            return None
        return _product(b, total, product, defs)

    return rule


def _product(b: Any, total: Instruction, product: Instruction, defs: Definitions) -> Value | None:
    shape, summed = product.result.shape, total.attrs["axes"]
    if not is_real_floating(product.result.dtype) or math.prod(shape) < MIN_PRODUCT:
        return None
    x, y = product.operands
    of_x, of_y = _axes(x, defs), _axes(y, defs)
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    kept = [axis for axis in wide if axis not in summed]
    rows = [axis for axis in kept if axis not in of_y]
    columns = [axis for axis in kept if axis not in of_x]
    batch = [axis for axis in kept if axis in of_x and axis in of_y]
    inner = [axis for axis in wide if axis in summed]
    if not (rows and columns and inner) or set(rows) & set(columns):
        return None
    if any(axis not in of_x or axis not in of_y for axis in inner):
        return None
    left = _matrix(b, _once(b, x, of_x, defs), batch, rows, inner, shape)
    right = _matrix(b, _once(b, y, of_y, defs), batch, inner, columns, shape)
    order = [*batch, *rows, *columns]
    result = b.reshape(b.matmul(left, right), shape=tuple([shape[axis] for axis in order]))
    back = sorted(range(len(order)), key=lambda position: order[position])
    value: Value = b.reshape(b.transpose(result, perm=tuple(back)), shape=total.result.shape)
    return value


def _axes(value: Value, defs: Definitions) -> set[int]:
    """The axes along which `value` is not merely repeated."""
    _, access = resolve(value, defs)
    return {axis for axis, step, _ in access.dims if axis is not None and step}


def _once(b: Any, value: Value, axes: set[int], defs: Definitions) -> Value:
    """`value` with size 1 along the axes along which it is repeated; those in `axes` are not."""
    size = tuple([extent if axis in axes else 1 for axis, extent in enumerate(value.shape)])
    view = defs.get(value)
    if view is not None and view.op.name == "broadcast":
        (source,) = view.operands
        value = b.reshape(source, shape=(1,) * (len(value.shape) - len(source.shape)) + source.shape)
    if value.shape == size:
        return value
    part: Value = b.slice(value, start=(0,) * len(size), size=size, step=(1,) * len(size))
    return part


def _matrix(
    b: Any, once: Value, batch: list[int], rows: list[int], columns: list[int], shape: Shape
) -> Value:
    """Reshape `once`, a result of `_once`, to matrices of `rows` and `columns`."""
    order = [*batch, *rows, *columns]
    rest = [axis for axis in range(len(shape)) if axis not in order]
    moved = b.transpose(once, perm=(*order, *rest))
    sizes = [[shape[axis] for axis in group] for group in (rows, columns)]
    matrix: Value = b.reshape(
        moved, shape=(*[shape[axis] for axis in batch], *[math.prod(group) for group in sizes])
    )
    return matrix
