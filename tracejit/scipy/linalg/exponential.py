"""The exponential of square matrices, and its derivatives."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...array.contraction import matmul
from ...array.operands import is_tracing, reshaped, run
from ...control.branches import cond
from ...control.loops import fori_loop
from ...eager.tensor import Tensor
from ...ir.dtypes import COMPLEX64, FLOAT32, INT64
from ...ir.records import record
from ...linalg.operands import identity, square_matrices
from ...linalg.solutions import solve
from ...transforms.custom.vjp import custom_vjp


@record
class _Pade:
    """A diagonal Pade approximant of exp.

    Attributes:
        limit: the largest norm for which it is as exact as the dtype.
        numerator: the coefficients of the numerator, from the constant one.
        thirds: a third of the power of its first error term, 2 m + 1.
        error: the coefficient of that, m!^2 / ((2 m)! (2 m + 1)!).
    """

    limit: float
    numerator: tuple[float, ...]
    thirds: int
    error: float


#: Source: Higham 2005, The scaling and squaring method for the matrix exponential, table 2.3.
_PADE: Final = {
    "float64": _Pade(
        5.371920351148152,
        (
            64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
            129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
            960960.0, 16380.0, 182.0, 1.0,
        ),
        9,
        8.829961602018678e-36,
    ),
    "float32": _Pade(
        3.925724783138660,
        (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
        5,
        2.2281945605535596e-16,
    ),
}  # fmt: skip
#: Squarings beyond which every entry overflows or is exact.
_MOST_SQUARINGS: Final = 1100


#: Squarings by which a matrix far from normal loses no more than three bits.
_FEW_SQUARINGS: Final = 3.0
#: Rows from which the spectral norm is asked for. The norm by columns is up to the root of the rows as large,
#: and a squaring costs as much as two products in float32.
_MANY_ROWS: Final = 32


@custom_vjp
def _expm(a: Any, halvings: Any) -> Any:
    return _scaled_and_squared((a,), halvings)[0]


def _expm_forward(a: Any, halvings: Any) -> Any:
    return _expm(a, halvings), (a, halvings)


def _expm_backward(residuals: Any, ct: Any) -> Any:
    """The adjoint of the Frechet derivative L(a, .) is ``L(a^T, ct) = L(a, ct^T)^T``: the same halvings,
    powers and factors of a as in the forward pass."""
    a, halvings = residuals
    perm = (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
    pair = (a, run("transpose", ct, perm=perm))
    derivative = _scaled_and_squared(pair, halvings, derivative_alone=True)[1]
    return run("transpose", derivative, perm=perm), 0.0 * halvings


_expm.defvjp(_expm_forward, _expm_backward)

#: A matrix, or one with its direction: a product follows the product rule.
_Pair = tuple[Any, ...]


def _product(x: _Pair, y: _Pair) -> _Pair:
    if len(x) == 1:
        return (matmul(x[0], y[0]),)
    return matmul(x[0], y[0]), matmul(x[0], y[1]) + matmul(x[1], y[0])


def _combined(terms: list[tuple[float, _Pair]]) -> _Pair:
    """The sum of multiples."""
    length = len(terms[0][1])
    return tuple(
        [sum((factor * x[i] for factor, x in terms[1:]), terms[0][0] * terms[0][1][i]) for i in range(length)]
    )


def _norm(a: Any) -> Any:
    """The largest sums of sizes of a column."""
    return run("max", run("sum", run("abs", a.detach()), axes=(a.ndim - 2,)), axes=(a.ndim - 2,))


def _scaled_and_squared(x: _Pair, raw: Any, *, derivative_alone: bool = False) -> _Pair:
    """exp of a matrix and, of a pair, its derivative in a direction, by scaling and squaring.

    Each matrix is halved `raw` times. Where the derivative is needed alone, the exponential is not squared
    for the last time.

    Sources: Al-Mohy and Higham 2009, A new scaling and squaring algorithm for the matrix exponential, and
    Computing the Frechet derivative of the matrix exponential.
    """
    if x[0].size == 0:
        return x
    pade = _pade_of(x[0])
    scale = reshaped(run("exp2", -raw), (*raw.shape, 1, 1))
    exponential = _approximant(tuple([part * scale for part in x]), pade.numerator)
    squarings = run("cast", raw, dtype=INT64)
    counts = reshaped(squarings, (*squarings.shape, 1, 1))
    most = run("max", reshaped(squarings, (squarings.size,)), axes=(0,))

    def square(step: Any, value: Any) -> Any:
        squared = _product(value, value)
        more = run("gt", counts, step)
        return tuple([run("where", more, new, old) for new, old in zip(squared, value, strict=True)])

    def square_late(step: Any, value: Any) -> Any:
        """The exponential, whose last squaring is due, and the derivative."""
        x, slope = value
        more = run("gt", counts, step)

        def squared(x: Any) -> Any:
            return run("where", more, matmul(x, x), x)

        if is_tracing():
            x = cond(step > 0, squared, lambda x: x, x)
        elif step:
            x = squared(x)
        return x, run("where", more, matmul(x, slope) + matmul(slope, x), slope)

    if derivative_alone:
        square = square_late

    if is_tracing():
        result: _Pair = fori_loop(0, most, square, exponential)
        return result
    for step in range(int(most)):
        exponential = square(step, exponential)
    return exponential


def _pade_of(a: Any) -> _Pade:
    return _PADE[np.dtype(np.finfo(a.dtype).dtype).name]


def _halvings(a: Any) -> Any:
    """How often each of `a` has to be halved for the approximant to be exact."""
    pade, a = _pade_of(a), a.detach()
    if a.size == 0:
        return run("full", value=0.0, shape=tuple(a.shape[:-2]), dtype=np.dtype(np.finfo(a.dtype).dtype))
    norm = _norm(a)
    norm = run("where", norm * 0.0 == 0.0, norm, 0.0)
    plain = run("ceil", run("log2", run("maximum", norm / pade.limit, 1.0)))
    plain = run("minimum", plain, float(_MOST_SQUARINGS))

    def by_spectral_norm(a: Any, norm: Any, plain: Any) -> Any:
        spectral = run("minimum", norm, _spectral_bound(a, norm))
        fewer = run("ceil", run("log2", run("maximum", spectral / pade.limit, 1.0)))
        return run("where", plain > 0.0, run("minimum", plain, fewer), plain)

    def by_powers(a: Any, norm: Any, plain: Any) -> Any:
        return run("where", plain > _FEW_SQUARINGS, _fewest_halvings(a, norm, pade), plain)

    if a.shape[-1] >= _MANY_ROWS:
        plain = _where_any(0.0, by_spectral_norm, a, norm, plain)
    return _where_any(_FEW_SQUARINGS, by_powers, a, norm, plain)


def _where_any(least: float, refine: Any, a: Any, norm: Any, plain: Any) -> Any:
    """``refine(a, norm, plain)`` where any of `plain` is more than `least`."""
    is_more = run("any", plain > least, axes=tuple(range(plain.ndim)))
    if is_tracing():
        return cond(is_more, refine, lambda a, norm, plain: plain, a, norm, plain)
    return refine(a, norm, plain) if is_more else plain


def _spectral_bound(a: Any, norm: Any) -> Any:
    """At least the largest singular value, of matrices whose `norm` by columns is known: the root of that
    norm of ``a^H a``. The backward error of the approximant is bounded in any norm of operators, and
    rounding does not grow with this one, other than with norms of powers.

    In single precision, of what has a norm near 1; the factor bounds its rounding.
    """
    shift = run("ceil", run("log2", run("maximum", norm, 1.0)))
    x = a * reshaped(run("exp2", -shift), (*shift.shape, 1, 1))
    x = run("cast", x, dtype=COMPLEX64 if a.dtype.kind == "c" else FLOAT32)
    turned = run("transpose", x, perm=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    square = _norm(matmul(run("conj", turned) if a.dtype.kind == "c" else turned, x))
    rounding = 1.0 + 2.0 * a.shape[-1] * float(np.finfo(np.float32).eps)
    return run("exp2", shift) * run("sqrt", run("cast", square, dtype=norm.dtype) * rounding)


def _fewest_halvings(a: Any, norm: Any, pade: _Pade) -> Any:
    """The same by the norms of powers, which tell the size of a matrix that is far from normal better.

    Rounding does not follow them, and so the sizes of elements are asked, too: algorithm 5.1 and equation 4.7
    of the first source, with the cube of the norm of the third part of a power.
    """
    # powers of what has a norm near 1, which cannot overflow
    shift = run("ceil", run("log2", run("maximum", norm, 1.0)))
    x = a * reshaped(run("exp2", -shift), (*shift.shape, 1, 1))
    tiny = float(np.finfo(x.real.dtype).tiny)

    def log2(norm: Any) -> Any:
        return run("log2", run("maximum", norm, tiny))

    x2 = matmul(x, x)
    x4 = matmul(x2, x2)
    powers = ((x4, 4), (matmul(x4, x2), 6), (matmul(x4, x4), 8))
    roots = [log2(_norm(power)) / number for power, number in powers]
    size = run("minimum", run("maximum", roots[0], roots[1]), run("maximum", roots[1], roots[2]))
    halvings = run("maximum", run("ceil", size - float(np.log2(pade.limit))), -shift)
    sizes = run("abs", x)
    row = run("sum", sizes, axes=(x.ndim - 2,))
    first = log2(run("max", row, axes=(row.ndim - 1,)))
    row = reshaped(row, (*row.shape[:-1], 1, row.shape[-1]))
    for _ in range(pade.thirds - 1):
        row = matmul(row, sizes)
    third, power = log2(run("max", row, axes=(row.ndim - 2, row.ndim - 1))), 3 * pade.thirds - 1
    error = 3.0 * third - first - power * halvings
    error = error + float(np.log2(pade.error / np.finfo(x.real.dtype).eps)) + 1.0
    halvings = shift + halvings + run("maximum", run("ceil", error / power), 0.0)
    return run("minimum", halvings, float(_MOST_SQUARINGS))


def _approximant(x: _Pair, c: tuple[float, ...]) -> _Pair:
    """The diagonal approximant: (v - u)^-1 (v + u), with the odd terms u and the even ones v."""
    unit = identity(x[0], x[0].shape[-1])
    unit_pair = (unit,) if len(x) == 1 else (unit, 0.0 * x[1])
    x2 = _product(x, x)
    x4 = _product(x2, x2)
    x6 = _product(x4, x2)
    if len(c) == 8:
        u = _product(x, _combined([(c[7], x6), (c[5], x4), (c[3], x2), (c[1], unit_pair)]))
        v = _combined([(c[6], x6), (c[4], x4), (c[2], x2), (c[0], unit_pair)])
    else:
        high = _product(x6, _combined([(c[13], x6), (c[11], x4), (c[9], x2)]))
        u = _product(x, _combined([(1.0, high), (c[7], x6), (c[5], x4), (c[3], x2), (c[1], unit_pair)]))
        high = _product(x6, _combined([(c[12], x6), (c[10], x4), (c[8], x2)]))
        v = _combined([(1.0, high), (c[6], x6), (c[4], x4), (c[2], x2), (c[0], unit_pair)])
    below, above = _combined([(1.0, v), (-1.0, u)]), _combined([(1.0, v), (1.0, u)])
    quotient = solve(below[0], above[0])
    if len(x) == 1:
        return (quotient,)
    return quotient, solve(below[0], above[1] - matmul(below[1], quotient))


def expm(A: Any) -> Tensor:
    """The exponentials of square matrices, by scaling and squaring.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
        tensor([[1., 1.],
                [0., 1.]])

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``scipy.linalg.expm``.
    """
    a = square_matrices("scipy.linalg.expm", A, "A")
    result: Tensor = _expm(a, _halvings(a))
    return result


def expm_frechet(A: Any, E: Any, compute_expm: bool = True) -> Any:
    """The exponential of `A`, and its derivative at `A` in the direction `E`.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.expm_frechet(tj.zeros((2, 2)), tj.eye(2), compute_expm=False)
        tensor([[1., 0.],
                [0., 1.]])

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``scipy.linalg.expm_frechet``,
    without its choice of methods.
    """
    name = "scipy.linalg.expm_frechet"
    a = square_matrices(name, A, "A")
    value, slope = _scaled_and_squared((a, square_matrices(name, E, "E")), _halvings(a))
    return (value, slope) if compute_expm else slope
