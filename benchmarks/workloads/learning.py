"""Gradients of models: regression, networks, mixtures, attention, a hierarchical density."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import generator, normal


def _logistic(lib: Library, rows: int, columns: int) -> Function:
    """Mean cross entropy, log(1 + exp) written so that it does not overflow."""

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (lib.np.maximum(z, 0.0) - z * y + lib.np.log(1.0 + lib.np.exp(-abs(z)))).mean()

    return loss


def _labelled(rows: int, columns: int) -> tuple[Any, ...]:
    rng = generator()
    x = rng.standard_normal((rows, columns))
    return rng.standard_normal(columns) / 8, x, (rng.random(rows) < 0.5).astype(np.float64)


def _mlp_update(lib: Library, batch: int, *sizes: int) -> Function:
    """Step of SGD on a multilayer perceptron with relu and softmax cross entropy."""
    value_and_grad, tail = lib.value_and_grad, lib.np.logsumexp
    assert value_and_grad is not None

    def loss(layers: Any, images: Any, labels: Any) -> Any:
        hidden = images
        for weights, bias in layers[:-1]:
            hidden = lib.np.maximum(hidden @ weights + bias, 0)
        weights, bias = layers[-1]
        scores = hidden @ weights + bias
        log_probabilities = scores - tail(scores, axis=1, keepdims=True)
        return -lib.np.mean(lib.np.sum(labels * log_probabilities, axis=1))

    gradient = value_and_grad(loss, (0,))

    def update(layers: Any, images: Any, labels: Any) -> Any:
        value, (gradients,) = gradient(layers, images, labels)
        moved = [
            (weights - 0.1 * dweights, bias - 0.1 * dbias)
            for (weights, bias), (dweights, dbias) in zip(layers, gradients, strict=True)
        ]
        return value, moved

    return update


def _mlp_inputs(batch: int, *sizes: int) -> tuple[Any, ...]:
    rng = generator()
    layers = [
        (rng.normal(scale=(2 / n) ** 0.5, size=(n, m)).astype(np.float32), np.zeros(m, np.float32))
        for n, m in itertools.pairwise(sizes)
    ]
    images = rng.normal(size=(batch, sizes[0])).astype(np.float32)
    labels = np.eye(sizes[-1], dtype=np.float32)[rng.integers(sizes[-1], size=batch)]
    return layers, images, labels


def _mlp(name: str, *sizes: int) -> Workload:
    # three products for each layer but the first, whose input has no gradient
    def work(batch: int, *sizes: int) -> float:
        layers = [2 * batch * n * m for n, m in itertools.pairwise(sizes)]
        return 3 * sum(layers) - layers[0]

    text = "-".join(map(str, sizes[1:]))
    return Workload(
        f"mlp-{name}",
        f"a step of SGD on a {text} network, batch {sizes[0]}, f32",
        _mlp_update,
        _mlp_inputs,
        sizes=sizes,
        tiny=(3, 7, 5, 4),
        skip=("numpy",),
        tolerance=1e-4,
        work=work,
    )


def _mixture(lib: Library, points: int, dims: int, parts: int) -> Function:
    """Log-likelihood of a mixture of Gaussians with diagonal covariances."""

    def likelihood(weights: Any, means: Any, spreads: Any, x: Any) -> Any:
        z = (x[:, None, :] - means) * lib.np.exp(-spreads)
        each = -0.5 * lib.np.sum(z * z, axis=2) - lib.np.sum(spreads, axis=1) + weights
        total = lib.np.sum(lib.np.logsumexp(each, axis=1))
        return total - points * (lib.np.logsumexp(weights, axis=0) + dims / 2 * math.log(2 * math.pi))

    return likelihood


def _attention(lib: Library, batch: int, length: int, width: int) -> Function:
    def loss(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.mT * (1 / math.sqrt(width))
        e = lib.np.exp(scores - lib.np.max(scores, axis=2, keepdims=True))
        out = e / lib.np.sum(e, axis=2, keepdims=True) @ v
        return (out * out).sum()

    return loss


def _hierarchical(lib: Library) -> Function:
    """Log-density of the eight schools: a mean, a log scale and eight standardised effects."""

    def density(theta: Any, effects: Any, errors: Any) -> Any:
        mean, scale, schools = theta[0], lib.np.exp(theta[1]), theta[2:]
        z = (effects - (mean + scale * schools)) / errors
        prior = -0.5 * (mean / 5.0) ** 2 - lib.np.log(1.0 + (scale / 5.0) ** 2) + theta[1]
        return prior - 0.5 * (schools * schools).sum() - 0.5 * (z * z).sum()

    return density


def _schools() -> tuple[Any, ...]:
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    return np.linspace(-0.5, 0.6, 10), effects, errors


WORKLOADS: Final = (
    Workload(
        "logistic-grad",
        "value and gradient of logistic regression, 100,000x64 f64",
        _logistic,
        _labelled,
        sizes=(100_000, 64),
        tiny=(19, 5),
        gradient=(0,),
        tolerance=1e-10,
        traffic=lambda rows, columns: 8 * rows * columns,
        work=lambda rows, columns: 4 * rows * columns,
        unit="f64",
    ),
    _mlp("small", 32, 64, 64, 10),
    _mlp("large", 256, 784, 512, 256, 10),
    Workload(
        "mixture-grad",
        "log-likelihood and gradient of 16 Gaussians, 10,000 points of 8 f64",
        _mixture,
        lambda n, d, k: (*normal((k,), (k, d), (k, d)), normal((n, d))[0] * 2),
        sizes=(10_000, 8, 16),
        tiny=(7, 2, 3),
        gradient=(0, 1, 2),
        tolerance=1e-10,
        work=lambda n, d, k: 12 * n * d * k,
        unit="f64",
    ),
    Workload(
        "attention-grad",
        "value and gradient of attention, 8x128x256 f32",
        _attention,
        lambda b, n, d: normal(*[(b, n, d)] * 3, dtype="f32"),
        sizes=(8, 128, 256),
        tiny=(2, 5, 3),
        gradient=(0, 1, 2),
        tolerance=1e-4,
        work=lambda b, n, d: 6 * 2 * b * n * n * d,
    ),
    Workload(
        "hierarchical-grad",
        "log-density and gradient of a hierarchical model, 10 parameters, f64",
        _hierarchical,
        _schools,
        gradient=(0,),
        tolerance=1e-12,
        goal=4.0,
        against="jax",
    ),
)
