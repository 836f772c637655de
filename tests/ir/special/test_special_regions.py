"""Accuracy of the special functions where samples over the whole range seldom fall, and their limits."""

from __future__ import annotations

import dataclasses
import math

import mpmath as mp
import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.special.table import evaluate

from .cases import Case, mixed, powers, product, truth_of, uniform
from .test_special_accuracy import CASES, check, compiled

DENSE, DERIVATIVES = 300, 60
#: Samplers of regions by function: around zeros, and where one way to compute it follows another.
REGIONS = {
    "y0": mixed(uniform(2, 4.5), uniform(4.1, 4.6), uniform(0.8, 1)),
    "y1": mixed(uniform(2, 4.5), uniform(4.1, 4.6), uniform(0.01, 2)),
    "beta": product(uniform(20, 100), uniform(0.001, 20)),
    "betaln": product(powers(-1, 1.5), powers(-1, 1.5)),
}


@pytest.mark.parametrize("name", REGIONS)
def test_values_in_regions(name: str) -> None:
    case = dataclasses.replace(CASES[name], sample=REGIONS[name])
    check(case, (0,) * len(case.sample(np.random.default_rng(0), 1)), case.bound, DENSE)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["gamma", "gammaln"])
def test_gamma_beside_its_pole_at_zero(name: str, dtype: str) -> None:
    """The reflection has a product of two numbers that are as small as the argument."""
    arguments = -np.geomspace(1e-36, 0.5, 400).astype(dtype)
    truth = [mp.gamma(mp.mpf(float(x))) for x in arguments]
    expected = np.array([float(x if name == "gamma" else mp.log(abs(x))) for x in truth])
    values = np.asarray(getattr(tj.scipy.special, name)(arguments), float)
    np.testing.assert_allclose(values, expected, rtol=4 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("orders", [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (3, 0)])
def test_derivatives_of_betaln(orders: tuple[int, int]) -> None:
    """Differences of polygamma functions cancel nowhere: in full digits without a floor."""
    order = sum(orders) - 1

    def truth(a: float, b: float) -> object:
        if all(orders):
            return -mp.polygamma(order, a + b)
        own = a if orders[0] else b
        return mp.polygamma(order, own) - mp.polygamma(order, a + b)

    case = Case("betaln", "", truth, product(powers(-2, 3), powers(-2, 3)), 6, exact={orders: truth})
    check(case, orders, case.bound, DERIVATIVES)


def test_beta_of_a_negative_and_a_large_number() -> None:
    sample = product(uniform(-7.9, 0), powers(1.4, 6))
    quotient = Case(
        "beta", "", lambda a, b: mp.gamma(a) * mp.gamma(b) / mp.gamma(a + b), sample, 8, digits=60
    )
    check(quotient, (0, 0), quotient.bound, DENSE)
    logarithm = Case("betaln", "", lambda a, b: mp.log(abs(quotient.truth(a, b))), sample, 8, floor=0.5,
                     digits=60)  # fmt: skip
    check(logarithm, (0, 0), logarithm.bound, DENSE)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("betaln", (-3.0, 2.0), math.log(1 / 6)),
        ("betaln", (3.0, -3.0), math.log(1 / 3)),
        ("betaln", (-3.0, 4.0), math.inf),
        ("betaln", (-3.0, -2.0), math.inf),
        ("betaln", (-3.0, 0.5), math.inf),
        ("betaln", (2.5, -3.5), -math.inf),
        ("betaln", (math.inf, 1.0), -math.inf),
        ("betaln", (-1.5, math.inf), math.inf),
        ("beta", (math.inf, 1.0), 0.0),
        ("beta", (math.inf, math.inf), 0.0),
        ("beta", (-1.5, math.inf), math.inf),
        ("beta", (-0.5, math.inf), -math.inf),
        ("beta", (0.0, math.inf), math.inf),
        ("beta", (-3.0, 3.0), -1 / 3),
        ("beta", (5e-324, 3.0), math.inf),
        ("beta", (5e-324, 5e-324), math.inf),
        ("beta", (1e-200, 1e-200), 2e200),
        ("beta", (2.5e16, 2.2), math.gamma(2.2) * 2.5e16**-2.2),
        ("beta", (1e100, 2.0), 1e-200),
        ("beta", (300.0, -200.5), -3.0618038740539e81),
        ("kl_div", (1e308, 1.5e308), 1e308 * (0.5 - math.log(1.5))),
        ("kl_div", (1.7e308, 1.7e308), 0.0),
        ("kl_div", (5e-324, 3.0), 3.0),
        ("kl_div", (1e300, 1e-300), 1e300 * (600 * math.log(10) - 1)),
        ("rel_entr", (1e300, 1e-300), 1e300 * 600 * math.log(10)),
        ("log_ndtr", (-1e100,), -5e199),
        ("log_ndtr", (-math.inf,), -math.inf),
        ("log_ndtr", (math.inf,), 0.0),
        ("zeta", (math.inf, 2.0), 0.0),
        ("zeta", (math.inf, 1.0), 1.0),
        ("zeta", (math.inf, 0.5), math.inf),
    ],
)
def test_limits_and_poles(name: str, arguments: tuple[float, ...], expected: float) -> None:
    values = [np.array([argument]) for argument in arguments]
    orders = (0,) * len(values)
    for result in (evaluate(name, orders, values), compiled(name, orders, values)):
        assert result[0] == pytest.approx(expected, rel=1e-11)


