"""Stages of compilation as files: which there are, what they are written in, and ``TRACEJIT_DUMP``.

With ``TRACEJIT_DUMP=optimized,llvm`` in the environment, every Function that a program compiles is written
to the folder ``TRACEJIT_DUMP_DIR``, a file for each stage, or printed on standard error where there is none.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..base.errors import TracejitError
from ..base.process.locks import ForkLock
from ..ir.graph import Function
from ..ir.text.printer import print_functions
from ..jitted.lowered import STAGES as LOWERED
from ..jitted.lowered import Lowered
from ..runtime.observing import OBSERVER
from .picture import picture_of_function, to_dot, to_svg

#: Pictures of the fused function, with its fusions as groups.
PICTURES: Final = {"dot": to_dot, "svg": to_svg}
#: The stages of a Function; ``after:PASS`` stands for as many as there are passes.
STAGES: Final = ("trace", "after:PASS", *LOWERED[1:], *PICTURES)

_LANGUAGES: Final = {
    "loops": "loops",
    "operations": "loops",
    "llvm": "llvm",
    "llvm-opt": "llvm",
    "asm": "asm",
    "dot": "dot",
    "svg": "svg",
}
_SUFFIXES: Final = {
    "tir": ".tir",
    "loops": ".txt",
    "llvm": ".ll",
    "asm": ".s",
    "dot": ".dot",
    "svg": ".svg",
}


def language_of(stage: str) -> str:
    """The language of the text of `stage`: tir, loops, llvm, asm, dot or svg."""
    return _LANGUAGES.get(stage, "tir")


def file_name(*parts: str, stage: str) -> str:
    """The file that a stage is written to, after `parts` such as a number.

    Example:
        >>> file_name("05", stage="after:dce:2")
        '05-after-dce-2.tir'
    """
    name = "-".join([*parts, stage.replace(":", "-")])
    return re.sub(r"[^\w.-]", "_", name) + _SUFFIXES[language_of(stage)]


def all_stages(lowered: Lowered) -> list[str]:
    """Every stage of a Function, the passes by name."""
    steps = [step.stage for step in lowered.steps]
    return [text for stage in STAGES for text in (steps if stage == "after:PASS" else [stage])]


def stage_text(lowered: Lowered, stage: str) -> str:
    """The text of `stage` as that of a file. Raises TracejitError where there is no such stage."""
    if stage in PICTURES:
        return PICTURES[stage](picture_of_function(lowered.fused))
    function = lowered.function_at(stage)
    if function is not None:
        return print_functions([function])
    return lowered.as_text(stage).rstrip("\n") + "\n"


def dump_compiled(stages: Sequence[str], folder: str | None) -> None:
    """Write `stages` of every Function that this process compiles from now on: to `folder`, or to standard
    error where that is None. ``all`` stands for all stages."""
    numbers, lock = itertools.count(1), ForkLock()

    def write(function: Function) -> None:
        with lock:
            lowered = Lowered(function)
            number = f"{next(numbers):03d}"
            for stage in stages if "all" not in stages else all_stages(lowered):
                text = stage_text(lowered, stage)
                if folder is None:
                    sys.stderr.write(f"; ---- {number} @{function.name}, {stage}\n{text}")
                else:
                    Path(folder, file_name(number, function.name, stage=stage)).write_text(text, "utf-8")

    OBSERVER.compiling = write


def dump_by_environment() -> None:
    """Dump as ``TRACEJIT_DUMP`` asks for. Raises TracejitError for unknown stages, and for a folder that
    cannot be written to."""
    stages = [text.strip() for text in os.environ["TRACEJIT_DUMP"].split(",") if text.strip()]
    plain_stages = [stage for stage in STAGES if stage != "after:PASS"]
    for stage in stages:
        if stage not in (*plain_stages, "all") and not stage.startswith("after:"):
            raise TracejitError(
                f"TRACEJIT_DUMP: there is no stage {stage!r}; expected some of {', '.join(STAGES)}, or all"
            )
    folder = os.environ.get("TRACEJIT_DUMP_DIR") or None
    if folder is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TracejitError(f"TRACEJIT_DUMP_DIR={folder}: {error.strerror}") from error
        if not os.access(folder, os.W_OK):
            raise TracejitError(f"TRACEJIT_DUMP_DIR={folder}: Permission denied")
    dump_compiled(stages, folder)
