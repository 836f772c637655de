"""Random reductions: both tiers give the same bits, their kernels are valid, and the machine code of small
ones computes what the interpreter of the loop form does. Places of extrema are NumPy's.

    python -m tests.codegen.nest.reductions.reduction_walk --programs 2000             # a new seed, printed
    python -m tests.codegen.nest.reductions.reduction_walk --programs 1 --seed 7 --first 123
    TRACEJIT_CPU_FEATURES=-avx512f python -m tests.codegen.nest.reductions.reduction_walk
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.codegen.llvm.target import host
from tracejit.codegen.loops.nodes import Kernel
from tracejit.codegen.loops.rewriting import statements_in
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest.maps import ScheduledLoops
from tracejit.codegen.tiers import BASELINE, OPTIMIZED
from tracejit.runtime import tiers
from tracejit.runtime.executable import Executable

from ....loop_cases import check_native

Array = np.ndarray[Any, Any]
#: Elements of a kernel's buffers up to which it is interpreted.
INTERPRETED = 1500

DTYPES = ("f4", "f8", "f4", "f8", "i4", "i8", "u1", "i2", "?")
#: Lengths of rows: none, some and many vectors, with and without rests, and sums of several blocks.
LENGTHS = (
    1,
    2,
    3,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    24,
    31,
    33,
    64,
    65,
    100,
    127,
    128,
    200,
    257,
    513,
    1000,
    1025,
    2100,
    5000,
)
FOLDS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, axis: x.sum(axis, keepdims=True),
    lambda x, axis: x.max(axis, keepdims=True),
    lambda x, axis: x.min(axis, keepdims=True),
    lambda x, axis: x.prod(axis, keepdims=True),
    lambda x, axis: x.mean(axis, keepdims=True),
    lambda x, axis: (x > 1).any(axis, keepdims=True),
    lambda x, axis: (x != 3).all(axis, keepdims=True),
    lambda x, axis: (x * x).sum(axis, keepdims=True),
    lambda x, axis: tj.exp(x * 1 - x.max(axis, keepdims=True) * 1.0).sum(axis, keepdims=True),
)
STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x * 1 - y * 2,
    lambda x, y: x * y,
    lambda x, y: x / (y + 1),
    lambda x, y: tj.maximum(x, y),
    lambda x, y: tj.where(x < y, x, y),
    lambda x, y: tj.sqrt(tj.abs(x)) + y,
    lambda x, y: tj.tanh(x) + y,
    lambda x, y: x + y[..., ::-1],
    lambda x, y: tj.exp(x * 0.01) - y,
    lambda x, y: tj.roll(x, 2, -1) + y,
    lambda x, y: x * tj.roll(y, 1, 0),
)


@dataclass
class Walk:
    """Counts of a walk."""

    seed: int
    programs: int = 0
    #: Kernels in the loop form by the passes of their schedules, and the kernels of the fused Functions.
    kernels: Counter[str] = field(default_factory=Counter)
    fusions: int = 0
    interpreted: int = 0

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.kernels.items()))
        kernels = f"{self.fusions} kernels, {self.interpreted} interpreted"
        return f"seed {self.seed}: {self.programs} programs, {kernels}; with {counts}"


def program(rng: np.random.Generator) -> tuple[Callable[..., Any], list[Array]]:
    """A random function with folds along rows, and arrays for it."""
    rank = int(rng.choice([1, 2, 2, 2, 3, 3, 4]))
    length = int(rng.choice(LENGTHS))
    shape = (*(int(size) for size in rng.choice([1, 2, 3, 5, 8, 9, 17], rank - 1)), length)
    dtype = str(rng.choice(DTYPES))
    arrays = [_array(rng, shape, dtype), _array(rng, _operand_shape(rng, shape), dtype)]
    kinds = [
        (str(rng.choice(["fold", "step", "step"])), int(rng.integers(99)))
        for _ in range(int(rng.integers(1, 6)))
    ]
    whole = bool(rng.random() < 0.15)
    axis: int | tuple[int, ...] = 0 if rank > 1 and rng.random() < 0.4 else -1
    if rank > 2 and rng.random() < 0.4:
        axis = tuple(sorted(rng.choice(rank, int(rng.integers(2, rank)), replace=False).tolist()))
    turned = bool(rng.random() < 0.1)
    last = int(rng.integers(len(FOLDS)))
    place, along = rng.choice(["argmax", "argmin", ""], p=[0.2, 0.2, 0.6]), int(rng.integers(rank))

    def f(x: Any, y: Any) -> Any:
        x = x.swapaxes(0, -1) if turned else x
        values = [x, tj.broadcast_to(y, shape).swapaxes(0, -1) if turned else y]
        values[1] = tj.broadcast_to(values[1], x.shape)
        results = []
        for kind, number in kinds:
            if kind == "fold":
                folded = FOLDS[number % len(FOLDS)](values[-1], axis)
                if number % 4 == 3:  # something for each row
                    folded = tj.log(tj.abs(folded * 1.0) + 1.5)
                values.append(STEPS[number % len(STEPS)](values[-1], tj.broadcast_to(folded, x.shape)))
                results.append(folded)
            else:
                values.append(STEPS[number % len(STEPS)](values[-1], values[-2]))
        results.append(values[-1].sum() if whole else FOLDS[last](values[-1], axis))
        if place:
            results += [values[-2], getattr(tj, place)(values[-2], along)]
        return (*results, values[-1])

    f.place = (place, along) if place else None  # type: ignore[attr-defined]
    return f, arrays


def _operand_shape(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape`, or one that is broadcast to it."""
    return tuple(1 if rng.random() < 0.2 else size for size in shape)


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype[0] == "f":
        array = rng.standard_normal(shape).astype(dtype)
        if rng.random() < 0.1:
            array.reshape(-1)[:: int(rng.integers(1, 50))] = rng.choice([np.inf, -0.0, 1e30, 0.0])
        return array
    return rng.integers(0, 5, shape).astype(dtype)


