"""``x[mask]`` under a trace: the elements that a mask selects, whose number is not known.

A `Selection` is the whole array and the mask. What is computed of each element is computed of all of them,
reductions leave out the others, and a write through the same mask chooses. Elements that are not selected are
1, and so are, in their places, those of traced arrays that meet a selection: what is computed there, and its
gradient, reaches nothing. Where the number itself is needed there is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import MethodType
from typing import Any, Final

import numpy as np

from ...arguments.errors import SelectionError
from ...base.errors import DTypeError
from ...dispatch.dispatch import apply
from ...ir.dtypes import BOOL, INT64, DType, is_inexact, result_type
from ...ir.registry import Attrs, Kind, Op
from ...location import user_location
from ...provided import MASKED_CALLS, TRACED_SLICES
from ...pytree import register_pytree_node
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ...tensors.texts import shown
from ..indexing.access import FOLDS, view_of, written_at
from ..indexing.keys import KeyPlan
from ..methods import binding
from ..operands import SCALARS, as_tensor, assigned, broadcast, cast, choice, filled, kind_of, reshaped, run
from .each import Computed, Each, node_of
from .masks import is_same, symbol_of
from .sized import unique

_ALL: Final = slice(None)
#: Ops beside those of that kind that compute each element of the elements in its place.
#: Methods that write what they are called on.
_IN_PLACE: Final = ("partition", "put", "sort")
_SAME: Final = ("candidate", "copy", "real", "safe_candidate", "stop_gradient")
_OF_EACH: Final = ("candidate", "copy", "imag", "real", "safe_candidate", "stop_gradient")


class _SelectedShape(tuple[Any, ...]):
    """The shape of a selection, with a traced number in it."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        raise refused()

    __ne__ = __eq__


register_pytree_node(_SelectedShape, lambda shape: (shape, None), lambda _, sizes: tuple(sizes))


