"""A network of two layers (64-64-10, relu, softmax cross entropy), trained by Adam, eagerly and jitted.

Both ways run the same `loss` and the same `adam` on the same batches from the same parameters. They differ
in how they get the gradient (`eager_step` calls ``backward`` on the tape, `jit_step` is one compiled function
around ``value_and_grad``), so their loss curves must agree up to rounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tj

from .bar import Bar
from .data import Array, Digits

HIDDEN, CLASSES = 64, 10
BATCH = 32
LEARNING_RATE = 3e-3
_PARAMETER_SEED, _BATCH_SEED = 1, 2

#: Tensors by name.
Parameters = dict[str, tj.Tensor]
#: Parameters and Adam's state, and what a step makes of them: the loss, and both again.
Step = Callable[[Parameters, Any, Array, Array], tuple[tj.Tensor, Parameters, Any]]


def initial_parameters(inputs: int = 64) -> Parameters:
    """He's initialisation (He et al. 2015): variance 2 / inputs for a layer that a relu follows."""
    rng = np.random.default_rng(_PARAMETER_SEED)
    return {
        "w1": tj.tensor(rng.normal(scale=np.sqrt(2 / inputs), size=(inputs, HIDDEN))),
        "b1": tj.zeros(HIDDEN),
        "w2": tj.tensor(rng.normal(scale=np.sqrt(2 / HIDDEN), size=(HIDDEN, CLASSES))),
        "b2": tj.zeros(CLASSES),
    }


def logits(parameters: Parameters, images: Any) -> tj.Tensor:
    """The network: unnormalised log-probabilities of the ten classes."""
    hidden = tj.maximum(images @ parameters["w1"] + parameters["b1"], 0)
    return hidden @ parameters["w2"] + parameters["b2"]


def loss(parameters: Parameters, images: Any, labels: Any) -> tj.Tensor:
    """Softmax cross entropy: the mean of log(sum(exp(scores))) minus the score of the right class."""
    scores = logits(parameters, images)
    right = tj.take_along_axis(scores, labels[:, None], axis=1)
    return tj.mean(tj.logsumexp(scores, axis=1, keepdims=True) - right)


def adam_state(parameters: Parameters) -> dict[str, Any]:
    """First and second moments, and the number of steps as a tensor, so that it is no constant of a trace."""
    return {
        "m": tj.tree_map(tj.zeros_like, parameters),
        "v": tj.tree_map(tj.zeros_like, parameters),
        "t": tj.zeros(()),
    }


def adam(parameters: Parameters, gradients: dict[str, Any], state: Any) -> tuple[Parameters, Any]:
    """One step of Adam (Kingma and Ba 2015, algorithm 1)."""
    t: tj.Tensor = state["t"] + 1
    m_scale, v_scale = 1 / (1 - 0.9**t), 1 / (1 - 0.999**t)

    def moved(p: tj.Tensor, m: tj.Tensor, v: tj.Tensor) -> tj.Tensor:
        return p - LEARNING_RATE * (m * m_scale) / (tj.sqrt(v * v_scale) + 1e-8)

    m = tj.tree_map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
    v = tj.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], gradients)
    return tj.tree_map(moved, parameters, m, v), {"m": m, "v": v, "t": t}


def eager_step(
    parameters: Parameters, state: Any, images: Array, labels: Array
) -> tuple[tj.Tensor, Parameters, Any]:
    """An update in PyTorch's manner: record on the tape, go backward, update without recording."""
    for parameter in parameters.values():
        parameter.requires_grad_()
    value = loss(parameters, images, labels)
    value.backward()
    with tj.no_grad():
        gradients = {name: parameter.grad for name, parameter in parameters.items()}
        return value.detach(), *adam(parameters, gradients, state)


def jit_step() -> Any:
    """A newly jitted update step: forward, backward and Adam in one native function."""

    @tj.jit
    def update(
        parameters: Parameters, state: Any, images: Any, labels: Any
    ) -> tuple[tj.Tensor, Parameters, Any]:
        value, gradients = tj.value_and_grad(loss)(parameters, images, labels)
        return value, *adam(parameters, gradients, state)

    return update


def batches(data: Digits, epoch: int) -> Iterator[tuple[Array, Array]]:
    """The batches of an epoch. What is left over after the last full one waits for another epoch's order."""
    order = np.random.default_rng([_BATCH_SEED, epoch]).permutation(len(data))
    for start in range(0, len(data) - BATCH + 1, BATCH):
        chosen = order[start : start + BATCH]
        yield data.images[chosen], data.labels[chosen]


def accuracy(parameters: Parameters, data: Digits) -> float:
    """The share of `data` whose label gets the largest score."""
    with tj.no_grad():
        predicted = tj.argmax(logits(parameters, data.images), axis=1)
    return float(np.mean(predicted.numpy() == data.labels))


@dataclass
class Run:
    """Measurements of one training."""

    #: Seconds spent in update steps. Compilation, evaluation and drawing are not in it.
    seconds: float = 0.0
    #: The first call of the jitted step, which loads LLVM, traces and compiles; 0 for eager.
    compile_ms: float = 0.0
    #: The loss at every step, and its mean and the held-out accuracy at every epoch.
    losses: list[float] = field(default_factory=list)
    epoch_losses: list[float] = field(default_factory=list)
    epoch_accuracies: list[float] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """Held-out accuracy at the end."""
        return self.epoch_accuracies[-1]


def train_eager(training: Digits, held_out: Digits, epochs: int) -> Run:
    """Train op by op."""
    return _train("eager", eager_step, Run(), training, held_out, epochs)


def train_jit(training: Digits, held_out: Digits, epochs: int, update: Any = None) -> Run:
    """Train with the jitted update step, compiled before the clock of the training starts."""
    update = jit_step() if update is None else update
    parameters = initial_parameters()
    start = time.perf_counter()
    update(parameters, adam_state(parameters), *next(batches(training, 0)))
    outcome = Run(compile_ms=(time.perf_counter() - start) * 1e3)
    return _train("jit  ", update, outcome, training, held_out, epochs)


def _train(label: str, step: Step, outcome: Run, training: Digits, held_out: Digits, epochs: int) -> Run:
    parameters = initial_parameters(training.images.shape[1])
    state: Any = adam_state(parameters)
    bar = Bar(label, epochs)
    for epoch in range(epochs):
        values = []
        epoch_batches = list(batches(training, epoch))
        start = time.perf_counter()
        for images, labels in epoch_batches:
            value, parameters, state = step(parameters, state, images, labels)
            values.append(value.item())
        outcome.seconds += time.perf_counter() - start
        outcome.losses += values
        outcome.epoch_losses.append(float(np.mean(values)))
        outcome.epoch_accuracies.append(accuracy(parameters, held_out))
        bar.advance(f"loss {outcome.epoch_losses[-1]:.4f}  held-out accuracy {outcome.accuracy:.1%}")
    bar.close()
    return outcome