def results_of(f: Callable[..., Any], arrays: Sequence[Array], walk: Walk | None = None) -> list[list[bytes]]:
    """The bits that `f` computes in the baseline tier, and in the optimized one. `TRACEJIT_TIERS` is
    "always"."""
    executable = Executable(tj.trace(f, *arrays))

    def run() -> list[bytes]:
        results = executable(arrays)
        place = getattr(f, "place", None)
        if place is not None:
            np.testing.assert_array_equal(results[-2], getattr(np, place[0])(results[-3], place[1]))
        return [result.tobytes() for result in results]

    bits = [run()]
    if walk is not None:
        for tier in (OPTIMIZED, BASELINE):
            module = generate(executable.fused, host(), parameters=tier.parameters)
            walk.fusions += len(module.kernels)
            for kernel in module.kernels:
                if isinstance(kernel.described, ScheduledLoops):
                    loops = kernel.described.loops
                    verify_kernel(loops)
                    walk.kernels.update({step.split("(")[0] for step in loops.schedule})
                    if _is_interpreted(loops):
                        walk.interpreted += check_native(loops, walk.programs, tier)
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized", executable.problem
    assert not executable.fallbacks, executable.fallbacks
    return [*bits, run()]


def _is_interpreted(kernel: Kernel) -> bool:
    """Whether `kernel` is small, and rounds to one dtype alone: then it is known how far off code may be."""
    floats = {getattr(node, "dtype", "") for node in statements_in(kernel.body)} & {"f32", "f64"}
    return len(floats) < 2 and sum(buffer.size.number or 0 for buffer in kernel.buffers) <= INTERPRETED


def take(walk: Walk, number: int) -> None:
    """Take program `number`."""
    f, arrays = program(np.random.default_rng([walk.seed, number]))
    with np.errstate(all="ignore"):
        baseline, optimized = results_of(f, arrays, walk)
    walk.programs += 1
    assert baseline == optimized, f"seed {walk.seed}, program {number}: tiers differ"


def main() -> int:
    """Walk, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    os.environ["TRACEJIT_TIERS"] = "always"
    os.environ["TRACEJIT_CACHE"] = "0"
    walk, wrong = Walk(secrets.randbelow(1 << 31) if options.seed is None else options.seed), 0
    print(f"seed {walk.seed}", flush=True)
    for number in range(options.first, options.first + options.programs):
        try:
            take(walk, number)
        except Exception as error:
            wrong += 1
            print(f"seed {walk.seed}, program {number}: {type(error).__name__}: {error}"[:2000], flush=True)
    print(walk, f"{wrong} wrong", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
