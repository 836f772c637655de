"""Cost of gradients of loops, in one run: ``python -m benchmarks.loops``.

Prints three tables: memory and time of a scan's gradient by `checkpoint_every`; the gradient of a loop whose
number of steps is not known beside that of a scan of the same steps; the time to compile a body of 10, 100
and 1,000 operations. That is processor time, since other times are noisy on a shared machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tracejit as tj

from .timing import FULL, QUICK, Effort, call_turn, interleave

STEPS = 10_000
#: Sizes of a loop's state, by name: in registers, and over memory.
STATES = {"3 numbers": 3, "1,000 numbers": 1000}


def main(*, quick: bool = False) -> dict[str, float]:
    """Print the tables; return the figures by name."""
    effort = QUICK if quick else FULL
    figures: dict[str, float] = {}
    for name, size in STATES.items():
        figures |= checkpoints(name, size, effort)
    for name, size in STATES.items():
        figures |= unknown_length(name, size, effort)
    return figures | compile_times((10, 100) if quick else (10, 100, 1000))


def checkpoints(name: str, size: int, effort: Effort) -> dict[str, float]:
    """Bytes of intermediate values, and time beside the plain scan, of `STEPS` steps by chunk."""

    def gradient(every: int | None) -> Callable[[Any], Any]:
        def loss(x: Any) -> Any:
            return tj.scan(_step, x, length=STEPS, checkpoint_every=every)[0].sum()

        return tj.jit(tj.grad(loss))

    x = tj.tensor(np.linspace(0.1, 0.9, size))
    contenders = {f"every {every}": gradient(every) for every in (None, 10, 100, 1000)}
    figures = {}
    for label, ratio in _ratios(contenders, (x,), effort).items():
        nbytes = contenders[label].lower(x).module.arena_bytes  # type: ignore[attr-defined]
        print(f"scan of {name}, checkpoint_{label:10} {nbytes / 1e6:8.3f} MB, {ratio:5.2f} of the plain time")
        figures |= {f"{name} {label} bytes": float(nbytes), f"{name} {label} time": ratio}
    return figures


def unknown_length(name: str, size: int, effort: Effort) -> dict[str, float]:
    """Time of `while_loop`, of its tangent and its gradient, beside the gradient of the same `scan`."""

    def known(x: Any) -> Any:
        return tj.scan(_step, x, length=STEPS)[0].sum()

    def unknown(x: Any, steps: Any) -> Any:
        def body(carry: Any) -> Any:
            return carry[0] + 1, _step(carry[1], None)[0]

        return tj.while_loop(lambda carry: carry[0] < steps, body, (0, x))[1].sum()

    steps = tj.tensor(STEPS)
    scan, loop = tj.jit(tj.value_and_grad(known)), tj.jit(tj.value_and_grad(unknown))
    push = tj.jit(lambda x, n: tj.jvp(lambda x: unknown(x, n), (x,), (x,)))
    forward = tj.jit(unknown)
    x = tj.tensor(np.linspace(0.1, 0.9, size))
    contenders = {
        "scan, gradient": scan,
        "while, value": lambda x: forward(x, steps),
        "while, tangent": lambda x: push(x, steps),
        "while, gradient": lambda x: loop(x, steps),
    }
    figures = {}
    for label, ratio in _ratios(contenders, (x,), effort).items():
        print(f"{name}: {label:16} {ratio:5.2f} of the scan's gradient")
        figures[f"{name} {label}"] = ratio
    return figures


def compile_times(sizes: tuple[int, ...]) -> dict[str, float]:
    """Processor seconds from a function to its first result, by operations of the body."""

    def loss(ops: int, op: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def body(x: Any, _: Any) -> Any:
            for _ in range(ops // 2):
                x = op(x) + 0.1
            return x, None

        return lambda x: tj.scan(body, x, length=100)[0].sum()

    figures = {}
    tj.jit(tj.sin)(1.0)  # LLVM's own start is not the loop's
    for name, op in {"multiply": lambda x: x * 0.9, "sin": tj.sin}.items():
        for what, change in {"value": lambda f: f, "gradient": tj.grad}.items():
            for ops in sizes:
                start = time.process_time()
                tj.jit(change(loss(ops, op)))(0.5)
                seconds = figures[f"compile {name} {what} {ops}"] = time.process_time() - start
                print(f"compile a scan over {ops:5} ops ({name} and add), {what:8} {seconds * 1e3:7.0f} ms")
    return figures


def _step(x: Any, _: Any) -> Any:
    return x + 0.01 * tj.sin(x), None


def _ratios(
    contenders: Mapping[str, Callable[..., Any]], args: tuple[Any, ...], effort: Effort
) -> dict[str, float]:
    """Times by the first contender's, medians over rounds."""
    turns = {name: call_turn(f, args, None, effort.turn_seconds) for name, f in contenders.items()}
    samples = interleave(turns, effort.rounds)
    first = next(iter(samples.values()))
    return {
        name: statistics.median([second / base for second, base in zip(seconds, first, strict=True)])
        for name, seconds in samples.items()
    }


if __name__ == "__main__":
    main()
