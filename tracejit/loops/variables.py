"""The state that statements work on: variables of a function, and tensors that are written in place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CellType
from typing import Any, Final

import numpy as np

from ..array.indexing.writing import before, refresh_views, replace, writes_memory
from ..array.operands import is_scalar
from ..base.records import record
from ..ir.graph import Value
from ..pytree import TreeDef, containers_in, flatten
from ..state import STATE
from ..tape.views import base_of, views_of
from ..tensors.tensor import Tensor
from .reports import CURRENT, LoopError
from .source.exits import RETURNED

#: The value of a variable without a value.
UNDEFINED: Final = type("Undefined", (), {"__repr__": lambda self: "undefined"})()
#: The result of `sys.getrefcount` for an object that only a cell refers to: the cell, and the call's
#: argument.
_REFERENCES: Final = 2
_NUMERIC: Final = (Tensor, np.ndarray, np.generic, bool, int, float, complex)


class Variables:
    """The variables that inner functions of rewritten code share with the function around them."""

    def __init__(self, *functions: Any) -> None:
        self._cells: dict[str, Any] = {}
        for function in functions:
            if function is not None:
                names = function.__code__.co_freevars
                self._cells.update(zip(names, function.__closure__ or (), strict=True))

    def get(self, name: str) -> Any:
        """The value of `name`, `UNDEFINED` where it has none here."""
        try:
            return self._cells[name].cell_contents
        except (KeyError, ValueError):
            return UNDEFINED

    def set(self, name: str, value: Any) -> None:
        """Give `name` a value, or with `UNDEFINED` none."""
        cell = self._cells.get(name)
        if cell is None:
            return
        if value is not UNDEFINED:
            cell.cell_contents = value
            return
        try:
            del cell.cell_contents
        except ValueError:
            return  # it has none

    @contextmanager
    def holding(self, name: str, value: Any) -> Iterator[None]:
        """Have a variable `name` of the running statement's own, with `value` first."""
        self._cells[name] = CellType(value)
        try:
            yield
        finally:
            del self._cells[name]

    def names(self) -> tuple[str, ...]:
        """The names of all."""
        return tuple(self._cells)

    def is_exclusive(self, name: str) -> bool:
        """Whether `name` is all that refers to its value."""
        cell = self._cells.get(name)
        try:
            if cell is None:
                return False
            references = _REFERENCES + references_of_traces(cell.cell_contents)
            return sys.getrefcount(cell.cell_contents) <= references
        except ValueError:
            return True

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """The values of `names`."""
        return {name: self.get(name) for name in names}

    def update(self, values: dict[str, Any]) -> None:
        """Give the names their values."""
        for name, value in values.items():
            self.set(name, value)


def references_of_traces(value: Any) -> int:
    """The number of references to `value` that running traces have: since they have put it together, and
    since a loop that is traced once may change it."""
    count, tracer = 0, STATE.tracer
    while tracer is not None:
        count += tracer.merged_containers.holds(value)
        tracer = tracer.parent
    session = CURRENT.session
    return count + sum(each.references(value) for each in session.untraced) if session is not None else count


def is_returned(name: str) -> bool:
    """Whether `name` is that of a value which only counts where its flag is set."""
    return name.startswith(RETURNED)


def called(name: str) -> str:
    """The name of the variable `name` in messages."""
    return "the returned value" if is_returned(name) else name


@record(eq=False)
class Content:
    """A variable's value taken apart: its leaves, and its structure, which is None for a value that is no
    number, array or container of those."""

    value: Any
    leaves: list[Any]
    structure: TreeDef | None


def content_of(value: Any) -> Content:
    """`value` taken apart."""
    if type(value) in (bool, int, float, complex) or isinstance(value, Tensor):
        leaves, structure = flatten(value)
        return Content(value, leaves, structure)
    if value is None or value is UNDEFINED or isinstance(value, str) or callable(value):
        return Content(value, [], None)
    leaves, structure = flatten(value, static_strings=True)
    if not leaves or not all(isinstance(leaf, _NUMERIC) for leaf in leaves):
        return Content(value, [], None)
    return Content(value, leaves, structure)


