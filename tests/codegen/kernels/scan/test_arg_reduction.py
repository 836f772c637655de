"""Index reductions as kernels of the loop form: places are NumPy's, and kernels are valid, mean what their
machine code does, and are those that the passes make.

    python -m tests.codegen.kernels.scan.test_arg_reduction 2000        # a new seed, which is printed
    TRACEJIT_CPU_FEATURES=-avx512f python -m tests.codegen.kernels.scan.test_arg_reduction 500 7
"""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.kernels.scan.arg_reduction import (
    ARG_REDUCTION,
    _Builder,
    arg_reduction_kernel,
    extrema_of,
    loops_of,
    nest_of,
)
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.loops.nodes import Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import scheduled
from tracejit.codegen.loops.phases import has_phases
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.nest.reductions import columns
from tracejit.codegen.tiers import BASELINE, OPTIMIZED, Tier
from tracejit.ir.graph import Instruction
from tracejit.runtime import tiers
from tracejit.runtime.executable import Executable

from ....forked import forked
from ....loop_cases import check_native, check_same
from ...narrow import narrower, run_narrow

Array = np.ndarray[Any, Any]
DTYPES = ("f4", "f8", "f4", "f8", "i4", "i8", "u1", "i2", "u8", "?")
LENGTHS = (1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 64, 65, 100, 127, 200, 257, 513, 1000, 2100, 5003)
#: Programs that the suite takes, and elements up to which a kernel is interpreted.
PROGRAMS, INTERPRETED = 60, 3000
TARGETS = [
    Target("x86_64-unknown-linux-gnu", "x86-64-v2", "", 128),
    Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 256),
    Target("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f,+avx512bw,+avx512vl,+avx512dq", 512),
]


def case(rng: np.random.Generator) -> tuple[str, Array, int]:
    """An index reduction, an array of which few elements differ or all do, and an axis."""
    rank = int(rng.choice([1, 2, 2, 3]))
    shape = [int(size) for size in rng.choice([1, 2, 3, 7, 9, 17, 40], rank)]
    axis = int(rng.integers(rank))
    shape[axis] = int(rng.choice(LENGTHS))
    if rng.random() < 0.2:
        shape[int(rng.integers(rank))] = int(rng.choice([16, 130, 600]))
    dtype = str(rng.choice(DTYPES))
    x = (rng.standard_normal(shape) * rng.choice([1, 3, 1e3])).astype(dtype if dtype[0] == "f" else "i8")
    x = x.astype(dtype)
    if dtype[0] == "f":
        for value in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
            if rng.random() < 0.25:
                x[rng.random(shape) < rng.choice([0.003, 0.3, 1])] = value
    elif rng.random() < 0.3:
        ends = (False, True) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        x[rng.random(shape) < 0.5] = ends[int(rng.integers(2))]
    return str(rng.choice(["argmax", "argmin"])), x, axis


def instruction_of(op: str, x: Array, axis: int) -> Instruction:
    """The only instruction of a function."""
    (instruction,) = tj.trace(lambda x: getattr(tj, op)(x, axis), x).body
    return instruction


def kernel_of(instruction: Instruction, target: Target, tier: Tier) -> Kernel:
    """The kernel of `instruction`."""
    nest = nest_of("places", instruction, target)
    nest.limit_copies(tier.parameters.copies)
    return loops_of(nest, instruction, target)


