"""Scaling of compile time with a function's operations: ``python -m benchmarks.compiling``.

CPU time of first calls, tracing and all, and of what is compiled in the background, for functions of 10 to
10,000 operations. With ``--phases``, microseconds an operation of unrolled programs by phase: tracing with
gradients and the passes together, of these the least of three, the passes that take most, code generation and
LLVM; with ``--jax``, beside JAX's tracing and compilation of the same program.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

#: Numbers of operations.
SIZES: Final = (10, 100, 1000, 10_000)


def chain(count: int) -> Callable[[Any], Any]:
    """Elementwise operations, each of the one before."""

    def fn(x: Any) -> Any:
        for i in range(count):
            x = x * 1.01 if i % 2 else x - 0.5
        return x

    return fn


def layers(count: int) -> Callable[[Any], Any]:
    """Products, sums and tanh in turn."""
    import tracejit as tj

    weights = np.ones((4, 4)) / 4

    def fn(x: Any) -> Any:
        for _ in range(count // 3):
            x = tj.tanh(x @ weights + 1.0)
        return x

    return fn


def sums(count: int) -> Callable[[Any], Any]:
    """Reductions that everything after depends on, and one value that everything reads."""

    def fn(x: Any) -> Any:
        total = x
        for _ in range(count // 5):
            y = total * 1.5 + x
            total = total + y / y.sum()
        return total

    return fn


def gradient(count: int) -> Callable[[Any], Any]:
    """The gradient of a chain of so many operations, forwards and backwards."""
    import tracejit as tj

    def fn(x: Any) -> Any:
        for _ in range(count // 4):
            x = tj.sin(x) * 0.9
        return x.sum()

    return tj.grad(fn)


# -- unrolled Python loops -------------------------------------------------------------------------------


def sum_of_squares(numpy: Any, steps: int = 10_000) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Elements read one by one."""

    def fn(x: Any) -> Any:
        total = 0.0
        for i in range(steps):
            total += x[i] * x[i]
        return total

    return fn, (np.linspace(0.0, 1.0, steps),)


