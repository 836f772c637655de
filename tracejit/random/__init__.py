"""Random numbers from counters: reproducible on any number of threads, and the same eager and jitted.

Explicit keys as in ``jax.random``, and a default generator for convenience. See docs/random.md. What needs
loops, or rules of its own for gradients, loads at its first use.
"""

from __future__ import annotations

import typing as _typing

from ..arguments.errors import check_public as _check_public
from ..base.loading import load_module as _load_module
from .default import get_state, next_key, rand, randn, seed, set_state
from .discrete import bernoulli, categorical, permutation, randint
from .distributions import exponential, gumbel, laplace, normal, truncated_normal, uniform
from .keys import bits, fold_in, key, split

#: Modules that load at first use: import time is paid by all.
_MODULES = {
    "continuous": (
        "ball cauchy double_sided_maxwell generalized_normal logistic lognormal maxwell pareto rayleigh "
        "triangular wald weibull_min"
    ),
    "counts": "binomial geometric multinomial poisson rademacher",
    "gammas": "beta chisquare dirichlet f gamma loggamma t",
    "choices": "choice",
    "multivariate": "multivariate_normal orthogonal",
}
#: Names of these functions in other libraries.
_ELSEWHERE = {
    "PRNGKey": "key",
    "default_rng": "key",
    "manual_seed": "seed",
    "random": "rand",
    "shuffle": "permutation",
    "standard_normal": "randn",
    "standard_t": "t",
    "weibull": "weibull_min",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}
if _typing.TYPE_CHECKING:
    from .choices import choice
    from .continuous import (
        ball,
        cauchy,
        double_sided_maxwell,
        generalized_normal,
        logistic,
        lognormal,
        maxwell,
        pareto,
        rayleigh,
        triangular,
        wald,
        weibull_min,
    )
    from .counts import binomial, geometric, multinomial, poisson, rademacher
    from .gammas import beta, chisquare, dirichlet, f, gamma, loggamma, t
    from .multivariate import multivariate_normal, orthogonal
else:

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            hint = f"; use tj.random.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        globals()[name] = getattr(_load_module(f".{_LAZY[name]}", __name__), name)
        _check_public(globals(), [name], "random.")
        return globals()[name]


__all__ = [
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "get_state",
    "gumbel",
    "key",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "next_key",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "rand",
    "randint",
    "randn",
    "rayleigh",
    "seed",
    "set_state",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
]

_check_public(globals(), __all__, "random.")
