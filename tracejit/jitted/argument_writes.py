"""Writes of a jitted function to its arguments.

While a function is traced, a write in place gives an argument's symbol a new value. That value is a result of
the program beside those that the function returns, and each call writes it to the argument's memory, as eager
code does: what shares the memory sees it, writes are counted, and gradients follow. Where it cannot be
written, the call is an error that names the argument, raised before anything is changed.

Where a function fails, it has written some of its arguments in Python, and compiled code none. So such a call
runs once more, as Python: see `FailedCall`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..array.indexing.writing import before, count_write, replace, take_memory, writes_memory
from ..backward.engine import standing_for
from ..base.errors import (
    AliasedError,
    ArgumentError,
    AttributeValueError,
    DomainError,
    DTypeError,
    GradientError,
    NestingError,
    OutOfBoundsError,
    ShapeError,
    TraceError,
    TracejitError,
)
from ..base.loading import LazyModule
from ..base.records import record
from ..ir.dataflow import acts
from ..ir.dtypes import is_differentiable
from ..ir.graph import Value
from ..ir.registry import Kind
from ..pytree import TreeDef, flatten
from ..runtime.observing import OBSERVER
from ..state import STATE
from ..tape.views import overlaps_itself
from ..tensors.generator_states import GeneratorState
from ..tensors.tensor import Tensor, wrap
from ..tracing.tracer import Tracer
from .aliasing import NOTHING, Outside, check_aliases
from .calls import CompiledFunction, call
from .container_writes import ContainerRecorder, ContainerWrite, write_containers

if TYPE_CHECKING:
    from ..numpy_random import traced as draws
else:
    draws = LazyModule("..numpy_random.traced", __package__)

_NO_STATES: Final[Mapping[int, GeneratorState]] = {}
#: Functions that write more bytes of their arguments do so in place, in the slow path.
COPIED_BYTES: Final = 1 << 17
#: Errors of this project that stand for those of NumPy and Python.
_PYTHONS: Final = (
    ShapeError, DTypeError, AttributeValueError, ArgumentError, DomainError, OutOfBoundsError, NestingError,
)  # fmt: skip


class FailedCall(Exception):
    """A call that has failed by an `error`, as in Python, before which Python would have written arguments.
    Nothing is written yet."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class WritesRank0(Exception):
    """A function writes an argument of rank 0, which is an array or a scalar: that tells calls apart."""


class CompiledOnlyError(AliasedError):
    """A call that fails as compiled, and not as Python."""

    advice = "avoid the cause of that error"


class SharedGeneratorError(AliasedError):
    """A call that reaches the state of one generator of NumPy's by two names."""

    advice = "pass generators with states of their own"


def is_of_python(error: Exception) -> bool:
    """Whether `error` is one that the function raises in Python as well."""
    if isinstance(error, TracejitError):
        return isinstance(error, _PYTHONS)
    return not isinstance(error, MemoryError)


@record
class ArgumentWrite:
    """A leaf of the arguments that the function writes.

    Attributes:
        position: of the leaf.
        name: what the user calls it.
        unrecorded: whether all writes are under ``no_grad``, so that its place in the graph stays.
        sources: the inputs through which a gradient can reach what is written.
        by_steps: whether a loop writes it element by element, of which one that fails has written some.
    """

    position: int
    name: str
    unrecorded: bool
    sources: Sequence[int]
    by_steps: bool


