"""A training loss that is far slower than it has to be: find out why with ``tracejit view``.

    tracejit view examples/slow.py:step --args-from examples/slow.py:make_args

Shows: what ``tracejit view`` is for. The summary names the lines that cost most, and why; docs/view.md
follows the search, and comes to less than a tenth of the time. Do it yourself first.

The model: counts in regions, each a Poisson number whose rate depends on what is known of the place and on an
offset of its region.
"""

import math
import time

import numpy as np

import tracejit as tj

PLACES, FEATURES, REGIONS = 20_000, 32, 50


def log_factorial(counts):
    """log(n!) of each count."""
    return np.vectorize(math.lgamma)(counts + 1.0)


def region_totals(values, region):
    """The sum of `values` in each region."""

    def add_place(i, totals):
        return tj.index_add(totals, region[i], values[i])

    return tj.fori_loop(0, PLACES, add_place, tj.zeros(REGIONS))


def loss(parameters, features, region, counts):
    """Minus the log-likelihood per place, with a penalty on regions whose totals are off."""
    effects = parameters["weights"][:, None] * features.T
    log_rate = effects.sum(axis=0) + parameters["offsets"][region]
    rate = tj.exp(log_rate)
    constant = tj.pure_callback(log_factorial, counts, counts)
    likelihood = counts * log_rate - rate - constant
    off = region_totals(rate, region) - region_totals(counts, region)
    return -tj.mean(likelihood) + 1e-6 * tj.sum(off * off)


def make_args():
    """Parameters to begin with, and made-up data: a row of `features` for each place."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(PLACES, FEATURES)) / 10
    region = generator.integers(0, REGIONS, PLACES)
    counts = generator.poisson(2.0, PLACES).astype(float)
    parameters = {"weights": np.zeros(FEATURES), "offsets": np.zeros(REGIONS)}
    return parameters, features, region, counts


#: One step of training: the loss, and its gradient by the parameters.
step = tj.jit(tj.value_and_grad(loss))


def main():
    args = make_args()
    step(*args)  # compiles
    begin = time.perf_counter()
    value, gradient = step(*args)
    print(f"loss {value.item():.4f}, {1e3 * (time.perf_counter() - begin):.1f} ms a step")
    assert np.isfinite(gradient["weights"].numpy()).all()


if __name__ == "__main__":
    main()
