"""The density of seawater: a long elementwise expression.

The equation of state EOS-80 (UNESCO technical papers in marine science 44, 1983): polynomials in temperature,
salinity and pressure. With its gradients it has some three hundred operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import generator

#: Coefficients of powers of the temperature, from the highest down. Of the density at the surface: of pure
#: water, and of s, s^1.5 and s^2; of the bulk modulus: of pure water, and of the other terms in turn.
_DENSITY: Final = (
    (6.536332e-9, -1.120083e-6, 1.001685e-4, -9.095290e-3, 6.793952e-2, 999.842594),
    (5.3875e-9, -8.2467e-7, 7.6438e-5, -4.0899e-3, 8.24493e-1),
    (-1.6546e-6, 1.0227e-4, -5.72466e-3),
    (4.8314e-4,),
)
_MODULUS: Final = (
    (-5.155288e-5, 1.360477e-2, -2.327105, 148.4206, 19652.21),
    (-6.1670e-5, 1.09987e-2, -0.603459, 54.6746),
    (-5.3009e-4, 1.6483e-2, 7.944e-2),
)
_LINEAR: Final = (
    (-5.77905e-7, 1.16092e-4, 1.43713e-3, 3.239908),
    (-1.6078e-6, -1.0981e-5, 2.2838e-3),
    (1.91075e-4,),
)
_QUADRATIC: Final = ((5.2787e-8, -6.12293e-6, 8.50935e-5), (9.1697e-10, 2.0816e-8, -9.9348e-7))


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    total = coefficients[0] * x + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


def _series(rows: Sequence[Sequence[float]], t: Any, powers: Sequence[Any]) -> Any:
    """Polynomials in `t` times powers of the salinity."""
    total = _polynomial(rows[0], t)
    for row, power in zip(rows[1:], powers, strict=False):
        total = total + (_polynomial(row, t) if len(row) > 1 else row[0]) * power
    return total


def _density(lib: Library, count: int) -> Function:
    def density(t: Any, s: Any, p: Any) -> Any:
        powers = s, s * lib.np.sqrt(s), s * s
        modulus = (
            _series(_MODULUS, t, powers)
            + (_series(_LINEAR, t, powers) + _series(_QUADRATIC, t, powers) * p) * p
        )
        return _series(_DENSITY, t, powers) / (1.0 - p / modulus)

    return density


def _total(lib: Library, count: int) -> Function:
    density = _density(lib, count)
    return lambda t, s, p: lib.np.sum(density(t, s, p))


def _water(count: int) -> tuple[Any, ...]:
    """Temperatures in degrees Celsius, practical salinities, and pressures in bar."""
    rng = generator()
    return rng.uniform(0, 30, count), rng.uniform(5, 40, count), rng.uniform(0, 1000, count)


WORKLOADS: Final = tuple(
    Workload(
        f"seawater{'-grad' if gradient else ''}-{text}",
        f"{'gradient in three variables of ' if gradient else ''}the density of seawater, {text} points, f64",
        program,
        _water,
        sizes=(count,),
        tiny=(7,),
        gradient=gradient,
        tolerance=1e-9,
    )
    for count, text in ((4_096, "4k"), (1_000_000, "1m"))
    for program, gradient in ((_density, None), (_total, (0, 1, 2)))
)