@record(frozen=False)
class ArgumentWrites:
    """The writes of a traced function to its arguments.

    Attributes:
        label: what messages call the function.
        name: gives what messages call the argument's leaf at a position.
        returned: how many of the program's results the function returns. Before them come the values of
            `writes`, and after them new ones in containers.
        writes: the leaves that are written in place.
        containers: the containers that are changed.
        paths: where all containers are that could be changed.
        beside: what the function reads that its arguments may be, too.
        drawn: the positions among the captures of generators that the function draws from. Their states are
            the last results.
    """

    label: str
    name: Callable[[int], str]
    returned: int
    writes: Sequence[ArgumentWrite]
    containers: Sequence[ContainerWrite]
    paths: Sequence[Any] = ()
    beside: Outside = NOTHING
    drawn: Sequence[int] = ()

    @property
    def positions(self) -> frozenset[int]:
        """The positions of the leaves that are written in place."""
        return frozenset([write.position for write in self.writes])

    def names(self) -> tuple[str, ...]:
        """The user's names of the leaves that are written and the containers that are changed."""
        return (*[write.name for write in self.writes], *[write.name for write in self.containers])

    def begin(
        self, arguments: Any, leaves: Sequence[Any], inputs: Sequence[Tensor], captures: Sequence[Any]
    ) -> PendingWrites:
        """The writes of a call with ``arguments = (positional, named)``, whose leaves are `leaves`; `inputs`
        are these as tensors, and after them what the function closes over, found at `captures`.

        Raises TracejitError, which names the argument, where one cannot be written: AliasedError where that
        is because it has another name as well.
        """
        check_aliases(self, arguments, leaves, inputs, captures)
        in_memory = [
            _check(self.label, write, leaves[write.position], [inputs[i] for i in write.sources])
            for write in self.writes
        ]
        states = dict(enumerate(leaves))
        states |= {len(leaves) + i: captures[i].read() for i in self.drawn}
        states = {i: state for i, state in states.items() if isinstance(state, GeneratorState)}
        if len({id(state.bits) for state in states.values()}) < len(states):
            raise SharedGeneratorError(f"{self.label}: it draws from one generator of NumPy's by two names")
        return PendingWrites(self, arguments, leaves, inputs, in_memory, states)

    def finish(self, arguments: Any, results: Sequence[Tensor]) -> list[Tensor]:
        """Make the writes of a call that a native entry has run: on arguments none of which requires grad.
        Returns the results that the function returns. Raises as `begin`."""
        leaves = flatten(arguments)[0]
        check_aliases(self, arguments, leaves, (), ())
        in_memory = [_check(self.label, write, leaves[write.position], ()) for write in self.writes]
        return PendingWrites(self, arguments, leaves, (), in_memory).finish(results)


class ArgumentRecorder:
    """The arguments of a function that is being traced: `symbols`, in containers of its own."""

    def __init__(
        self,
        label: str,
        structure: TreeDef,
        symbols: Sequence[Tensor],
        donated: Collection[int],
        name: Callable[[int], str],
        kinds: Mapping[int, str],
    ) -> None:
        """Leaves that are `donated` do not count as written: nobody reads them afterwards. `label` and `name`
        are as in `ArgumentWrites`, and `kinds` are those of the generators of NumPy's among the leaves."""
        self.arguments = structure.unflatten(
            [
                draws.TracedGenerator(kinds[position], symbol) if position in kinds else symbol
                for position, symbol in enumerate(symbols)
            ]
        )
        self._label, self._symbols, self._donated, self._name = label, symbols, donated, name
        self._containers = ContainerRecorder(structure, self.arguments, donated)
        self._before = [symbol._data for symbol in symbols]

    def has_written(self) -> bool:
        """Whether the function has written arguments so far."""
        written = any(
            symbol._data is not data for symbol, data in zip(self._symbols, self._before, strict=True)
        )
        return written or self._containers.is_changed()

    def has_written_rank_0(self) -> bool:
        """Whether the function has written an argument of rank 0, or an input of a transform that stands for
        it."""
        written = STATE.tracer.treated_as_arrays
        return any(
            not symbol.shape and (symbol._data is not data or data in written)
            for symbol, data in zip(self._symbols, self._before, strict=True)
        )

    def writes(self, results: list[Any]) -> ArgumentWrites | None:
        """The writes of the function to its arguments. The values that it wrote are put before its `results`.

        Raises DTypeError for Python numbers, and TraceError where data of another type was assigned.
        """
        returned, label, symbols = len(results), self._label, self._symbols
        writes = self._written_leaves()
        results[:0] = [symbols[write.position] for write in writes]
        containers = self._containers.writes(label, self._name, symbols, results)
        generators = STATE.tracer.written_generators()
        results += [words for _, words in generators]
        if not (writes or containers or generators):
            return None
        paths, drawn = self._containers.paths(), [position for position, _ in generators]
        return ArgumentWrites(label, self._name, returned, writes, containers, paths, drawn=drawn)

    def _written_leaves(self) -> list[ArgumentWrite]:
        """The leaves whose symbol is no longer their parameter."""
        tracer, label = STATE.tracer, self._label
        assert tracer is not None
        changed = [i for i, symbol in enumerate(self._symbols) if symbol._data is not tracer.params[i]]
        sources = _sources(tracer) if changed else {}
        writes = []
        for position in changed:
            symbol, param, name = self._symbols[position], tracer.params[position], self._name(position)
            if tracer.is_weak(param):
                raise DTypeError(
                    f"{label}: argument {name} is a Python number, which cannot be written in place; "
                    "compute a new value, or pass a tensor"
                )
            if symbol.type != param.type:
                raise TraceError(
                    f"{label}: argument {name} of type {param.type} was given data of type {symbol.type}; a "
                    "write keeps shape and dtype"
                )
            if position not in self._donated:
                unrecorded = _is_unrecorded(tracer, symbol._data, param)
                reached = _bits(sources.get(symbol._data, 0))
                by_steps = _is_written_by_steps(tracer, symbol._data)
                writes.append(ArgumentWrite(position, name, unrecorded, reached, by_steps))
        return writes


