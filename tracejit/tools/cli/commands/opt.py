"""``tracejit opt``: passes on files of the IR's text."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import Any, Final

from ....base.errors import VerificationError
from ....ir.graph import Function
from ....ir.passes import OPTIMIZE, PIPELINE, Pass, run_passes
from ....ir.text.printer import Names, print_function, print_functions
from ....ir.verifier import verify
from ..colors import add_common_options, colored, wants_color
from ..documents import check, read_document, write_text
from ..errors import TargetError, UsageError

_PASSES: Final = {pass_.name: pass_ for pass_ in PIPELINE}
#: Lists of passes that have a name.
_LISTS: Final = {"all": PIPELINE, "optimize": OPTIMIZE, "none": ()}


def _filled(text: str) -> str:
    """Lines of a terminal's width."""
    return textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


_DESCRIPTION = f"""\
Run passes over the functions of a .tir file, and print the result. Values keep their names.

{_filled("Passes: " + ", ".join(_PASSES))};
optimize is all before fusion, all the whole pipeline:
{_filled(", ".join(pass_.name for pass_ in PIPELINE))}
"""

_EXAMPLES = """\
examples:
  tracejit opt loss.tir --passes simplify,cse,dce,fuse
  tracejit dump train.py:loss --arg f64[8] --stage trace | tracejit opt --passes simplify,dce
  tracejit opt loss.tir --verify-each --time -o loss.opt.tir
  tracejit opt loss.tir --passes optimize --print-after-all
"""


def add_parser(commands: Any) -> None:
    """Add ``opt`` to the command line."""
    parser = commands.add_parser(
        "opt",
        help="run passes over a .tir file",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="default: standard input")
    parser.add_argument("--passes", default="all", metavar="PASS[,PASS]", help="in order (default: all)")
    parser.add_argument("--verify-each", action="store_true", help="check the IR after each pass")
    parser.add_argument("--time", action="store_true", help="print each pass's time, on standard error")
    parser.add_argument(
        "--print-after-all", action="store_true", help="print the IR after each pass, on standard error"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
    parser.add_argument("--json", action="store_true", help="one JSON object: the text, and the passes")
    add_common_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the passes; returns the exit code."""
    passes = parse_passes(options.passes)
    document = read_document(options.file)
    check(document, options.file)
    names = Names(document.names)
    steps: list[dict[str, Any]] = []
    optimized = [_optimized(function, passes, options, names, steps) for function in document.functions]
    text = print_functions(optimized, names)
    if options.time and not options.json:
        _print_times(steps)
    if options.json:
        write_text(options.output, json.dumps({"text": text, "passes": steps}) + "\n")
        return 0
    paints = options.output is None and wants_color(options.color, sys.stdout)
    write_text(options.output, colored(text, "tir") if paints else text)
    return 0


def parse_passes(text: str) -> list[Pass]:
    """The passes that a list such as ``simplify,cse`` names. Raises UsageError."""
    passes: list[Pass] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name not in _LISTS and name not in _PASSES:
            names = ", ".join([*_PASSES, *_LISTS])
            raise UsageError(f"there is no pass {name!r}; expected one of {names}")
        passes += _LISTS.get(name) or ([_PASSES[name]] if name in _PASSES else [])
    return passes


def _optimized(
    function: Function,
    passes: list[Pass],
    options: argparse.Namespace,
    names: Names,
    steps: list[dict[str, Any]],
) -> Function:
    """`function` after `passes`, each of which is noted in `steps`."""
    names.of(function)  # what the passes leave keeps these
    for pass_ in passes:
        before = sum(1 for _ in function.instructions())

        def observe(name: str, result: Function, seconds: float, before: int = before) -> None:
            after = sum(1 for _ in result.instructions())
            steps.append(
                {
                    "function": result.name,
                    "pass": name,
                    "milliseconds": round(seconds * 1e3, 3),
                    "ops_before": before,
                    "ops_after": after,
                }
            )

        try:
            function = run_passes(function, [pass_], observe)
            if options.verify_each:
                verify(function)
        except VerificationError as error:
            excerpt = str(error).partition("\n")[2]
            raise TargetError(f"after {pass_.name}: {error.problem}", excerpt) from error
        if options.print_after_all:
            text = f"; ---- @{function.name} after {pass_.name}\n{print_function(function, names=names)}\n"
            paints = wants_color(options.color, sys.stderr)
            sys.stderr.write(colored(text, "tir") if paints else text)
    return function


def _print_times(steps: list[dict[str, Any]]) -> None:
    """A table of the passes on standard error."""
    total = sum(step["milliseconds"] for step in steps)
    print(f"{'ms':>9}  {'%':>4}  {'ops':>13}  pass", file=sys.stderr)
    for mapping in steps:
        share = 100 * mapping["milliseconds"] / total if total else 0
        ops = f"{mapping['ops_before']} -> {mapping['ops_after']}"
        print(
            f"{mapping['milliseconds']:9.3f}  {share:4.0f}  {ops:>13}  "
            f"{mapping['pass']} @{mapping['function']}",
            file=sys.stderr,
        )
    print(f"{total:9.3f}  {100:4}  {'':>13}  total", file=sys.stderr)