def lstm(numpy: Any, steps: int = 50) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The loss of an LSTM of 16 units over a batch of four."""
    rng, units = np.random.default_rng(0), 16

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + numpy.exp(-x))

    def fn(weights: Any, xs: Any) -> Any:
        h = c = numpy.zeros((4, units))
        for step in range(steps):
            z = xs[step] @ weights["x"] + h @ weights["h"] + weights["b"]
            parts = [z[:, k * units : (k + 1) * units] for k in range(4)]
            c = sigmoid(parts[1]) * c + sigmoid(parts[0]) * numpy.tanh(parts[2])
            h = sigmoid(parts[3]) * numpy.tanh(c)
        return (h * h).sum()

    weights = {name: rng.standard_normal((units, 4 * units)) / 4 for name in "xh"}
    return fn, ({**weights, "b": np.zeros(4 * units)}, rng.standard_normal((steps, 4, units)))


def elementwise_map(numpy: Any, count: int = 1000) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A thousand operations that do not repeat."""
    names = np.random.default_rng(0).choice(["sin", "cos", "tanh", "exp", "sqrt"], count // 2)

    def fn(x: Any) -> Any:
        for number, name in enumerate(names):
            x = getattr(numpy, name)(x * (1.0 - number % 7 / 10))
        return x

    return fn, (np.linspace(0.1, 1.0, 4096),)


def hidden_markov(numpy: Any, steps: int = 60) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step of expectation maximization in lists of numbers, of three states."""
    rng, states = np.random.default_rng(0), range(3)
    seen = [int(symbol) for symbol in rng.integers(0, 4, steps)]

    def fn(transition: Any, emission: Any, start: Any) -> Any:
        alpha = [[start[s] * emission[s, seen[0]] for s in states]]
        for t in range(1, steps):
            sums = [sum(alpha[-1][r] * transition[r, s] for r in states) for s in states]
            alpha.append([sums[s] * emission[s, seen[t]] for s in states])
        beta = [[1.0] * 3]
        for t in range(steps - 2, -1, -1):
            ahead = [emission[r, seen[t + 1]] * beta[0][r] for r in states]
            beta.insert(0, [sum(transition[s, r] * ahead[r] for r in states) for s in states])
        total = sum(alpha[-1])
        gamma = [[alpha[t][s] * beta[t][s] / total for s in states] for t in range(steps)]
        return [sum(gamma[t][s] for t in range(steps)) for s in states], gamma[0], total

    def table(*shape: int) -> Any:
        values = rng.random(shape)
        return values / values.sum(-1, keepdims=True)

    return fn, (table(3, 3), table(3, 4), table(3))


def small_products(numpy: Any, count: int = 2000) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Products, transposes, sums and tanh of matrices of four rows."""

    def fn(x: Any, w: Any) -> Any:
        for _ in range(count // 4):
            x = numpy.tanh(x @ w + x.T)
        return x

    return fn, (np.full((4, 4), 0.5), np.ones((4, 4)) / 4)


def mixed(numpy: Any, count: int = 2000) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Elementwise ops, products, sums, choices and concatenations of earlier values, which do not repeat."""
    rng = np.random.default_rng(0)
    kinds, places = rng.integers(0, 8, count), rng.integers(1, 40, count)

    steps = (
        lambda a, b, m: a + b,
        lambda a, b, m: numpy.sin(a),
        lambda a, b, m: numpy.where(a > b, a, b * 0.5),
        lambda a, b, m: numpy.tanh(a - b),
        lambda a, b, m: (a.reshape(4, 8) @ m).reshape(32),
        lambda a, b, m: a - a.sum() * 0.01,
        lambda a, b, m: numpy.concatenate([a[16:], b[:16]]),
        lambda a, b, m: numpy.exp(-a * a),
    )

    def fn(x: Any, m: Any) -> Any:
        values = [x, x * 2.0]
        for kind, place in zip(kinds, places, strict=True):
            values.append(steps[kind](values[-1], values[-min(int(place), len(values))], m))
        return values[-1].sum()

    return fn, (np.linspace(0, 1, 32), np.eye(8))


def perceptron(numpy: Any, layers: int = 200) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The loss of a perceptron of many layers of different widths."""
    rng = np.random.default_rng(0)
    sizes = [int(size) for size in rng.integers(3, 12, layers + 1)]
    params = [
        {"w": rng.standard_normal((rows, columns)) / 3, "b": np.zeros(columns)}
        for rows, columns in itertools.pairwise(sizes)
    ]

    def fn(params: Any, x: Any) -> Any:
        for layer in params:
            x = numpy.tanh(x @ layer["w"] + layer["b"])
        return (x**2).mean()

    return fn, (params, rng.standard_normal((5, sizes[0])))


def scalars(numpy: Any, count: int = 20_000) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Arithmetic on two numbers, in an order that does not repeat."""
    kinds = np.random.default_rng(1).integers(0, 4, count).tolist()

    def fn(x: Any, y: Any) -> Any:
        for kind in kinds:
            if kind == 0:
                x = x * y
            elif kind == 1:
                x = x + 0.5
            elif kind == 2:
                x = numpy.sin(x)
            else:
                x = x - y
        return x

    return fn, (0.3, 1.1)


#: Programs by name, and whether each is differentiated by its first argument.
UNROLLED: Final = {
    "sum of squares": (sum_of_squares, False),
    "LSTM gradient": (lstm, True),
    "elementwise map": (elementwise_map, False),
    "hidden Markov": (hidden_markov, False),
    "small products": (small_products, False),
    "mixed": (mixed, False),
    "mixed gradient": (mixed, True),
    "perceptron gradient": (perceptron, True),
    "scalars": (scalars, False),
}

#: Number of times that tracing and passes are timed: the least counts.
REPEATS: Final = 3


def pass_seconds(function: Any) -> dict[str, float]:
    """The time of each pass over `function`."""
    from tracejit.base.process.collector import collector_paused
    from tracejit.ir import passes

    taken: dict[str, float] = {}
    last = time.thread_time()

    def observe(pass_: str, *_: Any) -> None:
        nonlocal last
        now = time.thread_time()
        taken[pass_] = taken.get(pass_, 0.0) + now - last
        last = now

    with collector_paused():  # as compilations do
        passes.run_passes(function, observe=observe)
    return taken


def phases(name: str) -> tuple[int, dict[str, float], dict[str, float]]:
    """Number of operations traced of an unrolled program, and the CPU time of its first call and of the
    background, by phase and by pass."""
    import tracejit as tj
    from tracejit.runtime.executable import Executable
    from tracejit.runtime.tiers import BACKGROUND

    make, gradient = UNROLLED[name]
    fn, args = make(tj)
    seconds = {"trace": math.inf, "passes": math.inf}
    by_pass: dict[str, float] = {}
    for _ in range(REPEATS):
        f = tj.jit(tj.grad(fn) if gradient else fn, loops="unrolled")
        start = time.thread_time()
        function = f._trace(args, {}).function
        seconds["trace"] = min(seconds["trace"], time.thread_time() - start)
        taken = pass_seconds(function)
        if sum(taken.values()) < seconds["passes"]:
            seconds["passes"], by_pass = sum(taken.values()), taken
    start = time.process_time()
    executable = Executable(function)
    seconds["code and LLVM"] = max(time.process_time() - start - seconds["passes"], 0.0)
    start = time.process_time()
    BACKGROUND.wait()
    seconds["background"] = time.process_time() - start
    del executable  # it is compiled for those who hold it
    return len(function.body), seconds, by_pass


def jax_seconds(name: str) -> tuple[float, float]:
    """CPU time of tracing and of compiling an unrolled program in JAX."""
    import jax

    jax.config.update("jax_enable_x64", val=True)
    make, gradient = UNROLLED[name]
    fn, args = make(jax.numpy)
    start = time.process_time()
    lowered = jax.jit(jax.grad(fn) if gradient else fn).lower(*args)
    traced = time.process_time() - start
    lowered.compile()
    return traced, time.process_time() - start - traced


def print_phases() -> None:
    """Print what the phases of unrolled programs take."""
    print("| program | ops | " + " | ".join(("trace", "passes", "code and LLVM", "background")) + " | most |")
    print("|---" * 7 + "|")
    for name in UNROLLED:
        count, seconds, by_pass = phases(name)
        cells = [f"{1e6 * value / count:.1f}" for value in seconds.values()]
        most = sorted(by_pass.items(), key=lambda item: -item[1])[:3]
        slowest = ", ".join(f"{pass_} {1e6 * value / count:.1f}" for pass_, value in most)
        total = sum(seconds.values())
        print(f"| {name}, {total:.2f} s | {count:,} | {' | '.join(cells)} | {slowest} |", flush=True)


def print_jax() -> None:
    """Print JAX's times of the same programs."""
    print("| program | trace, s | compile, s |\n|---|---|---|")
    for name in UNROLLED:
        traced, compiled = jax_seconds(name)
        print(f"| {name} | {traced:.2f} | {compiled:.2f} |", flush=True)


PROGRAMS: Final = {"chain": chain, "layers": layers, "sums": sums, "gradient": gradient}


def seconds(fn: Callable[[Any], Any], x: Any) -> tuple[float, float]:
    """CPU time of the first call, and of what is left to do in the background."""
    import tracejit as tj
    from tracejit.runtime.tiers import BACKGROUND

    f = tj.jit(fn)
    start = time.process_time()
    f(x)
    first = time.process_time() - start
    BACKGROUND.wait()
    return first, time.process_time() - start - first


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phases", action="store_true", help="microseconds an operation by phase")
    parser.add_argument("--jax", action="store_true", help="the same programs in JAX")
    options = parser.parse_args()
    if options.jax:
        print_jax()
    if options.phases or options.jax:
        os.environ["TRACEJIT_CACHE"] = "0"
        if options.phases:
            seconds(chain(7), np.full((4, 4), 0.5))
            print_phases()
        return
    with tempfile.TemporaryDirectory() as caches:
        os.environ["TRACEJIT_CACHE_DIR"] = caches
        x = np.full((4, 4), 0.5)
        seconds(chain(7), x)
        print("| program | " + " | ".join(f"{size:,}" for size in SIZES) + " |")
        print("|---" * (1 + len(SIZES)) + "|")
        for name, make in PROGRAMS.items():
            cells = []
            for size in SIZES:
                first, later = seconds(make(size), x)
                cells.append(f"{first * 1e3:.0f} + {later * 1e3:.0f} ms, {first / size * 1e6:.0f} us/op")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
