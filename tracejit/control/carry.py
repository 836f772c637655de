"""Loop carries: pytrees whose leaves keep shape and dtype from step to step.

A Python number in a carry is *weak*: it takes the dtype of what the body makes of it. All that is taken apart
here are flat lists of leaves, each a Tensor or a Python number, with their paths for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.operands import run
from ..base.errors import DTypeError, ShapeError, TracejitError, UnfitNumberError
from ..base.records import record
from ..ir.dtypes import INT64, NUMBERS, DType, as_dtype, result_type
from ..ir.graph import Function, Value
from ..ir.types import TensorType
from ..pytree import TreeDef, flatten, leaf_paths
from ..state import STATE
from ..tape.modes import untaped
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.regions import RegionTracer, trace_region
from ..tracing.tracer import Tracer, scalar_type, tracing

SCALARS = NUMBERS
#: A function of flat leaves to flat leaves.
Flat = Callable[..., list[Any]]


@record(eq=False)
class Tree:
    """A pytree taken apart: leaves, structure, and where each leaf is."""

    leaves: list[Any]
    structure: TreeDef
    paths: list[str]


def take_apart(name: str, what: str, tree: Any) -> Tree:
    """`tree` as Tensors and Python numbers. Raises DTypeError for other leaves."""
    leaves, structure = flatten(tree)
    paths = leaf_paths(tree)
    return Tree(
        [as_leaf(name, what, path, leaf) for path, leaf in zip(paths, leaves, strict=True)], structure, paths
    )


def as_leaf(name: str, what: str, path: str, leaf: Any) -> Any:
    """`leaf` if it is a Tensor or a Python number; an array as a Tensor."""
    if isinstance(leaf, Tensor) or type(leaf) in (int, float, complex):
        return leaf
    if type(leaf) is bool:  # not a number to promotion; and eagerly ~False would be -1
        return leaf if STATE.tracer is not None else wrap(as_array(leaf))
    try:
        return wrap(as_array(leaf))
    except TracejitError as error:
        raise DTypeError(f"{name}: {what}{path} must be a tensor, an array or a number: {error}") from error


def type_of(leaf: Any) -> TensorType:
    """The type of a leaf; of a Python number, the one it has as an array."""
    return leaf.type if isinstance(leaf, Tensor) else scalar_type(leaf)


def as_tensor(leaf: Any) -> Tensor:
    """A leaf as a Tensor."""
    return leaf if isinstance(leaf, Tensor) else wrap(as_array(leaf))


def symbol(tracer: Tracer, leaf: Any, dtype: DType | None = None) -> Tensor:
    """A leaf as a Tensor of the trace; a Python number becomes a constant, of `dtype` where that is given."""
    if isinstance(leaf, Tensor):
        return leaf if dtype is None or leaf.dtype is dtype else fitted(leaf, dtype)
    value = tracer.scalar(leaf, dtype or scalar_type(leaf).dtype)
    if dtype is None:
        tracer.mark_weak(value)
    return wrap(value)


def fitted(numbers: Tensor, dtype: DType) -> Tensor:
    """Python numbers that are traced as elements of an array of `dtype`. A call in which an integer does not
    fit that runs as Python."""
    tracer: Any = STATE.tracer
    source, limits = numbers.dtype, np.iinfo(dtype) if dtype.kind in "iu" else None
    narrow = dtype.itemsize < source.itemsize or dtype.kind == "u"
    if tracer is not None and limits is not None and source.kind == "i" and narrow:
        known = None if numbers.shape else _known(tracer, tracer.lift(numbers))
        if known is None:
            out = run("logical_or", run("lt", numbers, limits.min), run("gt", numbers, limits.max))
            fails = run("any", out, axes=tuple(range(numbers.ndim)))
            error = f"{UnfitNumberError.__name__}: a Python integer does not fit {dtype.name}"
            numbers = run("add", numbers, wrap(tracer.checked(tracer.scalar(0, INT64), fails._data, error)))
        elif not limits.min <= known <= limits.max:
            raise DTypeError(f"the Python integer {known} does not fit {dtype.name}")
    result: Tensor = run("cast", numbers, dtype=dtype)
    return result


def _known(tracer: Tracer, value: Value) -> int | None:
    """The number that a constant of the trace, or an integer that it knows, is; None for others."""
    for instruction in reversed(tracer.body):
        if value in instruction.results:
            number = instruction.attrs["value"] if instruction.op.name == "full" else None
            return None if number is None else int(number)
    return tracer.known_integer(value)


def is_weak(tracer: Tracer, leaf: Any) -> bool:
    """Whether a leaf is a Python number, traced or not."""
    if not isinstance(leaf, Tensor):
        return True
    value = tracer.lift(leaf)
    return isinstance(value, Value) and tracer.is_weak(value)


def same_structure(name: str, returned: TreeDef, expected: TreeDef) -> None:
    """Raise ShapeError where the body returned another structure than it was given."""
    if returned != expected:
        raise ShapeError(
            f"{name}: the body must return the carry in the structure that it was given, {expected}, "
            f"got {returned}"
        )


def changed(name: str, path: str, before: TensorType, after: TensorType) -> TracejitError:
    """The error for a carry that does not keep its type."""
    where = f" at {path}" if path else ""
    advice = (
        "cast what the body returns with astype, or start from that dtype"
        if before.shape == after.shape
        else "each step must return the shape that it was given"
    )
    message = f"{name}: the carry{where} was {before} and the body returned {after}; {advice}"
    return DTypeError(message) if before.shape == after.shape else ShapeError(message)


# -- under a trace --------------------------------------------------------------------------------


@record(eq=False)
class Region:
    """A traced function: its tracer, and its results."""

    tracer: RegionTracer
    results: list[Value]
    weak: list[bool]

    def function(self, name: str, params: Sequence[Value]) -> Function:
        """The region as a Function of `params`."""
        return Function(name, tuple(params), tuple(self.tracer.body), tuple(self.results))


def traced(
    parent: Tracer,
    fn: Flat,
    types: Sequence[TensorType],
    names: Sequence[str],
    weak: Sequence[bool],
    *,
    repeats: bool,
) -> Region:
    """`fn` of flat leaves, traced as a region of `parent`."""
    tracer = RegionTracer(parent, repeats=repeats)
    numbers: list[bool] = []

    def run(*arguments: Tensor) -> list[Any]:
        outputs = fn(*arguments)
        numbers.extend(is_weak(tracer, output) for output in outputs)
        return outputs

    with untaped():
        results = trace_region(tracer, run, types, names, weak=weak)
    return Region(tracer, results, numbers)


@record(eq=False)
class TracedLoop:
    """A traced body whose carries have found their types."""

    region: Region
    inits: list[Tensor]
    weak: list[bool]


def trace_loop(
    name: str,
    parent: Tracer,
    fn: Flat,
    inits: Sequence[Any],
    paths: Sequence[str],
    slices: Sequence[TensorType] = (),
) -> TracedLoop:
    """Trace a body of carries and slices. Weak carries are given the dtype that the body returns for them,
    and then it is traced again. Raises DTypeError or ShapeError for a carry that does not keep its type."""
    dtypes: list[DType | None] = [None] * len(inits)
    while True:
        starts = [symbol(parent, init, dtype) for init, dtype in zip(inits, dtypes, strict=True)]
        weak = [dtype is None and is_weak(parent, start) for start, dtype in zip(starts, dtypes, strict=True)]
        types = [start.type for start in starts] + list(slices)
        names = [_hint(path, f"c{i}") for i, path in enumerate(paths)]
        names += [f"x{i}" for i in range(len(slices))]
        region = traced(parent, fn, types, names, weak, repeats=True)
        promoted = False
        for i, before in enumerate(types[: len(starts)]):
            after = region.results[i].type
            if before == after:
                if weak[i] and not region.weak[i]:
                    dtypes[i], promoted = after.dtype, True
                continue
            if before.shape != after.shape:
                raise changed(name, paths[i], before, after)
            if region.weak[i] and result_type(before.dtype, _python_type(after.dtype)) == before.dtype:
                with tracing(region.tracer):
                    region.results[i] = fitted(wrap(region.results[i]), before.dtype)._data
            elif weak[i] and _becomes(before.dtype, after.dtype):
                dtypes[i], promoted = after.dtype, True
            else:
                raise changed(name, paths[i], before, after)
        if not promoted:
            return TracedLoop(region, starts, weak)


def _python_type(dtype: DType) -> Any:
    return {"c": complex, "f": float, "i": int, "u": int}.get(dtype.kind, dtype)


def _becomes(number: DType, dtype: DType) -> bool:
    """Whether a Python number may become one of `dtype`: it keeps its fraction, and is no truth value."""
    if number.kind in "bc":
        return dtype.kind == number.kind
    return dtype.kind in "fc" or (number.kind == "i" and dtype.kind in "iu")


def _hint(path: str, otherwise: str) -> str:
    hint = "".join(text if text.isalnum() else "_" for text in path).strip("_")
    return hint if hint and not hint.isdigit() else otherwise


def shared_captures(tracers: Sequence[RegionTracer]) -> tuple[list[Tensor], list[list[Value]]]:
    """The values of the surrounding trace that the regions of one op use: as operands, and as parameters of
    each region."""
    holders: dict[Value, Tensor] = {}
    for tracer in tracers:
        for outer, holder in tracer.holders.items():
            holders.setdefault(outer, holder)
    params = [
        [tracer.captured.get(outer) or Value(outer.type, outer.hint) for outer in holders]
        for tracer in tracers
    ]
    return list(holders.values()), params


# -- eagerly --------------------------------------------------------------------------------------


def values_of(leaves: Sequence[Any]) -> list[Any]:
    """Leaves that a loop begins with, in memory of their own: to write a carry changes nothing else."""
    return [run("copy", leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]


def results_of(leaves: Sequence[Any], operands: Sequence[Any] = ()) -> list[Tensor]:
    """Leaves as Tensors in memory of their own, copied where they are `operands` or views: what a loop or a
    branch gives is a new value, as in a trace."""
    tensors = [as_tensor(leaf) for leaf in leaves]
    return [
        run("copy", tensor)
        if type(tensor._aliases) is tuple or any(tensor is operand for operand in operands)
        else tensor
        for tensor in tensors
    ]


def kept(name: str, before: Sequence[Any], after: Tree, structure: TreeDef) -> list[Any]:
    """The carry after an eager step. Raises where it does not keep its types; a Python number may become a
    scalar tensor of a dtype that holds it."""
    same_structure(name, after.structure, structure)
    result = []
    for old, new, path in zip(before, after.leaves, after.paths, strict=True):
        old_type, new_type = type_of(old), type_of(new)
        if type(old) in SCALARS and new_type.shape == () and _becomes(old_type.dtype, new_type.dtype):
            result.append(new)
        elif old_type == new_type:
            result.append(as_tensor(new))
        elif (
            type(new) in SCALARS
            and old_type.shape == ()
            and (result_type(old_type.dtype, _python_type(as_dtype(np.asarray(new).dtype))) == old_type.dtype)
        ):
            result.append(wrap(np.asarray(new, old_type.dtype)))
        else:
            raise changed(name, path, old_type, new_type)
    return result
