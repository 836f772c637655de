# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .continuous import (
    ball as ball,
    cauchy as cauchy,
    double_sided_maxwell as double_sided_maxwell,
    generalized_normal as generalized_normal,
    logistic as logistic,
    lognormal as lognormal,
    maxwell as maxwell,
    pareto as pareto,
    rayleigh as rayleigh,
    triangular as triangular,
    wald as wald,
    weibull_min as weibull_min,
)

from .counts import (
    binomial as binomial,
    geometric as geometric,
    multinomial as multinomial,
    poisson as poisson,
    rademacher as rademacher,
)

from .default import (
    get_state as get_state,
    next_key as next_key,
    rand as rand,
    randn as randn,
    seed as seed,
    set_state as set_state,
)

from .discrete import (
    bernoulli as bernoulli,
    categorical as categorical,
    permutation as permutation,
    randint as randint,
)

from .distributions import (
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    normal as normal,
    truncated_normal as truncated_normal,
    uniform as uniform,
)

from .gammas import (
    beta as beta,
    chisquare as chisquare,
    dirichlet as dirichlet,
    f as f,
    gamma as gamma,
    loggamma as loggamma,
    t as t,
)

from .keys import (
    bits as bits,
    fold_in as fold_in,
    key as key,
    split as split,
)

from .choices import (
    choice as choice,
)

from .multivariate import (
    multivariate_normal as multivariate_normal,
    orthogonal as orthogonal,
)
