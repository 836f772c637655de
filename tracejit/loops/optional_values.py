"""Variables that are None until a step of a loop gives them a value: ``best = None`` ... ``best = i``.

Such a variable is a value, zeros while there is none, and a flag that says whether there is one.
``best is None`` is the flag. What runs only where that says that there is a value gets the value itself.
Every other use is refused, and the loop is unrolled. Outside of loops, whether it is None decides a path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..array.operands import filled
from ..base.records import record
from ..ir.dtypes import BOOL, NUMBERS
from ..pytree import FIXED, flatten, register_pytree_node
from ..state import STATE
from ..tensors.tensor import Tensor
from .reports import CURRENT, LoopError
from .scalars import opposite, truth
from .variables import is_traced


class OptionalValue:
    """A traced value that is None unless `flag` is set."""

    __slots__ = ("flag", "value")

    def __init__(self, flag: Any, value: Any) -> None:
        self.flag, self.value = flag, value

    def _refuse(self, *_: Any) -> Any:
        raise LoopError("it uses a value that may be None, otherwise than by `is None` or in a comparison")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()

    __bool__ = __hash__ = __str__ = __format__ = __iter__ = __contains__ = _refuse

    def __eq__(self, other: object) -> Any:
        if not _is_scalar(self.value) or not (_is_scalar(other) or type(other) in NUMBERS):
            return self._refuse()
        return truth(self.flag) & truth(self.value == other)

    def __ne__(self, other: object) -> Any:
        return opposite(self == other)

    def is_true(self) -> Tensor:
        """Whether it is neither None nor false."""
        if not _is_scalar(self.value):
            self._refuse()
        test = truth(self.flag) & truth(self.value)
        note_presence(test, Presence(if_true=(self,)))
        return test

    def __repr__(self) -> str:
        return f"OptionalValue({self.flag!r}, {self.value!r})"


register_pytree_node(
    OptionalValue, lambda value: ((value.flag, value.value), None), lambda _, parts: OptionalValue(*parts)
)
FIXED.add(OptionalValue)


def _is_scalar(value: Any) -> bool:
    return is_traced(value) and not value.shape


def check_present(value: Any) -> None:
    """Raise LoopError where a part of `value` may be None."""
    if any(isinstance(leaf, OptionalValue) for leaf in flatten(value, is_leaf=_is_optional)[0]):
        raise LoopError("a value that may be None becomes a part of another")


def _is_optional(value: Any) -> bool:
    return isinstance(value, OptionalValue)


def as_optional(value: Any, model: OptionalValue) -> OptionalValue:
    """`value`, which may be None, where other steps have what `model` is."""
    if isinstance(value, OptionalValue):
        return value
    if value is not None:
        return OptionalValue(filled(True, (), BOOL), value)
    leaves, structure = flatten(model.value)
    zeros = [
        filled(0, leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else type(leaf)(0) for leaf in leaves
    ]
    return OptionalValue(filled(False, (), BOOL), structure.unflatten(zeros))


def decided(value: OptionalValue) -> Any:
    """`value`, or None: the running code asks which it is."""
    return value.value if bool(value.flag) else None


@record(eq=False)
class Presence:
    """Optional values that are there where a test is true, and where it is false."""

    if_true: tuple[OptionalValue, ...] = ()
    if_false: tuple[OptionalValue, ...] = ()


_NOTHING: Final = Presence()


def presence(test: Any) -> Presence:
    """The optional values that are there by the outcome of `test`."""
    return CURRENT.session.presences.get(test._data, _NOTHING) if is_traced(test) else _NOTHING


def note_presence(test: Any, known: Presence) -> Any:
    """`test`, whose outcome tells which optional values are there."""
    if is_traced(test) and (known.if_true or known.if_false):
        CURRENT.session.presences[test._data] = known
    return test


def is_same_object(value: Any, other: Any, *, negated: bool) -> Any:
    """``value is other``, or where `negated` ``value is not other``; traced for a value that may be None."""
    optional, rest = (value, other) if isinstance(value, OptionalValue) else (other, value)
    for known, test in ((value, other), (other, value)):
        if type(known) is bool and _is_scalar(test) and test.dtype is BOOL and STATE.tracer.is_region:
            raise LoopError(f"it asks whether a traced truth value is {known}, which one of NumPy's is not")
    if not isinstance(optional, OptionalValue):
        return (value is other) != negated
    if rest is not None:
        raise LoopError("it compares a value that may be None with another object")
    flag = optional.flag
    if not is_traced(flag):
        return bool(flag) == negated
    if negated:
        return note_presence(truth(flag), Presence(if_true=(optional,)))
    return note_presence(opposite(flag), Presence(if_false=(optional,)))


def with_values(function: Callable[[], Any] | None, present: Sequence[OptionalValue]) -> Any:
    """`function`, to whose variables the values that are `present` are no optional ones."""
    if function is None or not present:
        return function

    def run() -> Any:
        changed = []
        for cell in getattr(function, "__closure__", None) or ():
            try:
                before = cell.cell_contents
            except ValueError:  # it has none
                continue
            if any(before is optional for optional in present):
                cell.cell_contents = before.value
                changed.append((cell, before))
        try:
            return function()
        finally:
            for cell, before in changed:
                if cell.cell_contents is before.value:
                    cell.cell_contents = before

    return run
