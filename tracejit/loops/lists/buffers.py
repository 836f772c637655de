"""Arrays and numbers that loops write in place, of which the lists, dicts and sets are made that they change.

What is needed to make these is found by attempts to trace the loop, which end with the errors below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...array.joining import stack
from ...array.operands import constant_of, filled, given_as_scalar, run
from ...base.records import record
from ...control.carry import fitted, is_weak
from ...ir.dtypes import INT64, DType
from ...pytree import TreeDef, containers_in, flatten
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..reports import CURRENT, LoopError
from ..variables import is_array, is_traced
from .blocks import common_dtype
from .stacked_lists import item_content

#: The error of compiled code that needs more room.
NO_ROOM: Final = "ListRoomError: a list of a loop has more items than there is room for"
_NUMBERS: Final = (bool, int, float, complex)


class ChangesListError(LoopError):
    """A loop reads or changes lists for which it was not traced."""

    def __init__(self, message: str, *identities: int) -> None:
        super().__init__(message)
        #: The identities of the lists: a reference would count as another name.
        self.identities = identities


class UntypedItemsError(LoopError):
    """A loop reads an item of an empty list, before it is known what is appended."""


class ListLayoutError(LoopError):
    """A list gets an item for whose type it has no place, or loses its first one, as queues do."""

    def __init__(self, identity: int, kind: Any, *, is_queue: bool, is_guess: bool = False) -> None:
        """`kind` is the type of its items, which `is_guess` says is a guess."""
        super().__init__("it appends items of several types to a list that it reads")
        self.identity, self.kind, self.is_queue, self.is_guess = identity, kind, is_queue, is_guess


def is_searched(error: Exception) -> bool:
    """Whether a step is only searched for what it appends, so that what has ended with `error` can be left
    out."""
    is_followed = isinstance(error, (ChangesListError, ListLayoutError)) or hasattr(error, "tensor")
    return CURRENT.session.untyped_items is not None and not is_followed


@record
class ItemType:
    """The type of the items of a list: their structure, and of each leaf the dtype and whether it is a Python
    number."""

    structure: TreeDef
    leaves: tuple[tuple[DType, bool], ...]

    def joined(self, other: ItemType) -> ItemType:
        """The type of which items of both can be. Raises LoopError where there is none."""
        same = self.structure == other.structure
        dtypes = [common_dtype(pair) for pair in zip(self.leaves, other.leaves, strict=same)]
        if not same or any(dtype is None for dtype in dtypes):
            raise LoopError("it appends items of several types to a list that it reads")
        leaves = [
            (dtype, a[1] and b[1])
            for dtype, a, b in zip(dtypes, self.leaves, other.leaves, strict=True)
            if dtype is not None
        ]
        return ItemType(self.structure, tuple(leaves))


#: The type of Python's integers, and of tuples of some.
INTEGER: Final = ItemType(flatten(0)[1], ((INT64, True),))
GUESSES: Final = (INTEGER, *[ItemType(flatten((0,) * n)[1], ((INT64, True),) * n) for n in (2, 3, 4)])


def number(value: int) -> Tensor:
    """An integer that loops write in place."""
    result = filled(value, (), INT64)
    STATE.tracer.note_array(result)
    return result


def note_arrays(items: Any, arrays: list[Tensor]) -> None:
    """Note that a container of `items` has these `arrays`."""
    has_numbers = all(isinstance(leaf, _NUMBERS) for leaf in flatten(items)[0])
    CURRENT.session.note_container(arrays, has_numbers=has_numbers)


def places(room: int) -> Tensor:
    """The places of arrays that have `room` for so many items."""
    return run("iota", shape=(room,), axis=0, dtype=INT64)


def read(number: Tensor) -> Tensor:
    """The value of an integer that loops write in place, as Python's number."""
    value = given_as_scalar(run("copy", number))
    STATE.tracer.mark_weak(value._data)
    return value


def checked(place: Any, fails: Any, error: str) -> Tensor:
    """The integer `place`, which raises the `error` of compiled code where it `fails`."""
    tracer = STATE.tracer
    return wrap(tracer.checked(tracer.lift(place), tracer.lift(fails), error))


def line_of(leaves: Sequence[Any], dtype: DType) -> Any:
    """The numbers `leaves` as an array, which is a constant where none is traced."""
    if not any(map(is_traced, leaves)):
        numbers = np.array([np.asarray(leaf) for leaf in leaves])
        with np.errstate(all="ignore"):
            line = numbers.astype(dtype)
        if not np.array_equal(line, numbers, equal_nan=dtype.kind in "fc"):
            raise LoopError(f"a list that it changes has a number that is none of {dtype.name}")
        return constant_of(line)
    lift = STATE.tracer.lift
    tensors = [leaf if isinstance(leaf, Tensor) else wrap(lift(leaf)) for leaf in leaves]
    return stack([tensor if tensor.dtype is dtype else fitted(tensor, dtype) for tensor in tensors])


def untyped() -> UntypedItemsError:
    """The error of reading an item while it is not known of which type items are."""
    return UntypedItemsError("it reads items of a list that is empty before, and does not tell their type")


def leaves_of(item: Any) -> tuple[list[Any], ItemType]:
    """The leaves of an `item`, and its type. Raises LoopError where it is, or holds, what code may change
    elsewhere."""
    content, weak = item_content("a list", item, lambda leaf: is_weak(STATE.tracer, leaf))
    if any(map(is_array, content.leaves)) or any(True for _ in containers_in(item)):
        raise LoopError("it appends an array or a container to a list that it also reads")
    assert content.structure is not None
    dtypes = [leaf.dtype for leaf in content.leaves]
    return content.leaves, ItemType(content.structure, tuple(zip(dtypes, weak, strict=True)))
