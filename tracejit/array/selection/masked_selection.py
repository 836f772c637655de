"""``x[mask]`` under a trace: the elements that a mask selects, whose number is not known.

A `Selection` is the whole array and the mask. What is computed of each element is computed of all of them,
reductions leave out the others, and a write through the same mask chooses. Elements that are not selected are
1, and so are, in their places, those of traced arrays that meet a selection: what is computed there, and its
gradient, reaches nothing. Where the number itself is needed there is an error. `masked_calls` has functions
of selections.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import numpy as np

from ...arguments.errors import SelectionError
from ...eager.dispatch import apply
from ...eager.tensor import Tensor, wrap
from ...ir.dtypes import BOOL, INT64, DType, is_inexact, result_type
from ...ir.errors import DTypeError
from ...ir.graph import Instruction, Value
from ...ir.registry import Attrs, Kind, Op
from ...location import user_location
from ...state import STATE
from ..indexing.access import view_of, written_at
from ..indexing.keys import KeyPlan, refuse_masks
from ..methods import binding
from ..operands import SCALARS, as_tensor, assigned, broadcast, cast, filled, kind_of, reshaped, run

_ALL: Final = slice(None)


class _SelectedShape(tuple[Any, ...]):
    """The shape of a selection, in which a traced number stands."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        raise refused("comparing the shape of x[mask]")

    __ne__ = __eq__


class Selection:
    """The elements of `padded` for which `mask` holds, over axes `first` and on; they are one axis."""

    __slots__ = ("_first", "_mask", "_padded", "_place")
    __array_priority__ = 2000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, mask: Tensor, first: int, padded: Tensor, place: int | None = None) -> None:
        self._mask, self._first, self._padded = mask, first, padded
        #: Of indices that ``nonzero`` gives, their axis.
        self._place = place

    @property
    def _after(self) -> int:
        """How many axes there are behind that of the elements."""
        return self._padded.ndim - self._first - self._mask.ndim

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._padded.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._first + 1 + self._after

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the dimensions, of which that of the selected elements is traced."""
        sizes = self._padded.shape
        count = counted(self._mask)
        return _SelectedShape((*sizes[: self._first], count, *sizes[self._padded.ndim - self._after :]))

    @property
    def size(self) -> Any:
        """The number of elements, which is traced."""
        count, *others = sorted(self.shape, key=lambda size: isinstance(size, int))
        for size in others:
            count = count * size
        return count

    def __len__(self) -> int:
        raise refused("len(x[mask])", "x[mask].size, or np.count_nonzero(mask)")

    def __iter__(self) -> Iterator[Any]:
        raise refused("iterating over x[mask]")

    def __bool__(self) -> bool:
        raise refused("bool(x[mask])", "x[mask].any(), x[mask].all(), or x[mask].size > 0")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise refused("this use of x[mask]")

    def __repr__(self) -> str:
        return f"tensor(<traced {self.dtype.name}, selected by {self._mask.type}>)"

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(Tensor, name)
        if isinstance(attribute, property) and attribute.fget is not None:
            return attribute.fget(self)
        if name.startswith("_") or not callable(attribute):
            raise AttributeError(name)
        return lambda *arguments, **options: attribute(self, *arguments, **options)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Selection) and key.dtype is BOOL:
            return self._within(key)
        padded_key, first = self._padded_key(key)
        if first is None:
            return import_module(".masked_calls", __package__).element(self, key)
        return Selection(self._mask, first, run("copy", self._padded[padded_key]))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Selection) and key.dtype is BOOL:
            part = self._within(key)
            chosen = reshaped(part._mask, part._mask.shape + (1,) * part._after)
            self._padded = run("where", chosen, part.written(value, self.dtype), self._padded)
            return
        padded_key, first = self._padded_key(key)
        if first is None:
            raise refused("writing one element of x[mask]")
        new = Selection(self._mask, first, self._padded[padded_key]).written(value, self.dtype)
        self._padded = written_at("setitem", self._padded, padded_key, new)

    def _within(self, key: Selection) -> Selection:
        """The elements for which `key`, of as many bools, holds as well."""
        if not is_same(self._mask, key._mask) or key.ndim != 1 or self._first:
            raise refused("x[mask][key] with a key that is not made of x[mask]")
        mask = run("logical_and", self._mask, key._padded)
        return Selection(mask, 0, guarded(self._padded, mask, self._after))

    def _padded_key(self, key: Any) -> tuple[tuple[Any, ...], int | None]:
        """`key` for the whole array, and the place of the selected elements' axis in what it gives; None for
        one that is a number there."""
        entries = list(key) if isinstance(key, tuple) else [key]
        missing = self.ndim - sum(entry is not None and entry is not Ellipsis for entry in entries)
        if not any(entry is Ellipsis for entry in entries):
            entries.append(Ellipsis)
        dots = next(place for place, entry in enumerate(entries) if entry is Ellipsis)
        entries[dots : dots + 1] = [_ALL] * missing
        padded: list[Any] = []
        axis = before = numbers = arrays = 0
        first = None
        for entry in entries:
            if entry is not None and axis == self._first:
                if isinstance(entry, (int, np.integer, Tensor)) and np.ndim(entry) == 0:
                    return (), None
                if not (isinstance(entry, slice) and entry == _ALL):
                    raise refused("x[mask][key] with a key for the elements that the mask selects")
                first = before
                padded += [_ALL] * self._mask.ndim
            else:
                padded.append(entry)
                is_slice = entry is None or isinstance(entry, slice)
                before += is_slice
                numbers += isinstance(entry, int)
                arrays += not is_slice and not isinstance(entry, int)
                if arrays and (arrays > 1 or numbers or first is None):
                    raise refused("x[mask][key] with index arrays beside other indices")
            axis += entry is not None
        return tuple(padded), first

    def written(self, value: Any, dtype: DType) -> Tensor:
        """`value` as what is written over these elements, of the whole array."""
        (_, new), (_, after) = aligned((self, value))
        if after != self._after:
            raise refused("a value of other axes for x[mask]")
        new = filled(new, (), dtype) if type(new) in SCALARS else assigned(new, dtype)
        return broadcast(new, self._padded.shape)

    def refuse(self, asked: str) -> NoReturn:
        """Raise the error for `asked`, which needs to know how many elements there are."""
        raise refused(asked)

    def apply_selected(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Selection:
        """`op`, whose operands this is among."""
        if not is_elementwise(op):
            raise refused(op.name)
        padded, frame = aligned(operands)
        return of_frame(frame, apply(op, padded, attrs))


#: A mask, and how many axes there are behind the selected elements'.
Frame = tuple[Tensor, int]


def is_elementwise(op: Op) -> bool:
    """Whether each element of the result of `op` is computed of the operands' elements at its place."""
    return op.kind is Kind.ELEMENTWISE or op.name in _OF_EACH


