"""``tracejit opt``: passes on files of the IR's text, and on kernels in the loop form's."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ....base.errors import VerificationError
from ....codegen.loops.nodes import Kernel
from ....codegen.loops.parser import KernelDocument
from ....codegen.loops.passes import PASSES as LOOP_PASSES
from ....codegen.loops.passes import NotApplicable, Step, parse_schedule, scheduled, step_text, usage
from ....codegen.loops.printer import print_kernel
from ....codegen.loops.rewriting import loops_in, statements_in
from ....codegen.loops.verifier import LoopFormError, verify_kernel
from ....ir.graph import Function
from ....ir.passes import OPTIMIZE, PIPELINE, Pass, run_passes
from ....ir.text.differences import difference
from ....ir.text.printer import Names, print_function, print_functions
from ....ir.verifier import verify
from ..colors import add_common_options, colored, wants_color
from ..documents import FUNCTIONS, error_at, read_text, write_text
from ..errors import TargetError, UsageError
from ..kernels import KERNELS, form_of

_PASSES: Final = {pass_.name: pass_ for pass_ in PIPELINE}
#: Lists of passes that have a name.
_LISTS: Final = {"all": PIPELINE, "optimize": OPTIMIZE, "none": ()}


def _filled(text: str) -> str:
    """Lines of a terminal's width."""
    return textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


_DESCRIPTION = f"""\
Run passes over the functions of a .tir file, or over the kernels of a .loops file, and print the result.
Values keep their names.

{_filled("Passes: " + ", ".join(_PASSES))};
optimize is all before fusion, all the whole pipeline:
{_filled(", ".join(pass_.name for pass_ in PIPELINE))}.

Kernels in the loop form have a schedule, passes with arguments (docs/developing/loops.md):
{_filled(" ".join(map(usage, LOOP_PASSES)))}.
"""

_EXAMPLES = """\
examples:
  tracejit opt loss.tir --passes simplify,cse,dce,fuse
  tracejit dump train.py:loss --arg f64[8] --stage trace | tracejit opt --passes simplify,dce
  tracejit opt loss.tir --verify-each --time -o loss.opt.tir
  tracejit opt loss.tir --passes optimize --print-after-all
  tracejit opt loss.tir --passes simplify --diff
  tracejit opt sums.loops --passes 'vectorize(i, 8) peel(i, 8)' --verify-each
"""


