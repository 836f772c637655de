"""Accuracy of the special functions and their derivatives against mpmath, eager and native."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np
import pytest

from tracejit.ir.special.table import evaluate, names, special
from tracejit.runtime.executable import Executable

from ...rotation import share_of
from ...support import function_of
from .cases import SINGLE, Array, Case, all_cases, truth_of, ulp_error

CASES = all_cases()
#: Arguments for each function, and for each derivative. A day has the truth of a fifth, which takes long.
POINTS, SLOPE_POINTS = 60, 15
#: Functions whose truth is that of another: tested by what undoes them.
INVERSES = {"gammaincinv": "gammainc", "gammainccinv": "gammaincc", "betaincinv": "betainc"}
#: Functions that only rules of other functions use, with the name of the function that tests them.
WITHIN = {
    "log_ratio": "rel_entr", "beta_rate": "beta", "exp_quotient": "expi",
    # tests/derivatives
    "silu": "nn.silu", "silu_slope": "nn.silu", "silu_bend": "nn.silu",
    "gelu_tanh": "nn.gelu", "gelu_tanh_slope": "nn.gelu", "gelu_tanh_bend": "nn.gelu",
}  # fmt: skip


def arguments(case: Case, count: int, key: str = "") -> list[Array]:
    rng = np.random.default_rng(zlib.crc32((case.name + key).encode()))
    return case.sample(rng, count)


@functools.cache
def executable(
    name: str, orders: tuple[int, ...], *types: tuple[np.dtype[Any], tuple[int, ...]]
) -> Executable:
    """The function `name` compiled for arrays of these dtypes and shapes."""

    def build(b: Any, *params: Any) -> Any:
        return getattr(b, f"special{len(params)}")(*params, function=name, orders=orders)

    return Executable(function_of(name, [np.empty(shape, dtype) for dtype, shape in types], build))


def compiled(name: str, orders: tuple[int, ...], values: list[Array]) -> Array:
    (result,) = executable(name, orders, *[(value.dtype, value.shape) for value in values])(values)
    return result


def check(case: Case, orders: tuple[int, ...], bound: float, count: int) -> None:
    values = arguments(case, count, repr(orders))
    places = share_of(range(count), 5)
    rows = [[float(value[place]) for value in values] for place in places]
    truths = [truth_of(case, orders, row) for row in rows]
    floors = [case.floor(*row) if callable(case.floor) else case.floor for row in rows]
    for results in (evaluate(case.name, orders, values), compiled(case.name, orders, values)):
        errors = np.array([*map(ulp_error, results[places].tolist(), truths, floors)])
        worst = int(np.argmax(errors))
        point = ", ".join(map(repr, rows[worst]))
        assert errors[worst] <= bound, f"{case.name}({point}), derivative {orders}: {errors[worst]:.1f} ulp"


def test_every_function_has_a_case() -> None:
    assert set(names()) == {*CASES, *INVERSES, *WITHIN}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    case = CASES[name]
    check(case, (0,) * len(special(name).params), case.bound, POINTS)


@pytest.mark.parametrize(
    ("name", "orders"), [(name, orders) for name, case in CASES.items() for orders in case.slopes]
)
def test_derivatives(name: str, orders: tuple[int, ...]) -> None:
    check(CASES[name], orders, CASES[name].slopes[orders], SLOPE_POINTS)


@pytest.mark.parametrize("name", INVERSES)
def test_inverses_undo_the_function(name: str) -> None:
    """f(f^-1(p)) is p, to what the rounding of the inverse changes it by."""
    forward = INVERSES[name]
    rng = np.random.default_rng(7)
    count = len(special(name).params) - 1
    shapes = [10.0 ** rng.uniform(-1, 2.5, 100) for _ in range(count)]
    p = np.concatenate([rng.uniform(0, 1, 70), 10.0 ** rng.uniform(-30, 0, 30)])
    density = "gamma_density" if count == 1 else "beta_density"
    for x in (
        evaluate(name, (0,) * (count + 1), [*shapes, p]),
        compiled(name, (0,) * (count + 1), [*shapes, p]),
    ):
        inside = (x > 1e-290) & (x < 1 - 1e-9) if count == 2 else x > 1e-290
        assert inside.sum() > 60
        back = evaluate(forward, (0,) * (count + 1), [*shapes, x])
        change = evaluate(density, (0,) * (count + 1), [*shapes, x]) * x * 2.0**-51
        assert np.all((np.abs(back - p) <= change + 400 * 2.0**-52 * p)[inside])


def test_which_functions_are_not_rounded() -> None:
    assert {name for name, bound in SINGLE.items() if bound >= 1} == {
        name for name in names() if special(name).single
    }
    assert {name for name, bound in SINGLE.items() if bound < 1} == {
        name for name in names() if special(name).short
    }


@pytest.mark.parametrize("name", [*CASES, *INVERSES])
def test_float32(name: str) -> None:
    """float64 rounded, or within the bound of it."""
    case = CASES.get(name) or CASES[INVERSES[name]]
    count = 2000 if name in SINGLE else POINTS
    with np.errstate(all="ignore"):
        values = [value.astype(np.float32) for value in arguments(case, count)]
    if name in INVERSES:
        values[-1] = np.linspace(0.01, 0.99, count, dtype=np.float32)
    orders = (0,) * len(values)
    wide = compiled(name, orders, [value.astype(np.float64) for value in values])
    narrow = compiled(name, orders, values)
    with np.errstate(all="ignore"):
        rounded = wide.astype(np.float32)
        if name not in SINGLE:
            assert np.array_equal(narrow, rounded, equal_nan=True)
            return
        floors = [
            case.floor(*map(float, row)) if callable(case.floor) else case.floor
            for row in zip(*values, strict=True)
        ]
        sizes = np.maximum(np.maximum(np.abs(rounded), floors), 2.0**-126)
        ulps = np.abs(narrow - wide) / np.spacing(sizes.astype(np.float32))
    ulps[(narrow == rounded) | (np.isnan(narrow) & np.isnan(rounded))] = 0.0
    worst = int(np.argmax(ulps))
    assert ulps[worst] <= case.single, [float(value[worst]) for value in values]


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_float32_at_the_ends(name: str) -> None:
    """Infinities, NaN, zeros, and the smallest and largest numbers give what float64 rounds to."""
    ends = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-38, -1e-38, 3e38, -3e38, 1e-45, 1e20]
    grid = np.meshgrid(*[np.array(ends, np.float32)] * len(special(name).params))
    values, orders = [axis.ravel() for axis in grid], (0,) * len(grid)
    narrow = compiled(name, orders, values)
    with np.errstate(all="ignore"):
        wide = compiled(name, orders, [value.astype(np.float64) for value in values]).astype(np.float32)
    different = ~np.isclose(narrow, wide, rtol=2e-6, atol=1e-37, equal_nan=True)
    assert not different.any(), [
        (*[x[different][0] for x in values], narrow[different][0], wide[different][0])
    ]


@pytest.mark.parametrize("name", share_of([*CASES, *INVERSES], 2))
def test_results_do_not_depend_on_neighbours(name: str) -> None:
    """The bits of each element are the same in a vector and alone."""
    case = CASES.get(name) or CASES[INVERSES[name]]
    values = arguments(case, POINTS)
    if name in INVERSES:
        values[-1] = np.linspace(0.01, 0.99, len(values[0]))
    orders = (0,) * len(values)
    together = compiled(name, orders, values)
    places = [0, 1, POINTS - 1]
    alone = [compiled(name, orders, [value[[place]] for value in values])[0] for place in places]
    assert np.array_equal(together[places], alone, equal_nan=True)
