"""``autograd.scipy.integrate``: SciPy's ``odeint``, with its gradient by the adjoint equation."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....base.errors import TracejitError
from ..misc.flatten import flatten
from ..primitives import defvjp_argnums, primitive
from ..products import make_vjp

__all__ = ["odeint"]


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Sequence[Any] = (), **options: Any) -> Any:
    """The solution of ``dy/dt = func(y, t, *args)`` from a vector `y0` at the times `t`, by ``odeint``.

    The gradient by `y0`, `t` and `args` solves the adjoint equation backwards (Pontryagin; Chen et al. 2018),
    with the same options. `func` is called with arrays.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd import grad
        >>> from tracejit.compat.autograd.scipy.integrate import odeint
        >>> def end(rate):
        ...     return odeint(lambda y, t, rate: -rate * y, np.ones(1), np.array([0.0, 1.0]), (rate,))[-1, 0]
        >>> grad(end)(1.0).round(5)                                       # doctest: +SKIP
        np.float64(-0.36788)

    Raises TracejitError where SciPy is not installed. Semantics: ``autograd.scipy.integrate.odeint``.
    """
    return _solution(func, y0, t, tuple(args), **options)


@primitive
def _solution(func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...], **options: Any) -> Any:
    try:
        solve = importlib.import_module("scipy.integrate").odeint
    except ImportError as error:
        raise TracejitError("odeint needs SciPy, which is not installed: pip install scipy") from error

    def of_arrays(y: Any, s: float, *parameters: Any) -> Any:
        return np.asarray(func(y, s, *parameters))

    return solve(of_arrays, y0, t, args, **options)


def _vjps(argnums: Sequence[int], ans: Any, call: Any, options: dict[str, Any]) -> Callable[[Any], Any]:
    func, y0, t, args = call
    parameters, unflatten = flatten(args)
    size = len(y0)

    def of_vector(y: Any, s: Any, parameters: Any) -> Any:
        return func(y, s, *unflatten(parameters))

    def adjoint(state: Any, s: Any, parameters: Any) -> Any:
        """d/ds of y, of its cotangent a and of the parameters' gradient: f, -a df/dy and -a df/dp."""
        product, slope = make_vjp(of_vector, (0, 2))(state[:size], s, parameters)
        of_y, of_parameters = product(-state[size : 2 * size])
        return np.concatenate([slope, of_y, of_parameters])

    def product(g: Any) -> list[Any]:
        cotangent, gradient = g[-1], np.zeros(np.shape(parameters))
        by_times: list[Any] = []
        for i in range(len(t) - 1, 0, -1):
            by_times.append(np.dot(g[i], func(ans[i], t[i], *args)))
            start = np.concatenate([ans[i], cotangent, gradient])
            back = odeint(adjoint, start, np.stack([t[i], t[i - 1]]), (parameters,), **options)[-1]
            gradient = back[2 * size :]
            if i == 1:  # y0 does not depend on when it is taken
                by_times.append(-np.dot(back[size : 2 * size], func(ans[0], t[0], *args)))
            cotangent = back[size : 2 * size] + g[i - 1]
        gradients = {1: cotangent, 2: np.stack(by_times[::-1]) if by_times else 0.0 * t}
        return [unflatten(gradient) if number == 3 else gradients[number] for number in argnums]

    return product


defvjp_argnums(_solution, _vjps)
