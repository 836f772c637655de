"""Functions that are exported in tests: a posterior, a network, an integration and a filter."""

from __future__ import annotations

import itertools

import numpy as np

import tracejit as tj

RNG = np.random.default_rng(7)
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(mu, log_tau, theta):
    """The log density of the eight schools, not centered."""
    tau = tj.exp(log_tau)
    prior = log_tau - 0.5 * (mu / 5) ** 2 - tj.log1p((tau / 5) ** 2) - 0.5 * (theta * theta).sum()
    return prior - 0.5 * (((EFFECTS - mu - tau * theta) / ERRORS) ** 2).sum()


def network(params, x, labels):
    """The mean cross entropy of a network with one hidden layer."""
    hidden = tj.maximum(x @ params["w1"] + params["b1"], 0.0)
    logits = hidden @ params["w2"] + params["b2"]
    logits = logits - logits.max(axis=1, keepdims=True)
    chosen = logits[tj.arange(x.shape[0]), labels]
    return (tj.log(tj.exp(logits).sum(axis=1)) - chosen).mean()


def lorenz(state, parameters):
    """The sum of the Lorenz system's state after 1,000 steps of Runge and Kutta's method."""

    def slope(s):
        p = parameters
        return tj.stack([p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]])

    step = 0.001
    for _ in range(1000):
        a = slope(state)
        b = slope(state + step / 2 * a)
        c = slope(state + step / 2 * b)
        d = slope(state + step * c)
        state = state + step / 6 * (a + 2 * b + 2 * c + d)
    return state.sum()


def kalman(transition, observation, noise, values):
    """The log likelihood of `values` under a linear model with Gaussian noise."""
    size, seen = transition.shape[0], observation.shape[0]
    mean, covariance, total = tj.zeros(size), tj.eye(size), 0.0
    for t in range(values.shape[0]):
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + noise
        innovation = values[t] - observation @ mean
        spread = observation @ covariance @ observation.T + tj.eye(seen)
        gain = tj.linalg.solve(spread, observation @ covariance).T
        mean = mean + gain @ innovation
        covariance = covariance - gain @ spread @ gain.T
        total = total - 0.5 * (
            innovation @ tj.linalg.solve(spread, innovation) + tj.log(tj.linalg.det(spread))
        )
    return total


def _parameters(*sizes):
    pairs = list(itertools.pairwise(sizes))
    weights = {f"w{i}": RNG.normal(size=pair).astype("float32") / 20 for i, pair in enumerate(pairs, 1)}
    return weights | {f"b{i}": np.zeros(pair[1], "float32") for i, pair in enumerate(pairs, 1)}


#: Function, arguments, and those that it is differentiated by, by name.
SAMPLES = {
    "eight_schools": (eight_schools, (0.3, -0.2, RNG.normal(size=8)), (0, 1, 2)),
    "network": (
        network,
        (_parameters(784, 128, 10), RNG.normal(size=(32, 784)).astype("float32"), RNG.integers(0, 10, 32)),
        0,
    ),
    "lorenz": (lorenz, (np.ones(3), np.array([10.0, 28.0, 8 / 3])), (0, 1)),
    "kalman": (
        kalman,
        (
            np.eye(6) + RNG.normal(size=(6, 6)) / 10,
            RNG.normal(size=(3, 6)),
            np.eye(6) / 10,
            RNG.normal(size=(100, 3)),
        ),
        (0, 2),
    ),
}
