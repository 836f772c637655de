"""The exponential of square matrices, and its derivatives."""

from __future__ import annotations

import functools
import math
from typing import Any, Final, NamedTuple

import numpy as np

from ...array.contraction import matmul
from ...array.operands import is_tracing, reshaped, run
from ...base.records import record
from ...control.branches import cond
from ...control.loops import fori_loop
from ...ir.dtypes import COMPLEX64, FLOAT32, INT64
from ...linalg.operands import identity, square_matrices
from ...tensors.tensor import Tensor
from ...transforms.custom.vjp import custom_vjp


@record
class _Limits:
    """The range of norms for which the polynomial is exact in a dtype.

    Attributes:
        truncation: the largest norm for which the terms that are left out are no more than rounding.
        range: the largest norm whose sixth power does not overflow.
    """

    truncation: float
    range: float


#: Source: Bader, Blanes and Casas 2019, table 1. It has 3.01 for single precision: rounding loses more there.
_LIMITS: Final = {"float64": _Limits(1.09, 2.0**150), "float32": _Limits(2.0, 2.0**18)}

#: The Taylor polynomial of degree 18 in five products: of the rows, which are multiples of 1, x, x^2, x^3 and
#: x^6, `p` is ``1 + (2 + q) q`` with ``q = 0 4 + 3``.
#: Source: Bader, Blanes and Casas 2019, Computing the matrix exponential with an optimized Taylor polynomial
#: approximation, equation 14.
_POLYNOMIAL: Final = (
    (0.0, -0.100365581030144618291, -0.00802924648241156932449, -0.000892138498045729985177, 0.0),
    (0.0, 0.397849749499645077844, 1.36783778460411720168, 0.498289622525382669416,
     -0.000637898194594723280150),
    (-10.9676396052962061844, 1.68015813878906206114, 0.0571779846478865511061, -0.00698210122488052056106,
     0.0000334975017086070470649),
    (-0.0904316832390810593223, -0.0676404519071381882256, 0.0675961301770459654925, 0.0295552570429315521194,
     -0.0000139180257516060693404),
    (0.0, 0.0, -0.0923364619367118555360, -0.0169364939002081722752, -0.0000140086798182036094347),
)  # fmt: skip
_POWERS: Final = (0, 1, 2, 3, 6)
_DEGREE: Final = 18

#: Squarings beyond which every entry overflows or is exact.
_MAX_SQUARINGS: Final = 1100
#: The norm up to which rounding loses no more than some three bits.
_ROUNDING: Final = 2.18
#: Squarings by which a matrix far from normal loses no more than three bits.
_FEW_SQUARINGS: Final = 3.0
#: Rows from which the spectral norm is asked for. The norm by columns is up to the root of the rows as large,
#: and a squaring costs as much as two products in float32.
_MANY_ROWS: Final = 32


@custom_vjp
def _expm(a: Any) -> Any:
    return _exponential((a,), _halvings(a))[0]


def _expm_forward(a: Any) -> Any:
    halvings = _halvings(a)
    return _exponential((a,), halvings)[0], (a, *halvings)


