"""Random numbers from counters: reproducible on any number of threads, and the same eager and jitted.

Explicit keys as in ``jax.random``, and a default generator for convenience. See docs/random.md.
"""

from __future__ import annotations

from .default import get_state, next_key, rand, randn, seed, set_state
from .discrete import bernoulli, categorical, permutation, randint
from .distributions import exponential, gumbel, laplace, normal, truncated_normal, uniform
from .keys import bits, fold_in, key, split

__all__ = [
    "bernoulli",
    "bits",
    "categorical",
    "exponential",
    "fold_in",
    "get_state",
    "gumbel",
    "key",
    "laplace",
    "next_key",
    "normal",
    "permutation",
    "rand",
    "randint",
    "randn",
    "seed",
    "set_state",
    "split",
    "truncated_normal",
    "uniform",
]
