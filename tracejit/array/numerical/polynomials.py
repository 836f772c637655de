"""Polynomials, as lines of coefficients of which that of the highest power is the first."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from ...base.errors import DomainError, ShapeError
from ...ir.dtypes import FLOAT64, complex_dtype, is_complex
from ...provided import NAMESPACE
from ...tensors.tensor import Tensor
from ..contraction import matmul
from ..creation import zeros_like
from ..indexing.access import getitem
from ..joining import atleast_1d, concatenate, stack
from ..manipulation import expand_dims
from ..operands import (
    as_tensor,
    cast,
    filled,
    floating,
    promoted_arrays,
    real_where_known,
    run,
    sliced,
)
from ..reducing import averaged
from ..reductions import sum
from .convolution import convolve

#: The largest number of powers: each of them is an operation in the program.
_MAX_POWERS: Final = 1024


def _line(name: str, value: Any) -> Tensor:
    line = atleast_1d(as_tensor(value))
    assert isinstance(line, Tensor)
    if line.ndim != 1:
        raise ShapeError(f"{name}: expected a line of coefficients, got shape {line.shape}")
    return line


def polyval(p: Any, x: Any) -> Tensor:
    """The value at each element of `x` of the polynomial with the coefficients `p`, by Horner's rule.

    Example:
        >>> import tracejit as tj
        >>> tj.polyval([3.0, 0.0, 1.0], [5.0, 2.0])
        tensor([76., 13.])

    Semantics: ``numpy.polyval``.
    """
    coefficients, x = promoted_arrays(_line("polyval", p), x)
    value = zeros_like(x)
    for place in range(coefficients.shape[0]):
        value = run("add", run("mul", value, x), getitem(coefficients, place))
    return value


def _same_length(name: str, p: Any, q: Any) -> list[Tensor]:
    lines = promoted_arrays(_line(name, p), _line(name, q))
    most = max(line.shape[0] for line in lines)
    return [
        line if line.shape[0] == most else concatenate([filled(0, (most - line.shape[0],), line.dtype), line])
        for line in lines
    ]


def polyadd(p: Any, q: Any) -> Tensor:
    """The coefficients of the sum of two polynomials.

    Example:
        >>> import tracejit as tj
        >>> tj.polyadd([1, 2], [9, 5, 4])
        tensor([9, 6, 6])

    Raises ShapeError. Semantics: ``numpy.polyadd``.
    """
    return run("add", *_same_length("polyadd", p, q))


def polysub(p: Any, q: Any) -> Tensor:
    """The coefficients of the difference of two polynomials.

    Example:
        >>> import tracejit as tj
        >>> tj.polysub([2, 10, -2], [3, 10, -4])
        tensor([-1,  0,  2])

    Raises ShapeError. Semantics: ``numpy.polysub``.
    """
    return run("sub", *_same_length("polysub", p, q))


def polymul(p: Any, q: Any) -> Tensor:
    """The coefficients of the product of two polynomials.

    Zeros in front are left out eagerly; under a trace they stay, as the length is known.

    Example:
        >>> import tracejit as tj
        >>> tj.polymul([1, 2, 3], [9, 5, 1])
        tensor([ 9, 23, 38, 17,  3])

    Raises ShapeError. Semantics: ``numpy.polymul``.
    """
    return convolve(_trimmed(_line("polymul", p)), _trimmed(_line("polymul", q)))


def _trimmed(line: Tensor) -> Tensor:
    """`line` without the zeros in front, where it is known how many there are."""
    if line.is_traced or not line.size:
        return line
    values = line.detach().numpy()
    first = int(np.argmax(values != 0)) if values.any() else line.size - 1
    return sliced(line, 0, first, line.size - first)


def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """The coefficients of the quotient and of the remainder of two polynomials.

    Leading zeros of the remainder are left out eagerly; under a trace they stay, as its length is known.

    Example:
        >>> import tracejit as tj
        >>> tj.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
        (tensor([1.5 , 1.75]), tensor([0.25]))

    Raises ShapeError. Semantics: ``numpy.polydiv``.
    """
    dividend, divisor = [
        floating(tensor) for tensor in promoted_arrays(_line("polydiv", u), _line("polydiv", v))
    ]
    steps = dividend.shape[0] - divisor.shape[0] + 1
    scale = run("div", 1.0, getitem(divisor, 0))
    rest, quotient = dividend, []
    for place in range(max(steps, 0)):
        factor = run("mul", scale, getitem(rest, place))
        quotient.append(factor)
        part = run("sub", sliced(rest, 0, place, divisor.shape[0]), run("mul", factor, divisor))
        rest = concatenate(
            [
                sliced(rest, 0, 0, place),
                part,
                sliced(rest, 0, place + divisor.shape[0], rest.shape[0] - place - divisor.shape[0]),
            ]
        )
    whole = stack(quotient) if quotient else filled(0, (1,), dividend.dtype)
    if rest.is_traced:
        kept = max(steps, 0) if steps > 0 and divisor.shape[0] > 1 else 0
    else:
        small = np.abs(rest.detach().numpy()) <= 1e-8  # what numpy.allclose takes for zero
        kept = int(np.argmin(small)) if not small.all() else rest.shape[0] - 1
    return whole, sliced(rest, 0, kept, rest.shape[0] - kept)


def polyder(p: Any, m: int = 1) -> Tensor:
    """The coefficients of the `m`-th derivative.

    Example:
        >>> import tracejit as tj
        >>> tj.polyder([1, 1, 1, 1])
        tensor([3, 2, 1])

    Raises DomainError for negative `m`. Semantics: ``numpy.polyder``.
    """
    order = operator.index(m)
    if order < 0:
        raise DomainError(f"polyder: m must not be negative, got {order}")
    line = _line("polyder", p)
    for _ in range(min(order, line.shape[0] + 1)):
        degree = line.shape[0] - 1
        line = sliced(line, 0, 0, max(degree, 0))
        line = run("mul", line, as_tensor(np.arange(degree, 0, -1)))
    return line


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The coefficients of the `m`-th antiderivative, with the constants of integration `k` (0).

    Example:
        >>> import tracejit as tj
        >>> tj.polyint([3.0, 2.0, 1.0])
        tensor([1., 1., 1., 0.])

    Raises DomainError for negative `m`. Semantics: ``numpy.polyint``.
    """
    order = operator.index(m)
    if order < 0:
        raise DomainError(f"polyint: m must not be negative, got {order}")
    if order > _MAX_POWERS:
        raise DomainError(f"polyint: m must be at most {_MAX_POWERS}, got {order}")
    line = _line("polyint", p)
    constants = filled(0.0, (order,), FLOAT64) if k is None else _line("polyint", k)
    if constants.shape[0] == 1 and order > 1:
        constants = concatenate([constants] * order)
    if constants.shape[0] < order:
        raise ShapeError(f"polyint: k must be a number or have {order} constants, got {constants.shape[0]}")
    for place in range(order):
        powers = as_tensor(np.arange(line.shape[0], 0, -1))
        divided = run("div", line, powers)
        line = concatenate([divided, cast(sliced(constants, 0, place, 1), divided.dtype)])
    return line


