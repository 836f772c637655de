"""Tracing a loop once: its variables become carries, tensors that it writes in place as well.

The body runs on symbols in a region of its own. What it did to variables and tensors is put back each time,
so that it can run again, with carries of other types or more tensors that turned out to be written, and so
that an attempt that fails has changed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..array.indexing.writing import OutsideWriteError
from ..control.carry import as_leaf, as_tensor, is_weak, traced
from ..control.loops import append_while
from ..control.scans import append_scan
from ..ir.dtypes import FLOAT64, INT64
from ..ir.graph import Function, Value
from ..ir.registry import OPS, Attrs, Op
from ..ir.types import TensorType
from ..pytree import containers_in
from ..state import STATE
from ..tape.views import base_of, is_known_in_order
from ..tensors.tensor import Tensor, wrap
from ..tracing.regions import decisions_of
from ..tracing.tracer import Tracer
from ..tracing.untraced_objects import UntracedObjects
from .arrays import apply_loop, most_steps_of
from .branches import conditional, guarded
from .carries import (
    BecomesFloat,
    BecomesOptional,
    Carry,
    Identities,
    IsWritten,
    ItemIsWritten,
    LengthIsTold,
    LoopStatement,
    Start,
    TestWrites,
    UnsteadyError,
    as_tensor_type,
    has_steps,
    shown,
    written_by,
    zero_of,
)
from .lists.appends import Appends
from .lists.buffers import ChangesListError, untyped
from .lists.stacked_lists import as_tested, check_containers
from .optional_values import OptionalValue, as_optional, check_present, decided
from .origins import Container, ContainerOrigins, LoopOrigins, Origin, StepOrigins, origins_before
from .reports import CURRENT, LoopError
from .scalars import as_float, opposite, truth
from .source.descriptions import Statement
from .variables import (
    UNDEFINED,
    Content,
    WrittenTensors,
    called,
    content_of,
    is_rank_0_array,
    is_returned,
    is_traced,
)


def trace_loop(loop: LoopStatement) -> str:
    """Trace `loop` into the running trace, and give its variables the values after it. Returns how many steps
    it has, in words. Raises where it cannot be traced, after which nothing has changed."""
    memory = written_by(loop)  # whose variables are gone: they would count as other names of arrays
    if not has_steps(loop):
        return "no steps"
    memories = CURRENT.session.memories
    memories.append(memory)
    untraced = UntracedObjects(loop.variables.values(loop.variables.names()).values())
    CURRENT.session.untraced.append(untraced)
    try:
        return _traced(loop, memory, untraced)
    except BaseException:
        untraced.restore()
        raise
    finally:
        CURRENT.session.untraced.remove(untraced)
        memories.remove(memory)


def _traced(loop: LoopStatement, memory: WrittenTensors, untraced: UntracedObjects) -> str:
    while True:
        try:
            return _Attempt(loop, memory, untraced).run()
        except OutsideWriteError as error:
            if not STATE.tracer.owns(error.tensor._data):
                raise
            memory.add(error.tensor)
        except IsWritten as change:
            memory.add(change.tensor)


class _Attempt:
    """One attempt, with the tensors in `memory` written in place."""

    def __init__(self, loop: LoopStatement, memory: WrittenTensors, untraced: UntracedObjects) -> None:
        self.loop, self.memory, self.untraced = loop, memory, untraced
        self.statement, self.variables = loop.statement, loop.variables
        self.decisions = decisions_of(STATE.tracer)
        self.carries: list[Carry] = []
        self.appends = Appends(self.statement.appended, self.variables)
        #: Variables that have no value before the loop and are read after it.
        self.undefined: list[str] = []
        #: All of these, also once they have types.
        self._without_value: tuple[str, ...] = ()
        #: Values that the function returns from the loop and that are no numbers or arrays, such as None.
        self.returned: dict[str, Any] = {}
        #: Initial values of the leaves of carries, without leaves that are held.
        self.inits: list[Any] = []
        self.paths: list[str] = []
        #: Whether each result is a Python number, as the last run of the body found.
        self.weak: list[bool] = []
        #: Whether each result is an array of rank 0, as the last run of the body found.
        self.arrays: list[bool] = []
        #: Whether each carry is the same array at the end of each step, which no step writes.
        self.unchanged: list[bool] = []
        #: The origins of the array that each result is where a step ends.
        self.ends: list[frozenset[Origin]] = []
        #: The origins of each container of the carries where a step ends.
        self.container_ends: list[frozenset[Origin]] = []
        #: The values of the carries where the step began.
        self.entered: dict[str, Any] = {}
        #: The origins of each array that the loop iterates over.
        self.iterated: list[frozenset[Origin]] = []
        #: The arrays of what steps append.
        self.stacks: list[Tensor] = []
        #: The number of these.
        self.stacked_items = 0
        #: Whether items are read from the arrays in each step, since steps write to those, or to items.
        self.indexes = loop.steps is not None and any(map(memory.holds, loop.steps.arrays))
        #: The number of steps of the scan that the loop becomes, None where it becomes a ``while``.
        self.length = self._length()
        #: Whether not all of these steps run.
        self.is_cut = self.length is not None and (
            bool(self.statement.flag) or not isinstance(loop.steps.count, int)  # type: ignore[union-attr]
        )

    def run(self) -> str:
        tracer = STATE.tracer
        self.memory.check()
        self._collect()
        self._without_value = tuple(self.undefined)
        if self.loop.steps is not None and not self.indexes:
            self.iterated = [origins_before(array) for array in self.loop.steps.arrays]
        while True:
            if self.undefined:
                self._give_undefined_types()
            try:
                results, text = self._append(tracer)
                break
            except BecomesFloat as change:
                self.inits[change.position] = as_float(self.inits[change.position])
            except BecomesOptional as change:
                self._make_optional(change)
                if change.carry.is_defined:  # what the body defines was read where that variable was None
                    self._forget_defined()
            except ItemIsWritten:
                self.indexes = True
        self._finish(tracer, results[0], results[1:])
        self._note_origins(tracer, results[0], results[1:])
        return text

    def _length(self) -> int | None:
        steps = self.loop.steps
        if steps is None or self._checkpoint_every() is not None:
            return None
        if self.appends:  # a scan stacks what they append, also of steps that do not run
            return steps.most
        return steps.count if isinstance(steps.count, int) and not self.statement.flag else None

    def _checkpoint_every(self) -> int | None:
        session = CURRENT.session
        return session.checkpoint_every if session.attempts == 1 and not self.appends else None

    # -- before -------------------------------------------------------------------------------------

    def _collect(self) -> None:
        for name in self.statement.carried:
            exclusive = self.variables.is_exclusive(name)
            value = self.variables.get(name)
            if is_traced(value) and STATE.tracer.is_merged(base_of(value)._data):
                exclusive = False
            if value is UNDEFINED:
                if name in self.statement.results:
                    self.undefined.append(name)
                continue
            content = content_of(value)
            carry = Carry(name, content, exclusive=exclusive)
            if content.structure is not None:
                paths = content.structure.paths()
                for leaf, path in zip(content.leaves, paths, strict=True):
                    held = leaf if self.memory.holds(leaf) else None
                    carry.held.append(held)
                    if held is None:
                        self.inits.append(as_leaf("loop", name, path, leaf))
                        self.paths.append(name + path)
            self.carries.append(carry)

    def _make_optional(self, change: BecomesOptional) -> None:
        """Make a variable that has a value before the loop, or is None there, an optional value."""
        carry, has_value = change.carry, change.carry.content.structure is not None
        before = self.carries[: self.carries.index(carry)]
        first = sum(held is None for other in before for held in other.held)
        end = first + len(carry.held)
        leaves = self.inits[first:end]
        if not has_value:
            leaves = [zero_of(leaf, weak) for leaf, weak in zip(change.leaves, change.weak, strict=True)]
        leaves = [has_value, *leaves]
        carry.content = Content(change.structure.unflatten(leaves), leaves, change.structure)
        carry.arrays = [False, *(carry.arrays if has_value else [False] * (len(leaves) - 1))]
        carry.held = [None] * len(leaves)
        self.inits[first:end] = leaves
        self.paths[first:end] = [carry.name + path for path in change.structure.paths()]

    def _forget_defined(self) -> None:
        """Forget the carries of the variables that the body defines: they may have other types."""
        self.undefined, self.returned = list(self._without_value), {}
        self.carries = [carry for carry in self.carries if carry.is_defined]
        count = sum(held is None for carry in self.carries for held in carry.held)
        del self.inits[count:], self.paths[count:]

    def _give_undefined_types(self) -> None:
        """Carries for the variables that the body defines: zeros of the types that it gives them."""
        tracer = STATE.tracer
        seen: dict[str, tuple[Content, list[bool]]] = {}
        leaves = [*self.inits, *self.memory.bases]
        types = [TensorType(leaf.dtype, leaf.shape) for leaf in map(as_tensor, leaves)]
        weak = [is_weak(tracer, leaf) for leaf in leaves]

        def scratch(*values: Tensor) -> list[Any]:
            saved = self._save()
            try:
                self._enter(values[1:])
                self._step(values[0])
                for name in self.undefined:
                    content = content_of(self.variables.get(name))
                    seen[name] = content, [is_weak(STATE.tracer, leaf) for leaf in content.leaves]
            finally:
                self._restore(saved)
            return []

        names = [f"x{i}" for i in range(len(types) + 1)]
        counter = TensorType(INT64, ())
        session = CURRENT.session
        around, session.untyped = session.untyped, session.untyped.union(self.undefined)
        try:
            traced(tracer, scratch, [counter, *types], names, [True, *weak], repeats=True)
        finally:
            session.untyped = around
        for name in self.undefined:
            content, numbers = seen[name]
            if content.value is UNDEFINED:
                continue
            if content.structure is None:
                if not is_returned(name):
                    raise LoopError(f"{name} has no value before the loop, and is no number or array in it")
                self.returned[name] = content.value
                continue
            zeros = [zero_of(leaf, number) for leaf, number in zip(content.leaves, numbers, strict=True)]
            carry = Carry(
                name, Content(content.structure.unflatten(zeros), zeros, content.structure), exclusive=True
            )
            carry.held, carry.is_defined = [None] * len(zeros), False
            position = len(self.inits)
            self.inits[position:position] = zeros
            self.paths += [name + path for path in content.structure.paths()]
            self.carries.append(carry)
        self.undefined = []

    # -- the body -----------------------------------------------------------------------------------

    def _save(self) -> Any:
        return self.variables.values(self.statement.assigned), self.memory.save()

    def _restore(self, saved: Any) -> None:
        values, tensors = saved
        self.appends.restore()
        self.memory.restore(tensors)
        self.variables.update(values)

    def _enter(self, values: Any) -> list[Tensor]:
        """Give variables and memory their values in a region; the symbols of the variables."""
        self.appends.enter()
        count = len(self.inits)
        symbols = list(values[:count])
        position = 0
        for carry in self.carries:
            structure = carry.content.structure
            if structure is None:
                continue
            leaves = []
            for held, array in zip(carry.held, carry.arrays, strict=True):
                if held is None and not symbols[position].shape and not array:
                    STATE.tracer.note_scalar(symbols[position])
                leaves.append(symbols[position] if held is None else held)
                position += held is None
            self.entered[carry.name] = structure.unflatten(leaves)
            self.variables.set(carry.name, self.entered[carry.name])
            if isinstance(carry.content.value, list):
                copy = self.entered[carry.name]
                CURRENT.session.list_copies[id(copy)] = copy, id(carry.content.value)
        self.memory.enter([value._data for value in values[count : count + len(self.memory.bases)]])
        return symbols

    def _step(self, counter: Any, elements: Any = None) -> None:
        """Run the body once."""
        steps = self.loop.steps
        if steps is not None and (most := steps.most) is not None:
            STATE.tracer.integers.counts[counter._data] = most
        for element in elements or ():
            if not element.shape:
                STATE.tracer.note_scalar(element)
        elements = None if self.indexes else elements
        if self.is_cut:
            statement = Statement(
                self.statement.file,
                self.statement.line,
                self.statement.assigned,
                results=self.statement.carried,
                written=self.statement.written,
                written_anywhere=self.statement.written_anywhere,
                appended=self.statement.appended,
            )
            runs = self._runs(counter)
            conditional(runs, lambda: self.loop.step(counter, elements), _nothing, statement, self.variables)
        else:
            self.loop.step(counter, elements)

    def _runs(self, counter: Tensor) -> Any:
        """Whether a step runs: no step before it has left the loop."""
        left = self.variables.get(self.statement.flag) if self.statement.flag else False
        if self.loop.steps is None:
            return self._test() if left is False else guarded(opposite(left), self._test)
        more: Any = counter < self.loop.steps.count
        return more if left is False else opposite(left) & more

    def _leave(self, counter: Tensor, symbols: list[Tensor], params: list[Any], elements: Any) -> list[Any]:
        """The leaves at the end of step `counter`, which got `elements`. Raises where the variables are not
        what they were."""
        tracer = STATE.tracer
        written = [symbol for symbol, param in zip(symbols, params, strict=True) if symbol._data is not param]
        leaves: list[Any] = []
        elements = [] if self.indexes else elements or []
        for element, array in zip(elements, self.loop.steps.arrays if elements else (), strict=False):  # type: ignore[union-attr]
            if element._data in tracer.in_order and not _in_order(array):
                raise ItemIsWritten  # an item that is read from the array has its order
        parts = {element._data: own for element, own in zip(elements, self.iterated, strict=False)}
        origins = StepOrigins(symbols, params, self.memory, parts)
        identities = Identities(
            self._starts(symbols),
            self.statement.written_anywhere,
            self.memory,
            written,
        )
        self.arrays, self.unchanged, self.ends = [], [], []
        for carry in self.carries:
            value = self.variables.get(carry.name)
            if is_returned(carry.name):
                value = self.memory.snapshot(carry.name, value)
            if value is UNDEFINED and not is_returned(carry.name):
                raise UnsteadyError(f"{carry.name} may have no value at the end of a step")
            if isinstance(carry.content.value, OptionalValue):
                value = as_optional(value, carry.content.value)
            before, after = carry.content, content_of(value)
            if isinstance(value, OptionalValue):
                check_present(value.value)
                _check_optional(carry, value, after)
            else:
                check_present(value)
            if value is not self.entered.get(carry.name):
                check_containers(carry.name, value)
            if before.structure is None:
                if value is not before.value:
                    raise UnsteadyError(
                        f"{carry.name} is {shown(before.value)} first and {shown(value)} later"
                    )
                continue
            if value is UNDEFINED:
                self.ends += [frozenset([len(leaves) + i]) for i in range(len(before.leaves))]
                leaves += [symbols[len(leaves) + i] for i in range(len(before.leaves))]
                self.arrays += carry.arrays
                self.unchanged += [False] * len(before.leaves)
                continue
            if after.structure != before.structure:
                raise UnsteadyError(
                    f"{called(carry.name)} changes its structure: {before.structure} first, "
                    f"{after.structure} later"
                )
            paths = before.structure.paths()
            for held, leaf, path, first, array in zip(
                carry.held, after.leaves, paths, before.leaves, carry.arrays, strict=True
            ):
                if held is not None:
                    if leaf is not held:
                        raise LoopError(f"{carry.name}{path} is both written in place and assigned")
                    continue
                symbol, param = symbols[len(leaves)], params[len(leaves)]
                becomes_array = is_rank_0_array(leaf)
                is_written = any(symbol is other for other in written)
                if is_written and isinstance(first, (Tensor, np.ndarray)):
                    stays = leaf is symbol and is_traced(first)
                    if stays and isinstance(first, Tensor) and tracer.parent.owns(first._data):
                        raise IsWritten(first)
                    if array and not becomes_array:
                        raise UnsteadyError(
                            f"{carry.name}{path} is an array of rank 0 first and a scalar later"
                        )
                    if not carry.owns(first):
                        raise LoopError(f"{carry.name}{path} is both written in place and assigned")
                if becomes_array and not array and carry.is_defined and param in tracer.treated_as_scalars:
                    raise UnsteadyError(f"{carry.name}{path} is a scalar first and an array of rank 0 later")
                writes = self.statement.written_anywhere and param in tracer.in_order
                if writes and not (_in_order(leaf) and _in_order(first)):
                    raise LoopError(
                        f"{carry.name}{path} has several orders in memory, and reshape is a view of some"
                    )
                self.arrays.append(becomes_array)
                self.unchanged.append(leaf is symbol and not is_written and carry.is_defined)
                self.ends.append(origins.of(leaf))
                identities.check(carry.name + path, leaf, self.ends[-1])
                leaf = as_leaf("loop", carry.name, path, leaf)
                before_number = is_weak(tracer, symbol) and symbol.dtype.kind == "i"
                if before_number and is_weak(tracer, leaf) and as_tensor_type(leaf).dtype is FLOAT64:
                    raise BecomesFloat(len(leaves))
                leaves.append(leaf)
        if CURRENT.session.untyped_items is not None:
            raise untyped()
        self.container_ends = self._origins_of_containers()
        items, flags = self.appends.leave(lambda leaf: is_weak(tracer, leaf), counter, self.length)
        self.appends.check_apart(self.container_ends)
        for name, leaf in items:
            self.ends.append(origins.of(leaf))
            identities.check(f"{name}[-1]", leaf, self.ends[-1])
        bases = [wrap(base._data) for base in self.memory.bases]
        self.stacked_items = len(items)
        return [*leaves, *bases, *[leaf for _, leaf in items], *flags]

    def _origins_of_containers(self) -> list[frozenset[Origin]]:
        """The origins of the containers of all carries, where a step ends."""
        carried = [
            container
            for carry in self.carries
            if carry.content.structure is not None
            for container in containers_in(self.entered[carry.name])
        ]
        origins, ends = ContainerOrigins(carried), list[frozenset[Origin]]()
        for carry in self.carries:
            value = self.variables.get(carry.name)
            if value is UNDEFINED:
                ends += [frozenset([len(ends) + k]) for k in range(len(carry.containers))]
            elif carry.content.structure is not None:
                ends += map(origins.of, containers_in(value))
        return ends

    def _starts(self, symbols: list[Tensor]) -> Iterator[Start]:
        remaining, paths = iter(symbols), iter(self.paths)
        for carry in self.carries:
            for held, first in zip(carry.held, carry.content.leaves, strict=True):
                if held is None:
                    yield Start(next(paths), next(remaining), carry.owns(first))

    # -- the op -------------------------------------------------------------------------------------

    def _append(self, tracer: Any) -> tuple[list[Tensor], str]:
        self.untraced.restore()  # of what another run of the body has done
        steps, flag = self.loop.steps, self.statement.flag
        bases: list[Any] = list(self.memory.bases)
        paths = [*self.paths, *[f"array {i}" for i in range(len(bases))]]
        every = self._checkpoint_every()
        if self.appends and self.length is None:
            self._find_length(tracer)
        if self.length is not None:
            count = self.length
            arrays = [] if self.indexes or steps is None else [array[:count] for array in steps.arrays]

            def scanned(counter: Tensor, *values: Tensor) -> list[Any]:
                split = len(values) - len(arrays)
                return [counter + 1, *self._body(counter, values[:split], list(values[split:]))]

            results, stacks = append_scan(
                "loop",
                tracer,
                scanned,
                [0, *self.inits, *bases],
                ["step", *paths],
                arrays,
                count,
                apply=self._apply,
            )
            self.stacks = stacks[: self.stacked_items]
            self.appends.finish(self.stacks, stacks[self.stacked_items :], count)
            text = f"{'at most ' * self.is_cut}{count} step{'s' * (count != 1)}"
            return results, text if tracer.body[-1].op is OPS["scan"] else f"{text} at once, as arrays"

        def repeated(counter: Tensor, *values: Tensor) -> list[Any]:
            return [counter + 1, *self._body(counter, values)]

        def condition(counter: Tensor, *values: Tensor) -> list[Any]:
            return [self._condition(counter, values)]

        inits, paths = [0, *self.inits, *bases], ["step", *paths]
        results = append_while("loop", tracer, condition, repeated, inits, paths, every, apply=self._apply)
        text = "a number of steps that depends on values"
        if steps is not None and isinstance(steps.count, int):
            text = f"{'at most ' * bool(flag)}{steps.count} steps"
        return results, text + (f", {every} at a time" if every else "")

    def _find_length(self, tracer: Tracer) -> None:
        """Find the number of steps that a ``while`` has at most. Raises LoopError where that depends on
        values."""

        def repeated(counter: Tensor, *values: Tensor) -> list[Any]:
            return [counter + 1, *self._body(counter, values)[: len(values)]]

        def condition(counter: Tensor, *values: Tensor) -> list[Any]:
            return [self._condition(counter, values)]

        def counted(*loop: Any) -> list[Tensor]:
            self.length, self.is_cut = most_steps_of(*loop), True
            return []

        inits = [0, *self.inits, *self.memory.bases]
        append_while("loop", tracer, condition, repeated, inits, [""] * len(inits), apply=counted)
        if self.length is None:
            problem = "it appends to a list, and how many steps it has at most depends on values"
            raise ChangesListError(problem, *self.appends.identities)

    def _apply(
        self, op: Op, operands: Sequence[Tensor], attrs: Attrs, regions: tuple[Function, ...]
    ) -> list[Tensor]:
        """Append the loop. Raises where it depends on Python numbers alone: then Python runs it, and what it
        computes can be a shape or an index of a list; and where its number of steps may be known now."""
        steps = self.loop.steps
        if self.untraced.restore():
            raise LoopError("it changes an array, a list, a dict or an object that is not traced")
        is_asked = decisions_of(STATE.tracer) > self.decisions
        if is_asked and steps is not None and isinstance(steps.count, Tensor):
            raise LengthIsTold("its length is known now")
        of_numbers = CURRENT.session.number_arrays
        bases = [base for base in self.memory.bases if id(base) not in of_numbers]
        numbers = not any(isinstance(init, Tensor) for init in [*self.inits, *bases])
        if numbers and len(operands) == attrs["carries"]:
            raise LoopError("it computes with Python numbers alone")
        return apply_loop(op, operands, attrs, regions)

    def _body(self, counter: Tensor, values: Any, elements: Any = None) -> list[Any]:
        saved = self._save()
        tracer = STATE.tracer
        try:
            symbols = self._enter(values)
            params = [symbol._data for symbol in symbols]
            self._step(counter, elements)
            leaves = self._leave(counter, symbols, params, elements)
            self.weak = [is_weak(tracer, wrap(param)) for param in params]
        finally:
            self._restore(saved)
        return leaves

    def _condition(self, counter: Tensor, values: Any) -> Any:
        saved = self._save()
        try:
            self._enter(values)
            return self._runs(counter)
        finally:
            self._restore(saved)

    def _test(self) -> Any:
        """The truth of the test of a ``while``."""
        assert self.loop.test is not None
        tested = self.loop.test()
        if self.memory.has_changed():
            raise TestWrites("its test writes an array in place")
        tested = as_tested(tested)
        return truth(tested) if is_traced(tested) else bool(tested)

    # -- after --------------------------------------------------------------------------------------

    def _finish(self, tracer: Any, steps: Tensor, results: list[Tensor]) -> None:
        count = len(self.inits)
        for result, weak, array in zip(results[:count], self.weak, self.arrays, strict=True):
            if weak:
                tracer.mark_weak(result._data)
            if array:
                tracer.note_array(result)
        position = 0
        # else what tests the variables behind it is not rewritten, as in a function that `cond` traces
        is_part = CURRENT.session.attempts > 1 or CURRENT.session.sides > 0
        values = dict.fromkeys(self.statement.assigned, UNDEFINED) | self.returned
        containers: list[Any] = []
        for carry in self.carries:
            structure = carry.content.structure
            if structure is None:
                values[carry.name] = carry.content.value
                continue
            leaves: list[Any] = []
            for held, first in zip(carry.held, carry.content.leaves, strict=True):
                if held is None:
                    leaves.append(first if self.unchanged[position] else results[position])
                    position += 1
                else:
                    leaves.append(held)
            value = structure.unflatten(leaves)
            if isinstance(value, OptionalValue) and not is_part:
                value = decided(value) if carry.name in self.statement.results else None
            values[carry.name] = value
            containers += containers_in(value)
        self.memory.write(results[count:])
        for base in self.memory.bases:
            CURRENT.session.number_arrays.pop(id(base), None)
        if containers:
            self._note_containers(tracer, steps, containers)
        self.variables.update(values)

    def _note_containers(self, tracer: Tracer, steps: Tensor, containers: Sequence[Any]) -> None:
        """Note which of the `containers`, those of the carries behind the loop, have other names in Python.
        `steps` is the number of steps."""
        before = [origins for carry in self.carries for origins in carry.origins_of_containers()]
        origins = LoopOrigins(before, self.container_ends)
        count = self.loop.steps.count if self.loop.steps is not None else None
        for i, container in enumerate(containers):
            sources = _containers(origins.of(i))
            sources += [containers[other] for other in origins.together_with(i)]
            tracer.merged_containers.add(container, sources)
            if not (isinstance(count, int) and count):
                tracer.merged_containers.add(container, _containers(before[i]), steps)

    def _note_origins(self, tracer: Tracer, steps: Tensor, results: list[Tensor]) -> None:
        """Note the results that are in Python arrays which have other names. `steps` is their number."""
        if not any(self.ends):
            return
        firsts = [
            (carry, first)
            for carry in self.carries
            for held, first in zip(carry.held, carry.content.leaves, strict=True)
            if held is None
        ]
        before = [origins_before(first) if carry.is_defined else frozenset() for carry, first in firsts]
        origins = LoopOrigins(before, self.ends)
        gone: set[Origin] = set()  # nothing has these arrays any more
        for (carry, first), own, unchanged in zip(firsts, before, self.unchanged, strict=True):
            if not unchanged and carry.owns(first):
                gone |= own
        count = self.loop.steps.count if self.loop.steps is not None else None
        arrays = [*results[: len(firsts)], *self.stacks]
        for i, result in enumerate(arrays):
            if i < len(firsts) and self.unchanged[i]:
                continue
            sources = set(self._values(origins.of(i) - gone))
            sources |= {arrays[other]._data for other in origins.together_with(i)}
            without_steps = set[Value]()
            if i < len(firsts) and not (isinstance(count, int) and count) and before[i] - gone:
                without_steps |= set(self._values(before[i]))
            if sources:
                tracer.merged_arrays.add(result, sources | without_steps)
            elif without_steps:
                tracer.merged_arrays.add(result, without_steps, steps)

    def _values(self, origins: Iterable[Origin]) -> Iterator[Value]:
        for origin in origins:
            if isinstance(origin, Value):
                yield origin
            elif isinstance(origin, tuple) and origin[0] == "written":
                yield self.memory.bases[origin[1]]._data


def _check_optional(carry: Carry, value: OptionalValue, after: Content) -> None:
    """Raise BecomesOptional where a variable has an optional `value` behind a step, whose content is `after`,
    and another one before the loop."""
    before = carry.content
    if isinstance(before.value, OptionalValue) or after.structure is None:
        return
    if before.value is None:
        numbers = [is_weak(STATE.tracer, leaf) for leaf in after.leaves[1:]]
        raise BecomesOptional(carry, after.structure, after.leaves[1:], numbers)
    is_handed_on = all(held is None for held in carry.held)
    if is_handed_on and content_of(value.value).structure == before.structure:
        raise BecomesOptional(carry, after.structure)


def _in_order(leaf: Any) -> bool:
    """Whether the array `leaf` lies in order in memory, as far as the running trace knows."""
    if isinstance(leaf, np.ndarray):
        return leaf.flags.c_contiguous
    return not isinstance(leaf, Tensor) or not leaf.shape or is_known_in_order(leaf)


def _nothing() -> None:
    pass


def _containers(origins: Iterable[Origin]) -> list[Any]:
    return [origin.value for origin in origins if isinstance(origin, Container)]