def _sources(tracer: Tracer) -> dict[Any, int]:
    """The inputs through which a gradient reaches each value, as bits by position."""
    inputs = [*tracer.params, *[value for _, value in tracer.captures.values()]]
    sources = {value: 1 << i if is_differentiable(value.dtype) else 0 for i, value in enumerate(inputs)}
    for instruction in tracer.body:
        name, reached = instruction.op.name, 0
        if name != "stop_gradient":
            for operand in instruction.operands[:1] if name == "rewritten" else instruction.operands:
                reached |= sources[operand]
        for result in instruction.results:
            sources[result] = reached if is_differentiable(result.dtype) else 0
    return sources


def _bits(number: int) -> list[int]:
    return [i for i in range(number.bit_length()) if number >> i & 1]


def _is_unrecorded(tracer: Tracer, value: Any, param: Value) -> bool:
    """Whether writes under ``no_grad`` alone lead from `param` to `value`."""
    rewritten = {
        instruction.results[0]: instruction.operands[0]
        for instruction in tracer.body
        if instruction.op.name == "rewritten"
    }
    while value in rewritten:
        value = rewritten[value]
    return value is param


def _is_written_by_steps(tracer: Tracer, value: Any) -> bool:
    """Whether `value` is what a loop makes of an array, or what updates of elements make of that."""
    makers = {result: instruction for instruction in tracer.body for result in instruction.results}
    while (instruction := makers.get(value)) is not None:
        if instruction.op.kind in (Kind.SCAN, Kind.WHILE):
            return True
        if not instruction.op.kind.traits.updates_operand and instruction.op.name != "rewritten":
            return False
        value = instruction.operands[0]
    return False


