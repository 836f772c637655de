"""Paths of jitted functions whose Python code branches on values.

Each path that a call has taken is compiled once, as a specialization of its own: its program gives the
results and what the path's decisions come out as for these inputs. Where they are not what the trace saw, the
call is on another path: one whose decisions begin so, or a new one that is traced with them. Where no new
paths turn up any more, those that there are get a native function in common (`shared_paths`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

import numpy as np

from ...base.errors import AliasedError
from ...base.records import field, record
from ...callback_results import KeptResults
from ...ir.dataflow import has_effect, needed, silent, without_effects
from ...ir.graph import Function, Value
from ...ir.interpreter import run_instruction
from ...tensors.tensor import Tensor
from ...tracing.branches import Decision, needed_for
from ..argument_writes import PendingWrites
from ..calls import CompiledFunction, call
from .shared_paths import binds_path
from .specializations import Specialization

#: The number of calls without a new path after which the paths are compiled together.
SETTLED: Final = 8


class PathRun:
    """One attempt to run a call on `path`."""

    def __init__(self, path: Specialization, inputs: list[Tensor], kept: KeptResults) -> None:
        self.path, self.inputs, self.kept = path, inputs, kept

    def results(
        self, arguments: Any, leaves: Sequence[Any], locks: ExitStack
    ) -> tuple[list[Tensor], list[Any] | None, PendingWrites | None]:
        """The results, then None where the call is on this path, else its decisions as far as they tell so;
        and what remains to be written to the arguments where it is, until when `locks` hold generators."""
        path, pending, on_path = self.path, None, False
        count = len(path.function.results) - len(path.decisions)
        try:
            if path.writes is not None:
                pending = path.writes.begin(arguments, leaves, self.inputs, path.bindings.sources)
                self.inputs = pending.inputs
                locks.enter_context(pending.locked())
            checks = checks_of(path)
            for check in checks.functions:
                outcome = self._outcome(check)
                if outcome is not None:
                    return [], outcome, None
            on_path = checks.acts
            self.kept.begin()
            values = call(path.compiled, self.inputs)
        except Exception as error:
            if on_path:
                if pending is not None:
                    pending.fail(error, path.compiled)
                raise
            outcome = self._outcome_of_failing()  # an error on the wrong path is none
            if outcome is None:
                if pending is not None:
                    pending.fail(error, path.compiled)
                raise
            return [], outcome, None
        if on_path:  # what it did stays done, also where rounding makes a decision come out otherwise here
            return values[:count], None, pending
        return values[:count], _outcome(path, [value._data for value in values[count:]]), pending

    def _outcome(self, check: CompiledFunction) -> list[Any] | None:
        """`_outcome` of the decisions that `check` computes. Nothing of it is recorded."""
        self.kept.begin()
        return _outcome(self.path, check.executable([input_._data for input_ in self.inputs]))

    def _outcome_of_failing(self) -> list[Any] | None:
        """`_outcome` of all decisions where the path, or a check, raised. None where the error is that of
        this path, after its effects until then."""
        path, checks = self.path, checks_of(self.path)
        if not checks.functions:
            try:
                return self._outcome(_decisions_alone(path, len(path.decisions)))
            except Exception:  # of a decision that another comes before
                return self._outcome_in_order()[0]
        outcome, reached = self._outcome_in_order()
        if outcome is None and checks.acts and reached < len(path.decisions):
            self._outcome(checks.beginning(path, reached))
        return outcome

    def _outcome_in_order(self) -> tuple[list[Any] | None, int]:
        """`_outcome` of all decisions by the interpreter, which computes for each what it needs; and how many
        came out before one failed."""
        path, function, outcome = self.path, self.path.function, list[Any]()
        arrays = [input_._data for input_ in self.inputs]
        values: dict[Value, Any] = dict(zip(function.params, arrays, strict=True))
        producers = {result: instruction for instruction in function.body for result in instruction.results}
        decided = function.results[len(function.results) - len(path.decisions) :]
        self.kept.begin()
        try:
            with np.errstate(all="ignore"):
                for decision, value in zip(path.decisions, decided, strict=True):
                    for instruction in needed_for(value, producers, values):
                        run_instruction(instruction, values)
                    outcome.append(values[value].item())
                    if not _same(outcome[-1], decision.seen):
                        return outcome, len(outcome)
        except Exception:
            return None, len(outcome)  # the error is that of this path
        return None, len(outcome)


@record(eq=False)
class Checks:
    """The decisions to check before a path may run.

    Attributes:
        functions: decisions, without effects; each list of them begins with the one before.
        acts: whether the path has effects, so that `functions` are about all decisions.
        beginnings: by number, the path until that decision, effects included.
    """

    functions: list[CompiledFunction]
    acts: bool
    beginnings: dict[int, CompiledFunction] = field(default_factory=dict)

    def beginning(self, path: Specialization, number: int) -> CompiledFunction:
        """`path` until its decision `number`, which is the result."""
        if number not in self.beginnings:
            function, decision = path.function, path.decisions[number]
            body = function.body[: decision.position]
            function = Function(function.name, function.params, body, (decision.value,))
            self.beginnings[number] = CompiledFunction(
                function, flush_denormals=path.compiled.flush_denormals
            )
        return self.beginnings[number]


def checks_of(path: Specialization) -> Checks:
    """The decisions that must hold before `path` may run: those before a loop that need not end on another
    path and before a callback, and all of them where the path has effects, which happen once."""
    if path.checks is None:
        counts: dict[int, None] = {}
        acts = any(map(has_effect, path.function.body))
        for position, instruction in enumerate(path.function.body):
            if not instruction.op.effect and binds_path(silent(instruction)):
                before = sum(decision.position <= position for decision in path.decisions)
                counts[before] = None
        if acts:
            counts[len(path.decisions)] = None
        path.checks = Checks([_decisions_alone(path, count) for count in counts if count], acts)
    checks: Checks = path.checks
    return checks


def _decisions_alone(path: Specialization, count: int) -> CompiledFunction:
    """The first `count` decisions, and what they need, without effects."""
    function = path.function
    first = len(function.results) - len(path.decisions)
    results = function.results[first : first + count]
    live = needed(function, results)
    body = tuple([step for step in function.body if not live.isdisjoint(step.results)])
    decisions = without_effects(Function(function.name, function.params, body, results))
    return CompiledFunction(decisions, flush_denormals=path.compiled.flush_denormals)


def _outcome(path: Specialization, values: Sequence[Any]) -> list[Any] | None:
    """The decisions up to the first that is not as the trace saw it, None where all of `values` are."""
    outcome: list[Any] = []
    for decision, value in zip(path.decisions, values, strict=False):
        outcome.append(value.item())
        if not _same(outcome[-1], decision.seen):
            return outcome
    return None


def _same(value: Any, other: Any) -> bool:
    """Whether both are one number: NaN is itself, 0.0 is not -0.0."""
    return repr(value) == repr(other)


def begins(path: Specialization, outcome: Sequence[Any]) -> bool:
    """Whether the decisions of `path` begin with `outcome`."""
    return len(path.decisions) >= len(outcome) and all(
        _same(decision.seen, value) for decision, value in zip(path.decisions, outcome, strict=False)
    )


def reason_for_path(decision: Decision, value: Any) -> str:
    """Reason why a path is compiled on which `value` was seen where another one's `decision` saw its own."""
    where = f" at {decision.location}" if decision.location else ""
    return f"a value{where} was {value!r}, not {decision.seen!r}"


class ManyPathsError(AliasedError):
    """A call on a path that is not compiled, as many others are."""

    advice = "use tj.cond, tj.while_loop, tj.scan or tj.where there, or jit(f, max_paths=...) for more"


def too_many_paths(name: str, decision: Decision, max_paths: int) -> ManyPathsError:
    """The error where a function has more than `max_paths` paths, the last of them by `decision`."""
    where = f"{decision.location.file}:{decision.location.line}" if decision.location else "a branch"
    return ManyPathsError(
        f"{name} has {max_paths} compiled paths through its Python control flow for one signature, and other "
        f"values take others; the value that another one takes is tested at {where}"
    )


def repeated(texts: Sequence[str]) -> list[str]:
    """The `texts`, each run of equal ones as one with its length."""
    runs = [(text, len(list(run))) for text, run in itertools.groupby(texts)]
    return [f"{text}, {count} times" if count > 1 else text for text, count in runs]
