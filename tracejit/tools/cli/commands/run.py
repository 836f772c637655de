"""``tracejit run``: a Function, or a kernel in the loop form, on inputs, by the interpreter, by native code,
or by both, compared."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....base.errors import CompileError, TracejitError
from ....codegen.loops.interpreter import InterpretedFailure, interpret_kernel
from ....ir.interpreter import interpret
from ....runtime.executable import Executable
from ....runtime.loop_kernels import NativeKernel
from ....tracing.traces import Traced
from ..colors import add_common_options
from ..errors import FAILED, OK, TargetError, UsageError
from ..inputs import Array, random_inputs, read_arrays, read_inputs
from ..kernel_inputs import buffer_arrays, symbol_values
from ..kernels import KERNELS
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
  tracejit run sums.loops --random 0 --symbol n=100 --compare

The arrays of a .npz are found by the parameters' names, or as arr_0, arr_1, ...: np.savez("data.npz", x, y).
Those of a kernel are flat, by its buffers' names; results of which there are none are zeros before it runs.
Results are compared by --rtol, relative to the largest magnitude in a result; integers and booleans must be
equal, and NaNs and infinities in the same places.
"""

#: Default relative tolerances of compiled code, which contracts and reorders sums (docs/ir.md).
_RTOL = {"float64": 1e-10, "float32": 1e-4, "float16": 4e-3, "complex128": 1e-10, "complex64": 1e-4}


def add_parser(commands: Any) -> None:
    """Add ``run`` to the command line."""
    parser = commands.add_parser(
        "run",
        help="run a function or kernel on inputs, interpreted, compiled, or both and compared",
        description="Run a function on inputs and print its results; or FILE.loops, FILE.loops:KERNEL, a\n"
        f"kernel in the loop form.\n\n{TARGET_HELP}",
        epilog=_EXAMPLES,
    )
    add_target_options(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--inputs", metavar="FILE.npz", help="the arrays to run on")
    source.add_argument("--random", type=int, metavar="SEED", help="run on random arrays")
    parser.add_argument(
        "--symbol", action="append", default=[], metavar="NAME=NUMBER", help="the value of a kernel's symbol"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--native", action="store_true", help="run compiled code instead of the interpreter")
    how.add_argument("--compare", action="store_true", help="run both and compare")
    parser.add_argument("--rtol", type=float, help="default: 1e-10 for f64, 1e-4 for f32")
    parser.add_argument("-o", "--output", metavar="FILE.npz", help="write the results: result0, result1, ...")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run, and print the results; returns the exit code."""
    if KERNELS.holds(options.target):
        return _run_kernel(options)
    if options.symbol:
        raise UsageError(f"--symbol is for kernels in the loop form, and {options.target} is none")
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
    labels = [f"result{position}" for position in range(len(next(iter(outcomes.values()))))]
    types = [str(value.type) for value in function.results[: len(labels)]]
    return _report(options, {"function": function.name}, labels, types, outcomes)


def _run_kernel(options: argparse.Namespace) -> int:
    """Run a kernel in the loop form; returns the exit code."""
    if options.arg or options.args_from or options.static or options.grad or options.vmap:
        raise UsageError(f"{options.target} is a kernel: give it --inputs or --random")
    kernel = KERNELS.part_of(options.target)
    given = {} if options.inputs is None else read_arrays(options.inputs)
    if options.inputs is None and options.random is None and any(not b.out for b in kernel.buffers):
        raise UsageError(f"@{kernel.name} has {len(kernel.buffers)} buffers: give --inputs or --random")
    symbols = symbol_values(kernel, options.symbol, given)
    buffers = buffer_arrays(kernel, symbols, given, options.inputs or "", options.random or 0)
    outcomes: dict[str, list[Array]] = {}
    if not options.native:
        arrays = [array.copy() for array in buffers]
        try:
            interpret_kernel(kernel, arrays, symbols)
        except InterpretedFailure as error:
            raise TargetError(f"{options.target}: the kernel failed: {error}") from error
        outcomes["interpreter"] = arrays
    if options.native or options.compare:
        arrays = [array.copy() for array in buffers]
        try:
            NativeKernel(kernel)(arrays, symbols)
        except CompileError as error:
            raise TargetError(f"{options.target}: {error}") from error
        outcomes["native"] = arrays
    written = [place for place, buffer in enumerate(kernel.buffers) if buffer.out]
    results = {how: [arrays[place] for place in written] for how, arrays in outcomes.items()}
    labels = [kernel.buffers[place].name for place in written]
    types = [f"{kernel.buffers[place].dtype}[{buffers[place].size}]" for place in written]
    return _report(options, {"kernel": kernel.name}, labels, types, results)


def _report(
    options: argparse.Namespace,
    head: dict[str, str],
    labels: Sequence[str],
    types: Sequence[str],
    outcomes: dict[str, list[Array]],
) -> int:
    """Print or write the results, called `labels`; returns the exit code. `head` opens the JSON object."""
    results = next(iter(outcomes.values()))
    if options.output is not None:
        np.savez(Path(options.output), **dict(zip(labels, results, strict=True)))  # type: ignore[arg-type]
    differences = _compared(outcomes, options.rtol) if options.compare else []
    if options.json:
        print(json.dumps({**head, "results": _as_json(labels, types, results, differences)}))
    else:
        _print(labels, types, results, differences)
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
    labels: Sequence[str],
    types: Sequence[str],
    results: Sequence[Array],
    differences: Sequence[dict[str, Any]],
) -> None:
    for position, (label, type_, result) in enumerate(zip(labels, types, results, strict=True)):
        text = np.array2string(result, threshold=200)
        print(f"{_spaced(label)}: {type_}{' ' if chr(10) not in text else chr(10)}{text}")
        if differences:
            far = differences[position]
            where = f" at {far['at']}" if far["at"] is not None else ""
            verdict = "DIFFERS" if far["differs"] else "agrees"
            if result.dtype.kind in "fc":
                gap, most = far["largest"], far["allowed"]
                print(f"  native {verdict}: largest difference {gap:.3g}{where}, allowed {most:.3g}")
            else:
                print(f"  native {verdict}: {far['largest']:.0f} elements differ{where}")


def _spaced(label: str) -> str:
    """``result 0`` for result0."""
    return label.replace("result", "result ", 1) if label.startswith("result") else label


def _as_json(
    labels: Sequence[str],
    types: Sequence[str],
    results: Sequence[Array],
    differences: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for position, (label, type_, result) in enumerate(zip(labels, types, results, strict=True)):
        entry: dict[str, Any] = {} if label == f"result{position}" else {"name": label}
        entry |= {"type": type_, "values": _plain(result.tolist())}
        if differences:
            entry["comparison"] = differences[position]
        entries.append(entry)
    return entries


def _plain(value: Any) -> Any:
    """`value` for JSON, which has no NaN and no infinity: these are strings."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
