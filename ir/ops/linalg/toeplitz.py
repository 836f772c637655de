"""Equations with Toeplitz matrices, in O(n^2) operations and O(n) memory.

A matrix of n rows is one row of 2 n - 1 elements, ``a[i, j] = line[0, n - 1 + i - j]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError, ShapeError
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import Types
from ..define import define
from .common import matrix_type, stack_of, transposed


def _toeplitz_infer(types: Types, attrs: Attrs) -> Types:
    line, right = types
    rows = matrix_type("toeplitz_solve", right).shape[-2]
    if line.dtype is not right.dtype or line.shape != (*right.shape[:-2], 1, max(2 * rows - 1, 0)):
        raise ShapeError(f"toeplitz_solve: the diagonals {line} do not fit the right sides {right}")
    return (right,)


def _toeplitz_eval(line: Any, b: Any, transpose: bool = False) -> Any:
    if b.size == 0:
        return b
    lines, right = stack_of(line)[:, 0], stack_of(b)
    x = _recursion(lines[:, ::-1] if transpose else lines, right)
    return x.reshape(b.shape)


def _recursion(lines: Any, b: Any) -> Any:
    """Levinson's, for all matrices of a stack at once: ``first`` and ``last`` solve the leading equations of
    m rows for the first and the last unit vector.

    Source: Golub and Van Loan, Matrix Computations, section 4.7.
    """
    size = b.shape[1]
    middle = size - 1
    x, (first, last) = np.zeros_like(b), np.zeros((2, len(b), size), b.dtype)
    _check(lines[:, middle])
    first[:, 0] = last[:, 0] = 1 / lines[:, middle]
    x[:, 0] = b[:, 0] / lines[:, middle, None]
    for m in range(1, size):
        below = lines[:, middle + m : middle : -1]
        beside = lines[:, middle - 1 : (middle - m - 1 if m < middle else None) : -1]
        error = (below * first[:, :m]).sum(axis=1)
        other = (beside * last[:, :m]).sum(axis=1)
        rest = 1 - error * other
        _check(rest)
        moved = np.zeros_like(last[:, : m + 1])
        moved[:, 1:] = last[:, :m]
        last[:, : m + 1] = (moved - other[:, None] * first[:, : m + 1]) / rest[:, None]
        first[:, : m + 1] = (first[:, : m + 1] - error[:, None] * moved) / rest[:, None]
        missing = b[:, m] - (below[:, :, None] * x[:, :m]).sum(axis=1)
        x[:, : m + 1] += last[:, : m + 1, None] * missing[:, None]
    return x


def _check(pivots: Any) -> None:
    if not pivots.all():
        raise LinAlgError("toeplitz_solve: singular principal minor")


def _right_rule(b: Any, ct: Any, line: Any, transpose: bool) -> Any:
    return b.toeplitz_solve(line, ct, transpose=not transpose)


def _line_rule(b: Any, ct: Any, out: Any, line: Any, transpose: bool) -> Any:
    """The sums along the diagonals of ``-y x^T``, with y the cotangent of the right sides."""
    if 0 in out.shape:
        return b.full(value=0.0, shape=tuple(line.shape), dtype=line.dtype)
    turned = _right_rule(b, ct, line, transpose)
    left, right = (out, turned) if transpose else (turned, out)
    count = int(np.prod(out.shape[:-2], dtype=int))
    size, columns = out.shape[-2:]
    images, kernels = (
        b.reshape(transposed(b, x), shape=shape)
        for x, shape in ((left, (1, count, columns, 1, size)), (right, (count, 1, columns, 1, size)))
    )
    sums = b.convolve(images, kernels, stride=(1, 1), padding=(0, 0, size - 1, size - 1), dilation=(1, 1))
    return b.neg(b.reshape(sums, shape=tuple(line.shape)))


TOEPLITZ_SOLVE = define(
    "toeplitz_solve", Kind.LINALG, "line b", infer=_toeplitz_infer, eval=_toeplitz_eval,
    batch=batch_pointwise,
    vjp={"line": _line_rule, "b": _right_rule},
    doc="x with a x = b, or with a's transpose, where a is constant along its diagonals, the elements of "
    "line "
    "from the last above the main one to the last below it",
    attrs={"transpose": (bool,)}, defaults={"transpose": False},
)  # fmt: skip
