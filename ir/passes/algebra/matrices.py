"""Linear algebra that becomes other linear algebra: adjugates without code of their own, values of
factorizations that are computed with their vectors as well, and systems with triangular matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...builder import Builder
from ...dtypes import INT64
from ...graph import Function, Instruction, Value
from ...ops.linalg.common import (
    adjoint,
    column_of,
    diagonal,
    identity,
    product,
    row_of,
    scaled_columns,
    unit_roundoff,
)
from ...ops.linalg.small import is_small
from ...registry import OPS, Kind
from ..rewriting import Definitions, constant_of

#: The op that gives more, and the index of the values among its results, by the op that gives these alone.
_FULLER: Final = {"eigvalsh": ("eigh", 0), "eigvals": ("eig", 0), "svdvals": ("svd", 1), "qr": ("qr", 1)}


def factored_adjugate(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """``det(a) a^-1`` by the LU factors; a batch with a matrix that is singular, but for rounding, takes the
    singular values of all as well, and each matrix its own."""
    a = instruction.operands[0]
    if is_small(instruction) or 0 in a.shape:
        return None
    lu, pivots, permutation = b.lu(a)
    sizes = b.abs(diagonal(b, lu))
    largest = b.max(sizes, axes=(len(sizes.shape) - 1,))
    # a small pivot makes the inverse inaccurate, and the determinant small by as much
    tolerance = b.mul(largest, a.shape[-1] * unit_roundoff(sizes.dtype))
    above = b.gt(sizes, b.broadcast(column_of(b, tolerance), shape=sizes.shape))
    is_regular = b.all(above, axes=(len(sizes.shape) - 1,))
    all_regular = b.all(is_regular, axes=tuple(range(len(is_regular.shape))))
    operands = (a, lu, pivots, permutation, is_regular)
    regions = (_region(operands, _of_any), _region(operands, _of_regular))
    return b.append(OPS["switch"], (all_regular, *operands), {}, regions=regions)[0]


def _region(operands: tuple[Any, ...], write: Any) -> Function:
    b = Builder()
    return b.finish(write.__name__.strip("_"), [write(b, *[b.parameter(value.type) for value in operands])])


def _of_regular(b: Any, a: Any, lu: Any, pivots: Any, permutation: Any, is_regular: Any) -> Any:
    inverse = b.lu_solve(a, lu, permutation, identity(b, a, a.shape[-1]))
    return _times(b, b.det(a, lu, pivots, permutation), inverse)


def _of_any(b: Any, a: Any, lu: Any, pivots: Any, permutation: Any, is_regular: Any) -> Any:
    """``adj(u s vh) = adj(vh) adj(s) adj(u)``, where adj(u) = det(u) u^H."""
    shape, rank = tuple(a.shape), len(a.shape)
    # singular values are not asked of what is not finite, whose adjugate is NaN
    finite = b.all(b.isfinite(a), axes=(rank - 2, rank - 1))
    finite = b.broadcast(column_of(b, column_of(b, finite)), shape=shape)
    u, s, vh = b.svd(b.where(finite, a, 0.0), full_matrices=False)
    factor = b.mul(*[b.det(x, *b.lu(x)) for x in (u, vh)])
    columns = scaled_columns(b, adjoint(b, vh), b.cast(_others(b, s), dtype=a.dtype))
    by_values = _times(b, factor, product(b, columns, adjoint(b, u)))
    by_values = b.where(finite, by_values, float("nan"))
    regular = b.broadcast(column_of(b, column_of(b, is_regular)), shape=shape)
    return b.where(regular, _of_regular(b, a, lu, pivots, permutation, is_regular), by_values)


def _others(b: Any, s: Any) -> Any:
    """The product of all elements but one, for each element that is left out."""
    shape = (*s.shape, s.shape[-1])
    row, column = (b.iota(shape=shape, axis=len(shape) - axis, dtype=INT64) for axis in (2, 1))
    factors = b.where(b.eq(row, column), 1.0, b.broadcast(row_of(b, s), shape=shape))
    return b.prod(factors, axes=(len(shape) - 1,))


def _times(b: Any, factor: Any, x: Any) -> Any:
    return b.mul(b.broadcast(column_of(b, column_of(b, factor)), shape=tuple(x.shape)), x)


def _name(instruction: Instruction) -> str:
    """The op of linear algebra that `instruction` is, of real matrices or of complex ones."""
    return str(instruction.attrs.get("op", instruction.op.name))


def with_vectors(function: Function) -> Sequence[Instruction]:
    """The body of `function`, with eigenvalues or singular values taken from a factorization with vectors of
    the same matrix, if there is one. Gradients need the vectors."""
    body, fuller = function.body, dict[tuple[str, Value], Instruction]()
    if not any(op.kind is Kind.LINALG for op in function.ops):
        return body
    for instruction in body:
        if instruction.op.kind is Kind.LINALG and len(instruction.results) > 1:
            fuller[_name(instruction), instruction.operands[0]] = instruction
    if not fuller:
        return body
    return [_replaced(instruction, fuller) for instruction in body]


def _replaced(instruction: Instruction, fuller: dict[tuple[str, Value], Instruction]) -> Instruction:
    if instruction.op.kind is not Kind.LINALG or len(instruction.results) != 1:
        return instruction
    name, place = _FULLER.get(_name(instruction), ("", 0))
    other = fuller.get((name, instruction.operands[0]))
    if other is None or other.results[place].type != instruction.result.type:
        return instruction
    results = [Value(result.type) for result in other.results]
    results[place] = instruction.result
    return Instruction(other.op, instruction.operands, other.attrs, tuple(results), instruction.location)


def solve_triangular(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """``lu_solve`` with a matrix that is a Cholesky factor, the r of a QR factorization or one triangle of
    another matrix, or a transpose of such: one substitution. The LU factors are dead then, unless something
    else uses them."""
    system = triangular_system(instruction, defs)
    return None if system is None else b.triangular_solve(*system[0], **system[1])


def triangular_system(
    instruction: Instruction, defs: Definitions
) -> tuple[tuple[Value, Value], dict[str, Any]] | None:
    """The operands and attributes of the ``triangular_solve`` that an ``lu_solve`` is; None where it is
    none."""
    a, right = instruction.operands[0], instruction.operands[3]
    swapped = (*range(len(a.shape) - 2), len(a.shape) - 1, len(a.shape) - 2)
    turned = conjugated = False
    while (view := defs.get(a)) is not None and view.op.name in ("transpose", "conj"):
        if view.op.name == "conj":
            conjugated = not conjugated
        elif view.attrs["perm"] == swapped:
            turned = not turned
        else:
            return None
        a = view.operands[0]
    factor = defs.get(a)
    if factor is None:
        return None
    if factor.op.name == "where":
        triangle = _triangle(factor, defs)
    else:
        is_r = factor.op.name == "qr" and a is factor.results[-1]
        triangle = "lower" if factor.op.name == "cholesky" else "upper" if is_r else ""
    if not triangle:
        return None
    attrs = instruction.attrs
    return (a, right), {
        "lower": triangle == "lower",
        "transpose": attrs["transpose"] is not turned,
        "conjugate": attrs["conjugate"] is not conjugated,
        "unit_diagonal": False,
        "on_singular": attrs["on_singular"],
    }


def _triangle(choice: Instruction, defs: Definitions) -> str:
    """The triangle that a ``where`` keeps when it sets the other one to zero: "lower" or "upper", else
    empty."""
    mask, _, other = choice.operands
    if constant_of(other, defs) != 0:
        return ""
    compared = _behind_broadcasts(mask, defs)
    if compared is None or compared.op.name not in ("lt", "le", "gt", "ge"):
        return ""
    counters = [_behind_broadcasts(operand, defs) for operand in compared.operands]
    if any(counter is None or counter.op.name != "iota" for counter in counters):
        return ""
    # axes from the end: 1 is that of columns
    axes = [len(each.attrs["shape"]) - each.attrs["axis"] for each in counters if each is not None]
    if sorted(axes) != [1, 2]:
        return ""
    column_is_less = (axes[0] == 1) is (compared.op.name in ("lt", "le"))
    return "lower" if column_is_less else "upper"


def _behind_broadcasts(value: Value, defs: Definitions) -> Instruction | None:
    """The definition of `value`, looking through broadcasts to more leading axes."""
    definition = defs.get(value)
    while definition is not None and definition.op.name == "broadcast":
        inner = definition.operands[0]
        if inner.shape[-2:] != value.shape[-2:]:
            return None
        value, definition = inner, defs.get(inner)
    return definition