def take(seed: int, number: int) -> None:
    """Take one case: by both tiers, against NumPy, and its kernels against the interpreter."""
    op, x, axis = case(np.random.default_rng([seed, number]))
    executable = Executable(tj.trace(lambda x: getattr(tj, op)(x, axis), x))
    expected = getattr(np, op)(x, axis)
    places = [np.array(executable([x])[0])]
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized", executable.problem
    assert not executable.fallbacks, executable.fallbacks
    for place in (*places, executable([x])[0]):
        np.testing.assert_array_equal(
            place, expected, err_msg=f"seed {seed}, case {number}: {op} {x.shape} {axis}"
        )
    for target in (host(), *TARGETS):
        for tier in (OPTIMIZED, BASELINE):
            kernel = kernel_of(instruction_of(op, x, axis), target, tier)
            verify_kernel(kernel)
            again = parse_kernel(print_kernel(kernel))
            assert print_kernel(kernel.with_body(again.body)) == print_kernel(kernel)
            if target == host() and x.size <= INTERPRETED:
                assert check_native(kernel, number, tier)


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_places_are_those_of_numpy(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    take(11, number)


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_schedules_keep_the_meaning(number: int) -> None:
    """Lines are by passes; columns are built at once, as the passes make them."""
    op, x, axis = case(np.random.default_rng([12, number]))
    instruction, sizes = instruction_of(op, x, axis), (x.size, max(1, x.size // x.shape[axis]))
    for target in TARGETS:
        nest = nest_of("places", instruction, target)
        if nest.transposed:
            continue
        kernel, plain = loops_of(nest, instruction, target), nest_of("places", instruction, target)
        builder = _Builder(plain, instruction, target, None)
        algorithm = builder.kernel(sizes)
        steps = builder.schedule(target) if nest.row_lanes else columns.schedule_of(plain)
        assert print_kernel(scheduled(algorithm, steps)) == print_kernel(kernel)
        if x.size <= INTERPRETED:
            check_same(algorithm, kernel)


def test_blocks_of_lines() -> None:
    """All blocks are of one size, begin in the line, end with it, and leave nothing out."""
    for length in range(1, 3000, 7):
        instruction = instruction_of("argmin", np.zeros((4, length), np.float32), 1)
        nest = nest_of("places", instruction, TARGETS[2])
        blocks = extrema_of(nest).size.constant
        if nest.row_lanes and length > 1:
            builder = _Builder(nest, instruction, TARGETS[2], None)
            assert builder.step * (blocks - 1) + builder.size == length
            assert builder.step <= builder.size
            assert blocks == 1 or builder.size < 2 * builder.step
    assert extrema_of(nest).size.constant > 1


def test_one_long_line_is_shared() -> None:
    x = np.zeros(3_000_000)
    instruction = instruction_of("argmax", x, 0)
    kernel = kernel_of(instruction, TARGETS[2], OPTIMIZED)
    assert has_phases(kernel)
    assert not has_phases(kernel_of(instruction_of("argmax", x.reshape(3, -1), 1), TARGETS[2], OPTIMIZED))
    assert ARG_REDUCTION.kernel is arg_reduction_kernel


THREADS = """
import numpy as np, tracejit as tj
rng = np.random.default_rng(3)
arrays = [rng.integers(0, 5, shape).astype(dtype) for dtype in ("f4", "f8", "i8", "?")
          for shape in ((700_001,), (3, 250_000), (300, 4000), (4000, 300), (3, 700, 600), (60_000, 5))]
for x in arrays[:12:2]:
    x.reshape(-1)[x.size * 2 // 3 :: 1001] = np.nan
for x in arrays:
    for axis in range(x.ndim):
        f = tj.jit(lambda x: (tj.argmax(x, axis), tj.argmin(x, axis)))
        for threads in (1, 2, 3, 4):
            tj.set_num_threads(threads)
            for place, whole in zip(f(x), (np.argmax, np.argmin)):
                np.testing.assert_array_equal(np.asarray(place), whole(x, axis))
print('fine')
"""


def test_the_same_for_every_number_of_threads() -> None:
    assert forked(THREADS).strip() == "fine"


NARROW = """
import os, sys
sys.path.insert(0, '.')
os.environ["TRACEJIT_TIERS"], os.environ["TRACEJIT_CACHE"] = "always", "0"
from tests.codegen.kernels.scan.test_arg_reduction import take
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for number in range(25):
    take(13, number)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)


def main(arguments: list[str]) -> int:
    """Walk: the number of cases, and a seed."""
    os.environ["TRACEJIT_TIERS"], os.environ["TRACEJIT_CACHE"] = "always", "0"
    count = int(arguments[0]) if arguments else 200
    seed, wrong = int(arguments[1]) if len(arguments) > 1 else secrets.randbelow(1 << 31), 0
    print(f"seed {seed}", flush=True)
    for number in range(count):
        try:
            take(seed, number)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}, case {number}: {type(error).__name__}: {error}"[:2000], flush=True)
    print(f"{count} cases, {wrong} wrong", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
