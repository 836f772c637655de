"""The special functions by name, and the module of the family that each of them is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...base.errors import TracejitError
from ...base.loading import load_module
from ...base.records import record
from .arrays import BLOCK, ArrayEvaluator
from .evaluator import Array, Evaluator
from .jets import Index, derivative, variables

#: The algorithm: ``compute(evaluator, orders, *operands)``, the derivative of `orders`.
Compute = Callable[..., Any]
#: A derivative in one operand: ``slope(b, orders, *operands)`` for the function's derivative of `orders`.
Slope = Callable[..., Any]


@record(eq=False)
class Special:
    """One function: its parameters, its algorithm, and its derivatives by operand.

    A derivative is a function that writes ops, or True where the algorithm computes it, or None where there
    is none.
    """

    name: str
    params: tuple[str, ...]
    compute: Compute
    slopes: tuple[Slope | bool | None, ...]
    #: Whether compiled code computes it of float32 in that, within some ulps, and not in float64.
    single: bool = False
    #: Whether shorter polynomials and series serve results in float64 that are rounded to float32.
    short: bool = False
    #: Whether compiled code has the few steps of the algorithm, but not of its derivatives, in place of a
    #: call; for NaN they give NaN.
    inline: bool = False


_FUNCTIONS: Final[dict[str, Special]] = {}
#: Families, and the functions of each.
FAMILIES: Final = {
    "gamma": "gammaln gamma digamma zeta riemann_zeta",
    "beta": "beta betaln beta_rate binom",
    "error": "erf erfc erfcx erfinv erfcinv ndtr log_ndtr ndtri expit log_expit logit",
    "activations": "silu silu_slope silu_bend gelu_tanh gelu_tanh_slope gelu_tanh_bend",
    "information": "xlogy xlog1py entr rel_entr kl_div log_ratio",
    "incomplete_gamma": "gammainc gammaincc gamma_density gammaincinv gammainccinv",
    "incomplete_beta": "betainc betaincc beta_density betaincinv",
    "bessel": "kv kve iv ive jv",
    "integrals": "exp1 expi exp_quotient expn si ci sinc spence ellipk ellipe",
    "hypergeometric": "hyp1f1 hyp2f1 eval_legendre lpmv sph_legendre_p lambertw_0 lambertw_m1",
    "bessel_integer": "j0 j1 y0 y1 i0 i1 i0e i1e k0 k1 k0e k1e",
}
_MODULES: Final = {name: module for module, names in FAMILIES.items() for name in names.split()}


def names() -> list[str]:
    """All functions."""
    return list(_MODULES)


def special(name: str) -> Special:
    """The function `name`; loads its family."""
    if name not in _FUNCTIONS:
        if name not in _MODULES:
            raise TracejitError(f"there is no special function named {name!r}")
        load_module(f".{_MODULES[name]}", __package__)
    return _FUNCTIONS[name]


def define(
    name: str,
    params: str,
    compute: Compute,
    *slopes: Slope | bool | None,
    single: bool = False,
    short: bool = False,
    inline: bool = False,
) -> None:
    """Register the function `name`, whose `compute` gives derivatives, too."""
    _FUNCTIONS[name] = Special(name, tuple(params.split()), compute, slopes, single, short, inline)


def define_by_jets(
    name: str,
    params: str,
    algorithm: Callable[..., Any],
    *slopes: Slope | bool | None,
    single: bool = False,
    short: bool = False,
    inline: bool = False,
) -> None:
    """Register ``algorithm(evaluator, *operands)``. Its derivatives are computed by running it on jets."""

    def compute(m: Evaluator, orders: Index, *operands: Any) -> Any:
        return derivative(algorithm(m, *variables(orders, operands)), orders)

    define(name, params, compute, *slopes, single=single, short=short, inline=inline)


def compute_checked(m: Evaluator, name: str, orders: Index, operands: Sequence[Any]) -> Any:
    """The function on values: NaN where an operand is."""
    result = special(name).compute(m, orders, *operands)
    total = operands[0]
    for operand in operands[1:]:
        total = total + operand
    undefined = m.isnan(operands[0])
    for operand in operands[1:]:
        undefined = undefined | m.isnan(operand)
    return m.where(undefined, total, result)


def evaluate(name: str, orders: Index, operands: Sequence[Array]) -> Array:
    """The function of arrays of one floating dtype; computed in float64."""
    dtype = operands[0].dtype
    whole = np.broadcast_arrays(*operands)
    flat = [np.ravel(x) for x in whole]
    result = np.empty(whole[0].shape, dtype)
    values = result.reshape(-1)
    with np.errstate(all="ignore"):
        for begin in range(0, values.size, BLOCK):
            parts = [x[begin : begin + BLOCK].astype(np.float64) for x in flat]
            evaluator = ArrayEvaluator(parts[0].size, compute_checked)
            values[begin : begin + BLOCK] = compute_checked(evaluator, name, orders, parts)
    return result
