"""Loop carries: the variables that a loop hands from step to step, as leaves.

A loop hands values on, and Python hands on objects. That is the same unless an array is written in place by
one of several names: what a loop may not do is to give an array another name then.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from ..array.operands import filled
from ..base.records import record
from ..callback_results import quiet
from ..control.carry import as_tensor
from ..ir.graph import Value
from ..ir.types import TensorType
from ..pytree import TreeDef, containers_in
from ..state import STATE
from ..tape.views import IndexedStep, base_of, chain_of, views_of
from ..tensors.tensor import Tensor
from ..tracing.regions import RegionTracer
from .iterations import Steps
from .origins import Origin, containers_before
from .reports import CURRENT, LoopError
from .source.descriptions import Statement
from .variables import (
    UNDEFINED,
    Content,
    Variables,
    WrittenTensors,
    has_memory_alone,
    is_array,
    is_rank_0_array,
    is_returned,
    is_traced,
    references_of_traces,
)

#: The result of `sys.getrefcount` for a container that one other has, and a list, and the call's argument.
_REFERENCES: Final = 3


class BecomesFloat(Exception):
    """A Python integer that a loop carries becomes a float."""

    def __init__(self, position: int) -> None:
        self.position = position


class UnsteadyError(LoopError):
    """A variable does not keep its structure, or has a value at one end of a step only."""


class BecomesOptional(Exception):
    """A variable may be None behind a step, or was None before the loop: it is an optional value of this
    `structure`. If it was, `leaves` are those beside its flag, and the `weak` ones are Python numbers."""

    def __init__(
        self, carry: Carry, structure: TreeDef, leaves: Sequence[Any] = (), weak: Sequence[bool] = ()
    ) -> None:
        self.carry, self.structure, self.leaves, self.weak = carry, structure, leaves, weak


class LengthIsTold(LoopError):
    """Python code asked, while a loop's body was traced, for integers that may tell the loop's number of
    steps."""


class TestWrites(LoopError):
    """The test of a ``while`` writes an array in place."""


class IsWritten(Exception):
    """A variable's tensor is written in place, and stays the variable's."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class ItemIsWritten(Exception):
    """A step writes to the item that it gets from an array."""


@record(eq=False)
class LoopStatement:
    """A loop that is to be traced: its body, a function of the step's item or of nothing; for a ``while``,
    its test, and whether that is known to hold first; for a ``for``, its steps, and the lists along which it
    goes."""

    statement: Statement
    variables: Variables
    body: Callable[..., Any]
    steps: Steps | None = None
    test: Callable[[], Any] | None = None
    starts: bool = False
    lists: Sequence[Any] = ()

    def step(self, counter: Any, elements: list[Any] | None) -> None:
        """Run the body once, with the item of step `counter`, whose elements are read from the arrays where
        they are None. Raises ItemIsWritten where the body writes to others, and LoopError where those are
        of an array from outside the traced function."""
        if self.steps is None:
            self.body()
            return
        if elements is None:
            self.body(self.steps.item(counter, [array[counter] for array in self.steps.arrays]))
            return
        before = [element._data for element in elements]
        self.body(self.steps.item(counter, elements))
        written = [element._data is not data for element, data in zip(elements, before, strict=True)]
        for array in itertools.compress(self.steps.arrays, written):
            if not isinstance(base_of(array)._data, Value):
                raise LoopError("it writes to the items of an array from outside the function")
        if any(written):
            raise ItemIsWritten


def written_by(loop: LoopStatement) -> WrittenTensors:
    """The tensors that the loop writes in place, by its source text."""
    memory = WrittenTensors()
    for name in loop.statement.written:
        value = loop.variables.get(name)
        if name in loop.statement.assigned or not is_traced(value) or memory.holds(value):
            continue
        if STATE.tracer.owns(value._data):
            memory.add(value)
    return memory


def has_steps(loop: LoopStatement) -> bool:
    """Whether the loop has a step, where that decides whether its variables have a value behind it."""
    statement, steps = loop.statement, loop.steps
    unknown = [
        name for name in statement.results if loop.variables.get(name) is UNDEFINED and not is_returned(name)
    ]
    if not unknown or loop.starts or (steps is not None and isinstance(steps.count, int)):
        return True
    if isinstance(STATE.tracer, RegionTracer):
        if CURRENT.session.untyped.issuperset(unknown):
            return True
        raise LoopError(f"{unknown[0]} has no value before the loop, which may have no steps")
    if steps is not None:
        return bool(steps.count > 0)
    if loop.test is None:
        return True
    with quiet():  # what the test does was traced before the loop
        return bool(loop.test())


