"""``vmap``: a function of one example to a function of many. Semantics: ``jax.vmap``.

The function is traced once, on symbols of one example; what it closes over, and the arguments that are
not mapped, are captures. ``ir.transforms.batching`` rewrites the Function for all examples, and its ops
run on tensors like the user's own: recorded on the tape, or part of a surrounding trace.

A specification is an int, None (not mapped), or a container of such that is a prefix of the value's tree:
what it says of a container holds for every leaf inside. Semantics: ``jax.vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import numpy as np

from ..array.manipulation import moveaxis
from ..array.operands import as_tensor, broadcast, cast
from ..base.errors import AxisError, DTypeError, ShapeError, TracejitError
from ..base.loading import LazyModule
from ..dispatch.regions import replay
from ..ir.dtypes import BOOL
from ..ir.graph import Function, Value
from ..ir.transforms.batching import batch
from ..ir.transforms.unit_vectors import with_late_choices
from ..ir.types import TensorType, remove_axes
from ..pytree import TreeDef, flatten, leaf_paths
from ..state import STATE
from ..tensors.foreign_arrays import is_foreign
from ..tensors.tensor import Tensor, wrap
from ..tracing.regions import RegionTracer
from ..tracing.tracer import Tracer, as_value, tracing
from .grad import name_of, recording, transform

if TYPE_CHECKING:
    from ..ir.passes.algebra import cleanup
else:
    cleanup = LazyModule("..ir.passes.algebra.cleanup", __package__)

Axis = int | None

_NO_DRAWS: Final = (
    "random.next_key: inside vmap all examples would draw the same numbers. Make a key for each outside, "
    "keys = tj.random.split(tj.random.next_key(), n), map over them, and give each "
    "draw its key: tj.random.normal(key, ...)"
)


def check_axes(name: str, axes: Any) -> None:
    """Raise TracejitError unless the leaves of the specification are integers; None is one too."""
    for leaf in flatten(axes)[0]:
        if type(leaf) is not int:
            raise TracejitError(
                f"vmap: {name} must be an int, None, or containers of those, got {leaf!r} in {axes!r}"
            )


def axes_of_leaves(name: str, axes: Any, structure: TreeDef, what: str) -> list[Axis]:
    """The axis of each leaf of a value of `structure`. Raises ShapeError unless `axes` is a prefix of it."""
    leaves, prefix = flatten(axes)
    try:
        return list(_spread(prefix.shape, iter(leaves), structure.shape))
    except _NoPrefixError:
        raise ShapeError(
            f"vmap: {name} must be a tree prefix of {what}: got {name}={axes!r} for {structure}"
        ) from None


class _NoPrefixError(Exception):
    pass


def _spread(prefix: Any, leaves: Iterator[int], shape: Any) -> Iterator[Axis]:
    if prefix is None or prefix[0] == "none":
        axis = next(leaves) if prefix is None else None
        yield from [axis] * _leaf_count(shape)
        return
    if shape is None or prefix[:2] != shape[:2] or len(prefix[2]) != len(shape[2]):
        raise _NoPrefixError
    for entry, inner in zip(prefix[2], shape[2], strict=True):
        yield from _spread(entry, leaves, inner)


def _leaf_count(shape: Any) -> int:
    return 1 if shape is None else sum(map(_leaf_count, shape[2]))


def check_size(size: Any) -> int | None:
    """`axis_size` as an int, or None. Raises TracejitError."""
    if size is None:
        return None
    if isinstance(size, int) and size >= 0:
        return int(size)
    raise TracejitError(f"vmap: axis_size must be None or an integer that is not negative, got {size!r}")


def placed(label: str, what: Callable[[], str], axis: int, type: TensorType) -> int:
    """`axis` of `type` counted from the front. Raises AxisError where it is out of range."""
    rank = type.ndim
    if -rank <= axis < rank:
        return axis % rank
    least = axis + 1 if axis >= 0 else -axis
    raise AxisError(
        f"{label}: axis {axis} of {what()} needs a rank of at least {least}, but it is {type} of rank {rank}"
    )


def common_size(
    label: str,
    path: Callable[[int], str],
    axes: Sequence[int],
    types: Sequence[TensorType],
    size: int | None,
) -> int:
    """The one size of all mapped axes, and of `axis_size` where that is given. Raises ShapeError."""
    sizes = [type_.shape[axis] for axis, type_ in zip(axes, types, strict=True)]
    if size is None and not sizes:
        raise ShapeError(
            f"{label}: nothing is mapped: at least one of in_axes must not be None, or axis_size be given"
        )
    common: int = sizes[0] if size is None else size
    if any(size != common for size in sizes):
        lines = [
            f"  {path(i)} is {type}, of size {size} along axis {axis}"
            for i, (type, size, axis) in enumerate(zip(types, sizes, axes, strict=True))
        ]
        if size is not None:
            lines.insert(0, f"  axis_size is {size}")
        raise ShapeError("\n".join([f"{label}: the mapped axes must have one size, got", *lines]))
    return common


P = ParamSpec("P")
R = TypeVar("R")

_ARRAYS = (Tensor, np.ndarray, np.generic, bool, int, float, complex)


@transform
def vmap(
    fun: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Callable[P, R]:
    """A function that maps `fun` over an axis of its arguments, all examples at once.

    `in_axes` says which axis of each positional argument is mapped: an int for all of them, or a tuple with
    an entry for each, None for one that is the same for every example. An entry for a container may be a
    container, down to the leaves. Keyword arguments are mapped over their first axis. `out_axes` says in the
    same way where the results have the mapped axis; None for one that is not mapped. `axis_size` is needed
    only where nothing is mapped.

    Each op runs once, on arrays with one more axis, by its batching rule; gradients flow to the arguments and
    to what `fun` closes over. `fun` is traced at each call, as by ``jit``: tensors have no values inside.
    Wrap the result in ``tj.jit`` where it is called often.

    Example:
        >>> import tracejit as tj
        >>> dot = lambda x, y: (x * y).sum()
        >>> tj.vmap(dot, in_axes=(0, None))(tj.tensor([[1.0, 2.0], [3.0, 4.0]]), tj.tensor([1.0, 10.0]))
        tensor([21., 43.])
        >>> tj.vmap(tj.grad(lambda x: tj.sin(x)))(tj.tensor([0.0, tj.pi]))
        tensor([ 1., -1.])

    Raises ShapeError where `in_axes` or `out_axes` do not fit the trees, sizes differ or nothing is mapped;
    AxisError for an axis that an array has not; TraceError where `fun` draws from the default generator or
    uses an op without a batching rule. Semantics: ``jax.vmap``, without axis names.
    """
    if not callable(fun):
        raise TracejitError(f"vmap: expected a function, got {type(fun).__name__}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if in_axes is not None and type(in_axes) not in (int, tuple):
        raise TracejitError(
            f"vmap: in_axes must be an int, None, or a tuple with an entry for each argument, got {in_axes!r}"
        )
    check_axes("in_axes", in_axes)
    check_axes("out_axes", out_axes)
    size = check_size(axis_size)
    label = f"vmap of {name_of(fun)}"

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = _Call(label, fun, args, kwargs, in_axes, size)
        results, mapped, structure = call.run()
        axes = axes_of_leaves("out_axes", out_axes, structure, "the result")

        def what(position: int) -> str:
            path = structure.paths()[position]
            return f"result {path}" if path else "the result"

        placed = [
            _with_axis(label, partial(what, i), result, many, axis, call.size)
            for i, (result, many, axis) in enumerate(zip(results, mapped, axes, strict=True))
        ]
        return structure.unflatten(placed)

    return wrapped


def over_units(label: str, fun: Callable[..., Any], *units: Any) -> tuple[list[Tensor], TreeDef]:
    """The leaves of ``fun(*units)`` for all unit vectors at once, along the first axes of all leaves, and the
    structure of its result."""
    call = _Call(label, fun, units, {}, 0, None)
    results, mapped, structure = call.run(units=True)
    spread = [
        _with_axis(label, lambda: "the result", result, many, 0, call.size)
        for result, many in zip(results, mapped, strict=True)
    ]
    return spread, structure


class _Call:
    """One call of a mapped function: its arguments with the mapped axes in front."""

    def __init__(
        self, label: str, fun: Callable[..., Any], args: Any, kwargs: Any, in_axes: Any, axis_size: int | None
    ) -> None:
        self.label, self.fun = label, fun
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ShapeError(
                f"{label}: in_axes has {len(in_axes)} entries, but it was called with {len(args)} positional "
                "arguments"
            )
        self.leaves, self.structure = flatten((args, kwargs))
        positional = flatten(args)[1]
        axes = axes_of_leaves("in_axes", in_axes, positional, "the positional arguments")
        axes += [0] * (len(self.leaves) - len(axes))
        #: The mapped leaves; the others keep their values.
        self.mapped: list[int] = []
        tensors: list[Tensor] = []
        places: list[int] = []
        for i, axis in enumerate(axes):
            leaf = self.leaves[i]
            if axis is not None:
                tensor = self._tensor(i, leaf)
                tensors.append(tensor)
                places.append(placed(label, partial(self._what, i), axis, tensor.type))
                self.mapped.append(i)
            elif isinstance(leaf, (np.ndarray, np.generic)) or is_foreign(leaf):
                self.leaves[i] = as_tensor(leaf)
        self.size = common_size(
            label,
            lambda i: self._path(self.mapped[i]),
            places,
            [tensor.type for tensor in tensors],
            axis_size,
        )
        self.types = [
            tensor.type.with_shape(remove_axes(tensor.shape, (axis,)))
            for tensor, axis in zip(tensors, places, strict=True)
        ]
        self.inputs = [
            tensor if axis == 0 else moveaxis(tensor, axis, 0)
            for tensor, axis in zip(tensors, places, strict=True)
        ]

    def _path(self, position: int) -> str:
        """The path to the leaf at `position`: ``args[1]['w']``."""
        path = self.structure.paths()[position]
        return ("args" if path.startswith("[0]") else "kwargs") + path[3:]

    def _what(self, position: int) -> str:
        return f"argument {self._path(position)}"

    def _tensor(self, position: int, leaf: Any) -> Tensor:
        if not isinstance(leaf, _ARRAYS) and not is_foreign(leaf):
            raise DTypeError(
                f"{self.label}: {self._what(position)} has type {type(leaf).__name__}; expected a tensor or "
                "an array. Give what is no array the in_axes None"
            )
        try:
            return as_tensor(leaf)
        except DTypeError as error:
            raise DTypeError(f"{self.label}: {self._what(position)}: {error}") from error

    def run(self, *, units: bool = False) -> tuple[list[Tensor], tuple[bool, ...], TreeDef]:
        """The results with mapped axes in front, which are mapped, and their structure. With `units`, what is
        mapped are unit vectors."""
        function, holders, structure = self._trace()
        flags = [True] * len(self.inputs) + [False] * len(holders)
        inputs = [*self.inputs, *holders]
        function = cleanup.dce(function)
        if units:
            function = with_late_choices(function, range(len(self.inputs)))
            inputs = [*[cast(unit, BOOL) for unit in self.inputs], *holders]
        batched, mapped = batch(function, flags, self.size)
        tensors = [x if isinstance(x, Tensor) else wrap(x) for x in replay(batched, inputs, located=True)]
        # what fun returns as it came must not be the caller's own tensor, nor a view of it
        return [_unshared(x, inputs) for x in tensors], mapped, structure

    def _trace(self) -> tuple[Function, list[Any], TreeDef]:
        """`fun` of one example, what it captures, and the structure of its result."""
        structures: list[TreeDef] = []

        def flat(*symbols: Tensor) -> list[Any]:
            leaves = list(self.leaves)
            for position, symbol in zip(self.mapped, symbols, strict=True):
                leaves[position] = symbol
            args, kwargs = self.structure.unflatten(leaves)
            result = self.fun(*args, **kwargs)
            results, structure = flatten(result)
            for position, leaf in enumerate(results):
                if not isinstance(leaf, _ARRAYS):
                    which = f"{self.label}: result {leaf_paths(result)[position] or 'value'}"
                    if hasattr(leaf, "apply_selected"):  # what a mask selects: an error of its own
                        leaf.__array__(asked=which)
                    raise DTypeError(
                        f"{which} has type {type(leaf).__name__}; expected tensors, arrays and numbers"
                    )
            structures.append(structure)
            return results

        outer = STATE.tracer
        tracer = Tracer() if outer is None else RegionTracer(outer)
        tracer.no_draws = _NO_DRAWS
        with recording(), tracing(tracer):
            symbols = [tracer.argument(type, f"x{i}") for i, type in enumerate(self.types)]
            results = [as_value(tracer, leaf) for leaf in flat(*symbols)]
        if isinstance(tracer, RegionTracer):
            _narrow_outside(tracer)
            captured: list[Value] = list(tracer.captured.values())
            holders: list[Any] = list(tracer.holders.values())
        else:
            captured = [value for _, value in tracer.captures.values()]
            holders = tracer.as_captured()
        tracer.params += captured
        name = name_of(self.fun)
        return tracer.finish(name if name.isidentifier() else "mapped", results), holders, structures[0]


def _narrow_outside(tracer: RegionTracer) -> None:
    """Tell the surrounding trace the ranges of narrower dtypes that its Python integers were combined
    with."""
    assert tracer.parent is not None
    narrowed = tracer.parent.narrowed
    for outer, inner in tracer.captured.items():
        if inner in tracer.narrowed:
            low, high = tracer.narrowed[inner]
            before = narrowed.get(outer, (low, high))
            narrowed[outer] = (max(low, before[0]), min(high, before[1]))


def _unshared(result: Tensor, inputs: list[Any]) -> Tensor:
    """`result`, copied where it is one of the `inputs` or a view."""
    shared = type(result._aliases) is tuple or any(result is x for x in inputs)
    return cast(result, result.dtype, copy=True) if shared else result


def _with_axis(
    label: str, what: Callable[[], str], result: Tensor, mapped: bool, axis: int | None, size: int
) -> Tensor:
    """A result with the mapped axis where `out_axes` wants it."""
    if not mapped:
        if axis is None:
            return result
        result = cast(broadcast(result, (size, *result.shape)), result.dtype, copy=True)
    elif axis is None:
        type_ = TensorType(result.dtype, result.shape[1:])
        raise ShapeError(
            f"{label}: out_axes is None for {what()}, of type {type_}, but it depends on mapped arguments; "
            "give it an axis"
        )
    place = placed(label, what, axis, result.type)
    return result if place == 0 else moveaxis(result, 0, place)