class Selection:
    """The elements of `whole` for which `mask` holds, over axes `first` and on; they are one axis.

    Of indices that ``nonzero`` gives, `place` is their axis."""

    __slots__ = ("_each", "_first", "_mask", "_place", "_whole")
    __hash__ = None  # type: ignore[assignment]
    #: Whether it shares memory with an array in NumPy.
    is_view = False

    def __init__(self, mask: Tensor, first: int, whole: Tensor, place: int | None = None) -> None:
        self._mask, self._first, self._whole, self._place = mask, first, whole, place
        self._each: Each | None = None

    @property
    def _after(self) -> int:
        """Number of axes behind that of the elements."""
        return self._whole.ndim - self._first - self._mask.ndim

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._whole.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._first + 1 + self._after

    @property
    def shape(self) -> Any:
        """The sizes of the dimensions, of which that of the elements is traced, as Python's integers are."""
        mask, sizes = cast(self._mask, INT64), self._whole.shape
        count = run("sum", mask, axes=tuple(range(mask.ndim))) if mask.ndim else mask
        STATE.tracer.mark_weak(count._data)
        return _SelectedShape((*sizes[: self._first], count, *sizes[self._first + mask.ndim :]))

    @property
    def size(self) -> Any:
        """The number of elements, which is traced."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        raise refused("len(x[mask])", "x[mask].size, or np.count_nonzero(mask)")

    def __iter__(self) -> Iterator[Any]:
        raise refused()

    def __bool__(self) -> bool:
        raise refused("bool(x[mask])", "x[mask].any(), x[mask].all(), or x[mask].size > 0")

    def __array__(self, dtype: Any = None, copy: Any = None, asked: str = "") -> Any:
        raise refused(asked)

    def item(self) -> Any:
        """Raise: there may be another number of elements than one."""
        raise refused("item()", "x[mask][0]")

    def tolist(self) -> Any:
        """Raise: how long the list would be is not known."""
        raise refused("tolist()")

    def __repr__(self) -> str:
        return f"tensor(<traced {self.dtype.name}, selected by {self._mask.type}>)"

    def __str__(self) -> str:
        return shown("str(x[mask])", repr(self))

    def __format__(self, spec: str) -> str:
        return shown("format(x[mask])", repr(self))

    def __getattr__(self, name: str) -> Any:
        if name in _IN_PLACE or (self.is_view and name.endswith("_") and not name.startswith("_")):
            raise refused(f"x[mask].{name}()", "a function that gives a new array, as np.sort(x[mask])")
        attribute = getattr(Tensor, name)
        if isinstance(attribute, property):
            return attribute.fget(self)  # type: ignore[misc]
        if name.startswith("_"):
            raise AttributeError(name)
        return MethodType(attribute, self)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Selection) and key.dtype is BOOL:
            return self._within(key)
        entries, place = self._entries(key)
        part = entries[place]
        if isinstance(part, slice) and part != _ALL:
            entries[place] = _ALL
            return MASKED_CALLS().sliced(self, part)[tuple(entries)]
        whole, first = self._whole_key(key)
        if first is None:
            return MASKED_CALLS().element(self, key)
        return read_alone(self, Selection(self._mask, first, run("copy", self._whole[whole])))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Selection) and key.dtype is BOOL:
            part = self._within(key)
            self._take(choice(part.chosen(), part.written(value, self.dtype), self._whole))
            return
        whole, first = self._whole_key(key)
        if first is None:
            raise refused()
        new = Selection(self._mask, first, self._whole[whole]).written(value, self.dtype)
        self._take(written_at("setitem", self._whole, whole, new))

    def _take(self, whole: Tensor) -> None:
        """Let the elements be those of `whole` from now on."""
        self._whole, self._each, self._place = whole, None, None

    def _within(self, key: Selection) -> Selection:
        """The elements for which `key`, of as many bools, holds as well."""
        if not is_same(self._mask, key._mask) or key.ndim != 1 or self._first:
            raise refused()
        return Selection(run("logical_and", self._mask, key._whole), 0, self._whole).padded()

    def _entries(self, key: Any) -> tuple[list[Any], int]:
        """`key` with an entry for each axis, and which of them is for that of the elements."""
        entries = list(key) if isinstance(key, tuple) else [key]
        missing = self.ndim - sum(entry is not None and entry is not Ellipsis for entry in entries)
        dots = [place for place, entry in enumerate(entries) if entry is Ellipsis] or [len(entries)]
        entries[dots[0] : dots[0] + 1] = [_ALL] * missing
        return entries, [place for place, entry in enumerate(entries) if entry is not None][self._first]

    def _whole_key(self, key: Any) -> tuple[tuple[Any, ...], int | None]:
        """`key` for the whole array, and the place of the elements' axis in what it gives; None where it has
        a number for that."""
        entries, place = self._entries(key)
        slices = [entry is None or isinstance(entry, slice) for entry in entries]
        if not slices[place] and np.ndim(entries[place]) == 0:
            return (), None
        if not slices[place] or entries[place] != _ALL:
            raise refused()
        if any(np.ndim(entry) for entry in entries) and (place or sum(slices) < len(slices) - 1):
            raise refused()  # index arrays, whose axes may go elsewhere
        entries[place : place + 1] = [_ALL] * self._mask.ndim
        return tuple(entries), sum(slices[:place])

    def chosen(self) -> Tensor:
        """The mask, with axes of size 1 for those behind it."""
        return reshaped(self._mask, self._mask.shape + (1,) * self._after)

    def padded(self) -> Selection:
        """This selection, with 1 in place of the elements that are not selected."""
        x = self._whole
        if x.dtype is BOOL:
            whole = run("copy", x)
        else:
            whole = choice(self.chosen(), x, filled(1, (), x.dtype))
        return Selection(self._mask, self._first, whole)

    def overwritten(self, value: Any) -> Selection:
        """This selection, with the elements of `value` written over its own."""
        self._take(broadcast(value._whole, self._whole.shape))
        return self

    def written(self, value: Any, dtype: DType) -> Tensor:
        """`value` as what is written over these elements, of the whole array."""
        (_, new), _ = aligned((self, value), pads=False)
        new = filled(new, (), dtype) if type(new) in SCALARS else assigned(new, dtype)
        while new.ndim > self._whole.ndim and new.shape[0] == 1:
            new = reshaped(new, new.shape[1:])
        return broadcast(new, self._whole.shape)

    def apply_selected(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Selection:
        """`op`, whose operands this is among."""
        if not is_elementwise(op):
            raise refused(f"{op.name} of x[mask]")
        whole, frame = aligned(operands)
        result = of_frame(frame, apply(op, whole, attrs))
        result._each = computed_each(op, operands, attrs)
        return result if op.name not in _SAME else read_alone(self, result)


class _ReadAlone(Selection):
    """Elements that are a view in NumPy, and a copy here, so that they may not be written."""

    __slots__ = ("_elements", "_symbol", "_values", "base")
    __hash__ = None
    is_view = True

    def __init__(self, x: Selection, base: Tensor) -> None:
        """The elements of `x`, which share memory with `base` in NumPy."""
        self._mask, self._first, self._place = x._mask, x._first, x._place
        self._values, self._elements, self.base, self._symbol = x._whole, x._each, base, base._data

    def _unchanged(self) -> None:
        if self.base._data is not self._symbol:
            raise refused("reading a view of x[i:j] after x was written")

    @property
    def _whole(self) -> Tensor:  # type: ignore[override]
        self._unchanged()
        return self._values

    @property
    def _each(self) -> Each | None:  # type: ignore[override]
        self._unchanged()
        return self._elements

    def _take(self, whole: Tensor) -> None:
        raise refused("writing through this view of x[i:j]")


def read_alone(x: Any, result: Any) -> Any:
    """`result`, which may be a view of `x` in NumPy: where that is a view, a selection that may not be
    written."""
    if not isinstance(result, Selection) or not x.is_view or result.is_view:
        return result
    return _ReadAlone(result, x.base)


def computed_each(op: Op, operands: Sequence[Any], attrs: Attrs) -> Each | None:
    """`op` of the elements of `operands` by their places; None where they are not known by these."""
    nodes, counts = [], []
    for operand in operands:
        each = operand._each if isinstance(operand, Selection) else None
        if isinstance(operand, Selection) and each is None:
            return None
        node = node_of(operand) if each is None else each.node
        if node is None:
            return None
        nodes.append(node)
        counts += [] if each is None else [each.count]
    return Each(Computed(op, tuple(nodes), attrs), TRACED_SLICES().common(counts))


def is_elementwise(op: Op) -> bool:
    """Whether each element of the result of `op` is computed of the operands' elements in its place."""
    return op.kind is Kind.ELEMENTWISE or op.name in _OF_EACH