def add_parser(commands: Any) -> None:
    """Add ``opt`` to the command line."""
    parser = commands.add_parser(
        "opt",
        help="run passes over a .tir or .loops file",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="default: standard input")
    parser.add_argument(
        "--passes",
        metavar="PASS[,PASS]",
        help="in order (default: all); of kernels a schedule: 'vectorize(i, 8) peel(i, 8)'",
    )
    parser.add_argument("--verify-each", action="store_true", help="check the IR after each pass")
    parser.add_argument("--time", action="store_true", help="print each pass's time, on standard error")
    parser.add_argument(
        "--print-after-all", action="store_true", help="print the IR after each pass, on standard error"
    )
    parser.add_argument("--diff", action="store_true", help="print what the passes change, as a unified diff")
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
    parser.add_argument("--json", action="store_true", help="one JSON object: the text, and the passes")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the passes; returns the exit code."""
    text, steps = read_text(options.file), list[dict[str, Any]]()
    run_on = _on_kernels if form_of(options.file, text) is KERNELS else _on_functions
    language, result, diff = run_on(text, options, steps)
    if options.time and not options.json:
        _print_times(steps)
    if options.diff:
        language, result = "diff", diff
    if options.json:
        write_text(options.output, json.dumps({"text": result, "passes": steps}) + "\n")
        return 0
    paints = options.output is None and wants_color(options.color, sys.stdout)
    write_text(options.output, colored(result, language) if paints else result)
    return 0


def _on_functions(
    text: str, options: argparse.Namespace, steps: list[dict[str, Any]]
) -> tuple[str, str, str]:
    """The language and the text of the functions in `text` after the passes, and what changed."""
    passes = parse_passes("all" if options.passes is None else options.passes)
    document = FUNCTIONS.valid(text, options.file)
    names = Names(document.names)
    optimized = [_optimized(function, passes, options, names, steps) for function in document.functions]
    diff = [
        difference(old, new, f"@{before.name}", f"@{before.name} after passes")
        for before, old, new in _printed(document.functions, optimized, names)
    ]
    return "tir", print_functions(optimized, names), "".join(diff)


def _printed(
    before: Sequence[Function], after: Sequence[Function], names: Names
) -> Iterator[tuple[Function, str, str]]:
    """Each function before passes, and its text before and after them."""
    for old, new in zip(before, after, strict=True):
        texts = [f"{print_function(each, names=names, aligned=False)}\n" for each in (old, new)]
        yield old, texts[0], texts[1]


def _on_kernels(text: str, options: argparse.Namespace, steps: list[dict[str, Any]]) -> tuple[str, str, str]:
    """The language and the text of the kernels in `text` after the passes, and what changed."""
    if options.passes is None:
        raise UsageError(
            "kernels in the loop form are scheduled by the passes you name: --passes 'vectorize(i, 8)'; "
            f"there are {', '.join(map(usage, LOOP_PASSES))}"
        )
    try:
        schedule = parse_schedule("" if options.passes.strip() == "none" else options.passes)
    except NotApplicable as error:
        raise UsageError(str(error)) from error
    document = KERNELS.valid(text, options.file)
    results = [_scheduled(kernel, schedule, document, options, steps) for kernel in document.kernels]
    diff = [
        difference(
            f"{print_kernel(before)}\n", f"{print_kernel(after)}\n", f"@{before.name}",
            f"@{before.name} after passes",
        )
        for before, after in zip(document.kernels, results, strict=True)
    ]  # fmt: skip
    return "loops", "\n\n".join(map(print_kernel, results)) + "\n", "".join(diff)


def _scheduled(
    kernel: Kernel,
    schedule: list[Step],
    document: KernelDocument,
    options: argparse.Namespace,
    steps: list[dict[str, Any]],
) -> Kernel:
    """`kernel` of `document` after the passes of `schedule`, each of which is noted in `steps`. Raises
    TargetError where one does not apply, with the line of the loop, or of the kernel if there is none."""
    head = document.places[kernel]
    for name, arguments in schedule:
        before, start = kernel, time.perf_counter()
        step = step_text(name, arguments)
        try:
            kernel = scheduled(kernel, [(name, arguments)])
        except NotApplicable as error:
            index = str(arguments[0]).partition("#")[0] if arguments else ""
            loops = [loop for loop in loops_in(kernel.body) if loop.index == index]
            place = document.places.get(loops[0], head) if loops else head
            raise error_at(document.text, options.file, place, f"@{kernel.name}: {error}") from error
        seconds = time.perf_counter() - start
        if options.verify_each:
            try:
                verify_kernel(kernel)
            except LoopFormError as error:
                detail = str(error).partition("\n")[2]
                raise TargetError(f"after {step}: @{kernel.name}: {error.problem}", detail) from error
        steps.append(_noted("kernel", kernel.name, step, seconds, _count(before), _count(kernel)))
        if options.print_after_all:
            _print_after(f"@{kernel.name} after {step}", f"{print_kernel(kernel)}\n", "loops", options)
    return kernel


def _count(kernel: Kernel) -> int:
    return sum(1 for _ in statements_in(kernel.body))


def _noted(kind: str, name: str, pass_: str, seconds: float, before: int, after: int) -> dict[str, Any]:
    """A note about a pass on a function or kernel: its time, and the ops or statements before and
    after it."""
    counted = "ops" if kind == "function" else "statements"
    return {
        kind: name,
        "pass": pass_,
        "milliseconds": round(seconds * 1e3, 3),
        f"{counted}_before": before,
        f"{counted}_after": after,
    }


def _print_after(heading: str, text: str, language: str, options: argparse.Namespace) -> None:
    """Print what a pass gave, on standard error."""
    text = f"; ---- {heading}\n{text}"
    paints = wants_color(options.color, sys.stderr)
    sys.stderr.write(colored(text, language) if paints else text)


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
            steps.append(_noted("function", result.name, name, seconds, before, after))

        try:
            function = run_passes(function, [pass_], observe)
            if options.verify_each:
                verify(function)
        except VerificationError as error:
            excerpt = str(error).partition("\n")[2]
            raise TargetError(f"after {pass_.name}: {error.problem}", excerpt) from error
        if options.print_after_all:
            text = f"{print_function(function, names=names)}\n"
            _print_after(f"@{function.name} after {pass_.name}", text, "tir", options)
    return function


def _print_times(steps: list[dict[str, Any]]) -> None:
    """A table of the passes on standard error."""
    total = sum(step["milliseconds"] for step in steps)
    counted = "statements" if any("kernel" in step for step in steps) else "ops"
    print(f"{'ms':>9}  {'%':>4}  {counted:>13}  pass", file=sys.stderr)
    for step in steps:
        share = 100 * step["milliseconds"] / total if total else 0
        counts = f"{step[f'{counted}_before']} -> {step[f'{counted}_after']}"
        name = step.get("function") or step.get("kernel")
        print(
            f"{step['milliseconds']:9.3f}  {share:4.0f}  {counts:>13}  {step['pass']} @{name}",
            file=sys.stderr,
        )
    print(f"{total:9.3f}  {100:4}  {'':>13}  total", file=sys.stderr)
