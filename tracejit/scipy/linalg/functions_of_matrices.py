"""Square roots and logarithms of matrices; `exponential` has the third of these functions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...array.contraction import matmul
from ...array.joining import concatenate
from ...array.operands import is_tracing, reshaped, run
from ...control.loops import while_loop
from ...ir.dtypes import INT64
from ...linalg.failures import nan_where, regular
from ...linalg.operands import identity, square_matrices
from ...linalg.solutions import solve
from ...tensors.tensor import Tensor
from ...transforms.custom.vjp import custom_vjp
from .sylvester import solve_sylvester

# -- square roots ---------------------------------------------------------------------------------

#: Steps of Newton's method at most: eigenvalues apart by a factor of 4^n take n steps until they are near 1,
#: where it converges quadratically.
_STEPS: Final = 60


@custom_vjp
def _sqrtm(a: Any) -> Any:
    return _root(a)


def _sqrtm_forward(a: Any) -> Any:
    root = _sqrtm(a)
    return root, root


def _sqrtm_backward(root: Any, ct: Any) -> Any:
    """x dx + dx x = da, transposed; NaN where there is no root."""
    root, failed = regular(root)
    rank = root.ndim
    turned = run("transpose", root, perm=(*range(rank - 2), rank - 1, rank - 2))
    return (nan_where(failed, solve_sylvester(turned, turned, ct)),)


_sqrtm.defvjp(_sqrtm_forward, _sqrtm_backward)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # of matrices that have no root
def _root(a: Any) -> Any:
    """The principal square root by the product form of the Denman-Beavers iteration.

        m = (1 + (m + m^-1) / 2) / 2,    x = x (1 + m^-1) / 2

    Each matrix takes steps until m is 1 up to the root of epsilon, and then one more; of those that do not
    come there, which have negative eigenvalues, the result is NaN.

    Source: Cheng, Higham, Kenney and Laub 2001, Approximating the logarithm of a matrix.
    """
    if a.size == 0:
        return a
    size = a.shape[-1]
    unit = identity(a, size)
    # of norm near 1, where the iteration begins to converge
    norm = run("max", run("sum", run("abs", a.detach()), axes=(a.ndim - 2,)), axes=(a.ndim - 2,))
    norm = run("where", run("gt", norm, 0.0), norm, 1.0)
    scale = reshaped(norm, (*norm.shape, 1, 1))

    near = float(np.sqrt(np.finfo(a.dtype).eps))

    def step(m: Any, x: Any) -> Any:
        inverse = run("inverse", m, *_factors(m), on_singular="ignore")
        new = 0.5 * (unit + 0.5 * (m + inverse))
        return new, matmul(x, 0.5 * (unit + inverse))

    def distance(m: Any) -> Any:
        largest = run("max", run("abs", m - unit), axes=(a.ndim - 2, a.ndim - 1))
        return reshaped(largest, (*largest.shape, 1, 1)) * float(size)

    def goes_on(state: Any) -> Any:
        far = run("gt", distance(state[0]), near)
        return run("logical_and", run("any", far, axes=tuple(range(a.ndim))), run("lt", state[2], _STEPS))

    def iterate(state: Any) -> Any:
        m, x, count = state
        far = run("gt", distance(m), near)
        new = [run("where", far, new, old) for new, old in zip(step(m, x), (m, x), strict=True)]
        return *new, count + 1

    state = (a / scale, a / scale, run("full", value=0, shape=(), dtype=INT64))
    if is_tracing():
        state = while_loop(goes_on, iterate, state)
    else:
        while goes_on(state):
            state = iterate(state)
    m, x, _ = state
    _, root = step(m, x)
    return run("where", run("le", distance(m), near), root * run("sqrt", scale), np.nan)


def _factors(m: Any) -> tuple[Any, Any]:
    lu, _, permutation = run("lu", m.detach())
    return lu, permutation


def sqrtm(A: Any) -> Tensor:
    """The principal square roots of matrices without eigenvalues that are 0 or negative.

    Those of other real matrices are NaN: they have no real principal root. Gradients solve a Sylvester
    equation.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]])
        tensor([[2., 0.],
                [0., 3.]])

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``scipy.linalg.sqrtm``, for real
    roots.
    """
    result: Tensor = _sqrtm(square_matrices("scipy.linalg.sqrtm", A, "A"))
    return result


# -- logarithms -----------------------------------------------------------------------------------

#: The norm of a - 1 up to which the approximant of `_NODES` nodes is as exact as the dtype. Source: Higham,
#: Functions of Matrices (2008), table 11.1.
_NEAR: Final = 0.749
#: Square roots that are taken at most.
_ROOTS: Final = 64
_NODES: Final = 16


@custom_vjp
def _logm(a: Any) -> Any:
    return _by_roots(a)


def _logm_forward(a: Any) -> Any:
    return _logm(a), a


def _logm_backward(a: Any, ct: Any) -> Any:
    """The adjoint of the Frechet derivative at a: the upper right block of log [[a^T, ct], [0, a^T]].

    It is linear in ct, and that at a / s is s times as large: both are of size 1 in the matrix of blocks.
    Source: Higham 2008, Functions of Matrices, equation 3.16.
    """
    size, rank = a.shape[-1], a.ndim
    if a.size == 0:
        return (ct,)
    of_matrix, of_cotangent = _power_of_two(a), _power_of_two(ct)
    turned = run("transpose", a / of_matrix, perm=(*range(rank - 2), rank - 1, rank - 2))
    ct = ct / of_cotangent
    above = concatenate([turned, ct], axis=-1)
    below = concatenate([0.0 * ct, turned], axis=-1)
    derivative = _logm(concatenate([above, below], axis=-2))[..., :size, size:]
    return (derivative * of_cotangent / of_matrix,)


def _power_of_two(x: Any) -> Any:
    """Power of two near the size of each of the matrices `x`; 1 of zeros."""
    largest = run("max", run("abs", x.detach()), axes=(x.ndim - 2, x.ndim - 1))
    exponent = run("floor", run("log2", run("where", run("gt", largest, 0.0), largest, 1.0)))
    return run("cast", reshaped(run("exp2", exponent), (*largest.shape, 1, 1)), dtype=x.dtype)


_logm.defvjp(_logm_forward, _logm_backward)


def _by_roots(a: Any) -> Any:
    """Inverse scaling and squaring: log(a) = 2^k log(a^(1/2^k)), by Gauss-Legendre quadrature of

    log(1 + e) = integral over t from 0 to 1 of (1 + t e)^-1 e

    which is the diagonal Pade approximant. Source: Higham 2008, Functions of Matrices, section 11.5.
    """
    unit = identity(a, a.shape[-1])

    def is_far(state: Any) -> Any:
        root, count = state
        far = run("gt", run("max", run("abs", root - unit), axes=tuple(range(a.ndim))) * a.shape[-1], _NEAR)
        return run("logical_and", far, run("lt", count, _ROOTS))

    def halve(state: Any) -> Any:
        root, count = state
        return _root(root), count + 1

    if a.size == 0:
        return a
    state = (a, run("full", value=0, shape=(), dtype=INT64))
    if is_tracing():
        state = while_loop(is_far, halve, state)
    else:
        while is_far(state):
            state = halve(state)
    root, count = state
    e = root - unit
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    total = 0.0 * e
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        total = total + (0.5 * weight) * solve(unit + (0.5 * (node + 1.0)) * e, e)
    return total * run("exp2", run("cast", count, dtype=a.dtype))


def logm(A: Any) -> Tensor:
    """The principal logarithms of matrices without eigenvalues that are 0 or negative; NaN of others.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.logm(tj.eye(2)).round(12)
        tensor([[0., 0.],
                [0., 0.]])

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``scipy.linalg.logm``, for real
    logarithms.
    """
    result: Tensor = _logm(square_matrices("scipy.linalg.logm", A, "A"))
    return result
