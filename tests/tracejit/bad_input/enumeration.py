"""Runs public functions with wrong arguments, each in the place of each right one, in every mode.

``python -m tests.tracejit.bad_input.enumeration`` prints what is not as it should be; with names, for those
functions alone. Calls run in processes of their own with a limit on their memory; a call that crashes or
hangs ends its process, and the next one goes on behind it.
"""

from __future__ import annotations

import argparse
import faulthandler
import inspect
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tracejit.state import STATE

from .valid_arguments import total
from .valid_calls import Call, public_calls
from .wrong_arguments import WRONG

#: The names that messages give to Python's operators.
OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
ALIASES = {
    "view": "reshape",
    "expand_dims": "getitem",
    "unsqueeze": "expand_dims",
    "hessian": "jacrev",
    "value_and_grad": "grad",
}
#: Values that are no mistake, or blame another argument: many steps, endless loops, conditions that are
#: no scalar then, `trace`'s array, results of another dtype than was said.
NO_MISTAKES = {
    ("fori_loop", "upper"): ("large",),
    ("Tensor.expand", "sizes"): ("large",),
    ("scan", "length"): ("large",),
    ("while_loop", "body_fun"): ("class", "function"),
    ("while_loop", "cond_fun"): ("class", "function"),
    ("while_loop", "init_val"): (
        "wrong shape", "empty array", "complex array", "half array", "not finite", "swapped bytes",
        "high rank",
    ),
    ("register_kernel", "dispose"): ("class", "function"),
    ("register_kernel", "setup"): ("class", "function"),
    ("mean", "dtype"): ("class",),
    ("Tensor.mean", "dtype"): ("class",),
    ("trace", "fn"): (
        "wrong shape", "empty array", "objects", "dates", "texts", "complex array", "half array",
        "not finite", "swapped bytes", "long doubles", "high rank",
    ),
    ("pure_callback", "args"): ("half array",),
}  # fmt: skip
#: Values that are no files, or that the function cannot read, raise Python's errors about files.
NO_MISTAKES |= {
    (name, "file"): tuple(WRONG) for name in ("fromfile", "genfromtxt", "load", "loadtxt", "save", "savetxt")
}
NO_MISTAKES |= {(name, "file"): tuple(WRONG) for name in ("savez", "savez_compressed")}
#: Values that need all memory, that Python's files refuse, and arguments of the user's function.
NO_MISTAKES |= {("diag_indices", "ndim"): ("large",), ("resize", "new_shape"): ("large",)}
NO_MISTAKES |= {("fromfile", "offset"): tuple(WRONG), ("fromfunction", "shape"): tuple(WRONG)}
ROOT = Path(__file__).parents[3]
#: Seconds that a call may take, and bytes that all calls of a process may use beyond what importing takes.
SECONDS = 30.0
MEMORY = 3 << 30


class Case(NamedTuple):
    """A call with one wrong argument."""

    function: str
    parameter: str
    wrong: str
    mode: str

    def __str__(self) -> str:
        return f"{self.function}({self.parameter}={self.wrong}) {self.mode}"


# -- how a call is run -----------------------------------------------------------------------------


def _eager(run: Callable[[dict[str, Any]], Any], arrays: dict[str, Any]) -> Any:
    return run(arrays)


def _jitted(run: Callable[[dict[str, Any]], Any], arrays: dict[str, Any]) -> Any:
    def function(arrays: dict[str, Any]) -> Any:
        result = run(arrays)
        return [leaf for leaf in tj.tree_leaves(result) if isinstance(leaf, tj.Tensor)]

    return tj.jit(function)(arrays)


def _mapped(run: Callable[[dict[str, Any]], Any], arrays: dict[str, Any]) -> Any:
    def function(arrays: dict[str, Any]) -> Any:
        return [leaf for leaf in tj.tree_leaves(run(arrays)) if isinstance(leaf, tj.Tensor)]

    return tj.vmap(function)({name: tj.stack([array, array]) for name, array in arrays.items()})


