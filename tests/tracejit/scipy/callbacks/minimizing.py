"""Calls of ``scipy.optimize.minimize`` with callbacks, and the functions that are minimized."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tracejit as tj

from .calling import Callbacks

Case = Callable[[Callbacks], Any]

X0 = np.array([-0.4, 0.7, 0.3])


def smooth(x):
    """A convex function of three variables, for methods that want a positive definite Hessian."""
    return np.sum((x - 0.5) ** 2) + 0.1 * np.sum(x**4) + 0.5 * (x[0] - x[1]) ** 2


def smooth_slope(x):
    difference = x[0] - x[1]
    return 2 * (x - 0.5) + 0.4 * x**3 + np.array([difference, -difference, 0.0])


def smooth_curvature(x):
    coupling = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    return 2 * np.eye(3) + np.diag(1.2 * x**2) + coupling


def smooth_product(x, p):
    return smooth_curvature(x) @ p


def smooth_parts(o: Callbacks) -> dict[str, Any]:
    return {
        "jac": o.derivative(smooth, smooth_slope),
        "hess": o.derivative(smooth, smooth_curvature, tj.hessian),
    }


def product_of_smooth(o: Callbacks) -> Any:
    if not o.jitted:
        return o(smooth_product)
    return o(lambda x, p: tj.jvp(tj.grad(smooth), (x,), (p,))[1])


def value_and_slope(o: Callbacks) -> Any:
    return o(tj.value_and_grad(smooth) if o.jitted else lambda x: (smooth(x), smooth_slope(x)))


def _minimizations() -> Iterator[tuple[str, Case]]:
    """``minimize`` by each method, with each kind of derivative that it takes."""
    methods = [
        "Nelder-Mead",
        "Powell",
        "CG",
        "BFGS",
        "Newton-CG",
        "L-BFGS-B",
        "TNC",
        "COBYLA",
        "COBYQA",
        "SLSQP",
        "trust-constr",
        "dogleg",
        "trust-ncg",
        "trust-exact",
        "trust-krylov",
    ]
    second = ("Newton-CG", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")
    without = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
    for method in methods:
        tight = {"L-BFGS-B": {"ftol": 1e-14, "gtol": 1e-9}, "SLSQP": {"ftol": 1e-14}, "TNC": {"ftol": 1e-14}}
        tight["COBYLA"] = {"tol": 1e-8}
        options = tight.get(method, {})
        call = partial(_minimize, method=method, options=options)
        if method not in second:
            yield f"{method} value", partial(call, parts=())
        if method not in without:
            if method not in second[2:]:
                yield f"{method} jac", partial(call, parts=("jac",))
                yield f"{method} jac=True", partial(call, parts=("both",))
            if method in second:
                yield f"{method} hess", partial(call, parts=("jac", "hess"))
                if method not in ("dogleg", "trust-exact"):
                    yield f"{method} hessp", partial(call, parts=("jac", "hessp"))


def _minimize(o: Callbacks, method: str, options: dict[str, Any], parts: tuple[str, ...]) -> Any:
    derivatives = {**smooth_parts(o), "hessp": product_of_smooth(o)}
    arguments = {name: derivatives[name] for name in parts if name in derivatives}
    value = o(smooth)
    if "both" in parts:
        value, arguments["jac"] = value_and_slope(o), True
    return o.call("optimize.minimize", value, X0, method=method, options=options, **arguments)


def _constrained(o: Callbacks, method: str) -> Any:
    ring = lambda x: x[0] ** 2 + x[1] ** 2  # noqa: E731
    ring_slope = lambda x: np.array([2 * x[0], 2 * x[1], 0.0])  # noqa: E731
    slope = o.derivative(ring, ring_slope)
    if method == "SLSQP":
        limits: Any = (
            {"type": "ineq", "fun": o(lambda x: 0.25 - ring(x)), "jac": o(lambda x: -ring_slope(x))},
        )
    else:
        curvature = o(lambda x, v: v[0] * np.diag(np.array([2.0, 2.0, 0.0])))
        limits = o.call("optimize.NonlinearConstraint", o(ring), 0.0, 0.25, jac=slope, hess=curvature)
        if method in ("COBYLA", "COBYQA"):
            limits = o.call("optimize.NonlinearConstraint", o(ring), 0.0, 0.25)
    derivatives = {} if method.startswith("COBY") else {"jac": o.derivative(smooth, smooth_slope)}
    return o.call(
        "optimize.minimize",
        o(smooth),
        np.array([0.1, 0.2, 0.3]),
        method=method,
        constraints=limits,
        **derivatives,
    ).x


def cases() -> Iterator[tuple[str, Case]]:
    """The name and the call of each case."""
    yield from ((f"minimize {name}", case) for name, case in _minimizations())
    for method in ("SLSQP", "trust-constr", "COBYLA", "COBYQA"):
        yield f"constrained {method}", partial(_constrained, method=method)
