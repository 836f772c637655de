"""``tracejit run``: a Function on inputs, by the interpreter, by native code, or by both, compared."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....base.errors import TracejitError
from ....ir.graph import Function
from ....ir.interpreter import interpret
from ....runtime.executable import Executable
from ....tracing.traces import Traced
from ..colors import add_common_options
from ..errors import FAILED, OK, TargetError, UsageError
from ..inputs import Array, random_inputs, read_inputs
from ..loading import users_code
from ..target_options import TARGET_HELP, add_target_options
from ..targets import subject_of

_EXAMPLES = """\
examples:
  tracejit run loss.tir --inputs data.npz              by the interpreter
  tracejit run loss.tir --inputs data.npz --native     by compiled code
  tracejit run loss.tir --random 0 --compare           by both; exit code 1 where they differ
  tracejit run loss.tir --random 0 -o results.npz
  tracejit run train.py:loss --args-from train.py:example --compare

The arrays of a .npz are found by the parameters' names, or as arr_0, arr_1, ...: np.savez("data.npz", x, y).
Results are compared by --rtol, relative to the largest magnitude in a result; integers and booleans must be
equal, and NaNs and infinities in the same places.
"""

#: Default relative tolerances of compiled code, which contracts and reorders sums (docs/ir.md).
_RTOL = {"float64": 1e-10, "float32": 1e-4, "float16": 4e-3, "complex128": 1e-10, "complex64": 1e-4}


def add_parser(commands: Any) -> None:
    """Add ``run`` to the command line."""
    parser = commands.add_parser(
        "run",
        help="run a function on inputs, interpreted, compiled, or both and compared",
        description=f"Run a function on inputs and print its results.\n\n{TARGET_HELP}",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target_options(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--inputs", metavar="FILE.npz", help="the arrays to run on")
    source.add_argument("--random", type=int, metavar="SEED", help="run on random arrays")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--native", action="store_true", help="run compiled code instead of the interpreter")
    how.add_argument("--compare", action="store_true", help="run both and compare")
    parser.add_argument("--rtol", type=float, help="default: 1e-10 for f64, 1e-4 for f32")
    parser.add_argument("-o", "--output", metavar="FILE.npz", help="write the results: result0, result1, ...")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_common_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run, and print the results; returns the exit code."""
    subject = subject_of(options)
    subject.seed = options.random or 0
    given = subject.valued
    traced = subject.traced()
    function = traced.function
    if options.inputs is not None:
        inputs = read_inputs(function, options.inputs)
    elif options.random is not None and subject.valued == given:
        inputs = random_inputs(function, options.random)
    else:
        values = [] if subject.function is not None else subject.values(traced)
        inputs = [value for value in values if value is not None]
        if len(inputs) < len(function.params):
            count = len(function.params)
            raise UsageError(f"@{function.name} has {count} parameters: give --inputs or --random")
    outcomes = {}
    if not options.native:
        outcomes["interpreter"] = _outcome(
            options.target, "the interpreter", traced, lambda: interpret(function, inputs)
        )
    if options.native or options.compare:
        outcomes["native"] = _outcome(
            options.target, "native code", traced, lambda: Executable(function)(inputs)
        )
    results = next(iter(outcomes.values()))
    if options.output is not None:
        np.savez(Path(options.output), **{f"result{i}": result for i, result in enumerate(results)})  # type: ignore[arg-type]
    differences = _compared(outcomes, options.rtol) if options.compare else []
    if options.json:
        print(json.dumps(_as_json(function, results, differences, compared=options.compare)))
    else:
        _print(function, results, differences, compared=options.compare)
    return FAILED if any(mapping["differs"] for mapping in differences) else OK


def _outcome(label: str, what: str, traced: Traced, run: Callable[[], list[Array]]) -> list[Array]:
    """The results of the user's function, without what the decisions of its path come out as.

    Raises TargetError where `run` fails, and for inputs that take another path."""
    try:
        with users_code():  # callbacks of the function
            results = run()
    except (TracejitError, ValueError, ArithmeticError, LookupError, MemoryError) as error:
        message = " ".join(str(error).splitlines())
        raise TargetError(f"{label}: {what} raised {type(error).__name__}: {message}") from error
    count = len(results) - len(traced.decisions)
    for decision, value in zip(traced.decisions, results[count:], strict=True):
        if difference(np.asarray(decision.seen, value.dtype), value)["differs"]:
            raise TargetError(
                f"{label}: {what} took another path than the one that was traced: {value.item()!r} instead "
                f"of {decision}. Give arguments of that path with --args-from"
            )
    return results[:count]


def _compared(outcomes: dict[str, list[Array]], rtol: float | None) -> list[dict[str, Any]]:
    """The difference of native code from the interpreter, for each result."""
    return [
        difference(want, got, rtol)
        for want, got in zip(outcomes["interpreter"], outcomes["native"], strict=True)
    ]


def difference(want: Array, got: Array, rtol: float | None = None) -> dict[str, Any]:
    """The difference of `got` from `want`: the largest, its place, the one allowed, and whether it is too
    large.

    Example:
        >>> import numpy as np
        >>> difference(np.array([1.0, 4.0]), np.array([1.0, 5.0]))["largest"]
        1.0
    """
    if want.dtype.kind not in "fc":
        wrong = np.argwhere(want != got)
        place = wrong[0].tolist() if len(wrong) else None
        return {"largest": float(len(wrong)), "allowed": 0.0, "at": place, "differs": bool(len(wrong))}
    finite = np.isfinite(want)
    scale = float(np.max(np.abs(want[finite]), initial=0.0))
    allowed = (_RTOL[want.dtype.name] if rtol is None else rtol) * scale
    with np.errstate(all="ignore"):
        gap = np.where(finite, np.abs(want - got), 0.0)
        gap = np.where(
            np.isnan(gap) | (~finite & ~((want == got) | (np.isnan(want) & np.isnan(got)))), np.inf, gap
        )
    largest = float(np.max(gap, initial=0.0))
    place = [int(number) for number in np.unravel_index(int(np.argmax(gap)), gap.shape)] if largest else None
    return {"largest": largest, "allowed": allowed, "at": place, "differs": largest > allowed}


def _print(
    function: Function, results: Sequence[Array], differences: Sequence[dict[str, Any]], *, compared: bool
) -> None:
    for position, (result, value) in enumerate(zip(results, function.results, strict=False)):
        text = np.array2string(result, threshold=200)
        print(f"result {position}: {value.type}{' ' if chr(10) not in text else chr(10)}{text}")
        if compared:
            far = differences[position]
            where = f" at {far['at']}" if far["at"] is not None else ""
            verdict = "DIFFERS" if far["differs"] else "agrees"
            if value.dtype.kind in "fc":
                gap, most = far["largest"], far["allowed"]
                print(f"  native {verdict}: largest difference {gap:.3g}{where}, allowed {most:.3g}")
            else:
                print(f"  native {verdict}: {far['largest']:.0f} elements differ{where}")


def _as_json(
    function: Function, results: Sequence[Array], differences: Sequence[dict[str, Any]], *, compared: bool
) -> dict[str, Any]:
    report: dict[str, Any] = {"function": function.name, "results": []}
    for position, (result, value) in enumerate(zip(results, function.results, strict=False)):
        entry: dict[str, Any] = {"type": str(value.type), "values": _plain(result.tolist())}
        if compared:
            entry["comparison"] = differences[position]
        report["results"].append(entry)
    return report


def _plain(value: Any) -> Any:
    """`value` for JSON, which has no NaN and no infinity: these are strings."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
