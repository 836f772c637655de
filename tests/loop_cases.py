"""Kernels in the loop form under test: runs on random arrays, and the cases of `tests/filetests/loops` about
them.

A case opens with ``; test: kernel`` and what is done: ``parse``; ``verify``; ``run``, with an ``; input:``
line for each buffer; or the steps of a schedule, whose result must be valid, and mean the same, to the bit
but for sums in another order.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.base.errors import CompileError
from tracejit.codegen.loops.interpreter import InterpretedFailure, interpret_kernel
from tracejit.codegen.loops.nodes import Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import REORDERS_SUMS, parse_schedule, scheduled
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.tiers import Tier
from tracejit.ir.dtypes import BY_NAME
from tracejit.runtime.loop_kernels import NativeKernel
from tracejit.tools.cli.commands.run import difference

#: Largest error of a few sums and products of floats, part of the largest magnitude.
_ROUNDED = 1e-4


def kernel_output(what: str, text: str, inputs: Sequence[str]) -> str:
    """The output of a case. Raises the errors that it is about."""
    kernel = parse_kernel(text)
    printed = print_kernel(kernel)
    assert print_kernel(parse_kernel(printed)) == printed, "the text does not parse back to itself"
    if what == "parse":
        return printed
    verify_kernel(kernel)
    if what == "verify":
        return printed
    if what == "run":
        arrays = [
            np.array(json.loads(line), BY_NAME[buffer.dtype])
            for line, buffer in zip(inputs, kernel.buffers, strict=True)
        ]
        symbols = _symbols(kernel, [len(array) for array in arrays])
        interpret_kernel(kernel, arrays, symbols)
        return "\n".join(
            f"{buffer.name}: {array.tolist()}"
            for buffer, array in zip(kernel.buffers, arrays, strict=True)
            if buffer.out
        )
    steps = parse_schedule(what)
    result = scheduled(kernel, steps)
    check_same(kernel, result, bits=all(name not in REORDERS_SUMS for name, _ in steps))
    return print_kernel(result)


def check_same(kernel: Kernel, result: Kernel, *, bits: bool = True) -> None:
    """Check that `result` is valid, and means what `kernel` does: to the bit, or where that is not asked for
    up to how its sums of floats are rounded."""
    verify_kernel(result)
    printed = print_kernel(result)
    unscheduled = parse_kernel(printed)
    assert print_kernel(result.with_body(unscheduled.body)) == printed, (
        "the text does not parse back to itself"
    )
    for seed, size in enumerate((5, 1, 9) if kernel.symbols else (5, 5)):
        symbols = {name: max(least, size) for name, least in kernel.symbols}
        expected = _outcome_before(kernel, seed, size)
        # as it is, and then as its text says, with tasks in any order
        actual = outcome(unscheduled if seed else result, seed, symbols, shuffled=seed > 0)
        same = actual == expected if bits else _alike(kernel, actual, expected)
        assert same, f"seed {seed}, {symbols}\n{printed}"


@functools.lru_cache(maxsize=8)
def _outcome_before(kernel: Kernel, seed: int, size: int) -> Any:
    """The outcome of `kernel` where symbols are `size`, or their least; it is asked for after each pass."""
    return outcome(kernel, seed, {name: max(least, size) for name, least in kernel.symbols})


def _alike(kernel: Kernel, actual: Any, expected: Any) -> bool:
    """Whether two outcomes are the same up to roundings of their largest magnitudes."""
    if isinstance(actual, str) or isinstance(expected, str):
        return bool(actual == expected)
    return not any(
        difference(*[np.frombuffer(data, BY_NAME[buffer.dtype]) for data in pair], _ROUNDED)["differs"]
        for buffer, *pair in zip(kernel.buffers, expected, actual, strict=True)
    )


def check_native(kernel: Kernel, seed: int, tier: Tier) -> bool:
    """Check that machine code of `tier` computes what the interpreter does, its tasks in two parts; False
    where there is no code for such kernels yet.

    Code joins products and sums, and so is some roundings off; arrays are small integers.
    """
    try:
        native = NativeKernel(kernel, tier)
    except CompileError:
        return False
    rng = np.random.default_rng(seed)
    symbols = {name: max(least, int(rng.integers(1, 20))) for name, least in kernel.symbols}
    arrays = [
        rng.integers(-9, 10, buffer.size.value(symbols)).astype(BY_NAME[buffer.dtype])
        for buffer in kernel.buffers
    ]
    expected = [array.copy() for array in arrays]
    interpret_kernel(kernel, expected, symbols)
    tasks = native.tasks(symbols)
    cut = int(rng.integers(0, tasks + 1))
    for part in ((cut, tasks), (0, cut)):
        if part[0] < part[1]:
            native(arrays, symbols, part)
    for buffer, want, got in zip(kernel.buffers, expected, arrays, strict=True):
        gap = difference(want, got)
        assert not gap["differs"], f"{tier.name}: {buffer.name}: {gap}\n{print_kernel(kernel)}"
    return True


def outcome(kernel: Kernel, seed: int, symbols: Mapping[str, int], *, shuffled: bool = False) -> Any:
    """The bytes of all buffers after `kernel` ran on random arrays, or the message with which it failed,
    since buffers may then be in any state; with tasks in any order if they are `shuffled`."""
    arrays = arrays_for(kernel, seed, symbols)
    try:
        interpret_kernel(kernel, arrays, symbols, np.random.default_rng(seed) if shuffled else None)
    except InterpretedFailure as failure:
        return str(failure)
    return [array.tobytes() for array in arrays]


def arrays_for(kernel: Kernel, seed: int, symbols: Mapping[str, int]) -> list[Any]:
    """Random arrays for the buffers of `kernel`."""
    rng = np.random.default_rng(seed)
    return [_drawn(rng, buffer.size.value(symbols), BY_NAME[buffer.dtype]) for buffer in kernel.buffers]


def _drawn(rng: np.random.Generator, size: int, dtype: Any) -> Any:
    values = rng.standard_normal(size) * 3
    return (np.abs(values) if np.dtype(dtype).kind == "u" else values).astype(dtype)


def _symbols(kernel: Kernel, sizes: Sequence[int]) -> dict[str, int]:
    """The values of symbols that are sizes of buffers."""
    return {
        str(buffer.size): size
        for buffer, size in zip(kernel.buffers, sizes, strict=True)
        if str(buffer.size) in dict(kernel.symbols)
    }
