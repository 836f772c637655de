"""Maps from the fused Function to machine code: their kernels are valid, and mean by the interpreter what the
algorithm means and what the machine code of either tier computes, to the bit.

Elements are small integers, so that products and sums joined into one are what NumPy computes.
``TRACEJIT_LOOP_MAPS=N`` runs N programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.loops.affine import affine
from tracejit.codegen.loops.interpreter import interpret_kernel
from tracejit.codegen.loops.nodes import LANES, STREAM, TASKS, Kernel, Load, Store
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.rewriting import loops_in, statements_in
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest.maps import ScheduledLoops
from tracejit.codegen.tiers import BASELINE, OPTIMIZED
from tracejit.ir.graph import Function

PROGRAMS = int(os.environ.get("TRACEJIT_LOOP_MAPS", "24"))
#: Vectors of 128, 256 and 512 bits, and a machine that asks for lines ahead.
TARGETS = (
    Target("x86_64-unknown-linux-gnu", "", "", 128),
    Target("x86_64-unknown-linux-gnu", "", "+avx2,+fma", 256),
    Target("x86_64-unknown-linux-gnu", "cascadelake", "+avx512f,+avx512bw,+avx512vl,+prfchw", 512),
)


def kernels_of(function: Function, target: Target, parameters: Any) -> list[tuple[Kernel, Any]]:
    """The kernels in the loop form of a fused `function`, each with its fusion."""
    module = generate(function, target, parameters=parameters)
    return [
        (kernel.described.loops, kernel.instruction)
        for kernel in module.kernels
        if isinstance(kernel.described, ScheduledLoops)
    ]


def interpreted(kernel: Kernel, arrays: list[Any], rng: np.random.Generator | None) -> list[bytes]:
    """The results of `kernel`, whose operands are `arrays`."""
    buffers = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    for buffer in kernel.buffers[len(arrays) :]:
        size = buffer.size.number
        assert size is not None
        buffers.append(np.zeros(size, _DTYPES[buffer.dtype]))
    interpret_kernel(kernel, buffers, rng=rng)
    return [buffer.tobytes() for buffer in buffers[len(arrays) :]]


_DTYPES = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "bool": np.bool_}
_STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * 3 - y,
    np.maximum,
    lambda x, y: np.where(x < y, x, -y),
    lambda x, y: abs(x) + 1,
    lambda x, y: x[::-1] + y,
    lambda x, y: x[..., ::-1] - y,
    lambda x, y: np.concatenate([x[..., 1:], y[..., :1]], axis=-1),
]


def program(rng: np.random.Generator) -> tuple[Callable[..., Any], list[Any]]:
    """A random map, and arrays for it."""
    rank = int(rng.integers(1, 4))
    shape = tuple(int(size) for size in rng.choice([1, 2, 3, 4, 7, 8, 16, 17, 33, 40], rank))
    dtype = (np.float64, np.float32, np.int32)[int(rng.integers(3))]
    kinds = rng.integers(0, 4, 2).tolist()
    steps = rng.integers(0, len(_STEPS), int(rng.integers(1, 5))).tolist()
    stacked = bool(rng.random() < 0.25)

    def f(*arrays: Any) -> Any:
        values = [array.T if kind == 1 else array for array, kind in zip(arrays, kinds, strict=True)]
        values = [tj.broadcast_to(value, shape) for value in values]
        for step in steps:
            values.append(_STEPS[step](values[-1], values[-2]))
        return np.stack(values[-2:], axis=-1) if stacked else values[-1] * 2

    shapes = [shape, shape[::-1], shape[-1:], tuple(1 if axis % 2 else n for axis, n in enumerate(shape))]
    arrays = [rng.integers(-9, 10, shapes[kind]).astype(dtype) for kind in kinds]
    return f, arrays


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_random_maps(number: int) -> None:
    rng = np.random.default_rng([3, number])
    f, arrays = program(rng)
    lowered = tj.jit(f).lower(*arrays)
    native = [np.asarray(tj.jit(f)(*arrays)).tobytes()]
    params, results = lowered.fused.params, lowered.fused.results
    for target in (*TARGETS, host()):
        for tier in (OPTIMIZED, BASELINE):
            for kernel, fusion in kernels_of(lowered.fused, target, tier.parameters):
                text = print_kernel(kernel)
                verify_kernel(kernel)
                assert print_kernel(kernel.with_body(parse_kernel(text).body)) == text
                if not set(fusion.operands) <= set(params) or set(fusion.results) != set(results):
                    continue
                operands = [arrays[params.index(operand)] for operand in fusion.operands]
                for seed in (None, np.random.default_rng(number)):
                    got = dict(zip(fusion.results, interpreted(kernel, operands, seed), strict=True))
                    assert [got[result] for result in results] == native, text


def schedule_of(f: Callable[..., Any], *arrays: Any, target: Target = TARGETS[2]) -> tuple[str, ...]:
    """The steps of the schedule of the only kernel of `f`."""
    ((kernel, _),) = kernels_of(tj.jit(f).lower(*arrays).fused, target, OPTIMIZED.parameters)
    return kernel.schedule


def test_what_a_map_is_scheduled_as() -> None:
    x, matrix = np.zeros(1000), np.zeros((200, 300))
    assert schedule_of(lambda x: x + 1, x) == ("forward()", "vectorize(i, 8)", "peel(i, 8)", "normalize()")
    unrolled = schedule_of(lambda x: np.exp(x) * x, x)
    assert "peel(i#0, 32)" in unrolled
    assert "interleave(i#0, 4)" in unrolled
    assert "tile(i, j, 8, 4)" in schedule_of(lambda x: x.T + 1, matrix)
    assert "parallelize(i, 2048)" in schedule_of(lambda x: x + 1, np.zeros(100_000))
    assert "ask(b0+0, b1+0)" in schedule_of(lambda x: x + 1, np.zeros(1_000_000))
    zen = Target("x86_64-unknown-linux-gnu", "znver4", "+avx512f,+avx512bw,+avx512vl", 512)
    assert "stream(b1)" in schedule_of(lambda x: x + 1, np.zeros(20_000_000), target=zen)
    assert "invert(i)" in schedule_of(lambda x, y: x / y, x, np.float64(3.0), target=zen)


def test_a_map_of_both_tiers_is_one_algorithm() -> None:
    fused = tj.jit(lambda x: np.exp(x) * x).lower(np.zeros(1000)).fused
    ((optimized, _),) = kernels_of(fused, host(), OPTIMIZED.parameters)
    ((baseline, _),) = kernels_of(fused, host(), BASELINE.parameters)
    ops = [
        {type(node) for node in statements_in(kernel.body) if isinstance(node, (Load, Store))}
        for kernel in (optimized, baseline)
    ]
    assert ops[0] == ops[1] == {Load, Store}
    assert len(optimized.schedule) > len(baseline.schedule)


def test_streams_stay_whole_vectors() -> None:
    zen = Target("x86_64-unknown-linux-gnu", "znver4", "+avx512f,+avx512bw,+avx512vl", 512)
    fused = tj.jit(lambda x: x + 1).lower(np.zeros(20_000_001)).fused
    ((kernel, _),) = kernels_of(fused, zen, OPTIMIZED.parameters)
    verify_kernel(kernel)
    hints = [node.hint for node in statements_in(kernel.body) if isinstance(node, Store)]
    assert hints.count(STREAM) == 1
    assert hints.count("") == 3
    (tasks, *_) = [loop for loop in loops_in(kernel.body) if loop.kind == TASKS]
    assert tasks.lo == (affine(0),)
    assert all(loop.width == 8 for loop in loops_in(kernel.body) if loop.kind == LANES)
