"""The programs whose dumps are kept: each a function, and arguments of which only dtypes and shapes matter.

What examples and the demo define is taken from them, where it can be called without the rest. Programs of the
benchmarks are written out again: there, they are in the names of several libraries.
"""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import tracejit as tj
from tracejit.tools.demo import train

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Program:
    """A program, which the test jits, and what makes its arguments."""

    name: str
    #: Returns the function; an example is loaded no earlier than it is asked for.
    function: Callable[[], Callable[..., Any]]
    arguments: Callable[[], tuple[Any, ...]]


@cache
def example(name: str) -> SimpleNamespace:
    """The definitions of ``examples/<name>.py``."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "examples" / f"{name}.py")))


def f32(*shape: int) -> tj.Tensor:
    return tj.zeros(shape, dtype=tj.float32)


def f64(*shape: int) -> tj.Tensor:
    return tj.zeros(shape)


def i64(*shape: int) -> tj.Tensor:
    return tj.zeros(shape, dtype=tj.int64)


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    """benchmarks/workloads/elementwise.py, black-scholes: one pass with maths functions, two results."""

    def below(x: Any) -> Any:
        return 0.5 + 0.5 * tj.erf(x * math.sqrt(0.5))

    spread = 0.3 * tj.sqrt(years)
    d1 = (tj.log(spot / strike) + (0.02 + 0.3 * 0.3 / 2) * years) / spread
    d2 = d1 - spread
    paid = strike * tj.exp(-0.02 * years)
    call = spot * below(d1) - paid * below(d2)
    return call, call - spot + paid


def layernorm(x: Any, scale: Any, shift: Any, target: Any) -> Any:
    """benchmarks/workloads/reductions.py, layernorm-grad: reductions of both axes over the same rows."""
    centred = x - tj.mean(x, axis=1, keepdims=True)
    variance = tj.mean(centred * centred, axis=1, keepdims=True)
    return ((centred / tj.sqrt(variance + 1e-5) * scale + shift) * target).sum()


def mixture(weights: Any, means: Any, spreads: Any, x: Any) -> Any:
    """benchmarks/workloads/learning.py, mixture-grad: a log-likelihood, reductions over three axes."""
    points, dims = x.shape
    z = (x[:, None, :] - means) * tj.exp(-spreads)
    each = -0.5 * tj.sum(z * z, axis=2) - tj.sum(spreads, axis=1) + weights
    total = tj.sum(tj.logsumexp(each, axis=1))
    return total - points * (tj.logsumexp(weights, axis=0) + dims / 2 * math.log(2 * math.pi))


def attention(q: Any, k: Any, v: Any) -> Any:
    """benchmarks/workloads/learning.py, attention-grad: softmax between two products."""
    scores = q @ k.mT * (1 / math.sqrt(q.shape[2]))
    e = tj.exp(scores - tj.max(scores, axis=2, keepdims=True))
    out = e / tj.sum(e, axis=2, keepdims=True) @ v
    return (out * out).sum()


def gravity(x: Any, m: Any) -> Any:
    """benchmarks/workloads/simulation.py, gravity-grad: a pairwise kernel."""
    apart = x[None, :, :] - x[:, None, :]
    square = tj.sum(apart * apart, axis=2) + 0.01
    return -0.5 * tj.sum(m[:, None] * m / tj.sqrt(square))


def heat(u: Any) -> Any:
    """benchmarks/workloads/simulation.py, heat-grad: steps of a stencil, and back through them."""

    def step(_: Any, u: Any) -> Any:
        inside = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return tj.pad(inside + 0.2 * (around - 4.0 * inside), 1)

    return (tj.fori_loop(0, 50, step, u) ** 2).sum()


def kalman(q: Any, r: Any, motion: Any, identity: Any, observations: Any) -> Any:
    """benchmarks/workloads/loops.py, kalman-grad: a scan over products of 3x3 matrices."""

    def step(carry: Any, y: Any) -> Any:
        m, p = motion @ carry[0], motion @ carry[1] @ motion.T + q * identity
        s = p[0, 0] + r
        k, e = p[:, 0] / s, y - m[0]
        return (m + k * e, p - k[:, None] * p[0][None, :]), -0.5 * (tj.log(s) + e * e / s)

    return tj.scan(step, (identity[0] * 0.0, identity), observations)[1].sum()


def sorting(x: Any) -> Any:
    """benchmarks/workloads/movement.py, sort-rows-f64 and argsort-rows, and sums of what is sorted."""
    ordered = tj.sort(x)
    return ordered, tj.argsort(x), tj.cumsum(ordered, 1)


def embedding(table: Any, index: Any, weights: Any) -> Any:
    """benchmarks/workloads/movement.py, gather-rows; the gradient scatters, as scatter-add-rows does."""
    return (tj.tanh(table[index]) * weights).sum()


def newton(w: Any, x: Any, y: Any) -> Any:
    """A step of examples/logistic_regression.py, but for the solution of the equations."""
    names = example("logistic_regression")
    return *tj.value_and_grad(names.objective)(w, x, y), names.hessian(w, x)


def convolution(net: Any, images: Any, labels: Any) -> Any:
    """examples/train_cnn.py with one of its layers and without dropout: value and gradient of its loss."""

    def loss(net: Any) -> Any:
        x = tj.nn.relu(tj.nn.conv2d(images, net["conv"], net["conv_bias"], padding=1))
        x = tj.nn.max_pool2d(x, 2).reshape(len(images), -1)
        return tj.nn.cross_entropy(tj.nn.linear(x, net["out"], net["out_bias"]), labels)

    return tj.value_and_grad(loss)(net)


def hmc(key: Any, x: Any, step_size: Any) -> Any:
    """The orbit of a transition of examples/hmc.py, from random numbers on."""
    log_posterior = example("hmc").log_posterior

    def leap(_: Any, state: Any) -> Any:
        x, p = state
        x = x + step_size * p
        return x, p + step_size * tj.grad(log_posterior)(x)

    return tj.fori_loop(0, 10, leap, (x, tj.random.normal(key, x.shape)))


def _network() -> tuple[Any, ...]:
    net = {"conv": f32(16, 8, 3, 3), "conv_bias": f32(16), "out": f32(10, 256), "out_bias": f32(10)}
    return net, f32(32, 8, 8, 8), i64(32)


def _training() -> tuple[Any, ...]:
    parameters = train.initial_parameters()
    return parameters, train.adam_state(parameters), f64(train.BATCH, 64), i64(train.BATCH)


def _gradient(function: Callable[..., Any], *wrt: int) -> Callable[[], Callable[..., Any]]:
    return lambda: tj.value_and_grad(function, wrt)


PROGRAMS: Final = (
    Program("black_scholes", lambda: black_scholes, lambda: (f64(100_000), f64(100_000), f64(100_000))),
    Program(
        "cross_entropy",
        lambda: tj.value_and_grad(example("cross_entropy").cross_entropy),
        lambda: (f32(512, 100), i64(512)),
    ),
    Program(
        "layernorm",
        _gradient(layernorm, 0, 1, 2),
        lambda: (f32(4096, 1024), f32(1024), f32(1024), f32(4096, 1024)),
    ),
    Program(
        "mixture",
        _gradient(mixture, 0, 1, 2),
        lambda: (f64(16), f64(16, 8), f64(16, 8), f64(10_000, 8)),
    ),
    Program("newton", lambda: newton, lambda: (f64(5), f64(20_000, 5), f64(20_000))),
    Program("attention", _gradient(attention, 0, 1, 2), lambda: (f32(8, 128, 64),) * 3),
    Program("training_step", train.jit_step, _training),
    Program("convolution", lambda: convolution, _network),
    Program("gravity", _gradient(gravity, 0), lambda: (f64(1000, 3), f64(1000))),
    Program("heat", _gradient(heat, 0), lambda: (f64(256, 256),)),
    Program("lotka_volterra", lambda: example("lotka_volterra").solve, lambda: (f64(4), f64(2))),
    Program("hmc", lambda: hmc, lambda: (tj.random.key(0), f64(10), f64())),
    Program("kalman", _gradient(kalman, 0, 1), lambda: (f64(), f64(), f64(3, 3), f64(3, 3), f64(1000))),
    Program("sorting", lambda: sorting, lambda: (f64(400, 256),)),
    Program("embedding", _gradient(embedding, 0, 2), lambda: (f32(10_000, 64), i64(10_000), f32(10_000, 64))),
)
