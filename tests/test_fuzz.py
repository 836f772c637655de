"""Random graphs: the interpreter is the oracle for every pass, for native code and for the text form.

The graphs are traces of the programs that ``python -m tests.fuzz`` runs as a user would (`fuzz/graphs.py`). A
failure names the seed and prints the graph, cut down to the result that is wrong. The quick run takes some
seconds on two cores; ``pytest -m slow tests/test_fuzz.py`` runs for minutes, from other seeds each day when
``TRACEJIT_FUZZ_SEED`` says so.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from tracejit.base.machine import Machine
from tracejit.codegen.nest.reductions import chunks
from tracejit.ir.graph import Function
from tracejit.ir.passes import PIPELINE
from tracejit.ir.passes.algebra.cleanup import dce
from tracejit.ir.passes.fusion import horizontal_fusion, rematerialization_after
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.transforms.batching import batch
from tracejit.ir.transforms.differentiation import gradient
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from .fuzz.graphs import GraphProgram, program, smooth_program
from .rotation import share_of
from .support import Array, interpret, interpret_stage, mismatch

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))
CHUNK = 20
#: Twelve chunks of seeds, of which a run has two or three.
QUICK = range(FIRST, FIRST + 240, CHUNK)
SLOW = range(FIRST + 10_000, FIRST + 10_400, 5 * CHUNK)


def compare(got: list[Array], want: list[Array], generated: GraphProgram, stage: str, seed: int) -> None:
    """Every result within its error bound, doubled as both sides round; exact ones bit for bit.

    The sign of a zero is left open: maximum and minimum of zeros of both signs may give either.
    """
    for position, (actual, expected, error) in enumerate(zip(got, want, generated.errors, strict=True)):
        problem = mismatch(actual, expected, atol=2 * error, zero_sign=False)
        if problem:
            alone = Function(
                "cut",
                generated.function.params,
                generated.function.body,
                (generated.function.results[position],),
            )
            pytest.fail(f"seed {seed}, {stage}, result {position}: {problem}\n{print_function(dce(alone))}")


def check_text(function: Function, seed: int) -> Function:
    text = print_function(function)
    parsed = parse_function(text)
    assert print_function(parsed) == text, f"seed {seed}: print, parse, print is not the identity"
    verify(parsed)
    return parsed


def check_program(seed: int) -> None:
    generated = program(seed)
    verify(generated.function)
    want = interpret(generated.function, generated.arrays)
    parsed = check_text(generated.function, seed)
    for actual, expected in zip(interpret(parsed, generated.arrays), want, strict=True):
        assert not mismatch(actual, expected), f"seed {seed}: the parsed program computes something else"
    function, text, quiet = generated.function, print_function(generated.function), []
    for step in PIPELINE:
        quiet.append(step.name)
        after = step.apply(function)
        if after is function and step is not PIPELINE[-1]:
            continue  # nine of ten leave a program as it is, which has been checked
        assert print_function(function) == text, f"seed {seed}: a pass changed its argument: {quiet}"
        quiet.clear()
        function, text = after, print_function(after)
        try:
            verify(function)
        except Exception as error:
            pytest.fail(f"seed {seed}, after {step.name}: {error}")
        compare(
            interpret_stage(function, generated.function, generated.arrays),
            want,
            generated,
            f"after {step.name}",
            seed,
        )
    check_text(function, seed)
    copies = [array.copy() for array in generated.arrays]
    try:
        executable = Executable(generated.function)
    except Exception as error:
        pytest.fail(f"seed {seed} does not compile: {type(error).__name__}: {error}\n{generated.function}")
    for again in range(2):  # twice: buffers are kept between calls
        compare(executable(generated.arrays), want, generated, f"native call {again}", seed)
    for array, copy in zip(generated.arrays, copies, strict=True):
        assert array.tobytes() == copy.tobytes(), f"seed {seed}: native code changed an argument"


def check_gradient(seed: int) -> None:
    generated = smooth_program(seed)
    wrt = [i for i, param in enumerate(generated.function.params) if param.dtype.kind == "f"]
    derived = gradient(generated.function, wrt)
    verify(derived)
    check_text(derived, seed)
    want = interpret(derived, generated.arrays)
    largest = max(float(np.abs(expected).max(initial=0.0)) for expected in want)
    if not largest < 1e8:
        return  # ill-conditioned: rounding may show
    for stage, got in (("interpreted", None), ("native", Executable(derived)(generated.arrays))):
        if got is None:
            function = derived
            for step in PIPELINE:
                after = step.apply(function)
                if after is not function:
                    verify(after)
                function = after
            got = interpret_stage(function, derived, generated.arrays)
        for position, (actual, reference) in enumerate(zip(got, want, strict=True)):
            # the measured tolerance; and f64 has 1e-16, values in between stay under 1e8 times the largest
            atol = max(generated.errors[0], 1e-8 * (1 + largest))
            problem = mismatch(actual, reference, atol=atol, zero_sign=False)
            if problem:
                cut = dce(Function("cut", derived.params, derived.body, (derived.results[position],)))
                pytest.fail(
                    f"gradient seed {seed}, {stage}, result {position}: {problem}\n{print_function(cut)}"
                )


@pytest.mark.parametrize("first", share_of(QUICK, 5))
def test_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_program(seed)


@pytest.mark.parametrize("first", share_of(QUICK[:5], 5))
def test_gradients_of_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_gradient(seed)


@pytest.mark.parametrize("first", share_of(QUICK[:5], 5))
def test_programs_as_if_they_were_large(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of small values are joined, cut into chunks and computed again as those of large ones are."""
    monkeypatch.setattr(horizontal_fusion, "large_bytes", lambda: 0)
    monkeypatch.setattr(rematerialization_after, "least_bytes", lambda: 0)
    monkeypatch.setattr(chunks, "machine", lambda: Machine(task_cycles=1, least_tasks=0))
    for seed in range(first, first + CHUNK):
        check_program(seed)
        check_gradient(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", share_of(SLOW, 2))
def test_many_programs(first: int) -> None:
    for seed in range(first, first + 5 * CHUNK):
        check_program(seed)
        check_gradient(seed)


def test_programs_are_varied() -> None:
    """The generator still reaches every op that it knows, or the tests above test less than they say."""
    seen = {instruction.op.name for seed in range(250) for instruction in program(seed).function.body}
    missing = {
        "add", "mul", "div", "sum", "max", "argmax", "cumsum", "reshape", "transpose", "slice", "update",
        "concat", "gather", "scatter", "matmul", "cast", "where", "full", "iota", "constant", "eq",
        "broadcast", "mean", "prod", "sort", "argsort", "searchsorted", "convolve", "scan", "while", "switch",
        "custom_vjp", "cumprod", "clip",
    } - seen  # fmt: skip
    assert not missing
    assert len(seen) > 90


def check_batched(seed: int) -> None:
    """Check a program on a batch of three: the first and the last are equal, the second differs."""
    generated = program(seed)
    chosen = np.random.default_rng(seed)
    mapped = [bool(chosen.random() < 0.6) for _ in generated.arrays]
    function, flags = batch(generated.function, mapped, 3)
    verify(function)
    arguments = [
        np.stack([array, np.roll(array.reshape(-1), 1).reshape(array.shape), array]) if many else array
        for array, many in zip(generated.arrays, mapped, strict=True)
    ]
    want = interpret(generated.function, generated.arrays)
    for way, results in (
        ("interpreter", interpret(function, arguments)),
        ("native", Executable(function)(arguments)),
    ):
        for example in (0, 2):
            rows = [
                np.asarray(result[example]) if many else result
                for result, many in zip(results, flags, strict=True)
            ]
            compare(rows, want, generated, f"example {example} of the batched program, {way}", seed)


@pytest.mark.parametrize("first", share_of(range(FIRST, FIRST + 120, CHUNK), 2))
def test_batched_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_batched(seed)
