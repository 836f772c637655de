"""Finds the op that makes a NaN or an infinity, and the user's line: ``tj.debug.check_nans``.

An op *makes* one where its result has it and no operand does. Eager kernels are looked at as they run. Of
compiled code the results are; where they have one, the program runs again by the interpreter, op by op and
into loops and branches, to find where it comes from.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments.errors import check_public
from ..base.errors import GradientError, NonFiniteError, TracejitError
from ..base.records import record
from ..ir.dataflow import without_effects
from ..ir.graph import Function, Location
from ..ir.interpreter import InterpreterStep, interpret_watched
from ..ir.registry import Kind, Op
from ..location import user_location
from ..runtime.executable import Executable
from ..state import STATE
from ..tape.modes import Mode
from ..tape.recording import observe_recording
from .observing import start_checking, stop_checking
from .records import text_of


@record(eq=False)
class Wanted:
    """The values to look for: NaN, infinities, or both."""

    nan: bool
    inf: bool

    def made(self, operands: Sequence[Any], results: Sequence[Any]) -> str | None:
        """The kind of value that `results` have and no operand has: "NaN", "infinity", or None."""
        if self.nan and _any(np.isnan, results) and not _any(np.isnan, operands):
            return "NaN"
        if self.inf and _any(np.isinf, results) and not _any(np.isinf, operands):
            return "infinity"
        return None

    def inside(self, arrays: Sequence[Any]) -> bool:
        """Whether any of `arrays` has what is looked for."""
        return (self.nan and _any(np.isnan, arrays)) or (self.inf and _any(np.isinf, arrays))


def _any(test: Any, arrays: Sequence[Any]) -> bool:
    for value in arrays:
        kind = type(value)
        if kind is float:
            if test(value):
                return True
        elif kind is not bool and kind is not int:
            array = np.asarray(value)
            if array.dtype.kind in "fc" and test(array).any():
                return True
    return False


class Finder:
    """The checker behind `check_nans`; see `observing.Checker`."""

    def __init__(self, wanted: Wanted, every_op: bool) -> None:
        self.wanted, self.every_op = wanted, every_op

    def check_kernel(self, op: Op, operands: Sequence[Any], attrs: Any, arrays: Sequence[Any]) -> None:
        """Raise NonFiniteError where an eager op made one."""
        if not op.kind.traits.has_kernel:
            return
        what = self.wanted.made(operands, arrays)
        if what is None:
            return
        walk = STATE.walk
        node = None if walk is None else walk.node
        location = user_location() if node is None else node.location
        where = _place(location)
        if node is not None:
            where = f"{where}, in the gradient of that line" if where else ", in a backward pass"
        raise NonFiniteError(_message(op, operands, arrays, what, where, location), op.name, location)

    def check_call(self, executable: Executable, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise NonFiniteError where compiled code made one."""
        bad = self.wanted.inside(results)
        if not bad and not self.every_op:
            return
        plain = [np.asarray(argument) for argument in args]
        for function in (executable.source, executable.optimized):
            self._search(function, plain)
        if bad and not self.wanted.inside(plain):
            raise NonFiniteError(
                f"check_nans: the compiled function {executable.source.name} returned a NaN or an infinity, "
                "which the interpreter does not find in the same program: a bug in tracejit. Write it down "
                "with `tracejit repro`, and please report it"
            )

    def _search(self, function: Function, args: Sequence[Any]) -> None:
        def watch(step: InterpreterStep) -> None:
            instruction = step.instruction
            if not instruction.op.kind.traits.has_kernel:
                return
            what = self.wanted.made(step.operands, step.results)
            if what is not None:
                raise NonFiniteError(
                    self._found(function, step, what), instruction.op.name, instruction.location
                )

        interpret_watched(without_effects(function), args, watch)

    @staticmethod
    def _found(function: Function, step: InterpreterStep, what: str) -> str:
        instruction = step.instruction
        where = _place(instruction.location)
        if instruction.location is not None and instruction.location.gradient:
            where += ", in the gradient of that line"
        for around, count in reversed(step.rounds):
            kind = around.op.kind
            if kind in (Kind.SCAN, Kind.WHILE):
                where += f", in step {count} of the {around.op.name}{_place(around.location)}"
            elif kind is Kind.SWITCH:
                where += f", in a branch{_place(around.location)}"
        where += f", in the compiled function {function.name}"
        walk = STATE.walk
        caller = user_location() if walk is None or walk.node is None else walk.node.location
        if caller is not None:
            where += f", called{_place(caller)}"
        return _message(instruction.op, step.operands, step.results, what, where, instruction.location)


