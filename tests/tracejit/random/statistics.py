"""Distances of samples from distributions, and distribution functions to compare with."""

from __future__ import annotations

import math

import numpy as np

#: K with Q(K) = 2 sum (-1)^(j-1) exp(-2 j^2 K^2) = 0.001.
KS_LIMIT = 1.95


def kolmogorov(sample, cdf):
    """sqrt(n) times the largest distance of the sample's distribution function from `cdf`."""
    x = np.sort(np.ravel(sample).astype(np.float64))
    n, place = len(x), cdf(x)
    steps = np.arange(n + 1) / n
    return math.sqrt(n) * max((place - steps[:-1]).max(), (steps[1:] - place).max())


def chi_squared(sample, probabilities):
    """Excess of Pearson's statistic over its mean, in standard deviations. Outcomes 0, 1, ...; rare ones, and
    those beyond `probabilities`, are taken together."""
    expected = np.asarray(probabilities, np.float64) * np.size(sample)
    counts = np.bincount(np.ravel(sample), minlength=len(expected))
    common = expected >= 20
    seen = counts[: len(expected)][common]
    statistic = np.sum((seen - expected[common]) ** 2 / expected[common])
    rest = np.size(sample) - expected[common].sum()
    freedom = common.sum() - 1
    if rest >= 5:
        statistic += (np.size(sample) - seen.sum() - rest) ** 2 / rest
        freedom += 1
    return (statistic - freedom) / math.sqrt(2 * max(freedom, 1))


def normal_cdf(x):
    return 0.5 * np.array([math.erfc(-number / math.sqrt(2)) for number in x])


def gamma_cdf(a):
    """P(a, x) by its power series, x^a e^-x / gamma(a + 1) sum x^n / ((a + 1) ... (a + n)) (DLMF 8.7.1)."""

    def cdf(x):
        term = total = np.ones_like(x)
        for n in range(1, 2000):
            term = term * x / (a + n)
            total = total + term
            if (term <= 1e-17 * total).all():
                break
        with np.errstate(divide="ignore"):
            return np.exp(a * np.log(x) - x - math.lgamma(a + 1) + np.log(total))

    return cdf
