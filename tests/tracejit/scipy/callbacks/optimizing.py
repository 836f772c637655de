"""Calls of ``scipy.optimize``, but for ``minimize``, with callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tracejit as tj

from .calling import Callbacks
from .minimizing import X0, product_of_smooth, smooth, smooth_parts, smooth_slope, value_and_slope

Case = Callable[[Callbacks], Any]

BOX = [(-1.0, 1.5)] * 2
TIMES = np.linspace(0.0, 2.0, 12)
SEEN = 2.5 * np.exp(-1.3 * TIMES) + 0.05 * np.cos(9 * TIMES)


def _bowl(x):
    return (x[0] - 0.3) ** 2 + 2 * (x[1] + 0.2) ** 2 + 0.1 * np.sum(x**4)


def _bowl_slope(x):
    slope = 0.4 * x**3
    slope[0] += 2 * (x[0] - 0.3)
    slope[1] += 4 * (x[1] + 0.2)
    return slope


def _bowl_curvature(x):
    curvature = np.diag(1.2 * x**2)
    curvature[0, 0] += 2
    curvature[1, 1] += 4
    return curvature


def _bowl_product(x, p):
    return _bowl_curvature(x) @ p


def _pair(x):
    return np.stack([x[0] ** 2 + x[1] - 1.5, x[0] - x[1] ** 2 + 0.25])


def _pair_jacobian(x):
    return np.array([[2 * x[0], 1.0], [1.0, -2 * x[1]]])


def _residuals(p):
    return p[0] * np.exp(-p[1] * TIMES) - SEEN


def _residual_jacobian(p):
    decay = np.exp(-p[1] * TIMES)
    return np.stack([decay, -p[0] * TIMES * decay], axis=1)


def _model(t, a, b):
    return a * np.exp(-b * t)


def _model_jacobian(t, a, b):
    decay = np.exp(-b * t)
    return np.stack([decay, -a * t * decay], axis=1)


def _cubic(x):
    return x**3 - x - 1.0


def _cubic_slope(x):
    return 3 * x**2 - 1.0


def _cubic_curvature(x):
    return 6 * x


def _valley(x):
    return (x - 0.7) ** 2 + 0.05 * (x - 0.7) ** 4


def _root(o: Callbacks, method: str, *, derivative: bool) -> Any:
    jacobian = o.derivative(_pair, _pair_jacobian, tj.jacobian) if derivative else None
    return o.call("optimize.root", o(_pair), np.array([1.0, 0.8]), method=method, jac=jacobian)


def _both_of_pair(o: Callbacks) -> Any:
    jacobian = o.derivative(_pair, _pair_jacobian, tj.jacobian)
    return o.call("optimize.root", o(lambda x: (_pair(x), jacobian(x))), np.array([1.0, 0.8]), jac=True)


def _scalar_root(o: Callbacks, method: str) -> Any:
    if method in ("newton", "halley", "secant"):
        given: dict[str, Any] = {"x0": 1.4, "x1": 1.3} if method == "secant" else {"x0": 1.4}
        if method != "secant":
            given["fprime"] = o.derivative(_cubic, _cubic_slope)
        if method == "halley":
            given["fprime2"] = o(_cubic_curvature)
        return o.call("optimize.root_scalar", o(_cubic), method=method, **given)
    return o.call("optimize.root_scalar", o(_cubic), method=method, bracket=(1.0, 2.0))


def _least_squares(o: Callbacks, method: str, loss: str, jac: bool) -> Any:
    jacobian = o.derivative(_residuals, _residual_jacobian, tj.jacobian) if jac else "2-point"
    return o.call("optimize.least_squares", o(_residuals), [1.0, 1.0], method=method, loss=loss, jac=jacobian)


def _own_loss(o: Callbacks) -> Any:
    loss = o(lambda z: np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2]))
    return o.call("optimize.least_squares", o(_residuals), [1.0, 1.0], loss=loss)


def _curve_fit(o: Callbacks, method: str, jac: bool) -> Any:
    jacobian = o(_model_jacobian) if jac else None
    return o.call("optimize.curve_fit", o(_model), TIMES, SEEN, [1.0, 1.0], method=method, jac=jacobian)


def _line_search(o: Callbacks) -> Any:
    slope = o.derivative(smooth, smooth_slope)
    condition = o(lambda alpha, x, f, g: alpha > 0)
    return o.call("optimize.line_search", o(smooth), slope, X0, -smooth_slope(X0), extra_condition=condition)


def _shgo(o: Callbacks) -> Any:
    return o.call("optimize.shgo", o(_bowl), BOX, minimizer_kwargs={"jac": o.derivative(_bowl, _bowl_slope)})


def _basinhopping(o: Callbacks) -> Any:
    jumps = {"method": "L-BFGS-B", "jac": o.derivative(_bowl, _bowl_slope)}
    step = o(lambda x: x + 0.1)
    accept = o(lambda f_new, x_new, f_old, x_old: f_new < f_old + 1)
    return o.call(
        "optimize.basinhopping", o(_bowl), [0.5, 0.5], niter=3, minimizer_kwargs=jumps, rng=3, take_step=step,
        accept_test=accept,
    )  # fmt: skip


def _evolution(o: Callbacks) -> Any:
    return o.call("optimize.differential_evolution", o(_bowl), BOX, rng=3, maxiter=20, popsize=6).x


def _evolution_with_constraint(o: Callbacks) -> Any:
    limit = o.call("optimize.NonlinearConstraint", o(lambda x: x[0] + x[1]), -1.0, 0.05)
    return o.call(
        "optimize.differential_evolution", o(_bowl), BOX, rng=3, maxiter=20, popsize=6, constraints=limit
    ).x


def _vectorized_evolution(o: Callbacks) -> Any:
    bowls = o(lambda x: (x[0] - 0.3) ** 2 + 2 * (x[1] + 0.2) ** 2)
    return o.call(
        "optimize.differential_evolution", bowls, BOX, rng=3, maxiter=20, vectorized=True, updating="deferred"
    ).x


def _newton_krylov(o: Callbacks) -> Any:
    norm = o(lambda x: np.max(np.abs(x)))
    return o.call("optimize.newton_krylov", o(_pair), np.array([1.0, 0.8]), tol_norm=norm)


def _with_norm(name: str, **options: Any) -> Case:
    return lambda o: o.call(
        f"optimize.{name}", o(lambda x: 0.5 * np.cos(x) - x), np.array([0.3, 0.5]),
        tol_norm=o(lambda x: np.max(np.abs(x))), **options,
    )  # fmt: skip


def _fmin_slsqp(o: Callbacks) -> Any:
    return o.call(
        "optimize.fmin_slsqp", o(smooth), X0, fprime=o.derivative(smooth, smooth_slope), iprint=0, acc=1e-13,
        f_eqcons=o(lambda x: np.stack([x[0] + x[1] - 0.5])),
        fprime_eqcons=o(lambda x: np.array([[1.0, 1, 0]])),
        f_ieqcons=o(lambda x: np.stack([x[2] - 0.1])),
        fprime_ieqcons=o(lambda x: np.array([[0.0, 0, 1]])),
    )  # fmt: skip


def _fmin_ncg(o: Callbacks) -> Any:
    slope = o.derivative(smooth, smooth_slope)
    whole = o.call("optimize.fmin_ncg", o(smooth), X0, slope, disp=0, fhess=smooth_parts(o)["hess"])
    products = o.call("optimize.fmin_ncg", o(smooth), X0, slope, disp=0, fhess_p=product_of_smooth(o))
    return whole, products


def _elementwise(name: str, function: Callable[[Any], Any], *places: Any) -> Case:
    return lambda o: o.call(f"optimize.elementwise.{name}", o(function), *places)


def cases() -> Iterator[tuple[str, Case]]:
    """The name and the call of each case."""
    for method in ("brent", "bounded", "golden"):
        bounds = {"bounds": (-1, 3)} if method == "bounded" else {}
        yield (
            f"minimize_scalar {method}",
            lambda o, m=method, b=bounds: o.call("optimize.minimize_scalar", o(_valley), method=m, **b),
        )
    for method in ["hybr", "lm", "broyden1", "broyden2", "anderson", "krylov", "df-sane"]:
        yield f"root {method}", partial(_root, method=method, derivative=False)
    for method in ("hybr", "lm"):
        yield f"root {method} jac", partial(_root, method=method, derivative=True)
    yield "root jac=True", _both_of_pair
    for method in ["bisect", "brentq", "brenth", "ridder", "toms748", "secant", "newton", "halley"]:
        yield f"root_scalar {method}", partial(_scalar_root, method=method)
    for method in ("trf", "dogbox", "lm"):
        for loss in ("linear",) if method == "lm" else ("linear", "soft_l1", "huber", "cauchy", "arctan"):
            for jac in (True, False):
                yield (
                    f"least_squares {method} {loss} {jac}",
                    partial(_least_squares, method=method, loss=loss, jac=jac),
                )
        for jac in (True, False):
            yield f"curve_fit {method} {jac}", partial(_curve_fit, method=method, jac=jac)
    yield "least_squares own loss", _own_loss
    jacobian = lambda o: o.derivative(_residuals, _residual_jacobian, tj.jacobian)  # noqa: E731
    yield "leastsq", lambda o: o.call("optimize.leastsq", o(_residuals), [1.0, 1.0], Dfun=jacobian(o))
    yield "leastsq all", lambda o: o.call("optimize.leastsq", o(_residuals), [1.0, 1.0], full_output=True)[:2]
    pair = lambda o: o.derivative(_pair, _pair_jacobian, tj.jacobian)  # noqa: E731
    yield "fsolve", lambda o: o.call("optimize.fsolve", o(_pair), [1.0, 0.8], fprime=pair(o))
    yield "fsolve scalar", lambda o: o.call("optimize.fsolve", o(_cubic), 1.4)
    slope = lambda o: o.derivative(smooth, smooth_slope)  # noqa: E731
    yield "fmin", lambda o: o.call("optimize.fmin", o(smooth), X0, disp=0, xtol=1e-9, ftol=1e-12)
    yield "fmin_powell", lambda o: o.call("optimize.fmin_powell", o(smooth), X0, disp=0, xtol=1e-9)
    yield "fmin_cg", lambda o: o.call("optimize.fmin_cg", o(smooth), X0, slope(o), disp=0)
    yield "fmin_bfgs", lambda o: o.call("optimize.fmin_bfgs", o(smooth), X0, slope(o), disp=0)
    yield (
        "fmin_bfgs all",
        lambda o: o.call("optimize.fmin_bfgs", o(smooth), X0, disp=0, full_output=True)[:4],
    )
    yield "fmin_ncg", _fmin_ncg
    yield "fmin_l_bfgs_b", lambda o: o.call("optimize.fmin_l_bfgs_b", o(smooth), X0, slope(o), pgtol=1e-9)
    yield (
        "fmin_l_bfgs_b both",
        lambda o: o.call("optimize.fmin_l_bfgs_b", value_and_slope(o), X0, pgtol=1e-9),
    )
    yield "fmin_tnc", lambda o: o.call("optimize.fmin_tnc", o(smooth), X0, slope(o), disp=0)
    yield "fmin_tnc both", lambda o: o.call("optimize.fmin_tnc", value_and_slope(o), X0, disp=0)
    yield "fmin_slsqp", _fmin_slsqp
    yield (
        "fmin_cobyla",
        lambda o: o.call("optimize.fmin_cobyla", o(smooth), X0, [o(lambda x: 0.2 - x[0])], rhoend=1e-8),
    )
    for name in ("bisect", "brentq", "brenth", "ridder", "toms748"):
        yield name, lambda o, n=name: o.call(f"optimize.{n}", o(_cubic), 1.0, 2.0, full_output=True)
    for name in ("brent", "golden", "bracket"):
        yield name, lambda o, n=name: o.call(f"optimize.{n}", o(_valley))
    yield "fminbound", lambda o: o.call("optimize.fminbound", o(_valley), -1.0, 3.0, full_output=True)
    yield "fixed_point", lambda o: o.call("optimize.fixed_point", o(np.cos), [0.5, 0.6])
    yield (
        "fixed_point iteration",
        lambda o: o.call("optimize.fixed_point", o(np.cos), 0.5, method="iteration"),
    )
    slope_of_cubic = lambda o: o.derivative(_cubic, _cubic_slope)  # noqa: E731
    yield "newton", lambda o: o.call("optimize.newton", o(_cubic), 1.4, slope_of_cubic(o))
    yield "newton secant", lambda o: o.call("optimize.newton", o(_cubic), 1.4)
    yield (
        "newton all",
        lambda o: o.call("optimize.newton", o(_cubic), 1.4, slope_of_cubic(o), full_output=True),
    )
    yield (
        "newton halley",
        lambda o: o.call("optimize.newton", o(_cubic), 1.4, slope_of_cubic(o), fprime2=o(_cubic_curvature)),
    )
    yield (
        "newton arrays",
        lambda o: o.call("optimize.newton", o(_cubic), np.array([1.4, 1.2]), o(_cubic_slope)),
    )
    yield "newton arrays secant", lambda o: o.call("optimize.newton", o(_cubic), np.array([1.4, 1.2]))
    yield "check_grad", lambda o: o.call("optimize.check_grad", o(smooth), slope(o), X0)
    yield (
        "check_grad random",
        lambda o: o.call("optimize.check_grad", o(smooth), slope(o), X0, direction="random", rng=3),
    )
    yield "approx_fprime", lambda o: o.call("optimize.approx_fprime", X0, o(smooth))
    yield "approx_fprime of arrays", lambda o: o.call("optimize.approx_fprime", X0[:2], o(_pair), 1e-6)
    yield "brute", lambda o: o.call("optimize.brute", o(_bowl), BOX, Ns=5, finish=None, full_output=True)
    yield "brute finish", lambda o: o.call("optimize.brute", o(_bowl), BOX, Ns=5)
    yield "direct", lambda o: o.call("optimize.direct", o(_bowl), BOX, maxiter=30)
    yield (
        "dual_annealing",
        lambda o: o.call(
            "optimize.dual_annealing", o(_bowl), BOX, rng=3, maxiter=5,
            minimizer_kwargs={"method": "L-BFGS-B", "jac": o.derivative(_bowl, _bowl_slope)},
        ),
    )  # fmt: skip
    yield "shgo", _shgo
    yield "basinhopping", _basinhopping
    yield "differential_evolution", _evolution
    yield "differential_evolution constraint", _evolution_with_constraint
    yield "differential_evolution vectorized", _vectorized_evolution
    yield "line_search", _line_search
    yield (
        "linprog",
        lambda o: o.call("optimize.linprog", [-1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=[4.0], method="simplex").x,
    )
    for name in ("anderson", "broyden1", "broyden2", "diagbroyden"):
        yield name, _with_norm(name)
    for name in ("excitingmixing", "linearmixing"):
        yield name, _with_norm(name, alpha=0.5)
    yield "newton_krylov", _newton_krylov
    yield (
        "elementwise find_root",
        _elementwise("find_root", _cubic, (np.array([1.0, 0.5]), np.array([2.0, 3.0]))),
    )
    yield "elementwise bracket_root", _elementwise("bracket_root", _cubic, np.array([0.5]))
    yield "elementwise find_minimum", _elementwise("find_minimum", _valley, (np.array([-1.0]), 0.5, 3.0))
    yield "elementwise bracket_minimum", _elementwise("bracket_minimum", _valley, np.array([0.2]))
    yield (
        "lsq_linear",
        lambda o: o.call("optimize.lsq_linear", o.operator(_residual_jacobian(np.ones(2))), SEEN).x,
    )
