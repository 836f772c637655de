"""SciPy's own names under jit: functions that exist in ``tj.scipy`` are called, and errors for other ones
name the function and the user's line.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.pytree import flatten

from ..bad_input.valid_calls import Call, public_calls

scipy: Any = pytest.importorskip("scipy", "1.17")

CALLS = {call.name: call for call in public_calls() if call.name.startswith("scipy.")}
#: Names that are no more in SciPy, and functions without arrays, whose arguments in the table are NumPy's.
NOT_CALLED = {"scipy.special.sph_harm", "scipy.fft.fftfreq", "scipy.fft.rfftfreq"}
#: SciPy's result has an axis for the orders of derivatives.
WITH_AN_AXIS = {"scipy.special.sph_legendre_p"}


def theirs(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def positional(call: Call, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The `arguments` as SciPy takes them: arrays by place, and all of a ufunc's; options by name."""
    placed: list[Any] = []
    takes_names = hasattr(theirs(call.name), "__code__")
    for parameter in inspect.signature(call.function).parameters.values():
        if parameter.name not in arguments or parameter.kind is parameter.KEYWORD_ONLY:
            break
        if takes_names and isinstance(arguments[parameter.name], (bool, str, int)):
            break
        value = arguments.pop(parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            placed += value
        else:
            placed.append(value)
    return placed, arguments


@pytest.mark.parametrize("name", [name for name in CALLS if name not in NOT_CALLED])
def test_scipys_name_is_taken_under_jit(name: str) -> None:
    function = theirs(name)
    placed, named = positional(CALLS[name], CALLS[name].arguments())
    leaves, structure = flatten(placed)
    traced = [place for place, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)]

    def called(*arrays: Any) -> Any:
        values = list(leaves)
        for place, array in zip(traced, arrays, strict=True):
            values[place] = array
        return function(*structure.unflatten(values), **named)

    result = tj.jit(called)(*[leaves[place] for place in traced])
    expected = function(*placed, **named)
    if name in WITH_AN_AXIS:
        (expected,) = expected
    for value, wanted in zip(tj.tree_leaves(result), tj.tree_leaves(expected), strict=True):
        if name == "scipy.linalg.cho_factor" and isinstance(wanted, np.ndarray):
            value, wanted = np.tril(value), np.tril(wanted)  # SciPy leaves the rest as it was
        if isinstance(wanted, (np.ndarray, tj.Tensor)):
            np.testing.assert_allclose(np.asarray(value), np.asarray(wanted), rtol=1e-6, atol=1e-9)
        else:
            assert value == wanted


