"""Calls of ``scipy.integrate``, ``scipy.differentiate`` and their like with callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import tracejit as tj

from .calling import Callbacks

Case = Callable[[Callbacks], Any]


def _wave(x):
    return np.exp(-x) * np.cos(3 * x)


def _surface(y, x):
    return x * np.exp(-x * y)


def _solid(z, y, x):
    return x * y + np.sin(z)


def _oscillate(t, y):
    return np.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]])


def _oscillation_jacobian(t, y):
    return np.array([[0.0, 1.0], [-2 * y[0] * y[1] - 1, 1 - y[0] ** 2]])


def _reach(x, y):
    """The right-hand side of y'' = -y / 2, at all of `x` at once."""
    return np.stack([y[1], -0.5 * y[0]])


def _ends(ya, yb):
    return np.stack([ya[0], yb[0] - 1.0])


def _integrals() -> Iterator[tuple[str, Case]]:
    yield "quad", lambda o: o.call("integrate.quad", o(_wave), 0.0, 4.0)
    yield (
        "quad of infinite range",
        lambda o: o.call("integrate.quad", o(lambda x: np.exp(-(x**2))), -np.inf, np.inf),
    )
    yield "quad weight", lambda o: o.call("integrate.quad", o(np.exp), 0.0, 1.0, weight="cos", wvar=3.0)
    low, high = (lambda x: 0.1 * x), (lambda x: 1 + x)
    yield "dblquad", lambda o: o.call("integrate.dblquad", o(_surface), 0.0, 1.0, o(low), o(high))
    yield (
        "tplquad",
        lambda o: o.call(
            "integrate.tplquad", o(_solid), 0.0, 1.0, o(low), o(high), o(lambda x, y: x * y),
            o(lambda x, y: x + y), epsabs=1e-4, epsrel=1e-4,
        ),
    )  # fmt: skip
    yield "nquad", lambda o: o.call("integrate.nquad", o(_surface), [(0.0, 1.0), (0.0, 2.0)])
    yield (
        "quad_vec",
        lambda o: o.call("integrate.quad_vec", o(lambda x: np.stack([np.sin(x), x * x])), 0.0, 2.0),
    )
    yield "fixed_quad", lambda o: o.call("integrate.fixed_quad", o(_wave), 0.0, 2.0)
    yield (
        "cubature",
        lambda o: o.call("integrate.cubature", o(lambda x: np.exp(-x[:, 0] * x[:, 1])), [0, 0], [1, 1]),
    )
    yield "tanhsinh", lambda o: o.call("integrate.tanhsinh", o(_wave), np.array([0.0, 0.5]), 2.0)
    yield "nsum", lambda o: o.call("integrate.nsum", o(lambda k: 1 / k**2), 1, np.inf)
    yield (
        "qmc_quad",
        lambda o: o.call(
            "integrate.qmc_quad", o(lambda x: np.exp(-x[0] * x[1])), [0.0, 0.0], [1.0, 1.0],
            qrng=stats.qmc.Halton(2, rng=3), n_points=64,
        ),
    )  # fmt: skip


def _solve_ivp(o: Callbacks, method: str, *, vectorized: bool = False) -> Any:
    given: dict[str, Any] = {}
    if method in ("Radau", "BDF", "LSODA"):
        given["jac"] = o.derivative(_oscillate, _oscillation_jacobian, lambda f: tj.jacobian(f, argnums=1))
    crossing = o(lambda t, y: y[0])
    return o.call(
        "integrate.solve_ivp", o(_oscillate), (0.0, 6.0), [1.0, 0.5], method=method, rtol=1e-8, atol=1e-10,
        t_eval=[1.0, 3.0, 6.0], events=crossing, vectorized=vectorized, **given,
    )  # fmt: skip


def _solver(o: Callbacks, name: str) -> Any:
    given: dict[str, Any] = {}
    if name in ("Radau", "BDF", "LSODA"):
        given["jac"] = o.derivative(_oscillate, _oscillation_jacobian, lambda f: tj.jacobian(f, argnums=1))
    solver = o.call(f"integrate.{name}", o(_oscillate), 0.0, np.array([1.0, 0.5]), 1.0, rtol=1e-7, **given)
    while solver.status == "running":
        solver.step()
    return solver.t, solver.y


def _ode(o: Callbacks, name: str, integrator: str) -> Any:
    seen: list[Any] = []
    jacobian = o.derivative(_oscillate, _oscillation_jacobian, lambda f: tj.jacobian(f, argnums=1))
    solver = o.call("integrate.ode", o(_oscillate), jacobian)
    solver.set_integrator(integrator, rtol=1e-9, atol=1e-10)
    if integrator.startswith("dop"):
        solver.set_solout(lambda t, y: seen.append(y.copy()))
    solver.set_initial_value([1.0, 0.5], 0.0)
    return solver.integrate(2.0), seen[-1:]


def _complex_ode(o: Callbacks) -> Any:
    solver = o.call("integrate.complex_ode", o(lambda t, y: 1j * y), o(lambda t, y: np.array([[1j]])))
    solver.set_initial_value([1.0 + 0j], 0.0)
    return solver.integrate(1.0)


def _odeint(o: Callbacks) -> Any:
    jacobian = o.derivative(_oscillate, _oscillation_jacobian, lambda f: tj.jacobian(f, argnums=1))
    times = np.linspace(0.0, 3.0, 7)
    return o.call("integrate.odeint", o(_oscillate), [1.0, 0.5], times, Dfun=jacobian, tfirst=True)


def _solve_bvp(o: Callbacks) -> Any:
    x = np.linspace(0.0, 1.0, 6)
    slopes = o(lambda x, y: np.broadcast_to(np.array([[[0.0], [1.0]], [[-0.5], [0.0]]]), (2, 2, y.shape[1])))
    ends = o(lambda ya, yb: (np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])))
    solution = o.call(
        "integrate.solve_bvp", o(_reach), o(_ends), x, np.zeros((2, 6)), fun_jac=slopes, bc_jac=ends
    )
    return solution.x, solution.y, solution.yp, solution.rms_residuals, solution.sol(0.4)


def _equations() -> Iterator[tuple[str, Case]]:
    for method in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"):
        yield f"solve_ivp {method}", partial(_solve_ivp, method=method)
        yield method, partial(_solver, name=method)
    yield "solve_ivp vectorized", partial(_solve_ivp, method="BDF", vectorized=True)
    for integrator in ("vode", "lsoda", "dopri5", "dop853"):
        yield f"ode {integrator}", partial(_ode, name="ode", integrator=integrator)
    yield "complex_ode", _complex_ode
    yield "odeint", _odeint
    yield "solve_bvp", _solve_bvp


def _derivatives() -> Iterator[tuple[str, Case]]:
    yield "derivative", lambda o: o.call("differentiate.derivative", o(_wave), np.array([0.3, 1.1]))
    yield (
        "jacobian",
        lambda o: o.call("differentiate.jacobian", o(lambda x: np.stack([x[0] * x[1], x[0]])), [0.3, 0.7]),
    )
    yield "hessian", lambda o: o.call("differentiate.hessian", o(lambda x: x[0] ** 2 * x[1]), [0.3, 0.7])
    yield (
        "approximate_taylor_polynomial",
        lambda o: o.call("interpolate.approximate_taylor_polynomial", o(np.exp), 0.0, 4, 0.5).coef,
    )


def cases() -> Iterator[tuple[str, Case]]:
    """The name and the call of each case."""
    for group in (_integrals, _equations, _derivatives):
        yield from group()
