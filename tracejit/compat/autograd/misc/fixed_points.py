"""``autograd.misc.fixed_points``: fixed points whose derivatives are fixed points, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..primitives import defvjp, primitive
from ..products import make_vjp
from ..vector_spaces import vspace

__all__ = ["fixed_point"]


@primitive
def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """The x with ``f(a)(x) = x``, by steps from `x0` until ``distance`` of two is at most `tol`.

    The gradient is by `a`. Its adjoint is the fixed point of ``u -> u @ J + g`` with the Jacobian J of
    ``f(a)`` and the cotangent g (Christianson 1994), computed in the same way.

    Example:
        >>> from tracejit.compat.autograd import grad
        >>> from tracejit.compat.autograd.misc.fixed_points import fixed_point
        >>> def newton(a):
        ...     return lambda x: (x + a / x) / 2
        >>> def root(a):
        ...     return fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12)
        >>> grad(root)(4.0).round(6)
        np.float64(0.25)

    Semantics: ``autograd.misc.fixed_points.fixed_point``.
    """
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _vjp(ans: Any, f: Any, a: Any, x0: Any, distance: Any, tol: Any) -> Callable[[Any], Any]:
    def adjoint(parameters: Any) -> Callable[[Any], Any]:
        a, x, cotangent = parameters
        product = make_vjp(f(a))(x)[0]
        return lambda u: product(u) + cotangent

    product = make_vjp(lambda a, x: f(a)(x))(a, ans)[0]
    start = vspace(x0).zeros()
    return lambda g: product(fixed_point(adjoint, (a, ans, g), start, distance, tol))


defvjp(fixed_point, None, _vjp, None)