class WrittenTensors:
    """Traced tensors that a statement writes in place, with all that share their memory."""

    def __init__(self) -> None:
        self.bases: list[Tensor] = []
        #: The value of each that the region began with.
        self.entered: list[Any] = []
        #: Variables that still have their arrays where a region ends that has written those.
        self.variables: set[str] = set()
        #: The values of snapshots in a region, with the positions of their tensors.
        self.snapshots: dict[Value, int] = {}

    def add(self, tensor: Tensor) -> None:
        """Note that the memory of `tensor` is written. Raises LoopError if that is noted already."""
        base = base_of(tensor)
        if any(base is other for other in self.bases):
            raise LoopError("two variables share the memory of an array that is written in place")
        beside = [other for other in CURRENT.session.arrays_beside(base) if STATE.tracer.owns(other._data)]
        for tensor in (base, *beside):
            if any(tensor is other for other in self.bases):
                continue
            self.bases.append(tensor)
            STATE.tracer.outdate(tensor._data)
            if not tensor.shape:
                STATE.tracer.note_array(tensor)

    def holds(self, value: Any) -> bool:
        """Whether `value` is a tensor in this memory."""
        return isinstance(value, Tensor) and any(base_of(value) is base for base in self.bases)

    def save(self) -> list[tuple[Tensor, Any, Any, bool]]:
        """The present state of the tensors, for `restore`."""
        return [
            (tensor, tensor._data, tensor._node, tensor._requires_grad)
            for base in self.bases
            for tensor in (base, *views_of(base))
        ]

    def enter(self, values: Iterable[Any]) -> None:
        """Give the tensors the `values` of a region, inside it."""
        self.entered = list(values)
        for base, value in zip(self.bases, self.entered, strict=True):
            base._data, base._node, base._requires_grad = value, None, False
            # views of the value that was there; `views_of` tells them by their data no more
            refresh_views(base)

    def is_written(self, value: Any) -> bool:
        """Whether an array in `value` lies in memory that the region has written."""
        written = [base for base, own in zip(self.bases, self.entered, strict=True) if base._data is not own]
        return bool(written) and any(
            isinstance(leaf, Tensor) and base_of(leaf) is base
            for leaf in content_of(value).leaves
            for base in written
        )

    def has_changed(self) -> bool:
        """Whether the region has written one of the tensors."""
        return any(base._data is not own for base, own in zip(self.bases, self.entered, strict=True))

    def restore(self, saved: list[tuple[Tensor, Any, Any, bool]]) -> None:
        """Restore the tensors to the `saved` state."""
        for tensor, data, node, requires_grad in saved:
            tensor._data, tensor._node, tensor._requires_grad = data, node, requires_grad

    def snapshot(self, name: str, value: Any) -> Any:
        """`value`, of the variable `name`, with the tensors that are written in place as they are now. Raises
        LoopError unless nothing runs after it that could write them."""
        content = content_of(value)
        if content.structure is None or not any(map(self.holds, content.leaves)):
            return value
        if not is_returned(name):
            raise LoopError(f"{name} becomes another name of an array that is written in place")
        leaves = []
        for leaf in content.leaves:
            if self.holds(leaf):
                leaves.append(before(leaf, keep=False))
                STATE.tracer.merged_arrays.add(leaves[-1], ())  # to the caller, it is the array
                base = base_of(leaf)
                self.snapshots[leaf._data] = next(k for k, other in enumerate(self.bases) if other is base)
            else:
                leaves.append(leaf)
        copy = content.structure.unflatten(leaves)
        for container, source in zip(containers_in(copy), containers_in(value), strict=True):
            STATE.tracer.merged_containers.add(container, (source,))
        return copy

    def check(self) -> None:
        """Raise where the tensors may not be written here."""
        for base in self.bases:
            writes_memory(base, (), "a loop")

    def write(self, results: Iterable[Tensor]) -> None:
        """Write `results` to the tensors."""
        for base, result in zip(self.bases, results, strict=True):
            replace(base, result, "a loop")


def is_traced(value: Any) -> bool:
    """Whether `value` is a tensor that is a symbol of a running trace."""
    return isinstance(value, Tensor) and isinstance(value._data, Value)


def is_integer(index: Any) -> bool:
    """Whether `index` selects one item along an axis."""
    if is_traced(index):
        return not index.shape and index.dtype.kind in "iu"
    return isinstance(index, (int, np.integer)) and not isinstance(index, bool)


def is_rank_0_array(value: Any) -> bool:
    """Whether `value` is an array of rank 0, which can be written in place, and not a scalar."""
    if isinstance(value, Tensor):
        return not value.shape and not is_scalar(value)
    return isinstance(value, np.ndarray) and not value.shape


def is_array(value: Any) -> bool:
    """Whether `value` can be written in place."""
    return isinstance(value, (Tensor, np.ndarray)) and (bool(value.shape) or is_rank_0_array(value))


def has_memory_alone(array: Any) -> bool:
    """Whether no other array has the memory of `array`, of NumPy's, but one that nothing else refers to."""
    if array.base is None:
        return True
    is_plain = type(array.base) is np.ndarray and array.base.base is None
    return is_plain and _base_references(array) <= _ONE_VIEW + references_of_traces(array.base)


def _base_references(view: Any) -> int:
    return sys.getrefcount(view.base)


#: The references to an array that has one view.
_ONE_VIEW: Final = _base_references(np.empty(2)[:1])
