"""Spherical harmonics, as complex numbers."""

from __future__ import annotations

from typing import Any

from ...array.operands import SCALARS, as_tensor, promoted, run
from ...tensors.tensor import Tensor
from .functions import sph_legendre_p
from .operands import floats


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Tensor:
    """The spherical harmonic of integer degree n and order m at the polar angle theta and the azimuth phi.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sph_harm_y(2, 1, 0.5, 0.25)
        tensor(-0.31493387-0.08041582j)

    It has the phase (-1)^m of Condon and Shortley. Semantics: ``scipy.special.sph_harm_y`` without
    ``diff_n``. Gradients flow to the angles.
    """
    order = m if type(m) in SCALARS else run("stop_gradient", as_tensor(m))
    size, angle = promoted(sph_legendre_p(n, m, theta), *floats(run("mul", order, phi)))
    return run("complex", run("mul", size, run("cos", angle)), run("mul", size, run("sin", angle)))


def sph_harm(m: Any, n: Any, theta: Any, phi: Any) -> Tensor:
    """``sph_harm_y(n, m, phi, theta)``: here theta is the azimuth, and phi the polar angle.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sph_harm(1, 2, 0.25, 0.5)
        tensor(-0.31493387-0.08041582j)

    Semantics: ``scipy.special.sph_harm``, which SciPy had up to 1.16.
    """
    return sph_harm_y(n, m, phi, theta)
