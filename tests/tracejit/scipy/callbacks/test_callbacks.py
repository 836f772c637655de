"""SciPy's functions give the same with jitted callbacks as with NumPy's, and give NumPy's types.

`minimizing`, `optimizing`, `integrating` and `computing` have the calls. `discovery` finds the functions that
take callbacks: one that no case calls, and that has no reason here, fails the test.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj

pytest.importorskip("scipy", "1.17")

from . import computing, integrating, minimizing, optimizing
from .calling import Callbacks, leaves
from .discovery import callback_parameters

CASES: Final = {
    name: case for module in (minimizing, optimizing, integrating, computing) for name, case in module.cases()
}
#: Results differ by the rounding of sums, by which methods that stop at a tolerance stop elsewhere.
RTOL, ATOL = 1e-5, 1e-6
#: Methods without derivatives, which stop anywhere in the region where the function hardly changes.
FLAT: Final = {"constrained COBYLA": 1e-3, "fmin_cobyla": 1e-3}
#: Counts of steps and calls, and times, which rounding may change.
_COUNTS: Final = frozenset(["nfev", "njev", "nhev", "nit", "execution_time", "cg_niter", "funcalls"])

_DRAWS = "draws random numbers, which are constants of compiled code"
#: Parameters that no case calls with a jitted function, by name.
NO_FUNCTION_OF_ARRAYS: Final = {
    "solout": "is told of steps; its result stops or is ignored",
    "plot": "is told of the result",
    "workers": "a map, which calls functions",
    "method": "the name of a method, or a minimizer, which calls functions",
    "optimizer": "a minimizer, which calls functions",
    "finish": "a minimizer, which calls functions",
    "polish": "a minimizer, which calls functions",
    "inner_M": "a preconditioner of Krylov methods: see the sparse solvers",
    "strategy": "draws members of a population from a generator",
    "sampling_method": _DRAWS,
    "rvs": _DRAWS,
    "data_rvs": _DRAWS,
    "data_sampler": _DRAWS,
    "bw_method": "gets the density itself, which is no array",
}
#: Functions that no case calls, or whose parameters take no functions of arrays.
NOT_CALLED: Final = {
    "cluster.hierarchy.ClusterNode.pre_order": "gets nodes of a tree",
    "cluster.hierarchy.dendrogram": "gives labels and colours of a picture",
    "datasets.clear_cache": "functions that load data sets",
    "fftpack.convolve.init_convolution_kernel": "inside fftpack, which calls it with functions in C",
    "io.arff.loadarff": "`f` is a file",
    "integrate.OdeSolver": "the base of the solvers",
    "interpolate.RegularGridInterpolator": "a solver of sparse systems",
    "ndimage.generic_gradient_magnitude": "asks for an array to write by it, or by its dtype",
    "ndimage.generic_laplace": "asks for an array to write by it, or by its dtype",
    "linalg.leslie": "`f` is an array",
    "linalg.qz": "SciPy refuses `sort`, and names ordqz",
    "optimize.BroydenFirst": "inside broyden1",
    "optimize.KrylovJacobian": "inside newton_krylov",
    "optimize.linesearch.line_search": "deprecated: a part of optimize.line_search",
    "stats.goodness_of_fit": "gets a distribution; called with a function around a jitted one",
    "stats.multiscale_graphcorr": "distances of all pairs at once, by default those of `cdist`",
    "stats.qmc.geometric_discrepancy": "the name of a metric of `cdist`",
}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of slow convergence and deprecated names
        yield


@pytest.mark.parametrize("name", CASES)
def test_jitted_callbacks_give_what_numpys_give(name: str) -> None:
    expected = leaves(CASES[name](Callbacks(jitted=False)))
    result = leaves(CASES[name](Callbacks(jitted=True)))
    assert result.keys() == expected.keys()
    for place, value in result.items():
        plain = np.asarray(expected[place])
        assert type(value) is type(expected[place]), place
        assert (np.asarray(value).shape, np.asarray(value).dtype) == (plain.shape, plain.dtype), place
        if place.rpartition(".")[2] not in _COUNTS:
            np.testing.assert_allclose(
                np.asarray(value), plain, rtol=RTOL, atol=FLAT.get(name, ATOL), err_msg=place
            )


#: Cases in which SciPy computes with what a function around a jitted one gives by operators alone, or hands
#: it on, so that results are Tensors (decision 0032).
OPERATORS_ALONE: Final = frozenset((
    "root_scalar secant", "bracket", "fminbound", "fixed_point iteration", "newton secant", "line_search",
    "quad_vec", "LinearOperator", "bootstrap basic", "permutation_test",
))  # fmt: skip
#: Cases in which SciPy asks for the number of parameters of the function's code.
_COUNTED: Final = frozenset(("schur",))
#: Cases beside those that a short run has.
_SOME: Final = frozenset(sorted(CASES)[::20])


@pytest.mark.parametrize(
    "name",
    [
        name if name in OPERATORS_ALONE | _SOME else pytest.param(name, marks=pytest.mark.slow)
        for name in CASES
        if name not in _COUNTED
    ],
)
def test_functions_around_jitted_ones_give_numpys_values(name: str) -> None:
    expected = leaves(CASES[name](Callbacks(jitted=False)))
    result = leaves(CASES[name](Callbacks(jitted=True, around=True)))
    assert result.keys() == expected.keys()
    gives = {place for place, value in result.items() if isinstance(value, tj.Tensor)}
    assert bool(gives) == (name in OPERATORS_ALONE)
    for place, value in result.items():
        if place.rpartition(".")[2] not in _COUNTS:
            np.testing.assert_allclose(
                np.asarray(value), expected[place], rtol=RTOL, atol=FLAT.get(name, ATOL), err_msg=place
            )


def test_parts_of_a_jitted_function_are_the_function_to_scipy() -> None:
    from scipy import optimize

    root = optimize.newton(functools.partial(tj.jit(lambda a, x: x**3 - a), 2.0), 1.0)
    assert type(root) is np.float64
    np.testing.assert_allclose(root, 2.0 ** (1 / 3))


def test_every_function_that_takes_a_callback_is_called_with_one() -> None:
    reached: set[tuple[str, str]] = set()
    for case in CASES.values():
        callbacks = Callbacks(jitted=False)
        case(callbacks)
        reached |= callbacks.reached
    listed = callback_parameters()
    assert len(listed) > 150  # a change of SciPy's docstrings would empty the walk
    missing = [
        f"{function}: {parameter}"
        for function, parameters in listed.items()
        for parameter in sorted(parameters - NO_FUNCTION_OF_ARRAYS.keys())
        if (function, parameter) not in reached and not _is_excused(function)
    ]
    assert not missing


def _is_excused(function: str) -> bool:
    return any(f"{function}.".startswith(f"{name}.") for name in NOT_CALLED)


def _bowl(x: Any) -> Any:
    return ((x - 0.5) ** 2).sum() + 0.1 * (x**4).sum()


def _decay(t: Any, y: Any) -> Any:
    return -0.5 * y


#: Calls with tensors where arrays of numbers are wanted: expressions of the array `x` and SciPy's modules.
_ARRAYS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **{
        f"minimize {method}": lambda scipy, x, m=method: scipy.optimize.minimize(_bowl, x, method=m).x
        for method in ("Nelder-Mead", "Powell", "BFGS", "L-BFGS-B", "SLSQP", "trust-constr", "COBYLA", "TNC")
    },
    "minimize gradient": lambda scipy, x: (
        scipy.optimize.minimize(tj.value_and_grad(_bowl), x, jac=True, method="L-BFGS-B").x
    ),
    "least_squares": lambda scipy, x: scipy.optimize.least_squares(lambda p: p - x, x * 0.5).x,
    "root": lambda scipy, x: scipy.optimize.root(lambda p: p**3 - x, x).x,
    "curve_fit": lambda scipy, x: scipy.optimize.curve_fit(lambda t, a: a * t, x, 2 * x, x[:1])[0],
    "newton": lambda scipy, x: scipy.optimize.newton(lambda p: p**3 - x, x),
    "brentq": lambda scipy, x: scipy.optimize.brentq(lambda p: p**3 - 0.5, x[0] * 0, x[2] + 1),
    "quad": lambda scipy, x: scipy.integrate.quad(np.exp, x[0] * 0, x[2])[0],
    "solve_ivp": lambda scipy, x: scipy.integrate.solve_ivp(_decay, (0, 1), x, method="BDF").y,
    "odeint": lambda scipy, x: scipy.integrate.odeint(_decay, x, np.arange(3.0), tfirst=True),
    "gmres": lambda scipy, x: scipy.sparse.linalg.gmres(np.diag([1.0, 2.0, 4.0]), x)[0],
    "cho_solve": lambda scipy, x: scipy.linalg.cho_solve((np.eye(3), True), x),
    "CubicSpline": lambda scipy, x: scipy.interpolate.CubicSpline(np.arange(3.0), x)(0.4),
    "norm.logpdf": lambda scipy, x: scipy.stats.norm.logpdf(x),
    "fftconvolve": lambda scipy, x: scipy.signal.fftconvolve(x, x),
    "gaussian_filter": lambda scipy, x: scipy.ndimage.gaussian_filter(x, 1.0),
}


@pytest.mark.parametrize("name", _ARRAYS)
def test_tensors_are_arrays_to_scipy(name: str) -> None:
    import scipy

    x = np.array([0.2, 0.7, 0.9])
    expected = _ARRAYS[name](scipy, x)
    np.testing.assert_allclose(np.asarray(_ARRAYS[name](scipy, tj.tensor(x))), expected, rtol=RTOL, atol=ATOL)


def test_conversions_of_tensors_give_arrays_where_nothing_is_lost() -> None:
    x, weights = tj.tensor([1.0, 2.0]), tj.tensor([1.0, 2.0], requires_grad=True)
    for convert in (np.atleast_1d, np.atleast_2d, np.atleast_3d, np.asarray, np.asanyarray):
        assert type(convert(x)) is np.ndarray
    first, second = np.atleast_1d(x, weights)
    assert isinstance(first, tj.Tensor)
    assert second.requires_grad
    (np.atleast_2d(weights) * 2).sum().backward()
    np.testing.assert_array_equal(weights.grad.numpy(), [2.0, 2.0])
    np.testing.assert_array_equal(tj.jit(lambda y: np.atleast_2d(y).sum(0))(x).numpy(), [1.0, 2.0])
    assert isinstance(np.ravel(x), tj.Tensor)
    assert isinstance(np.sin(x), tj.Tensor)
