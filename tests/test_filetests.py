"""Textual cases for the parser, the verifier, passes, gradients and lowering: tests/filetests/*/*.tir.
Those about kernels in the loop form, *.loops, are run by `loop_cases`.

A case opens with ``; test: MODE``. Its ``; check:`` lines must be found in the output in that order, each
within one line (runs of spaces count as one); ``; check-not:`` texts must not be found at all; ``; error:``
lines are parts of the message that the case must raise, in order. ``TRACEJIT_UPDATE_FILETESTS=1`` rewrites
the check and error lines of every case from what comes out: read the diff. Further lines of the head:

    ; target: NAME      the machine of loops, operations, llvm and asm; 512-bit vectors unless told
    ; filter: REGEX     only such lines of the output count, where all would be too many
    ; input: JSON       for run: the value of the next parameter

``; test: opt PASS,PASS`` runs passes by name; ``run`` runs the interpreter and native code, which must agree,
and prints what the interpreter gives; ``fmt`` prints the text as the formatter lays it out. What ``kernel``
does: `loop_cases`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tracejit.base.errors import TracejitError
from tracejit.codegen.llvm.target import Target
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.loops.passes import PASSES as LOOP_PASSES
from tracejit.codegen.loops.passes import parse_schedule
from tracejit.ir.dtypes import is_differentiable
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes import OPTIMIZE, PIPELINE, run_passes
from tracejit.ir.passes.algebra.cleanup import dce
from tracejit.ir.passes.array_loops.affine_accesses import slice_accesses
from tracejit.ir.passes.array_loops.conversion import loops_to_arrays
from tracejit.ir.passes.array_loops.forwarded_elements import forward_elements
from tracejit.ir.passes.array_loops.product_sums import contract_product_sums
from tracejit.ir.passes.loops.rerolling import reroll_loops
from tracejit.ir.text.formatter import format_text
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.transforms.batching import batch
from tracejit.ir.transforms.differentiation import gradient
from tracejit.ir.verifier import verify
from tracejit.jitted.lowered import Lowered
from tracejit.runtime.executable import Executable
from tracejit.tools.cli.commands.opt import parse_passes
from tracejit.tools.cli.commands.run import difference

from .loop_cases import kernel_output

DIRECTORY = Path(__file__).parent / "filetests"
CASES = sorted([*DIRECTORY.rglob("*.tir"), *DIRECTORY.rglob("*.loops")])
#: Loop nests depend on the width of vectors; text cases are for one machine.
TARGET = Target("x86_64-unknown-linux-gnu", "", "+avx512f,+avx512bw,+avx512vl", 512)
_DIRECTIVE = re.compile(r"^\s*; (test|check|check-not|error|target|filter|input):(.*)$")
_EXPECTATION = re.compile(r"^\s*; (check|error):")


def _gradient(function: Function) -> Function:
    """The optimised gradient by every floating parameter."""
    wrt = [i for i, param in enumerate(function.params) if is_differentiable(param.dtype)]
    derived = gradient(function, wrt)
    verify(derived)
    return run_passes(derived, OPTIMIZE)


def _mapped(function: Function) -> Function:
    """Map over eight examples of every parameter."""
    return dce(batch(dce(function), [True] * len(function.params), 8)[0])


def _checked_run(function: Function, inputs: list[str]) -> str:
    """The interpreter's results, after native code gave the same."""
    pairs = zip(function.params, inputs, strict=True)
    arrays = [np.array(json.loads(text), param.dtype).reshape(param.shape) for param, text in pairs]
    expected = interpret(function, arrays)
    for array, native in zip(expected, Executable(function)(arrays), strict=True):
        assert not difference(array, native)["differs"], f"native: {native}, interpreted: {array}"
    return "\n".join(f"{x.dtype} {x.shape} {np.array2string(x, precision=6)}" for x in expected)


#: Modes that are about the machine: what is printed of lowered code.
STAGES = ("loops", "operations", "llvm", "llvm-opt", "asm")
MODES: dict[str, Callable[[Function], Function]] = {
    "parse": lambda function: function,
    "verify": lambda function: function,
    "array-loops": loops_to_arrays,
    "slice-accesses": lambda function: dce(slice_accesses(function)),
    "forward-elements": lambda function: dce(forward_elements(function)),
    "product-sums": lambda function: dce(contract_product_sums(function)),
    "gradient": _gradient,
    "vmap": _mapped,
}
#: Each pass by its name, on a Function and not on the regions in it, to which ``opt PASS`` applies it, too.
PASSES = {pass_.name: pass_.apply for pass_ in PIPELINE}
#: Repetitions that are long enough to be compiled as loops are too long to read.
PASSES["reroll-loops"] = lambda function: reroll_loops(function, least_steps=3, least_ops=6)
#: Passes that leave behind what nothing reads any more: it is removed before the result is printed.
LITTERING = {
    "decompose", "defer-products", "fold", "free-unchanged-carries", "licm", "reuse-stacks", "simplify",
    "widen-float16",
}  # fmt: skip
MIN_CASES = 10  # of each pass
#: Modes that are done below.
OTHER_MODES = ("opt", "run", "fmt", *STAGES)


