"""Kernels in the loop form under test: runs on random arrays, and the cases of `tests/filetests/loops` about
them.

A case opens with ``; test: kernel`` and what is done: ``parse``; ``verify``; ``run``, with an ``; input:``
line for each buffer; or the steps of a schedule, whose result must be valid, and mean the same to the bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.codegen.loops.interpreter import InterpretedFailure, interpret_kernel
from tracejit.codegen.loops.nodes import Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import parse_schedule, scheduled
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.ir.dtypes import BY_NAME


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
    result = scheduled(kernel, parse_schedule(what))
    check_same(kernel, result)
    return print_kernel(result)


def check_same(kernel: Kernel, result: Kernel, symbols: Mapping[str, int] | None = None) -> None:
    """Check that `result` is valid, and means what `kernel` does, to the bit."""
    verify_kernel(result)
    printed = print_kernel(result)
    unscheduled = parse_kernel(printed)
    assert print_kernel(result.with_body(unscheduled.body)) == printed, (
        "the text does not parse back to itself"
    )
    symbols = symbols if symbols is not None else dict.fromkeys(dict(kernel.symbols), 5)
    for seed in (0, 1):
        expected = outcome(kernel, seed, symbols)
        assert outcome(result, seed, symbols) == expected, f"seed {seed}\n{printed}"
        assert outcome(unscheduled, seed, symbols, shuffled=True) == expected, f"seed {seed}\n{printed}"


def outcome(kernel: Kernel, seed: int, symbols: Mapping[str, int], *, shuffled: bool = False) -> Any:
    """The bytes of all buffers after `kernel` ran on random arrays, and the message with which it failed;
    with tasks in any order if they are `shuffled`."""
    arrays = arrays_for(kernel, seed, symbols)
    message = ""
    try:
        interpret_kernel(kernel, arrays, symbols, np.random.default_rng(seed) if shuffled else None)
    except InterpretedFailure as failure:
        message = str(failure)
    return message, [array.tobytes() for array in arrays]


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