def poly(seq_of_zeros: Any) -> Tensor:
    """The coefficients of the polynomial with these zeros, the first of them 1; or of a matrix's eigenvalues.

    Eagerly they are real where each complex zero has its conjugate.

    Example:
        >>> import tracejit as tj
        >>> tj.poly([1.0, 2.0])
        tensor([ 1., -3.,  2.])

    Raises ShapeError unless `seq_of_zeros` has rank 1 or is a square matrix. Semantics: ``numpy.poly``.
    """
    zeros = as_tensor(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] > 0:
        zeros = run("eigvals", floating(zeros))
    zeros = averaged(_line("poly", zeros), None)
    if not zeros.shape[0]:
        return filled(1.0, (), FLOAT64)
    coefficients = filled(1, (1,), zeros.dtype)
    for place in range(zeros.shape[0]):
        shifted = concatenate([coefficients, filled(0, (1,), zeros.dtype)])
        product = run("mul", coefficients, getitem(zeros, place))
        coefficients = run("sub", shifted, concatenate([filled(0, (1,), zeros.dtype), product]))
    if is_complex(zeros.dtype) and not zeros.is_traced:
        values = np.sort(zeros.detach().numpy())
        if np.array_equal(values, np.sort(values.conj())):
            return run("real", coefficients)
    return coefficients


