"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....array.elementwise.ufuncs import exp
from .....array.operands import as_tensor
from .....scipy.special import gammaln, xlogy
from ...arrays import for_arrays, values_of


def _logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = as_tensor(x), as_tensor(alpha)
    if x.shape[0] == alpha.shape[0] - 1:  # the last part is what the others leave of 1
        from_others = as_tensor(
            np.vstack([x.reshape(x.shape[0], -1), 1.0 - x.reshape(x.shape[0], -1).sum(0)])
        )
        x = from_others.reshape(alpha.shape[0], *x.shape[1:])
    normalizer = gammaln(alpha.sum()) - gammaln(alpha).sum()
    return xlogy((alpha - 1.0).reshape(-1, *[1] * (x.ndim - 1)), x).sum(0) + normalizer


@for_arrays
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at `x`, whose first axis is that of the parts."""
    return _logpdf(x, alpha)


@for_arrays
def pdf(x: Any, alpha: Any) -> Any:
    """The density at `x`, whose first axis is that of the parts."""
    return exp(_logpdf(x, alpha))


def rvs(alpha: Any, size: Any = 1, random_state: Any = None) -> Any:
    """Random values, of NumPy's global generator unless `random_state` is a generator or a seed."""
    generator = random_state if hasattr(random_state, "dirichlet") else np.random
    if random_state is not None and generator is np.random:
        generator = np.random.RandomState(random_state)
    return generator.dirichlet(values_of(alpha), size)
