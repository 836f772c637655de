"""Random numbers from counters: reproducible on any number of threads, and the same eager and jitted.

Explicit keys as in ``jax.random``, and a default generator for convenience. See docs/random.md. What needs
loops, or rules of its own for gradients, loads at its first use.
"""

from __future__ import annotations

from ..surface.namespaces import RANDOM as _RANDOM

#: Names of these functions in other libraries.
_OTHER_NAMES = {
    "PRNGKey": "key",
    "default_rng": "key",
    "manual_seed": "seed",
    "random": "rand",
    "shuffle": "permutation",
    "standard_normal": "randn",
    "standard_t": "t",
    "weibull": "weibull_min",
}

_RANDOM.attach(
    globals(), lambda name: f"; use tj.random.{_OTHER_NAMES[name]}" if name in _OTHER_NAMES else ""
)