#: A mask, and how many axes there are behind the selected elements'.
Frame = tuple[Tensor, int]


def of_frame(frame: Frame, whole: Tensor) -> Selection:
    """The elements of `whole`, whose last axes are those of `frame`, that are selected."""
    mask, after = frame
    return Selection(mask, whole.ndim - after - mask.ndim, whole)


_INSTEAD: Final = (
    "tj.where(mask, x, other), or x[tj.nonzero(mask, size=n)] with the number n of elements, or "
    "x[np.nonzero(mask)] where the mask is a NumPy array that stays as it is"
)


def refused(asked: str = "", instead: str = _INSTEAD) -> SelectionError:
    """The error for `asked`, or for what the user's line does, which needs the number of elements."""
    where = user_location()
    place = f", at {where.file}:{where.line}" if where else ""
    return SelectionError(
        f"{asked or 'this use of x[mask]'} needs the number of elements that the mask selects, which depends "
        f"on values, and these are traced{place}. Elementwise functions of x[mask], y[mask] and numbers, "
        f"sums, means and other reductions, and y[mask] = ... with the same mask are compiled. Use {instead}."
    )


def _selection(view: Tensor, plan: KeyPlan, name: str, value: Any) -> Selection:
    """The selection of `view` by `plan`, which contains a traced mask, for reading or for writing `value`."""
    (mask, *others) = plan.masks
    moved = plan.place != mask.first and np.ndim(value) > 0
    if others or plan.indices or moved or STATE.tracer is None:
        raise refused(f"{name}: a traced mask beside other indices")
    fixed = wrap(symbol_of(mask.tensor))  # which stays as it is when the user writes to the mask
    return Selection(fixed, mask.first, view)


def selected(x: Tensor, plan: KeyPlan) -> Selection:
    """``x[key]``, of whose `plan` a traced mask is a part."""
    view = view_of(x, plan)
    return _selection(view, plan, "getitem", view).padded()


def written_through(view: Tensor, plan: KeyPlan, value: Any, mode: str, name: str) -> Tensor:
    """`view` with `value` set or folded in where a mask of `plan` holds."""
    part = _selection(view, plan, name, value)
    new = part.written(value, view.dtype)
    return choice(part.chosen(), new if mode == "set" else run(FOLDS[mode], view, new), view)