class AnomalyFinder(Finder):
    """Finder of ``detect_anomaly``: looks for NaN in the gradient parts of compiled code."""

    def __init__(self) -> None:
        super().__init__(Wanted(nan=True, inf=False), every_op=False)

    def check_kernel(self, op: Op, operands: Sequence[Any], attrs: Any, arrays: Sequence[Any]) -> None:
        """Eager code is looked at node by node, by the backward pass."""

    def check_call(self, executable: Executable, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise GradientError where a gradient in compiled code became NaN."""
        if not self.wanted.inside(results):
            return

        def watch(step: InterpreterStep) -> None:
            instruction = step.instruction
            if (
                instruction.location is None
                or not instruction.location.gradient
                or not self.wanted.inside(step.results)
            ):
                return
            what = self._found(executable.source, step, "NaN").removeprefix("check_nans: ")
            raise GradientError(f"{_of_node(results)}: {what}")

        interpret_watched(
            without_effects(executable.source), [np.asarray(argument) for argument in args], watch
        )


def _of_node(results: Sequence[Any]) -> str:
    """The message, in PyTorch's words, about the node whose backward gave NaN. Outside of a backward pass
    there is no node to name."""
    node = None if STATE.walk is None else STATE.walk.node
    if node is None:
        return "a compiled gradient is nan"
    position = next(i for i, result in enumerate(results) if _any(np.isnan, [result]))
    return f"function {node.name()!r} returned nan values in its {position}th output"


_ANOMALY = AnomalyFinder()


def look_for_anomalies(on: bool) -> None:
    """Begin or end to look for NaN in compiled gradients, in this thread."""
    (start_checking if on else stop_checking)(_ANOMALY, everywhere=False)


def _place(location: Location | None) -> str:
    return f" at {location.file}:{location.line}" if location else ""


def _message(
    op: Op, operands: Sequence[Any], results: Sequence[Any], what: str, where: str, location: Location | None
) -> str:
    test = np.isnan if what == "NaN" else np.isinf
    result = next(
        array for array in map(np.asarray, results) if array.dtype.kind in "fc" and test(array).any()
    )
    mask = test(result)
    count = int(mask.sum())
    index = tuple(int(coordinate) for coordinate in np.argwhere(mask)[0])
    of = f"element {list(index)} of {text_of(result)}" if result.shape else text_of(result)
    more = f" and {count - 1} more" if count > 1 else ""
    article = "an" if what == "infinity" else "a"
    listed = "; ".join(
        f"{name} = {_shown(operand, index, result.shape)}"
        for name, operand in zip(_names(op, len(operands)), operands, strict=True)
    )
    there = f". Operands: {listed}" if listed else ""
    line = linecache.getline(location.file, location.line).strip() if location else ""
    source = f"\n    {line}" if line else ""
    return f"check_nans: {op.name} made {article} {what}{where} ({of}{more}){there}{source}"


def _names(op: Op, count: int) -> list[str]:
    names = [param for param in op.params if not param.startswith("*")][:count]
    return names + [f"{op.params[-1].lstrip('*')}{i}" for i in range(count - len(names))]


def _shown(operand: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The operand's element that goes with the result's at `index`; where none does, its range."""
    array = np.asarray(operand)
    if array.ndim <= len(shape) and array.size:
        try:
            return f"{np.broadcast_to(array, shape)[index].item()!r}"
        except ValueError:  # not elementwise
            pass
    if not array.size or array.dtype.kind not in "iuf":
        return text_of(array)
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{text_of(array)}, nothing finite"
    return f"{text_of(array)} from {finite.min().item()!r} to {finite.max().item()!r}"


class check_nans(Mode):
    """Raise where an operation makes a NaN or an infinity, and say which, where and from what.

    In this thread, while it is on. Eager operations are looked at as they run, forward and backward. Of a
    compiled function the results are looked at; where they have a NaN or an infinity, the function runs again
    by the interpreter to find the first operation that makes one: in loops, branches and compiled gradients
    too. With ``every_op=True`` it always does, which finds those that never reach a result, as behind a
    `where`. An operation that was given a NaN is not blamed for giving one. ``nan=False`` or ``inf=False``
    look for the other alone.

    Example:
        >>> import tracejit as tj
        >>> f = tj.jit(tj.grad(lambda x: tj.sqrt(x).sum()))
        >>> with tj.debug.check_nans():
        ...     f(tj.tensor([4.0, 0.0]))
        Traceback (most recent call last):
            ...
        tracejit.base.errors.NonFiniteError: check_nans: div made an infinity at ...

    It is slow: native entries are off, and eager operations of all threads take longer. The environment
    variable ``TRACEJIT_CHECK_NANS=1`` (or ``nan``, or ``inf``) switches it on for a whole program and all
    threads. Raises NonFiniteError, a FloatingPointError. Semantics: ``jax.debug_nans`` and
    ``jax.debug_infs``, which name no line of a compiled function.
    """

    def __init__(self, *, nan: bool = True, inf: bool = True, every_op: bool = False) -> None:
        if not nan and not inf:
            raise TracejitError("check_nans: nan=False and inf=False leave nothing to look for")
        self._wanted, self._every_op = Wanted(nan, inf), every_op

    def _switch(self) -> tuple[Finder, bool | None]:
        finder = Finder(self._wanted, self._every_op)
        outer = STATE.anomaly
        if outer is None:
            STATE.anomaly = False  # remember the line of each operation, for its gradient
            observe_recording(+1)
        start_checking(finder, everywhere=False)
        return finder, outer

    def _restore(self, outer: tuple[Finder, bool | None]) -> None:
        finder, anomaly = outer
        stop_checking(finder, everywhere=False)
        if anomaly is None:
            STATE.anomaly = None
            observe_recording(-1)


def check_everything(setting: str) -> None:
    """Begin the checks that ``TRACEJIT_CHECK_NANS`` asks for, in all threads, until the process ends.

    Raises TracejitError for a setting that is none of 0, 1, nan and inf.
    """
    if setting in ("", "0"):
        return
    if setting not in ("1", "nan", "inf"):
        raise TracejitError(f"TRACEJIT_CHECK_NANS must be 0, 1, nan or inf, got {setting!r}")
    type(STATE).anomaly = False
    observe_recording(+1)
    start_checking(Finder(Wanted(setting != "inf", setting != "nan"), False), everywhere=True)


check_public(globals(), ["check_nans"], "debug.")