#: Functions that are not here, with what their error advises.
OTHERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "scipy.stats.norm.logpdf": (lambda x: scipy.stats.norm.logpdf(x), "tj.pure_callback"),
    "scipy.stats.hmean": (lambda x: scipy.stats.hmean(x), "tj.pure_callback"),
    "scipy.linalg.eigh": (lambda x: scipy.linalg.eigh(x), r"Use tj\.linalg\.eigh\(x\)"),
    "scipy.integrate.trapezoid": (lambda x: scipy.integrate.trapezoid(x), r"Use tj\.trapezoid\(x\)"),
    "scipy.integrate.simpson": (lambda x: scipy.integrate.simpson(x), "tj.pure_callback"),
    "scipy.integrate.solve_ivp": (
        lambda x: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), x[0]).y,
        "tj.pure_callback",
    ),
    "scipy.interpolate.CubicSpline": (
        lambda x: scipy.interpolate.CubicSpline(np.arange(3.0), x)(0.5),
        "tj.pure_callback",
    ),
    "scipy.ndimage.gaussian_filter": (lambda x: scipy.ndimage.gaussian_filter(x, 1.0), "tj.pure_callback"),
    "scipy.optimize.minimize": (lambda x: scipy.optimize.minimize(np.sum, x[0]).x, "tj.pure_callback"),
    "scipy.spatial.distance.cdist": (lambda x: scipy.spatial.distance.cdist(x, x), "tj.pure_callback"),
    "scipy.sparse.csr_array": (lambda x: scipy.sparse.csr_array(np.eye(3)) @ x, "tj.pure_callback"),
    "scipy.signal.lfilter": (lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x), "tj.pure_callback"),
    "scipy.special.boxcox": (lambda x: scipy.special.boxcox(x, 2.0), "tj.pure_callback"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_errors_name_scipys_function_and_the_users_line(name: str) -> None:
    importlib.import_module(".".join(name.split(".")[:2]))
    importlib.import_module("scipy.spatial.distance")
    function, advice = OTHERS[name]
    with pytest.raises(TypeError, match=advice) as caught:
        tj.jit(function)(np.eye(3) + 0.5)
    message = str(caught.value)
    assert message.startswith((f"{name}(x) needs the value", f"{name}: tracejit has no"))
    if "needs the value" in message:
        assert re.search(rf"at {re.escape(__file__)}:\d+\. ", message)


def test_functions_that_are_handed_on_are_taken() -> None:
    matrices = np.stack([np.eye(3), np.eye(3) * 0.5])
    expected = scipy.linalg.expm(matrices)
    result = tj.jit(lambda a: tj.vmap(scipy.linalg.expm)(a))(matrices)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
VECTOR = np.array([1.0, 2.0, 3.0])
#: Public names that are another function's, too.
ALIASES = {"solve_lyapunov": "solve_continuous_lyapunov"}


def calls_of_matrices() -> dict[str, list[Any]]:
    """The functions of ``scipy.linalg`` that take arrays alone, each with arguments that SciPy takes."""
    module = importlib.import_module("scipy.linalg")
    calls: dict[str, list[Any]] = {}
    for name in sorted(module.__all__):
        function = getattr(module, name)
        for arguments in ([MATRIX], [VECTOR], [MATRIX, VECTOR], [MATRIX] * 2, [MATRIX] * 3, [MATRIX] * 4):
            if isinstance(function, type) or not callable(function) or name in calls:
                continue
            try:
                function(*arguments)
            except Exception:
                continue
            calls[name] = arguments
    return calls


def result_or_error(function: Callable[..., Any], arguments: list[Any]) -> Any:
    try:
        return tj.jit(function)(*arguments)
    except tj.TracejitError as error:
        return error


def test_every_function_of_matrices_is_taken_or_named() -> None:
    taken = set()
    calls = calls_of_matrices()
    for name, arguments in calls.items():
        function, label = theirs(f"scipy.linalg.{name}"), f"scipy.linalg.{ALIASES.get(name, name)}"
        result = result_or_error(lambda *arrays, function=function: function(*arrays), arguments)
        if isinstance(result, tj.ConcretizationError):
            assert str(result).removeprefix(f"{label}: ").startswith(f"{label}(x) needs the value")
            continue
        if isinstance(result, tj.TracejitError):  # of ours, whose arguments have other shapes
            assert str(result).startswith(f"{label}: ")
            continue
        taken.add(name)
        expected = function(*arguments)
        for value, wanted in zip(tj.tree_leaves(result), tj.tree_leaves(expected), strict=True):
            if name != "cho_factor":  # SciPy leaves the rest of the matrix as it was
                np.testing.assert_allclose(np.asarray(value), np.asarray(wanted), rtol=1e-8, atol=1e-12)
    assert len(calls) > 60
    assert taken >= {"det", "expm", "inv", "norm", "solve", "svdvals"}


@pytest.mark.parametrize("ord", [None, 1, -2, np.inf, "fro", "nuc"])
@pytest.mark.parametrize("options", [{}, {"axis": (0, 1), "keepdims": True}, {"check_finite": False}])
def test_norms_have_scipys_options(ord: Any, options: dict[str, Any]) -> None:
    expected = scipy.linalg.norm(MATRIX, ord, **options)
    for result in (
        tj.jit(lambda x: scipy.linalg.norm(x, ord, **options))(MATRIX),
        tj.jit(lambda x: scipy.linalg.norm(x, ord=ord, **options))(MATRIX),
    ):
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
    along = tj.jit(lambda x: scipy.linalg.norm(x, axis=1))(MATRIX)
    np.testing.assert_allclose(along.numpy(), scipy.linalg.norm(MATRIX, axis=1), rtol=1e-12)


def test_options_that_change_the_result_are_no_ones_but_scipys() -> None:
    solve = scipy.linalg.solve
    plain = tj.jit(lambda a, b: solve(a, b, overwrite_b=True, check_finite=False))(MATRIX, VECTOR)
    np.testing.assert_allclose(plain.numpy(), solve(MATRIX, VECTOR), rtol=1e-12)
    with pytest.raises(TypeError, match=r"scipy\.linalg\.solve\(x\) needs .* Use tj\.linalg\.solve\(x\)"):
        tj.jit(lambda a, b: solve(a, b, transposed=True))(MATRIX, VECTOR)


#: Functions of SciPy that stand here, as such and with an option.
ENTERING = {
    "linalg.expm": {}, "linalg.cholesky": {"lower": True}, "linalg.sqrtm": {}, "linalg.inv": {},
    "linalg.det": {}, "linalg.norm": {"ord": 1, "check_finite": False}, "fft.fft": {"n": 4}, "fft.dct": {},
    "special.logsumexp": {"axis": 0}, "special.softmax": {}, "special.erf": {},
}  # fmt: skip


@pytest.mark.parametrize("bound", [False, True], ids=["plain", "partial"])
@pytest.mark.parametrize("name", ENTERING)
def test_functions_that_are_transformed_are_taken(name: str, bound: bool) -> None:
    """SciPy's function itself is what is jitted, mapped or differentiated."""
    function = theirs(f"scipy.{name}")
    if bound:
        function = functools.partial(function, **ENTERING[name])
    expected = function(MATRIX)
    stacked = np.stack([MATRIX, MATRIX * 2])
    mapped = np.stack([function(matrix) for matrix in stacked])
    for result, wanted in (
        (tj.jit(function)(MATRIX), expected),
        (tj.vmap(function)(stacked), mapped),
        (tj.jit(tj.vmap(function))(stacked), mapped),
        (tj.vjp(function, MATRIX)[0], expected),
        (tj.jvp(function, (MATRIX,), (MATRIX,))[0], expected),
    ):
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-10, atol=1e-12)
    if not np.iscomplexobj(expected):
        slopes = tj.jacrev(function)(MATRIX)
        np.testing.assert_allclose(slopes, tj.jacfwd(function)(MATRIX), rtol=1e-8, atol=1e-10)
    if np.ndim(expected) == 0:
        np.testing.assert_allclose(tj.grad(function)(MATRIX), slopes, rtol=1e-12)
