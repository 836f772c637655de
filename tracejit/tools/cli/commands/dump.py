"""``tracejit dump``: a function at the stages of its compilation, as text."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from ....base.errors import TracejitError
from ....ir.text import VERSION
from ...compile_times import compile_times
from ...dumping import file_name, language_of
from ..colors import add_common_options, colored, wants_color
from ..documents import write_text
from ..errors import TargetError, UsageError
from ..specs import parse_argnums
from ..stages import STAGES, Stages, machine
from ..target_options import TARGET_HELP, add_target_options
from ..targets import plain_subject, transformed

_DESCRIPTION = f"""\
Trace a function and print stages of its compilation.

{TARGET_HELP}
Stages, in order:
  {", ".join(STAGES)}.
grad, jvp and vmap are traces of what these transforms make of the target; --grad and --vmap let every
other stage show the transformed function. after:PASS is the IR after a pass (after:dce:2 after its second
run); optimized is what fusion gets. Where Python code branches on values, this is the path of those that
--args-from gives, or else of random ones.
"""

_EXAMPLES = """\
examples:
  tracejit dump train.py:loss --arg f64[64,10] --arg f64[32,64] --stage optimized
  tracejit dump train.py:loss --arg 'w={w: f64[64], b: f64[]}' --arg x=f64[32,64] --grad --stage loops
  tracejit dump train.py:loss --args-from train.py:example --static mode=train --all -o stages
  tracejit dump train.py:loss --args-from train.py:example --diff trace optimized
  tracejit dump package.module:function --arg f32[128,64] --stage asm --target x86-64-v3
  tracejit dump loss.tir --vmap 32 --stage fused,loops
  tracejit dump loss.tir --stage svg -o loss.svg
  tracejit dump loss.tir --times

any program, unchanged:
  TRACEJIT_DUMP=optimized,llvm TRACEJIT_DUMP_DIR=stages python train.py
"""

_COMMENT: Final = {"asm": "#", "dot": "//", "loops": ";"}


def add_parser(commands: Any) -> None:
    """Add ``dump`` to the command line."""
    parser = commands.add_parser(
        "dump",
        help="print a function's IR, loop nests, LLVM, assembly or picture",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    add_target_options(parser)
    parser.add_argument(
        "--stage",
        action="append",
        metavar="STAGE[,STAGE]",
        help="what to show (default: optimized), several after each other",
    )
    parser.add_argument("--all", action="store_true", help="write every stage to a file of the folder -o")
    parser.add_argument(
        "--diff", nargs=2, metavar="STAGE", help="what changes from one stage to another, as a unified diff"
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="how long compiling takes in either tier, and of that the loop form, by kernel and pass",
    )
    parser.add_argument(
        "--target",
        dest="machine",
        metavar="CPU",
        help="the machine to show code for: x86-64-v3, znver4, aarch64, arm64-apple-darwin, ...",
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="a file, or with --all a folder, instead of standard output"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object: stages, files with --all")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print or write the stages; returns the exit code."""
    if bool(options.stage) + options.all + (options.diff is not None) + options.times > 1:
        raise UsageError("--stage, --all, --diff and --times exclude each other")
    target = machine(options.machine)
    if options.times and target is not None:
        raise UsageError("--times is of compiling for this machine: leave --target out")
    argnums = None if options.grad is None else parse_argnums(options.grad)
    plain = plain_subject(options)
    stages = Stages(plain, transformed(plain, options), argnums, options.vmap, target)
    if options.times:
        times = compile_times(stages.subject.trace())
        texts = [json.dumps([tier.as_json() for tier in times])] if options.json else map(str, times)
        write_text(options.output, "\n".join(texts) + "\n")
    elif options.all:
        _write_all(stages, options)
    elif options.diff is not None:
        _emit(options, {"diff": stages.difference(*options.diff)})
    else:
        names = [name.strip() for text in options.stage or ["optimized"] for name in text.split(",")]
        _emit(options, {stage: stages.text(stage) for stage in names})
    return 0


def _emit(options: argparse.Namespace, texts: dict[str, str]) -> None:
    """Print texts by stage, several with the stage above each."""
    if options.json:
        write_text(options.output, json.dumps(texts) + "\n")
        return
    parts = []
    paints = options.output is None and wants_color(options.color, sys.stdout)
    for stage, text in texts.items():
        language = "diff" if stage == "diff" else language_of(stage)
        if len(texts) > 1:
            parts.append(f"{_COMMENT.get(language, ';')} ---- {stage}\n")
            text = text.removeprefix(f"tir {VERSION}\n\n")  # it stands at the beginning of a file alone
        parts.append(colored(text, language) if paints else text)
    write_text(options.output, "".join(parts))


def _write_all(stages: Stages, options: argparse.Namespace) -> None:
    """Write a file for each stage, and print what was written."""
    name = stages.lowered.function.name
    folder = Path(options.output or "".join(c if c.isalnum() or c in "_-" else "_" for c in name))
    folder.mkdir(parents=True, exist_ok=True)
    written: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for number, stage in enumerate(stages.names()):
        try:
            text = stages.text(stage)
        except (TargetError, TracejitError) as error:
            if stage not in ("grad", "jvp", "vmap"):
                raise
            skipped[stage] = " ".join(str(error).splitlines())
            continue
        path = folder / file_name(f"{number:02d}", stage=stage)
        path.write_text(text, encoding="utf-8")
        written.append({"stage": stage, "file": str(path)})
    if options.json:
        print(json.dumps({"written": written, "skipped": skipped}))
        return
    for mapping in written:
        print(mapping["file"])
    for stage, why in skipped.items():
        print(f"tracejit dump: no stage {stage}: {why}", file=sys.stderr)