_OF_EACH: Final = ("copy", "imag", "real", "stop_gradient")


def of_frame(frame: Frame, padded: Tensor) -> Selection:
    """The elements of `padded`, whose last axes are those of `frame`, that are selected."""
    mask, after = frame
    return Selection(mask, padded.ndim - after - mask.ndim, padded)


_INSTEAD: Final = "tj.where(mask, x, other), or x[tj.nonzero(mask, size=n)] with the number n of elements"


def refused(asked: str, instead: str = _INSTEAD) -> SelectionError:
    """The error for `asked`, which needs to know how many elements there are."""
    where = user_location()
    place = f", at {where.file}:{where.line}" if where else ""
    return SelectionError(
        f"{asked} needs the number of elements that the mask selects, which depends on values, and these are "
        f"traced{place}. Elementwise functions of x[mask], y[mask] and numbers, their sums, means and other "
        f"reductions, and y[mask] = ... with the same mask are compiled. Use {instead}."
    )


def counted(mask: Tensor) -> Tensor:
    """How many elements of `mask` are true, as a Python integer that is traced."""
    count = run("sum", cast(mask, INT64), axes=tuple(range(mask.ndim))) if mask.ndim else cast(mask, INT64)
    STATE.tracer.mark_weak(count._data)
    return count


def guarded(x: Tensor, mask: Tensor, after: int) -> Tensor:
    """`x`, with 1 for what `mask`, which has `after` axes of `x` behind it, leaves out."""
    if x.dtype is BOOL:
        return run("copy", x)
    chosen = reshaped(mask, mask.shape + (1,) * after)
    return run("where", chosen, x, filled(1, (), x.dtype))


def selected(x: Tensor, plan: KeyPlan) -> Selection:
    """``x[key]``, of whose `plan` a traced mask is a part."""
    (mask, *others) = plan.masks
    if others or plan.indices or plan.place != mask.first or STATE.tracer is None:
        refuse_masks("getitem: a traced mask beside other index arrays", plan)
    view = view_of(x, plan)
    fixed = wrap(STATE.tracer.lift(mask.tensor))  # which stays as it is when the user writes to the mask
    return Selection(fixed, mask.first, guarded(view, fixed, view.ndim - mask.first - fixed.ndim))