def _expm_backward(residuals: Any, ct: Any) -> Any:
    """The adjoint of the Frechet derivative L(a, .) is ``L(a^T, ct) = L(a, ct^T)^T``: the same halvings and
    powers of a as in the forward pass."""
    a, *halvings = residuals
    perm = (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
    pair = (a, run("transpose", ct, perm=perm))
    derivative = _exponential(pair, _Halvings(*halvings), derivative_alone=True)[1]
    return (run("transpose", derivative, perm=perm),)


_expm.defvjp(_expm_forward, _expm_backward)

#: A matrix, or one with its direction: a product follows the product rule.
_Pair = tuple[Any, ...]


class _Halvings(NamedTuple):
    """The number of halvings of each matrix."""

    #: Halvings before the powers are computed, so that they do not overflow: mostly 0.
    before: Any
    #: Halvings after the powers are computed.
    after: Any


def _product(x: _Pair, y: _Pair) -> _Pair:
    if len(x) == 1:
        return (matmul(x[0], y[0]),)
    return matmul(x[0], y[0]), matmul(x[0], y[1]) + matmul(x[1], y[0])


def _sum(x: _Pair, y: _Pair) -> _Pair:
    return tuple([part + other for part, other in zip(x, y, strict=True)])


def _norm(a: Any) -> Any:
    """The largest sums of sizes of a column."""
    return run("max", run("sum", run("abs", a.detach()), axes=(a.ndim - 2,)), axes=(a.ndim - 2,))


def _halved(a: Any, times: Any) -> Any:
    return a * reshaped(run("exp2", -times), (*times.shape, 1, 1))


def _powers(x: _Pair) -> tuple[_Pair, _Pair, _Pair, _Pair]:
    """x, its square, its cube, and the square of that."""
    square = _product(x, x)
    cube = _product(square, x)
    return x, square, cube, _product(cube, cube)


def _exponential(x: _Pair, halvings: _Halvings, *, derivative_alone: bool = False) -> _Pair:
    """exp of a matrix and, of a pair, its derivative in a direction, by scaling and squaring.

    Where the derivative is needed alone, the exponential is not squared for the last time.

    Source: Al-Mohy and Higham 2009, Computing the Frechet derivative of the matrix exponential.
    """
    if x[0].size == 0:
        return x
    before, after = halvings
    exponential = _polynomial(_powers(tuple([_halved(part, before) for part in x])), after)
    squarings = run("cast", before + after, dtype=INT64)
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


def _polynomial(powers: tuple[_Pair, ...], halvings: Any) -> _Pair:
    """The Taylor polynomial of degree 18, of what has these `powers`, halved."""
    unit = identity(powers[0][0], powers[0][0].shape[-1])
    scales = [
        reshaped(run("exp2", -halvings * float(power)), (*halvings.shape, 1, 1)) for power in _POWERS[1:]
    ]
    scaled = [tuple([part * by for part in x]) for x, by in zip(powers, scales, strict=True)]

    def combined(constant: float, *factors: float) -> _Pair:
        """The sum of multiples of the powers."""
        terms = [(factor, x) for factor, x in zip(factors, scaled, strict=True) if factor]
        parts = [
            sum((by * x[i] for by, x in terms[1:]), terms[0][0] * terms[0][1][i])
            for i in range(len(powers[0]))
        ]
        if constant:
            parts[0] = parts[0] + constant * unit
        return tuple(parts)

    rows = [combined(*row) for row in _POLYNOMIAL]
    inner = _sum(_product(rows[0], rows[4]), rows[3])
    return _sum(_product(_sum(rows[2], inner), inner), rows[1])


def _halvings(a: Any) -> _Halvings:
    """The number of halvings of each of `a` for which the polynomial is exact.

    Truncation is bounded by the norms of the powers that the polynomial needs. Rounding is by the size of the
    matrix: by its norm by columns, or the spectral one. Of what is far from normal, both are by the sizes of
    elements of high powers.

    Source: Al-Mohy and Higham 2009, A new scaling and squaring algorithm for the matrix exponential.
    """
    a = a.detach()
    limits = _LIMITS[np.dtype(np.finfo(a.dtype).dtype).name]
    if a.size == 0:
        zero = run("full", value=0.0, shape=tuple(a.shape[:-2]), dtype=np.dtype(np.finfo(a.dtype).dtype))
        return _Halvings(zero, zero)
    norm = _norm(a)
    norm = run("where", run("isfinite", norm), norm, 0.0)  # of what is not finite nothing is
    before = run("ceil", run("log2", run("maximum", norm / limits.range, 1.0)))
    x, norm = _halved(a, before), norm * run("exp2", -before)
    powers = _powers((x,))
    least = _by_powers(norm, *[_norm(power) for (power,) in powers[1:]]) - float(np.log2(limits.truncation))
    least = run("ceil", run("where", run("isfinite", least), least, 0.0))
    least = run("maximum", least, -before)

    def by_size(norm: Any) -> Any:
        more = run("ceil", run("log2", run("maximum", norm / _ROUNDING, 1.0)))
        return run("maximum", more, least)

    def by_spectral_norm(x: Any, after: Any) -> Any:
        return run("minimum", after, by_size(_spectral_bound(x, _norm(x))))

    def by_elements(x: Any, after: Any) -> Any:
        size, rounding = _by_elements(x)
        fewer = run("minimum", least, run("ceil", size - float(np.log2(limits.truncation))))
        fewer = run("maximum", fewer, run("minimum", after, rounding))
        return run("where", after - least > _FEW_SQUARINGS, fewer, after)

    after = by_size(norm)
    if a.shape[-1] >= _MANY_ROWS:
        after = _where_any(after > least, by_spectral_norm, x, after)
    after = _where_any(after - least > _FEW_SQUARINGS, by_elements, x, after)
    return _Halvings(before, run("minimum", after, float(_MAX_SQUARINGS)))


def _where_any(condition: Any, refine: Any, x: Any, after: Any) -> Any:
    """``refine(x, after)`` where `condition` is true of any matrix."""
    is_any = run("any", condition, axes=tuple(range(condition.ndim)))
    if is_tracing():
        return cond(is_any, refine, lambda x, after: after, x, after)
    return refine(x, after) if is_any else after


def _log2(norm: Any) -> Any:
    return run("log2", run("maximum", norm, float(np.finfo(norm.dtype).tiny)))


def _largest(*values: Any) -> Any:
    return functools.reduce(lambda x, y: run("maximum", x, y), values)


def _by_powers(norm: Any, square: Any, cube: Any, sixth: Any) -> Any:
    """The logarithm of what takes the part of the norm in all terms that are left out: of the roots of norms
    of powers from 19 on, bounded by products of those of `norm`, the `square`, the `cube` and the `sixth`
    power. From 25 on there is one more sixth power in the product, and so nothing new."""
    one, two, three, six = (_log2(x) for x in (norm, square, cube, sixth))
    thrice = 3.0 * six
    return _largest(
        six / 6.0,
        run("minimum", thrice + one, 2.0 * six + three + 2.0 * two) / 19.0,
        (thrice + two) / 20.0,
        (thrice + three) / 21.0,
        (thrice + run("minimum", 2.0 * two, three + one)) / 22.0,
        (thrice + three + two) / 23.0,
    )


def _spectral_bound(a: Any, norm: Any) -> Any:
    """An upper bound of the largest singular value of matrices with the given column `norm`: the root of the
    column norm of ``a^H a``. Rounding does not grow faster than with this bound.

    The product is computed in single precision, scaled to a norm near 1; a factor bounds its rounding.
    """
    shift = run("ceil", run("log2", run("maximum", norm, 1.0)))
    x = run("cast", _halved(a, shift), dtype=COMPLEX64 if a.dtype.kind == "c" else FLOAT32)
    turned = run("transpose", x, perm=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    square = _norm(matmul(run("conj", turned) if a.dtype.kind == "c" else turned, x))
    rounding = 1.0 + 2.0 * a.shape[-1] * float(np.finfo(np.float32).eps)
    return run("exp2", shift) * run("sqrt", run("cast", square, dtype=norm.dtype) * rounding)


def _by_elements(a: Any) -> tuple[Any, Any]:
    """The logarithm of what takes the part of the norm, as `_by_powers`, and how often to halve for the terms
    that are left out to be no more than rounding, equation 4.7 of the source of `_halvings`: both by the
    first two such terms, were all elements positive."""
    sizes = run("abs", a)
    row = run("sum", sizes, axes=(a.ndim - 2,))
    row = reshaped(row, (*row.shape[:-1], 1, row.shape[-1]))
    size = first = _log2(run("max", row, axes=(a.ndim - 2, a.ndim - 1)))
    roots, halvings = [], [first * 0.0]
    for power in range(2, _DEGREE + 3):
        # of a row near 1, which neither overflows nor vanishes
        largest = run("maximum", run("max", row, axes=(a.ndim - 1,)), float(np.finfo(row.dtype).tiny))
        row = matmul(row / reshaped(largest, (*largest.shape, 1)), sizes)
        size = size + _log2(run("max", row, axes=(a.ndim - 2, a.ndim - 1)))
        if power > _DEGREE:
            roots.append(size / float(power))
            error = size - first - float(np.log2(math.factorial(power) * np.finfo(row.dtype).eps)) + 1.0
            halvings.append(run("ceil", error / float(power - 1)))
    return _largest(*roots), _largest(*halvings)


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
    result: Tensor = _expm(a)
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
    value, slope = _exponential((a, square_matrices(name, E, "E")), _halvings(a))
    return (value, slope) if compute_expm else slope
