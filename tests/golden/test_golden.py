"""Golden dumps of whole programs through the compiler: tests/golden/<program>.txt.

Each file has the stages `optimized`, `fused` and `loops` of one of `programs.PROGRAMS`, for one machine and
without source locations. A pass that is changed shows here what it does to real programs, which its own cases
do not. ``TRACEJIT_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew: read the difference.
"""

from __future__ import annotations

import os
import re
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError
from tracejit.codegen.llvm.target import Target
from tracejit.ir.graph import Function, Instruction, Value
from tracejit.ir.text.differences import difference
from tracejit.ir.text.parser import parse_document, parse_function
from tracejit.ir.text.printer import Names, print_attr, print_function
from tracejit.jitted.lowered import Lowered

from .programs import PROGRAMS, Program

DIRECTORY: Final = Path(__file__).parent
STAGES: Final = ("optimized", "fused", "loops")
#: Loop nests depend on the width of vectors; the dumps are for one machine, wherever the tests run.
TARGET: Final = Target("x86_64-unknown-linux-gnu", "", "+avx512f,+avx512bw,+avx512vl", 512)
SWITCH: Final = "TRACEJIT_UPDATE_GOLDEN"
#: All files together; more is not read by anybody.
MAX_LINES: Final = 6000
_HEADING: Final = re.compile(r"^== (\w+)\n", re.MULTILINE)


def dumps(program: Program) -> dict[str, str]:
    """The text of each stage. Ops are not aligned: a longer name is to change one line."""
    lowered = Lowered(tj.jit(program.function()).lower(*program.arguments()).function, TARGET)
    results = {}
    for stage in STAGES:
        function = lowered.function_at(stage)
        if function is None:
            results[stage] = lowered.as_text(stage)
        else:
            results[stage] = print_function(function, locations=False, aligned=False)
    return results


def joined(stages: dict[str, str]) -> str:
    """The text of a file."""
    return "\n".join(f"== {stage}\n{text.rstrip()}\n" for stage, text in stages.items())


def split(text: str) -> dict[str, str]:
    """The stages of a file."""
    _, *parts = _HEADING.split(text)
    return {stage: part.rstrip() for stage, part in zip(parts[::2], parts[1::2], strict=True)}


def named_alike(left: Function, right: Function, names: dict[Value, str]) -> None:
    """Give values of `right` the names that their like in `left` has in `names`.

    Instructions are alike where their ops, attributes and types are, in the same order; what they read may
    differ, so that one changed instruction does not rename all that follow from it.
    """
    pairs = list(zip(left.params, right.params, strict=False))
    regions: list[tuple[Function, Function]] = []
    before, after = ([_looks(instruction) for instruction in function.body] for function in (left, right))
    for first, second, count in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        for old, new in zip(
            left.body[first : first + count], right.body[second : second + count], strict=True
        ):
            pairs += zip(old.results, new.results, strict=True)
            regions += zip(old.regions, new.regions, strict=True)
    names.update((new, names[old]) for old, new in pairs)
    for old_region, new_region in regions:
        named_alike(old_region, new_region, names)


def _looks(instruction: Instruction) -> str:
    """All of an instruction but its operands and what is in its regions."""
    attrs = {name: print_attr(value) for name, value in instruction.attrs.items()}
    types = [str(result.type) for result in instruction.results]
    return f"{instruction.op.name} {attrs} {types} {len(instruction.regions)}"


def changes(old: str, new: str, stage: str) -> str:
    """A unified diff of a stage; values of a Function keep the names they had."""
    before = f"{stage}, golden"
    plain = difference(f"{old}\n", f"{new}\n", before, stage)
    if not old or stage == "loops":
        return plain
    try:
        document, function = parse_document(old), parse_function(new)
    except TracejitError:  # a form that is no longer read
        return plain
    names = dict(document.names)
    named_alike(document.functions[0], function, names)
    renamed = print_function(function, names=Names(names), locations=False, aligned=False)
    # where names are all that differs, they are shown
    return difference(f"{old}\n", f"{renamed}\n", before, stage) or plain


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_dumps_of_a_program(program: Program) -> None:
    path = DIRECTORY / f"{program.name}.txt"
    dumped = dumps(program)
    if os.environ.get(SWITCH) == "1":
        path.write_text(joined(dumped))
        return
    kept = path.read_text() if path.exists() else ""
    if kept == joined(dumped):
        return
    stages = split(kept)
    shown = [
        changes(stages.get(stage, ""), text.rstrip(), stage)
        for stage, text in dumped.items()
        if stages.get(stage) != text.rstrip()
    ]
    pytest.fail(
        "\n".join([*shown, f"{path.name} differs; {SWITCH}=1 pytest tests/golden writes what is right now"]),
        pytrace=False,
    )


def test_the_files_are_those_of_the_programs() -> None:
    files = {path.stem: path.read_text().count("\n") for path in DIRECTORY.glob("*.txt")}
    assert set(files) == {program.name for program in PROGRAMS}
    assert sum(files.values()) <= MAX_LINES


BEFORE = """\
func @f(%x: f64[3]) -> f64[3] {
  %0: f64[3] = neg(%x)
  %1: f64[3] = exp(%0)
  return %1
}"""
AFTER = """\
func @f(%x: f64[3]) -> f64[3] {
  %0: f64[3] = sin(%x)
  %1: f64[3] = neg(%0)
  %2: f64[3] = exp(%1)
  return %2
}"""


def test_values_keep_their_names_in_a_difference() -> None:
    """Renumbered values do not show in a difference: only an inserted instruction and its readers do."""
    lines = changes(BEFORE, AFTER, "optimized").splitlines()
    assert [line for line in lines if line[0] in "+-"] == [
        "--- optimized, golden",
        "+++ optimized",
        "-  %0: f64[3] = neg(%x)",
        "+  %2: f64[3] = sin(%x)",
        "+  %0: f64[3] = neg(%2)",
    ]


def test_a_difference_of_loops_or_names_is_shown() -> None:
    assert "+map nest k1" in changes("map nest k0", "map nest k1", "loops")
    assert "+  %0: f64[3] = neg(%y)" in changes(BEFORE, BEFORE.replace("%x", "%y"), "fused")
    assert "+func @f(" in changes("", BEFORE, "fused")