def roots(p: Any) -> Tensor:
    """The zeros of the polynomial with the coefficients `p`: the eigenvalues of its companion matrix.

    Eagerly, zeros in front are left out, those at the end are as many roots 0, and the result is real where
    all roots are. Under a trace nothing of that is known: the result is complex, with a root for each
    coefficient but the first, and a first coefficient 0 is an error.

    Example:
        >>> import tracejit as tj
        >>> tj.roots([1.0, 0.0, 4.0])
        tensor([-0.+2.j,  0.-2.j])

    Raises ShapeError unless `p` has rank 1, LinAlgError for NaN and infinities. Semantics: ``numpy.roots``.
    """
    line = averaged(_line("roots", p), None)
    count = line.shape[0]
    at_zero = 0
    if not line.is_traced:
        places = np.flatnonzero(line.detach().numpy())
        if not places.size:
            return filled(0.0, (0,), FLOAT64)
        at_zero = count - 1 - int(places[-1])
        count = int(places[-1] - places[0]) + 1
        line = sliced(line, 0, int(places[0]), count)
    if count < 2:
        return filled(0.0, (at_zero,), complex_dtype(line.dtype) if line.is_traced else FLOAT64)
    first = run("div", sliced(line, 0, 1, count - 1), run("neg", getitem(line, 0)))
    below = as_tensor(np.eye(count - 2, count - 1, dtype=line.dtype))
    values = run("eigvals", concatenate([expand_dims(first, 0), below]))
    if not is_complex(line.dtype):
        (values,) = real_where_known(values)
    return concatenate([values, filled(0.0, (at_zero,), values.dtype)]) if at_zero else values


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix of the powers of the line `x`, from N - 1 down to 0, or up with `increasing`.

    Example:
        >>> import tracejit as tj
        >>> tj.vander([1, 2, 3], 3)
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])

    Raises ShapeError unless `x` has rank 1. Semantics: ``numpy.vander``.
    """
    line = as_tensor(x)
    if line.ndim != 1:
        raise ShapeError(f"vander: expected a line of rank 1, got shape {line.shape}")
    count = line.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ShapeError(f"vander: N must not be negative, got {count}")
    if count > _MAX_POWERS:
        raise ShapeError(f"vander: N must be at most {_MAX_POWERS}, got {count}")
    dtype = np.promote_types(line.dtype, np.int64)
    line = cast(line, dtype)
    columns = [filled(1, line.shape, line.dtype)]
    for _ in range(count - 1):
        columns.append(run("mul", columns[-1], line))
    columns = columns[: max(count, 0)]
    if not columns:
        return filled(0, (line.shape[0], 0), line.dtype)
    return stack(columns if increasing else columns[::-1], 1)


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The coefficients of the polynomial of degree `deg` that fits the points (x, y) best, by least squares.

    `y` may have several columns; `w` are weights of the residuals. Of several polynomials that fit alike it
    is the one whose coefficients are least, as for points that are too few or the same; there singular values
    up to `rcond` times the largest count as 0. With `full`, also the residuals, the rank, the singular values
    and `rcond`; with `cov`, also the covariance matrix of the coefficients, scaled by the residuals unless it
    is ``"unscaled"``.

    Example:
        >>> import tracejit as tj
        >>> tj.polyfit([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 7.0, 13.0], 2)
        tensor([1., 1., 1.])

    Raises ShapeError and DomainError. Semantics: ``numpy.polyfit``, without its warning of points that do not
    tell the polynomial.
    """
    degree = operator.index(deg)
    if not 0 <= degree < _MAX_POWERS:
        raise DomainError(f"polyfit: deg must be from 0 to {_MAX_POWERS - 1}, got {degree}")
    points, values = [cast(averaged(operand, None), FLOAT64) for operand in (x, y)]
    if points.ndim != 1 or points.shape[0] == 0:
        raise ShapeError(f"polyfit: expected a line of points, got shape {points.shape}")
    count = points.shape[0]
    if values.ndim not in (1, 2) or values.shape[0] != count:
        raise ShapeError(f"polyfit: y of shape {values.shape} does not fit {count} points")
    columns = vander(points, degree + 1)
    if w is not None:
        weights = cast(averaged(w, None), FLOAT64)
        if weights.shape != points.shape:
            raise ShapeError(f"polyfit: w must have shape {points.shape}, got {weights.shape}")
        columns = run("mul", columns, expand_dims(weights, 1))
        values = run("mul", values, weights if values.ndim == 1 else expand_dims(weights, 1))
    scale = run("sqrt", sum(run("square", columns), 0))
    scaled, linalg = run("div", columns, scale), NAMESPACE().linalg
    tolerance = count * float(np.finfo(FLOAT64).eps) if rcond is None else rcond
    solution = linalg.lstsq(scaled, values, tolerance)
    coefficients = run("div", solution.x, scale if values.ndim == 1 else expand_dims(scale, 1))
    if full:
        return coefficients, solution.residuals, solution.rank, solution.s, tolerance
    if not (cov if isinstance(cov, str) else bool(cov)):
        return coefficients
    inverse = linalg.inv(matmul(run("transpose", scaled, perm=(1, 0)), scaled))
    spread = run("div", run("div", inverse, expand_dims(scale, 1)), scale)
    if cov != "unscaled":
        free = count - (degree + 1)
        if free <= 0:
            raise DomainError(f"polyfit: {count} points are too few to scale the covariance matrix")
        residuals = sum(run("square", run("sub", values, matmul(columns, coefficients))), 0)
        factor = run("div", residuals, float(free))
        spread = run("mul", spread if values.ndim == 1 else expand_dims(spread, 2), factor)
    return coefficients, spread
