"""The table of workloads. Adding one is adding a record to `WORKLOADS`.

A program is a function of a Library that returns the function to measure, so every library runs the same
source. Inputs are ndarrays; `Workload.given` says in which form they are handed over.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from .libraries import Library
from .loops import (
    counting,
    kalman,
    lorenz,
    neighbours,
    observations,
    recurrent,
    scalars,
    sequences,
    sixty,
)

Program = Callable[[Library], Callable[..., Any]]
#: ndarrays nested in tuples and lists, one entry per argument.
Inputs = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Target:
    """What a workload is to reach: at most so many seconds, or at most a peer's time."""

    seconds: float | None = None
    peer: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of the table."""

    name: str
    what: str
    program: Program
    inputs: Inputs
    #: steady: calls after the first. cold, warm: the first call in a fresh process, where nothing or an
    #: unrelated function was compiled before. import: the import statement, less numpy's.
    measure: Literal["steady", "cold", "warm", "import"] = "steady"
    peers: tuple[str, ...] = ("jax", "numpy")
    #: The form of the arguments: ndarrays, the library's arrays, or those with eager gradients.
    given: Literal["ndarray", "array", "variable"] = "array"
    #: Largest difference from ours, relative to the largest value of each result.
    tolerance: float = 1e-12
    target: Target | None = None
    #: Bytes read and written at the least, for throughput.
    traffic: int = 0
    #: Whether each call waits for its result, where a library computes in the background.
    waits: bool = True


# -- programs -------------------------------------------------------------------------------------


def multiply_add(lib: Library) -> Callable[..., Any]:
    return lib.jit(lambda x, y: x * y + 1)


def expression(lib: Library) -> Callable[..., Any]:
    return lib.jit(lambda x, y: lib.np.exp(-x / 2) / (1 + lib.np.exp(-y)) + x * y)


def softmax(lib: Library) -> Callable[..., Any]:
    def rows(x: Any) -> Any:
        e = lib.np.exp(x - lib.np.max(x, axis=1, keepdims=True))
        return e / lib.np.sum(e, axis=1, keepdims=True)

    return lib.jit(rows)


def mlp_update(lib: Library) -> Callable[..., Any]:
    """One step of SGD on a multilayer perceptron with relu and softmax cross entropy."""
    logsumexp = lib.logsumexp
    assert lib.value_and_grad is not None
    assert logsumexp is not None

    def loss(layers: Any, images: Any, labels: Any) -> Any:
        hidden = images
        for weights, bias in layers[:-1]:
            hidden = lib.np.maximum(hidden @ weights + bias, 0)
        weights, bias = layers[-1]
        scores = hidden @ weights + bias
        log_probabilities = scores - logsumexp(scores, axis=1, keepdims=True)
        return -lib.np.mean(lib.np.sum(labels * log_probabilities, axis=1))

    gradient = lib.value_and_grad(loss)

    def update(layers: Any, images: Any, labels: Any) -> Any:
        value, gradients = gradient(layers, images, labels)
        moved = [
            (weights - 0.1 * dweights, bias - 0.1 * dbias)
            for (weights, bias), (dweights, dbias) in zip(layers, gradients, strict=True)
        ]
        return value, moved

    return lib.jit(update)


def eager(name: str) -> Program:
    """An op without ``jit``."""
    operators: dict[str, Callable[[Any, Any], Any]] = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y}
    return lambda lib: operators[name] if name in operators else getattr(lib.np, name)


#: Operations in a chain.
CHAIN: Final = 1000


def chain(name: str) -> Program:
    """Record a chain of operations on one variable."""
    operators: dict[str, Callable[[Any, Any], Any]] = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y}
    step = operators[name]

    def forward(x: Any, y: Any) -> Any:
        for _ in range(CHAIN):
            x = step(x, y)
        return x

    return lambda lib: forward


def backward_of_chain(name: str) -> Program:
    """Walk back over a chain that was recorded before; both ends of it get gradients."""

    def program(lib: Library) -> Callable[..., Any]:
        ends: list[Any] = []
        assert lib.backward is not None
        backward = lib.backward

        def walk(x: Any, y: Any) -> Any:
            if not ends:
                ends.append(chain(name)(lib)(x, y))
            x.grad = y.grad = None
            backward(ends[0], x.detach())
            return x.grad, y.grad

        return walk

    return program


# -- inputs ---------------------------------------------------------------------------------------


def normal(*shapes: tuple[int, ...], dtype: Any = np.float64) -> Inputs:
    def make() -> tuple[Any, ...]:
        rng = np.random.default_rng(0)
        return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)

    return make


def mlp_inputs(batch: int, *sizes: int) -> Inputs:
    def make() -> tuple[Any, ...]:
        rng = np.random.default_rng(0)
        layers = [
            (rng.normal(scale=(2 / n) ** 0.5, size=(n, m)).astype(np.float32), np.zeros(m, np.float32))
            for n, m in itertools.pairwise(sizes)
        ]
        images = rng.normal(size=(batch, sizes[0])).astype(np.float32)
        labels = np.eye(sizes[-1], dtype=np.float32)[rng.integers(sizes[-1], size=batch)]
        return layers, images, labels

    return make


# -- the table ------------------------------------------------------------------------------------

_FOUR: Final = normal((4,), (4,))
_MILLION: Final = normal((1_000_000,), (1_000_000,), dtype=np.float32)
_MLP: Final = mlp_inputs(256, 784, 512, 256, 10)
_EXPRESSION_TEXT: Final = "exp(-x/2) / (1 + exp(-y)) + x*y, a million f32"
_MLP_TEXT: Final = "SGD step of a 784-512-256-10 MLP, batch 256, f32"


def _dispatch(given: Literal["ndarray", "array"], text: str) -> Workload:
    return Workload(
        f"dispatch-{given}",
        f"jit(x*y + 1) on 4 f64, {text}",
        multiply_add,
        _FOUR,
        given=given,
        target=Target(seconds=1e-6),
        waits=False,
    )


def _first(
    name: str, text: str, program: Program, inputs: Inputs, seconds: float, tolerance: float
) -> tuple[Workload, ...]:
    return tuple(
        Workload(
            f"first-{name}-{process}",
            f"first call, process {process}: {text}",
            program,
            inputs,
            measure=process,
            peers=("jax",),
            given="ndarray",
            tolerance=tolerance,
            target=Target(seconds=seconds),
        )
        for process in ("cold", "warm")
    )


def _eager(name: str, arity: int, given: Literal["array", "variable"]) -> Workload:
    records = given == "variable"
    return Workload(
        f"eager-{name}" + "-grad" * records,
        f"eager {name} on 4 f64, gradients {'recorded' if records else 'off'}",
        eager(name),
        normal(*[(4,)] * arity),
        peers=("torch",) if records else ("numpy", "torch"),
        given=given,
        target=Target(seconds=3e-6),
    )


def _chain(name: str, walk: Literal["forward", "backward"]) -> Workload:
    return Workload(
        f"chain-{walk}-{name}",
        f"{walk} over {CHAIN} eager operations {name} on 4 f64, gradients recorded",
        chain(name) if walk == "forward" else backward_of_chain(name),
        lambda: (np.full(4, 0.999), np.full(4, 1.001)),
        peers=("torch",),
        given="variable",
        target=Target(seconds=CHAIN * (3e-6 if walk == "forward" else 5e-6)),
    )


_THREE = scalars(1.0, 1.0, 1.0)


def _loop(name: str, text: str, program: Program, inputs: Inputs, seconds: float) -> Workload:
    # steps after one another: a different rounding of one grows in the next
    return Workload(
        f"loop-{name}", text, program, inputs, peers=("jax",), tolerance=1e-8, target=Target(seconds=seconds)
    )


WORKLOADS: Final[tuple[Workload, ...]] = (
    _dispatch("array", "the library's arrays"),
    _dispatch("ndarray", "ndarrays"),
    Workload(
        "expression",
        _EXPRESSION_TEXT,
        expression,
        _MILLION,
        tolerance=1e-6,
        target=Target(peer="jax"),
        traffic=3 * 4_000_000,
    ),
    Workload(
        "softmax",
        "softmax over rows, 4096x1024 f32",
        softmax,
        normal((4096, 1024), dtype=np.float32),
        tolerance=1e-6,
        target=Target(peer="jax"),
        traffic=2 * 4 * 4096 * 1024,
    ),
    *_first("expression", _EXPRESSION_TEXT, expression, _MILLION, 0.060, 1e-6),
    *_first("mlp", _MLP_TEXT, mlp_update, _MLP, 0.150, 1e-4),
    # a sum of 784 float32 products in another order
    Workload("mlp", _MLP_TEXT, mlp_update, _MLP, peers=("jax",), tolerance=1e-4),
    *(
        _eager(name, arity, given)
        for given in ("variable", "array")
        for name, arity in (("add", 2), ("mul", 2), ("sin", 1))
    ),
    *(_chain(name, walk) for walk in ("forward", "backward") for name in ("add", "mul")),
    Workload(
        "import",
        "import, less numpy's own",
        multiply_add,
        _FOUR,
        measure="import",
        peers=("jax",),
        target=Target(seconds=0.100),
    ),
    _loop(
        "lorenz", "10,000 Runge-Kutta steps of the Lorenz system, f64", lorenz(10_000, 1e-4), _THREE, 0.19e-3
    ),
    _loop(
        "lorenz-grad",
        "value and gradient of 1,000 Runge-Kutta steps of the Lorenz system, f64",
        lorenz(1_000, 1e-3, gradient=True),
        _THREE,
        1.28e-3 / 3,
    ),
    _loop("while", "a while_loop of 4 million cheap steps", counting(4_000_000), scalars(1.0), 8.7e-3),
    _loop("scan-60", "value and gradient of 600 steps of 60 coupled f64 scalars", neighbours, sixty, 1.9e-3),
    _loop(
        "kalman-grad",
        "gradient of a 3-state Kalman filter's likelihood, 1,000 observations, f64",
        kalman,
        observations,
        1.19e-3 / 3,
    ),
    Workload(
        "loop-rnn-grad",
        "value and gradient of 100 steps of a recurrent network, batch 32, 128 hidden units, f32",
        recurrent,
        sequences,
        peers=("jax",),
        tolerance=1e-4,
        target=Target(peer="jax"),
    ),
)