def _differentiated(run: Callable[[dict[str, Any]], Any], arrays: dict[str, Any]) -> Any:
    floating = {name: array for name, array in arrays.items() if array.dtype.kind in "fc"}
    return tj.grad(lambda chosen: total(run({**arrays, **chosen})))(floating)


MODES = {"eager": _eager, "jit": _jitted, "vmap": _mapped, "grad": _differentiated}


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, tj.Tensor)) and value.dtype.kind in "fiubc"


def cases(calls: list[Call]) -> Iterator[Case]:
    """Every case of `calls`."""
    for call in calls:
        arguments = call.arguments()
        for parameter in arguments if not call.name.startswith("Tensor.") else list(arguments)[1:]:
            arrays = [
                name for name, argument in arguments.items() if name != parameter and _is_array(argument)
            ]
            floating = [name for name in arrays if arguments[name].dtype.kind in "fc"]
            for wrong in WRONG:
                if wrong in NO_MISTAKES.get((call.name, parameter), ()):
                    continue
                yield Case(call.name, parameter, wrong, "eager")
                if call.name.startswith("Tensor._") or (arrays and isinstance(arguments[parameter], list)):
                    continue
                if arrays and _is_array_function(call):
                    yield Case(call.name, parameter, wrong, "jit")
                    yield Case(call.name, parameter, wrong, "vmap")
                    if floating:
                        yield Case(call.name, parameter, wrong, "grad")


def _is_array_function(call: Call) -> bool:
    return call.name.partition(".")[0] not in ("optim", "autograd", "extend", "debug", "testing", "pytree")


def run_case(call: Call, case: Case) -> str:
    """The fault in the outcome of `case`; empty where there is none."""
    arguments = call.arguments()
    wrong = WRONG[case.wrong]()
    if case.parameter in call.several:
        wrong = (wrong, *arguments[case.parameter][1:])
    arguments[case.parameter] = wrong
    arrays = (
        {
            name: argument
            for name, argument in arguments.items()
            if name != case.parameter and _is_array(argument)
        }
        if case.mode != "eager"
        else {}
    )

    def run(replaced: dict[str, Any]) -> Any:
        result = call.call_public({**arguments, **replaced})
        if inspect.isgenerator(result):
            result = list(result)
        return result

    try:
        MODES[case.mode](run, arrays)
    except Exception as error:  # which one is the question
        return judged(call, case, error)
    return ""


def judged(call: Call, case: Case, error: Exception) -> str:
    """The fault in `error`, which `case` raised."""
    text = str(error)
    shown = f"{type(error).__name__}: {text[:300]}"
    if isinstance(error, MemoryError) and text.startswith("Unable to allocate"):
        return ""  # NumPy's own words, before it takes any
    if _is_users(error) or (callable(call.arguments()[case.parameter]) and callable(WRONG[case.wrong]())):
        return ""
    if not isinstance(error, tj.TracejitError):
        return f"not ours: {shown}"
    if not any(name in text for name in _names(call)):
        return f"does not name the function: {shown}"
    words = [rf"\b{case.parameter}\b", r"operands? (\(|of type)", r"at argument \[", "the carry was"]
    if call.name.startswith("Tensor.__"):
        words.append(r"\b[xy]\b")  # which is the function's, not the operator's
    if case.parameter in call.several:
        words.append("argument")
    if case.parameter.startswith(("axis", "axes")):
        words.append("axis")
    if case.parameter in ("size", "sizes"):
        words.append("shape")
    kind = isinstance(error, TypeError) and not isinstance(error, tj.ConcretizationError)
    if kind and not any(re.search(word, text) for word in words):
        return f"does not name the argument: {shown}"
    return ""


