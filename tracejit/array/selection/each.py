"""Loops along the elements of slices between traced ends.

The mask of a slice has the size of the whole axis, and so has the work of computing with it. Sums, products
of two lines and writes do no more than the slice needs: each element is computed at its place, in a loop.
Arrays of the mask's size that nothing reads then are never computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ...base.records import record
from ...dispatch.dispatch import apply
from ...ir.dtypes import BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, DType
from ...ir.registry import Attrs, Op
from ...provided import FORI_LOOP
from ...tensors.tensor import Tensor, wrap
from ..indexing.access import getitem, written_at
from ..indexing.parts import frozen, key_of_whole
from ..operands import SCALARS, as_tensor, cast, filled, run


@record(eq=False)
class Read:
    """The element of `source` at `key`, with the place from `start` on as entry `axis` of it."""

    source: Tensor
    key: tuple[Any, ...]
    axis: int
    start: Any

    def key_at(self, place: Tensor) -> tuple[Any, ...]:
        """The key of the element at `place`."""
        index = place if self.start is None else run("add", place, self.start)
        return (*self.key[: self.axis], index, *self.key[self.axis + 1 :])

    def is_at(self, other: Read) -> bool:
        """Whether both read, or write, the same element at each place."""
        pairs = [(self.start, other.start), *zip(self.key, other.key, strict=False)]
        return (
            self.source._data is other.source._data
            and (self.axis, len(self.key)) == (other.axis, len(other.key))
            and all(first is second or _is_one(first, second) for first, second in pairs)
        )


@record(eq=False)
class Gathered:
    """The element, or row, of `source` at an index that is computed at the place."""

    source: Tensor
    index: Node


@record(eq=False)
class Computed:
    """An elementwise op of what is at the place."""

    op: Op
    operands: tuple[Node, ...]
    attrs: Attrs


@record(eq=False)
class FromTheEnd:
    """The places before `count` in their reverse order."""

    node: Node
    count: Any


#: A number is the same at every place.
Node: TypeAlias = "Read | Gathered | Computed | FromTheEnd | Tensor | int | float | complex | bool"


@record(eq=False)
class Each:
    """`node` at the places before `count`."""

    node: Node
    count: Any


def _is_one(first: Any, second: Any) -> bool:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first._data is second._data
    return type(first) is type(second) and not isinstance(first, Tensor) and bool(first == second)


def read_of(x: Tensor, key: tuple[Any, ...], start: Any) -> Read | None:
    """The elements of the line ``x[key]``, in which one entry is a slice, that goes from `start` on. None
    where it is no line."""
    whole = key_of_whole(x, key)
    if whole is not None:
        x, key, _ = whole
    axes = [axis for axis, entry in enumerate(key) if isinstance(entry, slice)]
    if len(axes) != 1 or len(key) != x.ndim:
        return None
    (axis,) = axes
    return Read(wrap(x._data), frozen((*key[:axis], None, *key[axis + 1 :])), axis, start)


def node_of(value: Any) -> Node | None:
    """An operand beside slices: a number; None for an array."""
    if type(value) in SCALARS:
        return value  # type: ignore[no-any-return]
    return value if isinstance(value, Tensor) and not value.shape else None


def at(node: Node, place: Tensor, instead: Mapping[int, Any]) -> Any:
    """The value of `node` at `place`; nodes that `instead` has by identity are what it has."""
    if id(node) in instead:
        return instead[id(node)]
    if isinstance(node, Read):
        return getitem(node.source, node.key_at(place))
    if isinstance(node, Gathered):
        return getitem(node.source, at(node.index, place, instead))
    if isinstance(node, FromTheEnd):
        return at(node.node, run("sub", run("sub", node.count, 1), place), instead)
    if isinstance(node, Computed):
        return apply(node.op, tuple([at(operand, place, instead) for operand in node.operands]), node.attrs)
    return node


def _along(count: Any, body: Callable[[Any, Any], Any], first: Any) -> Any:
    return FORI_LOOP()(0, as_tensor(count), body, first)


_WIDE: Final = {FLOAT16: FLOAT64, FLOAT32: FLOAT64, COMPLEX64: COMPLEX128}
#: The op by which a reduction takes in one element more, and what it begins with.
_FOLDS: Final[dict[str, tuple[str, Any]]] = {
    "all": ("logical_and", True),
    "any": ("logical_or", False),
    "max": ("maximum", None),
    "amax": ("maximum", None),
    "min": ("minimum", None),
    "amin": ("minimum", None),
    "prod": ("mul", 1),
    "sum": ("add", 0),
}


def folded(name: str, each: Each, dtype: DType, extreme: Any) -> Tensor | None:
    """The reduction `name`, of the result `dtype`, of the elements; None where there is no such. An extremum
    of nothing is `extreme`. Sums have twice the digits while they are added up, but those of float64."""
    wide = _WIDE.get(dtype, dtype)
    if name == "mean":
        total = folded("sum", each, wide, None)
        return cast(run("div", total, cast(as_tensor(each.count), wide)), dtype)
    if name not in _FOLDS:
        return None
    op, first = _FOLDS[name]
    inner = wide if name == "sum" else dtype
    start = filled(extreme if first is None else first, (), inner)

    def step(place: Tensor, total: Tensor) -> Tensor:
        element = as_tensor(at(each.node, place, {}))
        is_truth = inner is BOOL and element.dtype is not BOOL
        return run(op, total, run("ne", element, 0) if is_truth else cast(element, inner))

    result: Tensor = _along(each.count, step, start)
    return cast(result, dtype)


def _reads(node: Node) -> list[Read | Gathered | FromTheEnd]:
    if isinstance(node, Computed):
        return [read for operand in node.operands for read in _reads(operand)]
    if isinstance(node, Gathered):
        return [node, *_reads(node.index)]
    if isinstance(node, FromTheEnd):
        return [node, *_reads(node.node)]
    return [node] if isinstance(node, Read) else []


def written(target: Read, each: Each) -> Tensor:
    """The array that `target` reads, with `each` written there. All of it is computed before, where it reads
    other elements of that array."""
    array = target.source
    reads = _reads(each.node)
    own = [read for read in reads if not isinstance(read, FromTheEnd) and read.source._data is array._data]
    turned = any(isinstance(read, FromTheEnd) for read in reads)
    if own and (turned or not all(isinstance(read, Read) and target.is_at(read) for read in own)):
        room = Read(filled(0, (array.shape[target.axis],), array.dtype), (None,), 0, None)
        computed = Read(written(room, each), (None,), 0, None)
        return written(target, Each(computed, each.count))

    def step(place: Tensor, x: Tensor) -> Tensor:
        key = target.key_at(place)
        instead = dict.fromkeys(map(id, own), getitem(x, key)) if own else {}
        return written_at("setitem", x, key, at(each.node, place, instead))

    result: Tensor = _along(each.count, step, array)
    return result
