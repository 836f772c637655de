"""The search for hard points finds the zeros, extrema, ends of the range and seams that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ..rotation import SEED
from .entries import Orders
from .hard_points import Line, _floats, hard
from .table import ENTRIES


def line(name: str, dtype: type = np.float64) -> Line:
    return Line(next(entry for entry in ENTRIES if entry.name == name), dtype)


def changes(along: Line, kind: str, orders: Orders) -> np.ndarray:
    """The numbers above which the label is another one, as floats of float64."""
    label = (kind, orders)
    ends = along.boundaries(np.random.default_rng(SEED), label, along.brackets(label))
    return _floats(ends[:, 1], along.dtype).astype(np.float64)


@pytest.mark.parametrize(
    ("name", "dtype", "kind", "order", "expected"),
    [
        # a zero of the slope between two zeros of the value, where terms cancel
        ("special.gammaln", np.float64, "sign", 1, -2.610720868444145),
        ("special.gammaln", np.float64, "sign", 0, 1.0),
        ("sin", np.float32, "sign", 1, math.pi / 2),
        # the second derivative, twice the reciprocal cubed, next to the largest and the smallest number
        ("reciprocal", np.float32, "size", 2, float(np.cbrt(2 / 3.4028234663852886e38))),
        ("reciprocal", np.float64, "size", 1, 2.0**511),
        # ends of intervals: of an algorithm's own code, of a rule's, of a polynomial in 1 / x, of a loop
        ("special.k0e", np.float64, "seam", 0, 1.0),
        ("special.k0e", np.float64, "seam", 1, 0.5),
        ("special.k0e", np.float32, "seam", 2, 5.0),
        ("special.gamma", np.float64, "seam", 0, 7.0),
        ("special.erfcinv", np.float64, "seam", 1, 0.1),
        # and of the scalar code of elementary functions
        ("tanh", np.float64, "seam", 0, 20.0),
        ("tanh", np.float32, "seam", 0, 10.0),
        ("arctan", np.float64, "seam", 0, 1.0),
        ("nn.softplus", np.float32, "seam", 1, 20.0),
    ],
)
def test_known_points_are_found(name: str, dtype: type, kind: str, order: int, expected: float) -> None:
    found = changes(line(name, dtype), kind, (order,))
    distance = abs(found / expected - 1).min()
    # of the sizes around an end, a search finds any
    assert distance < (0.6 if kind == "size" else 4 * float(np.finfo(dtype).eps)), f"{found}"


def test_extrema_of_the_last_derivative_are_between_their_ends() -> None:
    """The second derivative of sin is -sin, whose extrema are odd multiples of pi / 2."""
    extrema = line("sin").extrema()
    usual = extrema[abs(extrema).max(1) < 10]
    odd = (np.floor(usual / math.pi - 0.5)).astype(int)
    assert len(usual) == 6
    assert (odd[:, 1] == odd[:, 0] + 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["special.gammaln", "hypot", "special.beta"])
def test_points_are_drawn_inside_and_anew(name: str, dtype: type) -> None:
    entry = line(name).entry
    draws = [hard(np.random.default_rng([SEED, seed]), dtype, entry, 60) for seed in range(2)]
    for draw in draws:
        assert len(draw) == entry.arity
        assert draw[0].size > 10
        assert all(x.dtype == dtype for x in draw)
        assert all(entry.inside(*map(float, row)) for row in zip(*draw, strict=True))
    assert not np.array_equal(np.sort(draws[0][0]), np.sort(draws[1][0]))


def test_points_are_on_both_sides_of_a_seam_and_next_to_it() -> None:
    points = line("tanh").around(np.random.default_rng(SEED), ("seam", (0,)), 400)
    near = np.abs(np.abs(points) - 20.0)
    for low, high in ((0.0, 1e-13), (1e-13, 1e-5), (1e-5, 2.0)):
        between = points[(near >= low) & (near <= high)]
        assert (np.abs(between) < 20.0).any(), f"none below, {low} to {high} from it"
        assert (np.abs(between) > 20.0).any(), f"none above, {low} to {high} from it"