class Carry:
    """A variable that steps hand on: its value before the loop, or by the first step's end."""

    def __init__(self, name: str, content: Content, *, exclusive: bool) -> None:
        self.name, self.content, self.exclusive = name, content, exclusive
        #: The caller's tensor for each leaf that stays the variable's; None for a leaf that is handed on.
        self.held: list[Tensor | None] = []
        #: The lists, dicts and objects with fields in it.
        self.containers = list(containers_in(content.value)) if content.structure is not None else []
        #: Whether it has a value before the loop.
        self.is_defined = True
        #: Whether each leaf is an array of rank 0, and not a scalar.
        self.arrays = [is_rank_0_array(leaf) for leaf in content.leaves]

    def origins_of_containers(self) -> list[frozenset[Origin]]:
        """The containers that each of its own may be before the loop; none for one that no other name leads
        to."""
        if not self.is_defined:
            return [frozenset()] * len(self.containers)
        return [
            containers_before(self.containers[k], is_alone=self.exclusive and self._is_alone(k))
            for k in range(len(self.containers))
        ]

    def _is_alone(self, k: int) -> bool:
        """Whether only what holds the container number `k` in the variable, and the list of all, refers to
        it. The variable's own value is `exclusive` where it is; a tuple is no container that has a number."""
        container = self.containers[k]
        if container is self.content.value:
            return True
        references = _REFERENCES + 1 + references_of_traces(container)
        return sys.getrefcount(container) <= references

    def owns(self, leaf: Any) -> bool:
        """Whether nothing but the variable refers to `leaf`, its value before the loop."""
        alone = self.exclusive and self.content.structure is not None and self.content.structure.is_leaf
        if isinstance(leaf, np.ndarray):
            return alone and has_memory_alone(leaf)
        return alone and not (isinstance(leaf, Tensor) and (chain_of(leaf) or views_of(leaf)))


def zero_of(leaf: Any, is_number: bool) -> Any:
    """A zero of the type of `leaf`, which is a Python number or not."""
    if not isinstance(leaf, (Tensor, np.ndarray, np.generic)):
        return type(leaf)(0)
    if is_number:
        return {"b": False, "i": 0, "c": 0j}.get(leaf.dtype.kind, 0.0)
    return filled(0, leaf.shape, leaf.dtype)


def as_tensor_type(leaf: Any) -> TensorType:
    """The type of a leaf as a tensor."""
    return leaf.type if isinstance(leaf, Tensor) else as_tensor(leaf).type


def shown(value: Any) -> str:
    """`value` in a few words."""
    text = repr(value) if not isinstance(value, Tensor) else f"a tensor of type {value.type}"
    return text if len(text) < 60 else f"a {type(value).__name__}"


@record(eq=False)
class Start:
    """The array of a variable where a step begins: its symbol, and whether nothing but the variable refers to
    the array before the loop."""

    name: str
    symbol: Tensor
    exclusive: bool


class Identities:
    """The arrays that variables name where one step ends."""

    def __init__(
        self,
        starts: Iterable[Start],
        in_place: frozenset[str],
        memory: WrittenTensors,
        written: Sequence[Tensor],
    ) -> None:
        """`in_place` are the names by which the function writes arrays in place; `written` are the symbols of
        variables that this step has written."""
        starts = list(starts)
        self._positions = {start.name: i for i, start in enumerate(starts)}
        self._writes_rank_0 = any(not symbol.shape for symbol in written)
        self._by_symbol = {id(start.symbol): start for start in starts}
        self._exclusive = {start.name: start.exclusive for start in starts}
        self._in_place, self._memory = in_place, memory
        self._writes = bool(written or memory.bases)
        self._owners: dict[int, str] = {}
        #: The name of a new array, and whether it may be another array as well.
        self._new: dict[Origin, tuple[str, bool]] = {}

    def check(self, name: str, leaf: Any, origins: Iterable[Origin]) -> None:
        """Note that `name` names the array `leaf`, of these `origins`. Raises LoopError where another name
        may write it."""
        if not isinstance(leaf, Tensor) or not is_array(leaf):
            return
        other = self._owners.setdefault(id(leaf), name)
        is_anything_written = self._writes if leaf.shape else self._writes_rank_0
        writes = is_anything_written or self._is_written(name)
        if other != name and (writes or self._is_written(other)):
            raise LoopError(f"{name} and {other} are the same array, and an array is written in place")
        chain = chain_of(leaf)
        is_fixed = chain is not None and not any(isinstance(step, IndexedStep) for step in chain[1])
        is_written_part = chain is not None and (writes if is_fixed else self._is_written(name))
        if self._memory.holds(leaf) or is_written_part:
            raise LoopError(f"{name} is a part of an array, and an array is written in place")
        is_merged = STATE.tracer.merged_arrays.sources_of(base_of(leaf)._data) is not None
        # of rank 0, what is no array may be a number, which is never written
        is_alone = self._is_alone(name, origins, is_merged) and (bool(leaf.shape) or not is_merged)
        if self._in_place and not is_returned(name) and not is_alone:
            raise LoopError(f"{name} becomes one of several arrays, and an array is written in place")
        start = self._by_symbol.get(id(leaf))
        if start is None:
            if self._in_place and is_traced(leaf) and not STATE.tracer.owns(leaf._data):
                raise LoopError(
                    f"{name} becomes an array from outside the loop, and an array is written in place"
                )
        elif (
            start.name != name
            and (writes or self._is_written(start.name))
            and not (start.exclusive and self._exclusive.get(name, True))
        ):
            raise LoopError(
                f"{name} becomes the array {start.name}, which has another name, and is written in place: "
                "begin with a copy of it"
            )

    def _is_alone(self, name: str, origins: Iterable[Origin], is_merged: bool) -> bool:
        """Whether an array that may be one of several is a new one, which has no other name, or the one that
        `name` named where the step began."""
        own = self._positions.get(name)
        is_alone = True
        for origin in origins:
            if isinstance(origin, tuple) and origin[0] == "new":
                other, may_be_another = self._new.setdefault(origin, (name, is_merged))
                is_alone &= other == name or not (is_merged or may_be_another)
            else:
                is_alone &= origin == own or not is_merged
        return is_alone

    def _is_written(self, name: str) -> bool:
        return name.split("[")[0].split(".")[0] in self._in_place
