"""Functions of what a traced mask selects.

Reductions are those with NumPy's ``where=``. A function is elementwise if all that it does with whole arrays
are elementwise ops. Extremes of nothing are -inf and inf, of integers the least and the greatest; other
functions give of nothing what NumPy's do.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...arguments.wrong_arguments import bound_arguments
from ...base.records import record
from ...ir.dtypes import BOOL, FLOAT64, INT64, is_inexact
from ...ir.types import normalize_axes
from ...pytree import flatten
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from .. import reductions
from ..cumulative import cumsum
from ..elementwise.floats import where as where_of
from ..indexing.access import getitem
from ..numpy_calls.protocol import public_function
from ..operands import as_tensor, broadcast, cast, choice, filled, floating, reshaped, run
from . import positions, slices
from .each import Each, Gathered, folded
from .masked_selection import Selection, aligned, is_elementwise, of_frame, read_alone, refused
from .masks import ends_of, is_same

#: Functions of selected elements whose result is no view of them.
_COPIES: Final = frozenset((
    "append", "argsort", "array", "concatenate", "copy", "cumprod", "cumsum", "diff", "dot", "flatten",
    "getitem", "log_softmax", "matmul", "softmax", "sort", "unique", "where",
))  # fmt: skip
_ARRAYS: Final = (Selection, Tensor, np.ndarray)
#: Functions beside reductions that work on each line along an axis by itself.
_BY_ROW: Final = ("argsort", "cumprod", "cumsum", "diff", "flip", "log_softmax", "softmax", "sort")


def call_of_selections(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """The call of `function`, whose name is `name`, with arguments among which are selections; None where it
    has no meaning while their length is not known."""
    arguments = bound_arguments(function, args, options)
    if STATE.tracer is None or not arguments or arguments.get("out") is not None:
        return None
    name = name.rpartition(".")[2].strip("_")
    call = _meaning(name, function, args, options, arguments)
    views = [leaf for leaf in flatten(arguments)[0] if isinstance(leaf, Selection) and leaf.is_view]
    if call is None or not views or name in _COPIES:
        return call
    if arguments.get("copy") is False:
        return None

    def read_only() -> Any:
        leaves, structure = flatten(call())
        return structure.unflatten([read_alone(views[0], leaf) for leaf in leaves])

    return read_only


def _meaning(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Callable[[], Any] | None:
    if name in ("getitem", "setitem"):
        return _at_places(function, *args)
    if name == "bincount":
        return functools.partial(_counts, function, **arguments)
    if name in positions.BY_NAME:
        return positions.BY_NAME[name](name, function, arguments)
    (_, x), *others = arguments.items()
    if name in ("ndim", "shape", "size") and not others:
        return functools.partial(getattr, x, name)
    if "axis" not in inspect.signature(function).parameters:
        sizes = arguments.keys() & {"shape", "sizes"}  # which elementwise functions do not have
        return None if sizes else _elementwise(function, args, options)
    if not isinstance(x, Selection):
        return None
    public = public_function(name) or function
    parameters = inspect.signature(public).parameters
    axis = arguments.get("axis", parameters["axis"].default)
    if not ("where" in parameters or name in _OTHERS or name in _BY_ROW):
        return None
    if axis is None and name in positions.ALONG and x.ndim == 1:
        axis = 0
    axes = normalize_axes(name, axis, x.ndim)
    named = {key: value for key, value in others if value is not None and key != "axis"}
    before, rank = x._first, x._mask.ndim
    along = [place if place < before else place + rank - 1 for place in axes if place != before]
    if before not in axes:
        return functools.partial(
            _by_row, x, public, {**named, "axis": along[0] if len(along) == 1 else along}
        )
    if name in positions.ALONG:
        return positions.ALONG[name](name, x, **named) if axes == (before,) else None
    call = _Reduction(name, public, x, axes, (*along, *range(before, before + rank)), named)
    reduction = _reduced if "where" in parameters else _OTHERS.get(name)
    return reduction and functools.partial(reduction, call)


def _at_places(function: Callable[..., Any], x: Any, key: Any, *value: Any) -> Callable[[], Any] | None:
    """``x[key]`` and ``x[key] = value`` by indices that are selected elements, as those of ``nonzero``."""
    keys = key if isinstance(key, tuple) else (key,)
    indices = [entry for entry in keys if isinstance(entry, Selection)]
    rest = keys[len(indices) :]
    if not indices or any(isinstance(entry, (list, *_ARRAYS)) for entry in rest):
        return None
    mask = indices[0]._mask
    if not all(is_same(mask, index._mask) and index.ndim == 1 for index in indices):
        return None
    if x.shape[: len(indices)] == mask.shape and [i._place for i in indices] == [*range(mask.ndim)]:
        return functools.partial(function, x, (mask, *rest), *value)
    if value:
        return None
    # an element that is not selected is no index
    places = [choice(mask, index._whole, filled(0, (), index.dtype)) for index in indices]
    each = indices[0]._each

    def gathered() -> Selection:
        result = Selection(mask, 0, getitem(x, (*places, *rest)))
        if each is not None and len(indices) == 1 and not rest and x.ndim == 1:
            result._each = Each(Gathered(wrap(as_tensor(x)._data), each.node), each.count)
        return result

    return gathered


def _elementwise(
    function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """`function` of whole arrays, if what it does with them is elementwise."""
    leaves, structure = flatten((args, dict(options)), static_strings=True)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, _ARRAYS)]
    if not any(isinstance(leaf, Selection) for leaf in leaves):
        return None
    whole, frame = aligned([leaves[place] for place in places])
    for place, array in zip(places, whole, strict=True):
        leaves[place] = array
    positional, named = structure.unflatten(leaves)
    start = len(STATE.tracer.body)
    results, structure = flatten(function(*positional, **named))
    ops = {instruction.op for instruction in STATE.tracer.body[start:]}
    if not all(is_elementwise(op) or op.name in ("broadcast", "full") for op in ops):
        return None
    if not results or not all(isinstance(each, Tensor) and each.ndim >= frame[0].ndim for each in results):
        return None
    return lambda: structure.unflatten([of_frame(frame, each) for each in results])


def _by_row(x: Selection, function: Callable[..., Any], named: dict[str, Any]) -> Any:
    """`function` of each slice that is selected, along other axes."""
    if any(isinstance(value, (list, tuple, *_ARRAYS)) for key, value in named.items() if key != "axis"):
        raise refused()
    result = function(x._whole, **named)
    gone = sum(axis < x._first for axis in np.atleast_1d(named["axis"]))
    return Selection(x._mask, x._first - gone * (result.ndim < x._whole.ndim), result)


@record
class _Reduction:
    """A call of `function`, whose name is `name`, of `x` along `axes`, in the whole array `along`."""

    name: str
    function: Callable[..., Any]
    x: Selection
    axes: tuple[int, ...]
    along: tuple[int, ...]
    options: dict[str, Any]

    def of(self, name: str, x: Any) -> Any:
        options = {key: value for key, value in self.options.items() if key == "keepdims"}
        return _reduced(_Reduction(name, getattr(reductions, name), x, self.axes, self.along, options))

    def chosen(self) -> Tensor:
        return broadcast(self.x.chosen(), self.x._whole.shape)

    def filled(self, value: Any) -> Tensor:
        """The whole array, with `value` for what is not selected."""
        x = floating(self.x._whole) if isinstance(value, float) else self.x._whole
        return choice(self.chosen(), x, filled(value, (), x.dtype))

    def extreme(self) -> Any:
        """The identity of the extremum: the largest value for a minimum, the smallest for a maximum."""
        low, dtype = self.name.endswith("max"), self.x.dtype
        if is_inexact(dtype):
            return -math.inf if low else math.inf
        if dtype is BOOL:
            return not low
        return int(np.iinfo(dtype).min if low else np.iinfo(dtype).max)

    def kept(self, result: Tensor) -> Tensor:
        """`result`, with one axis for the elements where axes are kept."""
        if not self.options.get("keepdims"):
            return result
        shape, first = result.shape, self.x._first
        return reshaped(result, (*shape[:first], 1, *shape[first + self.x._mask.ndim :]))


def _reduced(call: _Reduction) -> Any:
    options = {**call.options, "where": call.chosen()}
    if call.options.get("where", True) is not True:
        raise refused(f"{call.name} of x[mask] with where=")
    if call.name.endswith(("max", "min")):
        options.setdefault("initial", call.extreme())
    result = call.kept(call.function(call.x._whole, axis=call.along, **options))
    each = call.x._each
    if each is None or result.shape or any(value is not False for value in call.options.values()):
        return result
    by_element = folded(call.name, each, result.dtype, options.get("initial"))
    return result if by_element is None else by_element


def _with_nothing(value: Any, call: _Reduction) -> Any:
    """The function of the whole array, in which elements of `value` change nothing."""
    whole, x = call.filled(value), call.x
    if len(call.axes) < x.ndim or whole.ndim == 1:
        return call.kept(call.function(whole, axis=call.along, **call.options))
    result = call.function(reshaped(whole, (whole.size,)), **call.options)
    return reshaped(result, (1,) * x.ndim) if call.options.get("keepdims") else result


def _ordered(call: _Reduction) -> Any:
    """Medians and quantiles: those that leave out NaN, unless one is selected."""
    x, own = call.x, public_function(f"nan{call.name}")
    assert own is not None
    result = _with_nothing(math.nan, _Reduction(call.name, own, x, call.axes, call.along, call.options))
    missing = run("isnan", x) if is_inexact(x.dtype) else run("lt", x, x)
    return run("where", call.of("any", missing), math.nan, result)


def _average(call: _Reduction) -> Any:
    weights, x = call.options.get("weights"), call.x
    if weights is None and not call.options.get("returned"):
        return call.of("mean", x)
    if not isinstance(weights, Selection) or weights.ndim != x.ndim or call.options.get("returned"):
        raise refused("average of x[mask] with such weights, or returned=True,")
    product: Any = run("mul", x, weights)
    return run("div", call.of("sum", product), call.of("sum", weights))


def _index(call: _Reduction) -> Any:
    """The index of an extreme element among those that are selected."""
    if call.x.ndim > 1 or call.options.get("keepdims"):
        raise refused(f"{call.name} of x[mask]")
    line = call.filled(call.extreme()).ravel()
    before = run("iota", shape=line.shape, axis=0, dtype=INT64) < call.function(line)
    return reductions.sum(call.x._mask.ravel() & before)


def _counts(function: Callable[..., Any], x: Any, weights: Any = None, **sizes: Any) -> Tensor:
    """``bincount``: elements that are not selected count 0, as their weight is 0."""
    if not isinstance(x, Selection) or x.ndim != 1 or not (weights is None or isinstance(weights, Selection)):
        raise refused("bincount of x[mask] with other weights than w[mask]")
    if weights is not None and not is_same(x._mask, weights._mask):
        raise refused("bincount of what another mask selects than that of the weights")
    if sizes.get("length") is None and not sizes.get("minlength"):
        raise refused("bincount of x[mask] without minlength=")
    mask = x._mask.ravel()
    places = run("where", mask, x._whole.ravel(), filled(0, (), x.dtype))
    if weights is None:
        counts = function(places, cast(mask, FLOAT64), **sizes)
        return cast(counts, INT64)
    values = cast(weights._whole.ravel(), FLOAT64)
    return function(places, choice(mask, values, 0.0), **sizes)  # type: ignore[no-any-return]


#: Functions along axes that have no ``where=``.
_OTHERS: Final[dict[str, Callable[[_Reduction], Any]]] = {
    "argmax": _index,
    "argmin": _index,
    "average": _average,
    "count_nonzero": functools.partial(_with_nothing, 0),
    "logsumexp": functools.partial(_with_nothing, -math.inf),
    "median": _ordered,
    "norm": functools.partial(_with_nothing, 0),
    "percentile": _ordered,
    "ptp": lambda call: call.of("max", call.x) - call.of("min", call.x),
    "quantile": _ordered,
}


def sliced(x: Selection, part: slice) -> Selection:
    """The elements of `x` in `part` of their axis."""
    return positions.sliced(x, part)


def element(x: Selection, key: Any, *, is_there: bool = False) -> Any:
    """``x[key]``, of which the first entry counts selected elements. Compiled code raises IndexError where
    there are not so many; where the caller says that it `is_there`, another element is in its place."""
    index, *rest = key if isinstance(key, tuple) else (key,)
    if ends_of(x._mask) is not None:
        entries, axis = x._entries(key)
        entries[axis] = slices.place_of(x, entries[axis], is_there=is_there)
        return getitem(x._whole, tuple(entries))
    if x._first:
        raise refused()
    size = x._mask.size
    counts = cumsum(cast(reshaped(x._mask, (size,)), INT64))
    count, tracer = counts[-1], STATE.tracer
    wanted = index + where_of(index < 0, count, 0)
    place = reductions.argmax(counts > wanted)
    if not is_there:
        fails = run("logical_or", wanted < 0, wanted >= count)
        error = "index is out of bounds for the elements that a mask selects"
        place = wrap(tracer.checked(place._data, tracer.lift(fails), error))
    return getitem(reshaped(x._whole, (size, *x._whole.shape[x._mask.ndim :])), (place, *rest))
