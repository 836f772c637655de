"""Positions of quantiles among sorted elements, by the methods of ``numpy.quantile``.

Numbers and names are those of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996): of n
elements the part q lies at the place ``n * q + a + q * (1 - a - b) - 1``, counted from 0, with a and b of
the method. Methods that choose one of the elements round that place, the others interpolate.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...base.errors import DomainError
from ...ir.dtypes import INT64, is_real_floating
from ...tensors.tensor import Tensor
from ..operands import cast, filled, run

__all__ = ["METHODS", "SELECTING", "Places", "check_method", "places", "selects"]

#: a and b of the methods that interpolate, but for ``linear`` (1 and 1), whose formula is (n - 1) * q.
_PARAMETERS: Final = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
#: Methods that take one of the elements.
SELECTING: Final = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
METHODS: Final = (*SELECTING, *_PARAMETERS, "linear", "averaged_inverted_cdf", "midpoint")


class Places(NamedTuple):
    """Two neighbours, and how far from the first to the second: None for methods that take the first."""

    below: Tensor
    above: Tensor
    share: Tensor | None


def check_method(name: str, method: Any) -> None:
    """Raise DomainError unless `method` is one of `METHODS`."""
    if method not in METHODS:
        raise DomainError(f"{name}: method must be one of {', '.join(METHODS)}, got {method!r}")


def selects(method: str, q: Tensor, weak: bool) -> bool:
    """Whether `method` takes elements as they are: as some do where `q` is 0 and 1 in integers."""
    if is_real_floating(q.dtype):
        return method in SELECTING
    return method in SELECTING or method == "linear" or (method in _PROMOTING and not weak)


#: Methods whose places are integers for an array of integers, and their results of its dtype.
_PROMOTING: Final = ("interpolated_inverted_cdf", "weibull", "averaged_inverted_cdf")


def places(method: str, count: int | Tensor, q: Tensor) -> Places:
    """The places of the quantile `q` (floats) among `count` sorted elements by `method`. `count` is a tensor
    where lines differ in length."""
    last = run("maximum", run("sub", count, 1), 0) if isinstance(count, Tensor) else count - 1
    number: Any = cast(count, q.dtype) if isinstance(count, Tensor) else float(count)
    spans: Any = cast(last, q.dtype) if isinstance(last, Tensor) else float(last)
    if method in SELECTING:
        place = _bounded(_selected(method, number, spans, q), last)
        return Places(place, place, None)
    if method == "averaged_inverted_cdf":
        at = run("mul", q.detach(), number)
        below = run("floor", at)
        return _between(run("sub", below, 1.0), last, _either(run("eq", at, below), 0.5, 1.0, q))
    if method in _PARAMETERS:
        a, b = _PARAMETERS[method]
        shift = run("add", run("mul", q, 1 - a - b), a)
        at = run("sub", run("add", run("mul", q, number), shift), 1.0)
    else:
        at = run("mul", q, spans)
    below = run("floor", at.detach())
    if method == "midpoint":
        return _between(below, last, _either(run("eq", at.detach(), below), 0.0, 0.5, q))
    return _between(below, last, run("sub", at, below))


def _between(below: Tensor, last: int | Tensor, share: Tensor) -> Places:
    return Places(_bounded(below, last), _bounded(run("add", below, 1.0), last), share)


def _either(condition: Tensor, value: float, other: float, q: Tensor) -> Tensor:
    return run("where", condition, filled(value, (), q.dtype), filled(other, (), q.dtype))


def _selected(method: str, number: Any, spans: Any, q: Tensor) -> Tensor:
    """The place of the one element, as a float.

    Products are compared and rounded, but never added to: compiled code may round a sum of products once.
    """
    q = q.detach()
    if method == "inverted_cdf":
        return run("sub", run("ceil", run("mul", q, number)), 1.0)
    if method == "closest_observation":  # nq - 3/2, rounded up unless it is an odd integer
        twice = run("mul", run("mul", q, number), 2.0)
        halves = run("floor", twice)
        below = run("floor", run("mul", run("sub", halves, 3.0), 0.5))
        is_whole = run("logical_and", run("eq", twice, halves), run("ne", run("remainder", halves, 2.0), 0.0))
        stays = run("logical_and", is_whole, run("ne", run("remainder", below, 2.0), 0.0))
        return run("where", stays, below, run("add", below, 1.0))
    rounding = {"lower": "floor", "higher": "ceil", "nearest": "rint"}[method]
    return run(rounding, run("mul", q, spans))


def _bounded(place: Tensor, last: int | Tensor) -> Tensor:
    return run("clip", cast(place, INT64), 0, last)
