"""Paths of jitted functions whose Python code branches on values.

Each path that a call has taken is compiled once, as a signature of its own: its program gives the results and
what the path's decisions come out as for these inputs. Where they are not what the trace saw, the call is on
another path: one whose decisions begin so, or a new one that is traced with them. Where no new paths turn up
any more, those that there are get a native function in common (`shared_paths`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..eager.tensor import Tensor
from ..generator import DEFAULT
from ..ir.dataflow import needed
from ..ir.errors import ConcretizationError, TraceError
from ..ir.graph import Function, Value
from ..ir.interpreter import run_instruction
from ..ir.process.locks import ForkLock
from .argument_writes import PendingWrites
from .branches import Decision, needed_for
from .calls import CompiledFunction, call
from .shared_paths import SharedPaths, binds_path, share_paths
from .signatures import MISS, Signature, as_input, read_captures

#: How many paths one signature may have unless ``jit`` is told otherwise.
MAX_PATHS: Final = 32
#: After how many calls without a new path the paths are compiled together.
_SETTLED: Final = 8


class Paths:
    """The paths of one signature, the one taken last first."""

    def __init__(self, name: str, first: Signature, most: int, enter: Callable[[SharedPaths], None]) -> None:
        self.name = name
        self.most = most
        self._enter = enter
        self.known = [first]
        self.shared: SharedPaths | None = None
        self._calls = 0
        self._lock = ForkLock()

    def call(
        self,
        arguments: Any,
        leaves: Sequence[Any],
        compile_path: Callable[[Sequence[Any], str], Signature],
        fall_back: Callable[[], Any],
    ) -> Any:
        """The result of a call with ``arguments = (positional, named)``, whose leaves are `leaves`, by the
        path that its values take, which may be a new one.

        ``compile_path(prefix, reason)`` traces the path whose first decisions are `prefix`. Where rounding
        makes two paths each say that the call belongs to the other, the call runs as Python, by `fall_back`.
        """
        if self.shared is not None:
            result = self.shared.call(leaves)
            if result is not MISS:
                return result
        inputs = [as_input(leaf) for leaf in leaves]
        tried: set[int] = set()
        path = self.known[0]
        while id(path) not in tried:
            random = DEFAULT.state
            path, captured = self._captured(path, compile_path)
            tried.add(id(path))
            results, outcome, pending = _run(path, arguments, leaves, [*inputs, *captured])
            if outcome is None:
                with self._lock:
                    path.hits += 1
                    if path is not self.known[0] and path in self.known:
                        self.known.remove(path)
                        self.known.insert(0, path)
                    self._calls += 1
                    if self._calls == _SETTLED:
                        self._share()
                return path.result.unflatten(results if pending is None else pending.finish(results))
            if captured:
                DEFAULT.state = random  # the draws belong to the path that is taken
            path = self._following(path, outcome, compile_path)
        return fall_back()

    def _captured(
        self, path: Signature, compile_path: Callable[[Sequence[Any], str], Signature]
    ) -> tuple[Signature, list[Tensor]]:
        """What `path` closes over; compiled again where that has changed its type."""
        captured = read_captures(path)
        if captured is not None:
            return path, captured
        with self._lock:
            reason = "what the function closes over changed"
            renewed = compile_path([decision.seen for decision in path.decisions], reason)
            self.known[:] = [renewed if signature is path else signature for signature in self.known]
            self._changed()
        captured = read_captures(renewed)
        if captured is None:
            raise TraceError(
                f"{self.name}: a tensor that the function closes over changed while it was traced"
            )
        return renewed, captured

    def _following(
        self,
        path: Signature,
        outcome: Sequence[Any],
        compile_path: Callable[[Sequence[Any], str], Signature],
    ) -> Signature:
        """The path that begins as `outcome`."""
        decision = path.decisions[len(outcome) - 1]
        with self._lock:
            for signature in self.known:
                if _begins(signature, outcome):
                    return signature
            if len(self.known) >= self.most:
                raise _too_many(self.name, decision, self.most)
            where = f" at {decision.location}" if decision.location else ""
            compiled = compile_path(outcome, f"a value{where} was {outcome[-1]!r}, not {decision.seen!r}")
            self.known.append(compiled)
            self._changed()
            return compiled

    def _share(self) -> None:
        self.shared = share_paths(self.name, self.known)
        if self.shared is not None:
            self._enter(self.shared)

    def _changed(self) -> None:
        self.shared, self._calls = None, 0


def _run(
    path: Signature, arguments: Any, leaves: Sequence[Any], inputs: list[Tensor]
) -> tuple[list[Tensor], list[Any] | None, PendingWrites | None]:
    """The results, then None where the call is on this path, else its decisions as far as they tell so; and
    what remains to be written to the arguments where it is."""
    count = len(path.function.results) - len(path.decisions)
    pending = None
    try:
        if path.writes is not None:
            pending = path.writes.begin(arguments, leaves, inputs, path.bindings.sources)
            inputs = pending.inputs
        for check in _checks(path):
            outcome = _outcome(path, call(check, inputs))
            if outcome is not None:
                return [], outcome, None
        values = call(path.compiled, inputs)
    except Exception:
        # an error on the wrong path is none
        try:
            outcome = _outcome(path, call(_decisions_alone(path, len(path.decisions)), inputs))
        except Exception:  # of a decision that another comes before
            outcome = _outcome_in_order(path, inputs)
        if outcome is None:
            raise
        return [], outcome, None
    return values[:count], _outcome(path, values[count:]), pending


def _checks(path: Signature) -> list[CompiledFunction]:
    """The decisions that must hold before `path` may run: those before what need not end on another path, or
    does more than to compute. Each list of them begins with the one before."""
    if path.checks is None:
        counts: dict[int, None] = {}
        for position, instruction in enumerate(path.function.body):
            if binds_path(instruction):
                before = sum(decision.position <= position for decision in path.decisions)
                counts[before] = None
        path.checks = [_decisions_alone(path, count) for count in counts if count]
    return path.checks


def _decisions_alone(path: Signature, count: int) -> CompiledFunction:
    """The first `count` decisions, and what they need."""
    function = path.function
    first = len(function.results) - len(path.decisions)
    results = function.results[first : first + count]
    live = needed(function, results)
    body = tuple([step for step in function.body if not live.isdisjoint(step.results)])
    decisions = Function(function.name, function.params, body, results)
    return CompiledFunction(decisions, flush_denormals=path.compiled.flush_denormals)


def _outcome(path: Signature, values: Sequence[Tensor]) -> list[Any] | None:
    """The decisions up to the first that is not as the trace saw it, None where all of `values` are."""
    outcome: list[Any] = []
    for decision, value in zip(path.decisions, values, strict=False):
        outcome.append(value._data.item())
        if not _same(outcome[-1], decision.seen):
            return outcome
    return None


def _outcome_in_order(path: Signature, inputs: Sequence[Tensor]) -> list[Any] | None:
    """`_outcome` of `inputs`, by the interpreter, which computes for each decision what it needs. None where
    that fails, too."""
    function, outcome = path.function, list[Any]()
    values: dict[Value, Any] = dict(zip(function.params, [input_._data for input_ in inputs], strict=True))
    producers = {result: instruction for instruction in function.body for result in instruction.results}
    decided = function.results[len(function.results) - len(path.decisions) :]
    try:
        with np.errstate(all="ignore"):
            for decision, value in zip(path.decisions, decided, strict=True):
                for instruction in needed_for(value, producers, values):
                    run_instruction(instruction, values)
                outcome.append(values[value].item())
                if not _same(outcome[-1], decision.seen):
                    return outcome
    except Exception:
        return None  # the error is that of this path
    return None


def _same(value: Any, other: Any) -> bool:
    """Whether both are one number: NaN is itself, 0.0 is not -0.0."""
    return repr(value) == repr(other)


def _begins(path: Signature, outcome: Sequence[Any]) -> bool:
    return len(path.decisions) >= len(outcome) and all(
        _same(decision.seen, value) for decision, value in zip(path.decisions, outcome, strict=False)
    )


def _too_many(name: str, decision: Decision, max_paths: int) -> ConcretizationError:
    where = f"{decision.location.file}:{decision.location.line}" if decision.location else "a branch"
    return ConcretizationError(
        f"{name}: more than {max_paths} paths through its Python control flow were compiled for one "
        f"signature; the last new one comes from the value asked for at {where}. Use tj.cond, tj.while_loop, "
        "tj.scan or tj.where there, or jit(f, max_paths=...) for more"
    )


def describe(path: Signature) -> list[str]:
    """Lines about a path for ``explain``: its decisions with their source lines, and its hits."""
    times = "once" if path.hits == 1 else f"{path.hits} times"
    lines = [f"      path taken {times}: {path.reason}"]
    for text, repeated in itertools.groupby(map(str, path.decisions)):
        count = len(list(repeated))
        lines.append(f"        {text}" + (f", {count} times" if count > 1 else ""))
    return lines