def selected_value(value: Selection, mask: Tensor, after: int) -> Tensor:
    """`value` as what is written to ``x[mask]``, of the whole array, which has `after` axes behind it."""
    if not is_same(value._mask, mask) or value._after != after:
        raise refused("writing what one mask selects through another one")
    return value._padded


def aligned(values: Sequence[Any]) -> tuple[list[Any], Frame]:
    """`values`, among them selections, as arrays whose axes match, and what is selected of a result."""
    selections = [value for value in values if isinstance(value, Selection)]
    mask, after = selections[0]._mask, selections[0]._after
    for other in selections[1:]:
        if not is_same(mask, other._mask):
            raise refused("what two masks select, in one operation,")
        if other._after != after:
            raise refused("broadcasting selected elements along each other")
    kinds: list[Any] = [value.dtype if isinstance(value, Selection) else None for value in values]
    return [
        value._padded if isinstance(value, Selection) else _beside(value, mask, after, kinds)
        for value in values
    ], (mask, after)


def _beside(value: Any, mask: Tensor, after: int, kinds: list[Any]) -> Any:
    """`value`, which is no selection, as it meets selections of `kinds` by `mask`."""
    if value is None or type(value) in SCALARS:
        return value
    x = as_tensor(value)
    place = x.ndim - 1 - after
    if place >= 0:
        if x.shape[place] != 1:
            raise refused(f"an array of shape {x.shape} beside x[mask]")
        x = reshaped(x, x.shape[:place] + (1,) * mask.ndim + x.shape[place + 1 :])
    lifted = STATE.tracer.lift(x)
    if not is_inexact(x.dtype) or STATE.tracer.is_constant(lifted):
        return x
    weak = kind_of(x)
    if isinstance(weak, type):  # a number, which would lose that
        x = cast(x, result_type(weak, *[kind for kind in kinds if kind is not None]))
    return guarded(x, mask, after)


def is_same(mask: Tensor, other: Tensor) -> bool:
    """Whether two masks have been computed in the same way of the same values."""
    tracer = STATE.tracer
    bodies = []
    while tracer is not None:
        bodies.append(reversed(tracer.body))
        tracer = tracer.parent
    return _is_same(mask._data, other._data, itertools.chain(*bodies), {})


def _is_same(
    value: Value, other: Value, body: Iterator[Instruction], producers: dict[Value, Instruction]
) -> bool:
    if value is other:
        return True
    if value.type != other.type:
        return False
    for wanted in (value, other):
        while wanted not in producers:
            instruction = next(body, None)
            if instruction is None:
                return False
            producers.update(dict.fromkeys(instruction.results, instruction))
    first, second = producers[value], producers[other]
    return (
        first.op is second.op
        and first.attrs == second.attrs
        and len(first.results) == 1
        and not first.regions
        and first.op.kind is not Kind.HOST
        and len(first.operands) == len(second.operands)
        and all(
            _is_same(*pair, body, producers) for pair in zip(first.operands, second.operands, strict=True)
        )
    )


def places(x: Tensor) -> tuple[Selection, ...]:
    """The indices of the elements of `x` that are not zero, along each axis."""
    mask = wrap(STATE.tracer.lift(cast(x, BOOL)))
    return tuple(
        Selection(mask, 0, run("iota", shape=x.shape, axis=axis, dtype=INT64), axis) for axis in range(x.ndim)
    )


def _in_place(operator: Callable[[Any, Any], Any]) -> Callable[[Selection, Any], Selection]:
    def call(self: Selection, other: Any) -> Selection:
        result = operator(self, other)
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise DTypeError(f"{result.dtype.name} does not fit x[mask] in place, of dtype {self.dtype.name}")
        self._padded = broadcast(cast(result._padded, self.dtype), self._padded.shape)
        self._place = None
        return self

    return call


def _bind() -> None:
    """Let the operators of Tensor be those of selections."""
    for name in binding.OPERATORS:
        for operator in (f"__{name}__", f"__r{name}__"):
            setattr(Selection, operator, getattr(Tensor, operator))
        setattr(Selection, f"__i{name}__", _in_place(getattr(Tensor, f"__{name}__")))
    for name in binding.METHODS:
        if name.startswith("__") and name not in vars(Selection):
            setattr(Selection, name, getattr(Tensor, name))
    for name in ("__array_ufunc__", "__array_function__"):
        setattr(Selection, name, getattr(Tensor, name))


_bind()
