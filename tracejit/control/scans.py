"""``scan``, and ``map`` made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array.joining import stack
from ..base.errors import ShapeError, TracejitError
from ..dispatch.regions import AppliesRegions, apply_with_regions
from ..ir.registry import OPS
from ..pytree import TreeDef
from ..state import STATE
from ..tensors.tensor import Tensor, wrap
from ..tracing.tracer import Tracer, tracing
from .carry import (
    Flat,
    Tree,
    as_tensor,
    kept,
    results_of,
    same_structure,
    take_apart,
    trace_loop,
    traced,
    type_of,
    values_of,
)
from .chunks import map_in_batches, scan_in_chunks


def positive(name: str, which: str, value: Any) -> int:
    """`value` as a positive integer. Raises TracejitError."""
    if type(value) is not int or value < 1:
        raise TracejitError(f"{name}: {which} must be a positive integer or None, got {value!r}")
    return value


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint_every: int | None = None,
) -> tuple[Any, Any]:
    """Loop along the leading axis of `xs`: ``carry, y = f(carry, x)``; ``(last carry, stacked ys)``.

    `init` and `xs` are pytrees; the leaves of `xs` have one leading size, the number of steps, which `length`
    gives where `xs` is None. `f` returns the carry, which keeps its structure, shapes and dtypes, and what to
    stack, any pytree or None. `reverse` goes through `xs` from its end and stacks the results in the order of
    `xs`. Python numbers in `init` take the dtype of what `f` makes of them. `unroll` is accepted as JAX has
    it and changes nothing. Differentiable to any order.

    The gradient of T steps keeps what each step leaves for it. With ``checkpoint_every=k`` it keeps T / k
    carries, and computes k steps again where it comes to them: memory for T / k carries and k steps, least
    where k is about the root of T, and one more run of the steps.

    Example:
        >>> import tracejit as tj
        >>> running = tj.jit(lambda xs: tj.scan(lambda total, x: (total + x, total), 0.0, xs))
        >>> running(tj.tensor([1.0, 2.0, 3.0]))
        (tensor(6.), tensor([0., 1., 3.]))
        >>> def grown(x):
        ...     step = lambda x, _: (tj.sin(x) + x, None)
        ...     return tj.scan(step, x, length=1000, checkpoint_every=30)[0]
        >>> tj.jit(tj.value_and_grad(grown))(1.0)
        (tensor(3.14159265), tensor(0.))

    Raises ShapeError for leading sizes that differ, ShapeError or DTypeError where the carry changes, naming
    the leaf and both types. Semantics: ``jax.lax.scan``.
    """
    if not callable(f):
        raise TracejitError(f"scan: expected a function, got {type(f).__name__}")
    if not isinstance(unroll, (int, bool)) or unroll < 0:
        raise TracejitError(f"scan: unroll must be a non-negative integer or a bool, got {unroll!r}")
    start, stacked = take_apart("scan", "init", init), take_apart("scan", "xs", xs)
    steps = _steps("scan", stacked, length)
    if checkpoint_every is not None:
        size = positive("scan", "checkpoint_every", checkpoint_every)

        def run(f: Any, init: Any, xs: Any, length: int) -> tuple[Any, Any]:
            return scan(f, init, xs, length, reverse)

        return scan_in_chunks(run, f, init, xs, steps, size, reverse=bool(reverse))
    return _scan("scan", f, start, stacked, steps, reverse=bool(reverse))


def _steps(name: str, stacked: Tree, length: Any) -> int:
    """The number of steps. Raises ShapeError where the leading sizes and `length` disagree."""
    if length is not None and (
        isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0
    ):
        raise TracejitError(f"{name}: length must be a non-negative integer, got {length!r}")
    if not stacked.leaves:
        if length is None:
            raise ShapeError(f"{name}: without xs the number of steps must be given as length")
        return int(length)
    for leaf, path in zip(stacked.leaves, stacked.paths, strict=True):
        if not type_of(leaf).shape:
            raise ShapeError(f"{name}: xs{path} is a scalar; it must have a leading axis to scan over")
    sizes = [type_of(leaf).shape[0] for leaf in stacked.leaves]
    if len(set(sizes)) > 1 or (length is not None and sizes[0] != length):
        listed = ", ".join(f"xs{path} has {size}" for path, size in zip(stacked.paths, sizes, strict=True))
        raise ShapeError(
            f"{name}: leading sizes must agree{'' if length is None else f' with length={length}'}: {listed}"
        )
    return sizes[0]


def _scan(
    name: str, f: Callable[..., Any], init: Tree, xs: Tree, length: int, *, reverse: bool
) -> tuple[Any, Any]:
    structures: list[TreeDef] = []

    def flat(*leaves: Any) -> list[Any]:
        carry, slices = leaves[: len(init.leaves)], leaves[len(init.leaves) :]
        carried, more = _pair(name, f(init.structure.unflatten(carry), xs.structure.unflatten(slices)))
        same_structure(name, carried.structure, init.structure)
        structures[:] = [more.structure]
        return [*carried.leaves, *more.leaves]

    tracer = STATE.tracer
    if tracer is not None:
        carries, ys = append_scan(
            name, tracer, flat, init.leaves, init.paths, xs.leaves, length, reverse=reverse
        )
        return init.structure.unflatten(carries), structures[0].unflatten(ys)
    leaves = values_of(init.leaves)
    rows: list[list[Any]] = []
    for step in range(length - 1, -1, -1) if reverse else range(length):
        slices = xs.structure.unflatten(values_of([leaf[step] for leaf in xs.leaves]))
        carry, more = _pair(name, f(init.structure.unflatten(leaves), slices))
        leaves = kept(name, leaves, carry, init.structure)
        if rows and more.structure != structures[0]:
            raise ShapeError(f"{name}: what is stacked changed from {structures[0]} to {more.structure}")
        structures[:] = [more.structure]
        rows.append(more.leaves)
    final = init.structure.unflatten(results_of(leaves))
    if not rows:
        return final, _nothing(name, flat, init, xs, structures)
    rows = rows[::-1] if reverse else rows
    return final, structures[0].unflatten([stack(column) for column in zip(*rows, strict=True)])


def _pair(name: str, outcome: Any) -> tuple[Tree, Tree]:
    if not isinstance(outcome, (tuple, list)) or len(outcome) != 2:
        got = f"{len(outcome)} values" if isinstance(outcome, (tuple, list)) else type(outcome).__name__
        raise ShapeError(f"{name}: the body must return a pair (carry, y), got {got}")
    carry, y = outcome
    return take_apart(name, "the carry", carry), take_apart(name, "y", y)


def _nothing(name: str, flat: Flat, init: Tree, xs: Tree, structures: list[TreeDef]) -> Any:
    """The stacked results of no steps: the body is traced for their types, and does not run."""
    types = [type_of(leaf) for leaf in init.leaves]
    weak = [not isinstance(leaf, Tensor) for leaf in init.leaves] + [False] * len(xs.leaves)
    types += [leaf.type.with_shape(leaf.shape[1:]) for leaf in xs.leaves]
    parent = Tracer()
    with tracing(parent):
        region = traced(parent, flat, types, [f"x{i}" for i in range(len(types))], weak, repeats=True)
    values = region.results[len(init.leaves) :]
    return structures[0].unflatten([wrap(np.empty((0, *value.shape), value.dtype)) for value in values])


def append_scan(
    name: str,
    parent: Tracer,
    flat: Flat,
    inits: list[Any],
    paths: list[str],
    xs: list[Any],
    length: int,
    *,
    reverse: bool = False,
    apply: AppliesRegions = apply_with_regions,
) -> tuple[list[Tensor], list[Tensor]]:
    """Append a ``scan`` of a flat body to the running trace: its last carries, and what it stacks."""
    stacked = [as_tensor(x) for x in xs]
    slices = [tensor.type.with_shape(tensor.shape[1:]) for tensor in stacked]
    loop = trace_loop(name, parent, flat, inits, paths, slices)
    tracer = loop.region.tracer
    carries, taken = tracer.params[: len(inits)], tracer.params[len(inits) :]
    body = loop.region.function("body", [*carries, *tracer.captured.values(), *taken])
    attrs = {"carries": len(inits), "slices": len(xs), "length": length, "reverse": reverse}
    operands = [*loop.inits, *tracer.holders.values(), *stacked]
    results = apply(OPS["scan"], operands, attrs, (body,))
    return results[: len(inits)], results[len(inits) :]


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each slice of `xs` along the leading axis, one after the other; the results stacked.

    With `batch_size`, so many slices at once, by ``vmap(f)``: faster where memory allows it.

    Example:
        >>> import tracejit as tj
        >>> tj.map(lambda x: x.sum(), tj.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([3., 7.])

    Raises as `scan`. Semantics: ``jax.lax.map``.
    """
    if not callable(f):
        raise TracejitError(f"map: expected a function, got {type(f).__name__}")
    stacked = take_apart("map", "xs", xs)
    if not stacked.leaves:
        raise ShapeError("map: xs must hold at least one array")
    steps = _steps("map", stacked, None)
    if batch_size is not None:
        return map_in_batches(map, f, xs, steps, positive("map", "batch_size", batch_size))
    nothing = take_apart("map", "the carry", None)
    return _scan("map", lambda _, x: (None, f(x)), nothing, stacked, steps, reverse=False)[1]
