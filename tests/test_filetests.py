"""Textual cases for parser, verifier, passes, gradients and loop nests: tests/filetests/*/*.tir.

A case opens with ``; test: MODE``. Its ``; check:`` lines must be found in the output in that order, each
within one line (runs of spaces count as one); ``; check-not:`` texts must not be found at all; ``; error:``
lines are parts of the message that the case must raise, in order. ``TRACEJIT_UPDATE_FILETESTS=1`` rewrites
the
check and error lines of every case from what comes out: read the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracejit.codegen.module import generate
from tracejit.codegen.target import Target
from tracejit.ir.autodiff import gradient
from tracejit.ir.dtypes import is_float
from tracejit.ir.errors import TracejitError
from tracejit.ir.graph import Function
from tracejit.ir.passes import OPTIMIZE, run_passes
from tracejit.ir.passes.cleanup import cse, dce, decompose, fold
from tracejit.ir.passes.fuse import fuse
from tracejit.ir.passes.hoist import hoist
from tracejit.ir.passes.merge import merge_scans, merge_whiles
from tracejit.ir.passes.simplify import simplify
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.verifier import verify

DIRECTORY = Path(__file__).parent / "filetests"
CASES = sorted(DIRECTORY.rglob("*.tir"))
#: Loop nests depend on the width of vectors; text cases are for one machine.
TARGET = Target("x86_64-unknown-linux-gnu", "", "+avx512f,+avx512bw,+avx512vl", 512)
_DIRECTIVE = re.compile(r"^\s*; (test|check|check-not|error):(.*)$")


def _gradient(function: Function) -> Function:
    """The optimised gradient by every floating parameter."""
    wrt = [i for i, one in enumerate(function.params) if is_float(one.dtype)]
    derived = gradient(function, wrt)
    verify(derived)
    return run_passes(derived, OPTIMIZE)


def _twice(function: Function) -> Function:
    """Simplified and without what simplification left over."""
    return dce(simplify(function))


def _loops(function: Function) -> str:
    return generate(run_passes(function), TARGET).loops_text()


MODES: dict[str, Callable[[Function], Function | str]] = {
    "parse": lambda function: function,
    "verify": lambda function: function,
    "simplify": _twice,
    "cse": cse,
    "dce": dce,
    "fold": lambda function: dce(fold(function)),
    "decompose": lambda function: dce(decompose(function)),
    "fuse": fuse,
    "hoist": lambda function: dce(hoist(function)),
    "merge-scans": merge_scans,
    "merge-whiles": merge_whiles,
    "gradient": _gradient,
    "loops": _loops,
}


def output_of(mode: str, text: str) -> str:
    """What the case prints. Raises the errors that it is about."""
    kept = [line for line in text.splitlines() if not re.match(r"^\s*; (check|error):", line)]
    function = parse_function("\n".join(kept).rstrip() + "\n")
    if mode != "parse":
        verify(function)
    result = MODES[mode](function)
    if isinstance(result, str):
        return result
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


def find_in_order(wanted: list[str], text: str) -> None:
    lines = [squeezed(line) for line in text.splitlines()]
    position = 0
    for one in wanted:
        while position < len(lines) and one not in lines[position]:
            position += 1
        if position == len(lines):
            pytest.fail(f"not found (in order): {one}\n\n{text}")
        position += 1


def rewritten(text: str, kind: str, output: str) -> str:
    """`text` with its check and error lines replaced by all lines of `output`."""
    kept = [line for line in text.splitlines() if not re.match(r"^\s*; (check|error):", line)]
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
    found = list(directives(text))
    modes = [value for kind, value in found if kind == "test"]
    assert len(modes) == 1, "a case opens with one line '; test: MODE'"
    errors = [value for kind, value in found if kind == "error"]
    checks = [value for kind, value in found if kind == "check"]
    updating = os.environ.get("TRACEJIT_UPDATE_FILETESTS") == "1"
    assert updating or errors or checks, "a case checks something"
    try:
        output = output_of(modes[0], text)
    except TracejitError as error:
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
    for kind, value in found:
        assert kind != "check-not" or value not in squeezed(output), f"found: {value}\n{output}"


def test_there_are_cases_of_every_mode() -> None:
    modes = {value for path in CASES for kind, value in directives(path.read_text()) if kind == "test"}
    assert modes == set(MODES)
    assert len(CASES) >= 40


def test_a_wrong_check_fails() -> None:
    """The runner itself: order and text of the checks matter."""
    find_in_order(["a", "b"], "a\nb")
    for wanted in (["b", "a"], ["c"], ["a", "a"]):
        with pytest.raises(pytest.fail.Exception):
            find_in_order(wanted, "a\nb")
