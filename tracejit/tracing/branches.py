"""Python control flow under a trace: decisions on values.

``if x:``, ``while x:``, ``float(x)``, ``int(x)``, ``x.item()`` and using `x` as an index ask a traced tensor
for its value. Where the trace runs for a real call, it has one: the inputs are there, and what was traced so
far is computed from them. The trace goes on with that value and notes it as a `Decision`, which the compiled
program computes again at each call; where one comes out otherwise, the program is not the one for that call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..base.errors import ConcretizationError
from ..base.loading import LazyModule
from ..base.records import record
from ..callback_results import KeptResults
from ..ir.dataflow import acts, has_effect, silent
from ..ir.dtypes import is_differentiable
from ..ir.graph import Function, Instruction, Location, Value
from ..ir.interpreter import InterpreterStep, run_instruction, run_watched
from ..ir.registry import Kind
from ..location import user_location
from ..state import STATE
from ..tensors.tensor import Array, Tensor

if TYPE_CHECKING:
    from ..runtime import executable
    from .integers import Integers
    from .tracer import Tracer
else:
    executable = LazyModule("..runtime.executable", __package__)

#: The largest number of decisions of one path: a loop that decides in each step should be a structured one
#: long before.
MAX_DECISIONS: Final = 10_000
#: The number of instructions of a loop that are interpreted, for a decision, before the loop is compiled.
_MAX_INTERPRETED: Final = 20_000
#: Most values that are followed from a value to decided ones.
_MAX_FOLLOWED: Final = 64


@record(eq=False)
class Decision:
    """A value that Python code saw while tracing."""

    value: Value
    seen: bool | int | float
    location: Location | None
    #: Number of instructions that the trace had appended when the value was tested.
    position: int

    def __str__(self) -> str:
        where = f" at {self.location}" if self.location else ""
        return f"{self.seen!r}{where}"


class Branches:
    """The decisions of one trace: first those of `prefix`, then by the values of `inputs`."""

    def __init__(self, inputs: Sequence[Tensor], prefix: Sequence[Any]) -> None:
        self.inputs = [input_._data for input_ in inputs]
        self._tracked = [input_._requires_grad for input_ in inputs]
        self.prefix = tuple(prefix)
        self.made: list[Decision] = []
        #: Numbers that Python code took out of arrays, by ``float(x)`` and similar calls. Code that looks at
        #: the text or the hash of one asks for its value.
        self.numbers: set[Value] = set()
        #: Values for the inputs of this call, and those that are the same in all calls of this path.
        self._known: dict[Value, Any] = {}
        self._told: dict[Value, Any] = {}
        #: Results of callbacks that ran while the values were computed: the call does not run them a second
        #: time.
        self.callback_results = STATE.callback_results or KeptResults()
        self.callback_results.begin()
        #: The trace in which the function raised, if it did.
        self.unfinished: Tracer | None = None
        #: Number of callbacks in the trace.
        self.callbacks = 0
        #: The instruction that computes each value of the trace, and the number of instructions noted so far.
        self._producers: dict[Value, Instruction] = {}
        self._noted = 0

    def decide(self, tracer: Tracer, value: Value) -> Array:
        """The value that the trace goes on with. What follows from what was decided is no decision."""
        self._read(tracer)
        if self._follows(tracer, value):
            return np.asarray(self._told[value])
        if len(self.made) >= MAX_DECISIONS:
            raise ConcretizationError(
                f"the function tested more than {MAX_DECISIONS} traced values in one call; use "
                "tj.while_loop, tj.fori_loop or tj.scan for loops whose length depends on values"
            )
        if len(self.made) < len(self.prefix):
            seen = self.prefix[len(self.made)]
        else:
            seen = self._evaluate(tracer, value).item()
        self.made.append(Decision(value, seen, user_location(), len(tracer.body)))
        result = self._told[value] = np.asarray(seen, value.dtype)
        return result

    def _read(self, tracer: Tracer) -> None:
        """Note what computes the values of the trace."""
        for instruction in tracer.body[self._noted :]:
            self._producers.update(dict.fromkeys(instruction.results, instruction))
        self._noted = len(tracer.body)

    def _follows(self, tracer: Tracer, value: Value) -> bool:
        """Whether the integer or truth value `value` follows from what was decided, which is noted then."""
        return follow(value, self._producers, self._told, tracer.integers)

    def requires_grad(self, tracer: Tracer, value: Value) -> bool:
        """Whether `value` is computed from an argument or a capture of this call that requires grad."""
        reached = {param for param, flag in zip(tracer.params, self._tracked, strict=False) if flag}
        for holder, param in tracer.captures.values():
            if isinstance(holder, Tensor) and holder._requires_grad:
                reached.add(param)
        for instruction in tracer.body:
            if instruction.op.name != "stop_gradient" and not reached.isdisjoint(instruction.operands):
                reached.update(result for result in instruction.results if is_differentiable(result.dtype))
        return value in reached

    def act(self) -> None:
        """Run the effects that were traced before the function raised, for the inputs of this call. Raises
        what they raise."""
        tracer = self.unfinished
        if tracer is None:
            return
        self._read(tracer)
        for instruction in filter(has_effect, tracer.body):
            try:
                for operand in instruction.operands:
                    self._evaluate(tracer, operand)
                self._run([instruction])
            except Exception as error:
                raise error from None  # the function would not have come to what it raised

    def _evaluate(self, tracer: Tracer, value: Value) -> Array:
        """`value` for the inputs of this call, by the interpreter."""
        values = self._known
        for param, array in zip(tracer.params, self.inputs, strict=False):
            values.setdefault(param, array)
        for holder, param in tracer.captures.values():
            if param not in values:
                values[param] = array_of(holder)
        self._run(needed_for(value, self._producers, values))
        result: Array = values[value]
        return result

    def _run(self, instructions: Sequence[Instruction]) -> None:
        outer, STATE.callback_results = STATE.callback_results, self.callback_results
        try:
            with np.errstate(all="ignore"):
                for instruction in instructions:
                    if instruction.op.kind in (Kind.SCAN, Kind.WHILE):
                        _run_loop(instruction, self._known)
                    else:
                        run_instruction(instruction, self._known)
        finally:
            STATE.callback_results = outer


def follow(
    value: Value, producers: dict[Value, Instruction], told: dict[Value, Any], integers: Integers
) -> bool:
    """Whether the integer or truth value `value` follows from values that are `told` and known `integers`, in
    which case it is told, too."""
    sources = [value]
    for source in sources:  # which grows
        number = None if source in told else integers.number(source)
        if number is not None:
            told[source] = np.asarray(number)
        if source in told:
            continue
        is_whole = not source.shape and source.dtype.kind in "ib"
        if not is_whole or source not in producers or len(sources) > _MAX_FOLLOWED:
            return False
        sources += producers[source].operands
    for instruction in needed_for(value, producers, told):
        run_instruction(instruction, told)
    return True


class _IsLong(Exception):
    """The interpreter has run many instructions of a loop."""


def _run_loop(loop: Instruction, values: dict[Value, Any]) -> None:
    """Add the results of `loop` to `values`: by compiled code, if the interpreter takes long and nothing in
    the loop must not run twice."""
    operands = tuple(dict.fromkeys(loop.operands))
    part = Function("loop", operands, (loop,), loop.results)
    if acts(part):
        run_instruction(loop, values)
        return
    count = 0

    def watch(_: InterpreterStep) -> None:
        nonlocal count
        count += 1
        if count > _MAX_INTERPRETED:
            raise _IsLong

    try:
        run_watched(loop, values, watch)
    except _IsLong:
        results = executable.Executable(part).run([values[operand] for operand in operands])
        values.update(zip(loop.results, results, strict=True))


def array_of(holder: Any) -> Any:
    """The array of what a trace captured, now."""
    if isinstance(holder, Tensor):
        return holder._data
    return holder if isinstance(holder, np.ndarray) else holder.peek()  # a number, or a generator's state


def needed_for(
    value: Value, producers: dict[Value, Instruction], values: dict[Value, Any]
) -> list[Instruction]:
    """The instructions that compute `value`, in order, without effects."""
    needed: dict[Instruction, None] = {}
    stack = [value]
    while stack:
        operand = stack[-1]
        if operand in values or producers[operand] in needed:
            stack.pop()
            continue
        producer = producers[operand]
        missing = [x for x in producer.operands if x not in values and producers[x] not in needed]
        stack += missing
        if not missing:
            needed[producer] = None
    return list(map(silent, needed))