def _is_users(error: Exception) -> bool:
    """Whether a function that was passed to the function that is called raised `error`."""
    frames = traceback.extract_tb(error.__traceback__)
    called = max(
        (place for place, frame in enumerate(frames) if frame.name == Call.call_public.__name__), default=0
    )
    return any(str(ROOT / "tests") in frame.filename for frame in frames[called + 1 :])


def _names(call: Call) -> list[str]:
    """The names that a message may use for the function: its own where `call` has another one for it."""
    name = call.name.rpartition(".")[2].strip("_")
    for way in ("", "r", "i"):
        if name.startswith(way) and name.removeprefix(way) in OPERATORS:
            return [name, OPERATORS[name.removeprefix(way)]]
    return [name, call.function.__name__, ALIASES.get(name, name)]


# -- processes -------------------------------------------------------------------------------------


def work(start: int, selection: list[Case], report: Path) -> None:
    """Run `selection` from `start` on, writing down each case before it runs and what came of it."""
    calls = {call.name: call for call in public_calls()}
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    os.chdir(report.parent)  # some functions write files
    with report.open("a", buffering=1) as out, Path(os.devnull).open("w") as nowhere:
        sys.stdout = nowhere
        for position in range(start, len(selection)):
            case = selection[position]
            out.write(f"{position}\n")
            faulthandler.dump_traceback_later(SECONDS, exit=True, file=nowhere)
            outer = STATE.recording, STATE.blocked, tj.default_dtype(), tj.get_backend()
            with tj.extend.isolated():
                problem = run_case(calls[case.function], case)
            if STATE.tracer is not None:
                problem += " [leaves a trace open]"
                STATE.tracer = None
            STATE.recording, STATE.blocked = outer[:2]
            tj.set_default_dtype(outer[2])
            tj.autograd.set_detect_anomaly(False)
            faulthandler.cancel_dump_traceback_later()
            if problem:
                out.write(json.dumps([position, problem]) + "\n")
        out.write("done\n")


def problems_of(selection: list[Case]) -> list[tuple[Case, str]]:
    """The faults in `selection`, run in separate processes."""
    results: list[tuple[Case, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        list_file, report = Path(folder, "cases"), Path(folder, "report")
        list_file.write_text(json.dumps(selection))
        start = 0
        while start < len(selection):
            report.write_text("")
            process = subprocess.run(
                [sys.executable, "-m", __spec__.name, "--work", str(list_file), str(report), str(start)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                check=False,
                capture_output=True,
                text=True,
            )
            lines = report.read_text().splitlines()
            for line in lines:
                if line.startswith("["):
                    position, problem = json.loads(line)
                    results.append((selection[position], problem))
            if lines and lines[-1] == "done":
                break
            begun = [int(line) for line in lines if line.isdigit()]
            if not begun:
                raise RuntimeError(f"no case ran: {process.stderr[-2000:]}")
            results.append(
                (
                    selection[begun[-1]],
                    f"ended the process with {process.returncode}: {process.stderr[-300:]}",
                )
            )
            start = begun[-1] + 1
    return results


def sampled(everything: list[Case], count: int, seed: int) -> list[Case]:
    """`count` cases, with each function among them."""
    return random.Random(seed).sample(everything, min(count, len(everything)))


def main() -> None:
    """Print the problems of all cases, or of those of the named functions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", nargs="*")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--count", type=int, help="run so many cases, chosen at random by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", nargs=3)
    options = parser.parse_args()
    if options.work:
        listed, report, start = options.work
        work(int(start), [Case(*load) for load in json.loads(Path(listed).read_text())], Path(report))
        return
    calls = [call for call in public_calls() if not options.functions or call.name in options.functions]
    selection = [case for case in cases(calls) if options.mode in (None, case.mode)]
    if options.count:
        selection = sampled(selection, options.count, options.seed)
    results = problems_of(selection)
    for case, problem in results:
        print(f"{case}: {problem}")
    print(
        f"{len(selection)} cases, {len(results)} problems",
        Counter(result[1].split(":")[0] for result in results),
    )


if __name__ == "__main__":
    main()