class PendingWrites:
    """The writes of one call, which can be made."""

    def __init__(
        self,
        writes: ArgumentWrites,
        arguments: Any,
        leaves: Sequence[Any],
        inputs: Sequence[Tensor],
        in_memory: Sequence[bool],
        states: Mapping[int, GeneratorState] = _NO_STATES,
    ) -> None:
        """`states` are those of generators of NumPy's, by the position of the input."""
        self._writes, self._arguments, self._leaves, self._in_memory = writes, arguments, leaves, in_memory
        self.inputs, self._states = list(inputs), states
        self._recorded = STATE.recording and any(input_._requires_grad for input_ in inputs)
        if self._recorded:  # a graph keeps the values that are there now
            for write in writes.writes:
                self.inputs[write.position] = _standing_for(inputs[write.position])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Read the states of the generators that the function draws from, and let nobody else draw from them
        until they are written."""
        with ExitStack() as locks:
            for position, state in sorted(self._states.items(), key=lambda item: id(item[1].bits)):
                locks.enter_context(state.lock)
                self.inputs[position] = wrap(state.peek())
            yield

    def run(self, compiled: CompiledFunction) -> list[Tensor]:
        """The program's results. Where it can, it writes them to the arguments' memory itself."""
        targets = {} if self._recorded or OBSERVER.call is not None else self._targets(compiled)
        try:
            if not targets:
                return call(compiled, self.inputs)
            return list(map(wrap, compiled.executable.run([input_._data for input_ in self.inputs], targets)))
        except Exception as error:
            self.fail(error, compiled, targets)
            raise

    def fail(self, error: Exception, compiled: CompiledFunction, targets: Collection[int] = ()) -> None:
        """Raise FailedCall where the call, which raised `error`, can run as Python. It cannot where results
        were written to the arguments' memory, those numbered `targets`, nor where it has had other effects:
        then the error says so."""
        writes = self._writes
        if not is_of_python(error):
            return
        if targets:
            names = ", ".join(writes.writes[number].name for number in targets)
            error.add_note(
                f"{writes.label}: the compiled loop writes {names} in place, and has written elements in its "
                "own order before this error"
            )
        elif acts(compiled.function):
            names = ", ".join(writes.names())
            error.add_note(
                f"{writes.label}: {names} is as it was before the call, also where Python writes it before "
                "this error: the function has effects, which must not happen twice"
            )
        else:
            raise FailedCall(error) from error

    def _targets(self, compiled: CompiledFunction) -> dict[int, Any]:
        """The arrays of arguments that results may overwrite while the program runs, by number of the
        result. Those of a program that may fail are large ones: small ones are what they were then."""
        if compiled.runs_again:  # then the call runs again
            return {}
        executable = compiled.executable
        fails = any(not message.startswith("out of memory") for message in executable.errors)
        targets = {}
        for number, write in enumerate(self._writes.writes):
            array = self.inputs[write.position]._data
            leaf = self._leaves[write.position]
            if (
                (not fails or (write.by_steps and array.nbytes > COPIED_BYTES))
                and executable.reuses.get(number) == write.position
                and array is (leaf._data if isinstance(leaf, Tensor) else leaf)
                and array.flags.carray
            ):
                targets[number] = array
        return targets

    def finish(self, results: Sequence[Tensor]) -> list[Tensor]:
        """Do to the arguments what the function did, with the program's results. Returns those that the
        function returns."""
        label, writes, returned = self._writes.label, self._writes.writes, self._writes.returned
        for write, value, in_memory in zip(writes, results, self._in_memory, strict=False):
            leaf, name = self._leaves[write.position], f"{label} (argument {write.name})"
            if isinstance(leaf, np.ndarray):
                _copy(leaf, value._data)
            elif isinstance(leaf, GeneratorState):
                leaf.write(value._data)
            elif isinstance(leaf, Tensor) and in_memory:
                _copy(leaf._data, value._data)
                if leaf._memory is not None:  # somebody has looked
                    count_write(leaf, name)
            elif isinstance(leaf, Tensor):
                replace(leaf, value, name)
            # a NumPy scalar is immutable: `x += 1` gives a name in the function another value
        write_containers(self._writes.containers, self._arguments, self._leaves, results)
        drawn = self._writes.drawn
        for position, words in zip(drawn, results[len(results) - len(drawn) :], strict=True):
            self._states[len(self._leaves) + position].write(words._data)
        return list(results[len(writes) : len(writes) + returned])


def _copy(array: Any, value: Any) -> None:
    if array is not value:
        np.copyto(array, value)


def _check(label: str, write: ArgumentWrite, leaf: Any, sources: Sequence[Tensor]) -> bool:
    """Whether `leaf` is written in memory alone. Raises where it may not be written."""
    name, in_memory = f"{label}: argument {write.name}", True
    sources = [] if write.unrecorded else [source for source in sources if source._requires_grad]
    if isinstance(leaf, Tensor) and write.unrecorded:
        take_memory(leaf)
    elif isinstance(leaf, Tensor):
        in_memory = writes_memory(leaf, sources, name)
    elif STATE.recording and sources and isinstance(leaf, np.ndarray):
        raise GradientError(
            f"{name} is an array, and what is written to it requires grad; pass a tensor, or write "
            "value.detach()"
        )
    array = leaf._data if isinstance(leaf, Tensor) else leaf
    if isinstance(array, np.ndarray):
        if not array.flags.writeable:
            raise TracejitError(f"{name} is written in place, but its memory is read-only; pass x.copy()")
        if overlaps_itself(array):
            raise TracejitError(
                f"{name} is written in place, but several of its elements share memory; pass x.copy()"
            )
    return in_memory


def _standing_for(argument: Tensor) -> Tensor:
    """A copy of a tensor that is going to be written, in the tensor's place in the graph."""
    if argument._requires_grad and argument._node is None:
        return standing_for(argument, argument._data.copy())
    return before(argument)