#: Parameters at which a series or continued fraction ends, and that of its derivatives does not.
ENDING = {
    "gammainc": [(1.0, 2.5), (2.0, 4.0), (3.0, 7.0), (1.0, 12.0), (0.9999999, 2.5)],
    "gammaincc": [(1.0, 2.5), (2.0, 4.0), (5.0, 7.0)],
    "betainc": [(0.1, 1.0, 0.3), (0.01, 1.0, 0.3), (1.0, 2.0, 0.45), (5.0, 1.0, 0.7), (1.0, 5.0, 0.3)],
}


@pytest.mark.parametrize("name", ENDING)
def test_derivatives_in_parameters_at_which_values_settle_early(name: str) -> None:
    points = ENDING[name]
    operands = [np.array(column) for column in zip(*points, strict=True)]
    count = len(operands)
    for place in range(count - 1):
        for order in (1, 2):
            orders = tuple(order * (i == place) for i in range(count))
            truths = [float(truth_of(CASES[name], orders, list(point))) for point in points]
            np.testing.assert_allclose(evaluate(name, orders, operands), truths, rtol=2e-12)


@pytest.mark.parametrize(
    ("name", "point"),
    [("gammainc", (-1.0, 2.0)), ("gammaincc", (2.0, -1.0)), ("betainc", (1.0, 2.0, 1.3)), ("jv", (-2.3, 0.7)),
     ("iv", (2.3, -0.7)), ("kv", (1.0, -1.0))],
)  # fmt: skip
def test_derivatives_are_undefined_where_values_are(name: str, point: tuple[float, ...]) -> None:
    operands = [np.array([value]) for value in point]
    for place in range(len(point)):
        if name == "betainc" or name.startswith("gamma") or place == 0:
            orders = tuple(int(i == place) for i in range(len(point)))
            assert np.isnan(evaluate(name, (0,) * len(point), operands)).all()
            assert np.isnan(evaluate(name, orders, operands)).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["rel_entr", "kl_div"])
def test_terms_of_entropies_of_near_numbers_and_of_every_size(name: str, dtype: str) -> None:
    """Logarithms of quotients near 1, of numbers in the middle of the range and towards its ends."""
    rng = np.random.default_rng(0)
    largest = 36 if dtype == "f4" else 305
    y = 10.0 ** np.repeat(rng.uniform(-largest + 2, largest, 300), 2)
    distances = 10.0 ** rng.uniform(-8 if dtype == "f4" else -17, 0, y.size)
    # y itself, its neighbours, and both sides at every distance
    x = np.concatenate([y * (1 + distances), y / (1 + distances), y])
    y = np.concatenate([y, y, y]).astype(dtype)
    x = x.astype(dtype)
    operands = [np.append(x, np.nextafter(y, y * 2)), np.append(y, y)]
    case = CASES[name]
    with mp.workdps(90):
        truths = [case.truth(mp.mpf(float(u)), mp.mpf(float(v))) for u, v in zip(*operands, strict=True)]
    results = compiled(name, (0, 0), operands)
    units = np.spacing(np.abs(np.array([float(truth) for truth in truths])).astype(dtype)).astype(float)
    errors = [
        abs(float(result) - truth) / unit for result, truth, unit in zip(results, truths, units, strict=True)
    ]
    worst = int(np.argmax([float(error) for error in errors]))
    assert errors[worst] <= (case.single if dtype == "f4" else case.bound), [
        *map(float, (x[worst] for x in operands))
    ]