def aligned(values: Sequence[Any], *, pads: bool = True) -> tuple[list[Any], Frame]:
    """`values`, among them selections, as arrays whose axes match, and what is selected of a result. With
    `pads`, traced arrays are 1 where nothing is selected."""
    first, *others = [value for value in values if isinstance(value, Selection)]
    for other in others:
        if other._after != first._after:
            raise refused()
    dtypes = [first.dtype, *[other.dtype for other in others]]
    return [
        at_places(value, first._mask)._whole
        if isinstance(value, Selection)
        else _beside(value, first, dtypes, pads)
        for value in values
    ], (first._mask, first._after)


def at_places(x: Selection, mask: Tensor) -> Selection:
    """The elements of `x` in the places that `mask` selects."""
    if is_same(x._mask, mask):
        return x
    other: Selection | None = TRACED_SLICES().moved(x, mask)
    if other is None:
        raise refused("an operation on what two masks select")
    return other


def _beside(value: Any, selection: Selection, dtypes: list[DType], pads: bool) -> Any:
    """`value`, which is no selection, as it meets some of `dtypes`."""
    if value is None or type(value) in SCALARS:
        return value
    x, mask, after = as_tensor(value), selection._mask, selection._after
    place = x.ndim - 1 - after
    if place >= 0:
        if x.shape[place] != 1:
            raise refused(f"an array of shape {x.shape} beside x[mask]")
        x = reshaped(x, x.shape[:place] + (1,) * mask.ndim + x.shape[place + 1 :])
    if not pads or not is_inexact(x.dtype) or STATE.tracer.is_constant(STATE.tracer.lift(x)):
        return x
    weak = kind_of(x)
    if isinstance(weak, type):  # a number, which would lose that
        x = cast(x, result_type(weak, *dtypes))
    return (
        of_frame((mask, after), broadcast(x, (1,) * (mask.ndim + after - x.ndim) + x.shape)).padded()._whole
    )


def places(x: Tensor) -> tuple[Selection, ...]:
    """The indices of the elements of `x` that are not zero, along each axis."""
    mask = wrap(symbol_of(cast(x, BOOL)))
    iotas = [run("iota", shape=x.shape, axis=axis, dtype=INT64) for axis in range(x.ndim)]
    return tuple(Selection(mask, 0, iota, axis) for axis, iota in enumerate(iotas))


def rows_of_places(x: Tensor) -> Selection:
    """The indices of the elements of `x` that are not zero, one row each."""
    mask = wrap(symbol_of(cast(x, BOOL)))
    columns = [run("iota", shape=(*x.shape, 1), axis=axis, dtype=INT64) for axis in range(x.ndim)]
    return Selection(mask, 0, run("concat", *columns, axis=x.ndim))


def distinct(x: Tensor, axis: int | None, equal_nan: bool) -> tuple[Any, ...]:
    """The distinct elements of the traced `x`, or slices along `axis`, in ascending order; the indices of
    their first occurrences; the indices that make `x` of them again, which are a Tensor; and their counts."""
    place = 0 if axis is None else axis
    extent = x.size if axis is None else x.shape[axis]
    values, indices, inverse, counts = unique("unique", x, axis, extent, None, equal_nan=equal_nan)
    there = run("gt", counts, 0)
    return (
        Selection(there, place, values).padded(),
        Selection(there, 0, indices),
        inverse,
        Selection(there, 0, counts),
    )


def _in_place(operator: Callable[[Any, Any], Any]) -> Callable[[Selection, Any], Selection]:
    def call(self: Selection, other: Any) -> Selection:
        result = operator(self, other)
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise DTypeError(f"{result.dtype.name} does not fit x[mask] in place, of dtype {self.dtype.name}")
        return self.overwritten(
            run("cast", result, dtype=self.dtype) if result.dtype is not self.dtype else result
        )

    return call


setattr(Selection, "__contains__", Tensor.__contains__)  # noqa: B010 - as those below
for _name in binding.OPERATORS:
    for _operator in (f"__{_name}__", f"__r{_name}__"):
        setattr(Selection, _operator, getattr(Tensor, _operator))
    setattr(Selection, f"__i{_name}__", _in_place(getattr(Tensor, f"__{_name}__")))
for _name in (*binding.METHODS, *binding.COMPARISONS, "__array_ufunc__", "__array_function__"):
    if _name.startswith("__") and _name not in vars(Selection):
        setattr(Selection, _name, getattr(Tensor, _name))
