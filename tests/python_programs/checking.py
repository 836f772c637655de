"""Runs a program jitted and as Python, with several inputs, and compares results and arguments."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.loops import running
from tracejit.runtime import compilation

#: A call that takes more processor time does not end: programs have some hundred steps.
SECONDS = 120
#: Errors by which a function is refused: they name what is not supported.
REFUSALS = (tj.TraceError, tj.ConcretizationError)
#: An error that blames the program for what a trace has left behind.
_OURS = "outlived its trace"
#: The kind of a finding where Python alone raises `IndexError`.
_UNNEEDED = "no error of an index"


@dataclass(frozen=True)
class Finding:
    """A program that does not do what Python does.

    Attributes:
        kind: "value", "argument", an error's name or "hang".
        message: what differs.
        call: the number of the call.
    """

    kind: str
    message: str
    call: int = 0


class Refused(Exception):
    """The function is refused with an error that names what is not supported."""


class Lenient(np.ndarray[Any, Any]):
    """An array that reads as NaN out of its bounds, and is NaN (of integers the least) once it was written
    there."""

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError:
            numbers = index if isinstance(index, tuple) else (index,)
            return (
                super().__getitem__(tuple(0 if isinstance(i, int | np.integer) else i for i in numbers))
                * np.nan
            )

    def __setitem__(self, index: Any, value: Any) -> None:
        try:
            super().__setitem__(index, value)
        except IndexError:
            is_float = self.dtype.kind in "fc"
            self.fill(np.nan if is_float else np.iinfo(self.dtype).min if self.dtype.kind == "i" else 1)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))


class TooLong(Exception):
    """The program takes too long to compile: what its loops are unrolled to is large."""


def inputs(seed: int, call: int, module: Any = None) -> tuple[Any, ...]:
    """The arguments of a call: multiples of a quarter. In one program of four, two arrays may be one, and in
    another, an argument may be an array of the `module`."""
    rng = np.random.default_rng((seed, call))
    x, a = rng.integers(-8, 9, 6) / 4, rng.integers(-8, 9, (4, 3)) / 4
    n, z = int(rng.integers(0, 7)), float(rng.integers(-6, 9) / 4)
    y = rng.integers(-8, 9, 6) / 4
    if seed % 4 == 0:
        y = (y, x, x[::-1], a.reshape(-1)[3:9])[rng.integers(0, 4)]
    if seed % 4 == 1 and hasattr(module, "STATE"):
        y = (y, module.STATE, module.STATE[::-1])[rng.integers(0, 3)]
    return x, a, n, z, y


@contextlib.contextmanager
def loaded(text: str) -> Iterator[Any]:
    """The module of a program, from a file: rewriting reads its source."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"program_{abs(hash(text))}"
        path = Path(folder) / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def _expired(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == compilation.__file__:  # of a trace that has come to its end
            raise TooLong
        frame = frame.f_back
    raise TimeoutError


def check(text: str, seed: int, *, calls: int = 3) -> Finding | None:
    """Difference between the jitted program and Python, in words. Raises Refused where it is refused, and
    TooLong where it does not compile in time.

    Compiled code leaves out what no result needs, and the error of it (docs/differences.md). So where Python
    alone raises `IndexError`, the results of that call are compared with those of Python whose arrays read
    as NaN there: what a result needs makes it NaN.
    """
    finding = _check(text, seed, calls, lambda array: array)
    if finding is not None and finding.kind == _UNNEEDED:
        return _check(text, seed, finding.call + 1, lambda array: array.view(Lenient))
    return finding


def _check(text: str, seed: int, calls: int, of_python: Callable[[Any], Any]) -> Finding | None:
    """`check`, with Python's arrays in the last call turned to what `of_python` gives."""
    short, running.SHORT = running.SHORT, running.SHORT if seed % 3 == 0 else -1  # type: ignore[misc]
    previous = signal.signal(signal.SIGPROF, _expired)
    try:
        with loaded(text) as plain, loaded(text) as module, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jitted = tj.jit(module.f)
            for call in range(calls):
                expected: Sequence[Any] = inputs(seed, call, plain)
                if call == calls - 1:
                    expected = [of_python(x) if isinstance(x, np.ndarray) else x for x in expected]
                    if hasattr(plain, "STATE"):
                        plain.STATE = of_python(plain.STATE)
                finding = _compare(plain.f, jitted, expected, inputs(seed, call, module), call)
                if finding is None and hasattr(plain, "STATE") and _differs(module.STATE, plain.STATE):
                    written = f"STATE: {_shown(module.STATE)} instead of {_shown(plain.STATE)}"
                    finding = Finding("captured", written, call)
                if finding is not None:
                    return finding
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        running.SHORT = short  # type: ignore[misc]
    return None


def examine(text: str, seed: int) -> Finding | None:
    """Difference in values, written arguments or gradients. Raises as `check`."""
    return check(text, seed) or check_gradient(text, seed)


def check_gradient(text: str, seed: int) -> Finding | None:
    """Difference between the gradient of the jitted program and of the program on the tape, where that has
    one: by the array `x`, which programs get as a copy. Programs that handle errors handle the tape's."""
    if "except" in text:
        return None

    def total(function: Any) -> Any:
        def call(x: Any, a: Any, n: Any, z: Any, y: Any) -> Any:
            leaves = tj.tree_leaves(function(x * 1.0, a * 1.0, n, z, y))
            return sum([np.sum(leaf) for leaf in leaves if not isinstance(leaf, bool)], 0.0 * x[0])

        return call

    previous = signal.signal(signal.SIGPROF, _expired)
    try:
        with loaded(text) as module, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = inputs(seed * 4 + 2, 0)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                expected = tj.grad(total(module.f))(*arguments)
                if hasattr(module, "STATE"):  # which the program may have written
                    return None
                gradient = tj.jit(tj.grad(total(module.f)))(*arguments)
            except Exception:  # which the comparison of values looks at
                return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
    if np.allclose(np.asarray(gradient), np.asarray(expected), rtol=1e-9, atol=1e-9, equal_nan=True):
        return None
    return Finding("gradient", f"{_shown(gradient)} instead of {_shown(expected)}")


def _compare(
    function: Any, jitted: Any, expected_arguments: Sequence[Any], arguments: tuple[Any, ...], call: int
) -> Finding | None:
    error: Exception | None = None
    expected: Any = None
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    with np.errstate(all="ignore"):
        try:
            expected = function(*expected_arguments)
        except TimeoutError:  # what the reducer has made of a program
            raise
        except Exception as raised:
            error = raised
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        result = jitted(*arguments)
    except TooLong:
        raise
    except TimeoutError:
        return Finding("hang", f"no end after {SECONDS} s of processor time", call)
    except REFUSALS as refusal:
        if _OURS in str(refusal):
            return Finding("leak", " ".join(str(refusal).split()), call)
        raise Refused(" ".join(str(refusal).split())) from None
    except Exception as raised:
        if error is not None and isinstance(raised, type(error)):  # before which it has written the same
            return _written_otherwise(expected_arguments, arguments, call)
        return Finding(type(raised).__name__, " ".join(str(raised).split())[:300], call)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if error is not None:
        return Finding(
            _UNNEEDED if isinstance(error, IndexError) else "no error", f"Python raises {error!r}", call
        )
    if _differs(result, expected):
        return Finding("value", f"{_shown(result)} instead of {_shown(expected)}", call)
    return _written_otherwise(expected_arguments, arguments, call)


def _written_otherwise(expected: tuple[Any, ...], arguments: tuple[Any, ...], call: int) -> Finding | None:
    for name, written, plain in zip("xanzy", arguments, expected, strict=False):
        if _differs(written, plain):
            return Finding("argument", f"{name}: {_shown(written)} instead of {_shown(plain)}", call)
    return None


def _differs(result: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return (
            not isinstance(result, tuple)
            or len(result) != len(expected)
            or any(map(_differs, result, expected))
        )
    if expected is None:
        return result is not None
    return not np.array_equal(np.asarray(result), np.asarray(expected), equal_nan=True)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_shown, value)) + ")"
    return str(np.asarray(value).tolist()) if value is not None else "None"