def output_of(mode: str, text: str) -> str:
    """The output of the case. Raises the errors that it is about."""
    pairs = list(directives(text))
    heads = {kind: value for kind, value in pairs if kind in ("target", "filter")}
    text = "\n".join(line for line in text.splitlines() if not _EXPECTATION.match(line)).rstrip() + "\n"
    if mode == "fmt":
        return format_text(text)
    if mode.startswith("kernel "):
        return kernel_output(mode[7:], text, [value for kind, value in pairs if kind == "input"])
    function = parse_function(text)
    if mode != "parse":
        verify(function)
    if mode == "run":
        return _checked_run(function, [value for kind, value in pairs if kind == "input"])
    if mode in STAGES:
        target = named_target(heads["target"]) if "target" in heads else TARGET
        lines = Lowered(function, target).as_text(mode).splitlines()
        return "\n".join(line for line in lines if re.search(heads.get("filter", ""), line))
    name, _, passes = mode.partition(" ")
    if name == "opt":
        result = run_passes(function, parse_passes(passes))
    else:
        result = {**MODES, **PASSES}[name](function)
        result = dce(result) if name in LITTERING else result
    if mode != "parse":
        verify(result)
    printed = print_function(result)
    assert print_function(parse_function(printed)) == printed, "the output does not parse back to itself"
    return printed


def directives(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        match = _DIRECTIVE.match(line)
        if match:
            yield match[1], squeezed(match[2])


def squeezed(text: str) -> str:
    return " ".join(text.split())


def find_in_order(checks: list[str], text: str) -> None:
    lines = [squeezed(line) for line in text.splitlines()]
    position = 0
    for check in checks:
        while position < len(lines) and check not in lines[position]:
            position += 1
        if position == len(lines):
            pytest.fail(f"not found (in order): {check}\n\n{text}")
        position += 1


def rewritten(text: str, kind: str, output: str) -> str:
    """`text` with its check and error lines replaced by all lines of `output`."""
    kept = [line for line in text.splitlines() if not _EXPECTATION.match(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    return (
        "\n".join(
            [*kept, "", *(f"; {kind}: {squeezed(line)}" for line in output.splitlines() if line.strip())]
        )
        + "\n"
    )


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path) -> None:
    text = path.read_text()
    pairs = list(directives(text))
    modes = [value for kind, value in pairs if kind == "test"]
    assert len(modes) == 1, "a case opens with one line '; test: MODE'"
    errors = [value for kind, value in pairs if kind == "error"]
    checks = [value for kind, value in pairs if kind == "check"]
    updating = os.environ.get("TRACEJIT_UPDATE_FILETESTS") == "1"
    assert updating or errors or checks, "a case checks something"
    try:
        output = output_of(modes[0], text)
    except (TracejitError, IndexError) as error:  # the interpreter raises NumPy's
        message = f"{type(error).__name__}: {error}"
        if updating:
            path.write_text(rewritten(text, "error", message))
            return
        assert errors, f"the case fails, but expects no error: {message}"
        find_in_order(errors, message)
        return
    if updating:
        path.write_text(rewritten(text, "check", output))
        return
    assert not errors, f"the case expects an error, but gives\n{output}"
    find_in_order(checks, output)
    for kind, value in pairs:
        assert kind != "check-not" or value not in squeezed(output), f"found: {value}\n{output}"


def _last_steps(heads: list[str]) -> list[str]:
    """The pass of the last step of each schedule among `heads`."""
    steps = [parse_schedule(head[7:])[-1:] for head in heads if head.startswith("kernel ") and "(" in head]
    return [name for ((name, _),) in steps]


def test_there_are_cases_of_every_mode_and_ten_of_each_pass() -> None:
    heads = [value for path in CASES for kind, value in directives(path.read_text()) if kind == "test"]
    assert {head.split()[0] for head in heads} >= {*MODES, *OTHER_MODES}
    counts = Counter(head.removeprefix("opt ") for head in heads)
    few = {name: counts[name] for name in PASSES if counts[name] < MIN_CASES}
    steps = Counter(_last_steps(heads))
    few |= {name: steps[name] for name in LOOP_PASSES if steps[name] < MIN_CASES}
    assert not few, f"fewer than {MIN_CASES} cases: {few}"


def test_a_wrong_check_fails() -> None:
    """The runner itself: order and text of the checks matter."""
    find_in_order(["a", "b"], "a\nb")
    for checks in (["b", "a"], ["c"], ["a", "a"]):
        with pytest.raises(pytest.fail.Exception):
            find_in_order(checks, "a\nb")
