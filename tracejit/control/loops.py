"""``while_loop`` and ``fori_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import DomainError, DTypeError, ShapeError, TracejitError
from ..dispatch.regions import AppliesRegions, apply_with_regions
from ..ir.dtypes import BOOL
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.tracer import Tracer
from .carry import (
    SCALARS,
    Flat,
    Tree,
    is_weak,
    kept,
    results_of,
    same_structure,
    shared_captures,
    symbol,
    take_apart,
    trace_loop,
    traced,
    values_of,
)
from .scans import append_scan, positive, scan


def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    checkpoint_every: int | None = None,
) -> Any:
    """``val = body_fun(val)`` while ``cond_fun(val)``, beginning with `init_val`; the last `val`.

    `val` is a pytree of tensors that keep their shapes and dtypes. Python numbers in `init_val` take the
    dtype of what the body makes of them (eagerly, the functions get them as Python numbers). `cond_fun`
    returns a bool scalar. Differentiable to any order: forward mode carries tangents along; reverse mode
    under ``jit`` runs the loop again and keeps the carries of each step: memory grows with their number. With
    ``checkpoint_every=k`` it keeps those of every k-th step, and of k steps at a time, which it runs again.

    Example:
        >>> import tracejit as tj
        >>> f = tj.jit(lambda x: tj.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x))
        >>> f(tj.tensor([1.0, 2.0]))
        tensor([ 64., 128.])

    Raises DTypeError or ShapeError where the carry changes, naming the leaf and both types. Semantics:
    ``jax.lax.while_loop``.
    """
    if not callable(cond_fun) or not callable(body_fun):
        raise TracejitError("while_loop: cond_fun and body_fun must be functions")
    init = take_apart("while_loop", "init_val", init_val)
    if checkpoint_every is not None:
        positive("while_loop", "checkpoint_every", checkpoint_every)
    tracer = STATE.tracer
    if tracer is not None:
        return _traced_while(tracer, cond_fun, body_fun, init, checkpoint_every)
    leaves = values_of(init.leaves)
    while _true(cond_fun(init.structure.unflatten(leaves))):
        carry = take_apart("while_loop", "the carry", body_fun(init.structure.unflatten(leaves)))
        leaves = kept("while_loop", leaves, carry, init.structure)
    return init.structure.unflatten(results_of(leaves))


def _true(value: Any) -> bool:
    return bool(_condition(value))


def _condition(value: Any) -> Any:
    """The result of a condition. Raises DTypeError unless it is a bool scalar."""
    if type(value) is bool:
        return value
    tensor = value if isinstance(value, Tensor) or type(value) in SCALARS else wrap(as_array(value))
    if not isinstance(tensor, Tensor) or tensor.shape != () or tensor.dtype is not BOOL:
        shown = tensor.type if isinstance(tensor, Tensor) else f"a Python {type(tensor).__name__}"
        raise DTypeError(f"while_loop: cond_fun must return a bool scalar, got {shown}")
    return tensor


def _traced_while(
    parent: Tracer, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Tree, every: Any
) -> Any:
    def body(*leaves: Tensor) -> list[Any]:
        carry = take_apart("while_loop", "the carry", body_fun(init.structure.unflatten(leaves)))
        same_structure("while_loop", carry.structure, init.structure)
        return carry.leaves

    def condition(*leaves: Tensor) -> list[Any]:
        return [_condition(cond_fun(init.structure.unflatten(leaves)))]

    results = append_while("while_loop", parent, condition, body, init.leaves, init.paths, every)
    return init.structure.unflatten(results)


def append_while(
    name: str,
    parent: Tracer,
    condition: Flat,
    body: Flat,
    inits: list[Any],
    paths: list[str],
    checkpoint_every: int | None = None,
    *,
    apply: AppliesRegions = apply_with_regions,
) -> list[Tensor]:
    """Append a ``while`` of flat functions to the running trace; with `checkpoint_every`, one whose steps are
    loops of so many steps."""
    if checkpoint_every is not None:
        return _append_chunks(name, parent, condition, body, inits, paths, checkpoint_every, apply)
    loop = trace_loop(name, parent, body, inits, paths)
    params = loop.region.tracer.params
    test = traced(
        parent,
        condition,
        [param.type for param in params],
        [param.hint for param in params],
        loop.weak,
        repeats=True,
    )
    holders, captured = shared_captures([test.tracer, loop.region.tracer])
    regions = (
        test.function("condition", [*test.tracer.params, *captured[0]]),
        loop.region.function("body", [*params, *captured[1]]),
    )
    attrs = {"carries": len(inits)}
    return apply(OPS["while"], [*loop.inits, *holders], attrs, regions)


def _append_chunks(
    name: str,
    parent: Tracer,
    condition: Flat,
    body: Flat,
    inits: list[Any],
    paths: list[str],
    size: int,
    apply: AppliesRegions,
) -> list[Tensor]:
    def chunk(*leaves: Tensor) -> list[Any]:
        def goes_on(step: Tensor, *values: Tensor) -> list[Any]:
            return [(step < size) & condition(*values)[0]]

        def following(step: Tensor, *values: Tensor) -> list[Any]:
            return [step + 1, *body(*values)]

        tracer = STATE.tracer
        results = append_while(
            name, tracer, goes_on, following, [0, *leaves], [" (the step)", *paths], apply=apply
        )
        for leaf, result in zip(leaves, results[1:], strict=True):
            if is_weak(tracer, leaf):
                tracer.mark_weak(result._data)
        return list(results[1:])

    return append_while(name, parent, condition, chunk, inits, paths, apply=apply)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    checkpoint_every: int | None = None,
) -> Any:
    """``val = body_fun(i, val)`` for i from `lower` to `upper` - 1, from `init_val` on; the last `val`.

    `val` is as for `while_loop`. With bounds that are Python integers the loop is a `scan`, whose gradient
    does not run it again; i is then a Python integer to dtype promotion (and eagerly is one).
    `checkpoint_every` is as for `scan` then, and with traced bounds as for `while_loop`. `unroll` is accepted
    as JAX has it and changes nothing.

    Example:
        >>> import tracejit as tj
        >>> tj.jit(lambda x: tj.fori_loop(0, 10, lambda i, v: v + i, x))(0.0)
        tensor(45.)

    Raises DTypeError for bounds that are not integer scalars; otherwise as `while_loop`. Semantics:
    ``jax.lax.fori_loop``.
    """
    if not callable(body_fun):
        raise TracejitError("fori_loop: body_fun must be a function")
    lower, upper = _bound("lower", lower), _bound("upper", upper)
    init = take_apart("fori_loop", "init_val", init_val)
    if checkpoint_every is not None:
        positive("fori_loop", "checkpoint_every", checkpoint_every)
        if isinstance(lower, int) and isinstance(upper, int):
            return _fori_in_chunks(lower, upper, body_fun, init_val, checkpoint_every)
    tracer = STATE.tracer
    if tracer is None:
        leaves = values_of(init.leaves)
        for i in range(int(lower), int(upper)):
            carry = take_apart("fori_loop", "the carry", body_fun(i, init.structure.unflatten(leaves)))
            leaves = kept("fori_loop", leaves, carry, init.structure)
        return init.structure.unflatten(results_of(leaves))

    def body(i: Tensor, *leaves: Tensor) -> list[Any]:
        carry = take_apart("fori_loop", "the carry", body_fun(i, init.structure.unflatten(leaves)))
        same_structure("fori_loop", carry.structure, init.structure)
        return [i + 1, *carry.leaves]

    paths = [" (the index)", *init.paths]
    if isinstance(lower, int) and isinstance(upper, int):
        length = max(0, upper - lower)
        results, _ = append_scan("fori_loop", tracer, body, [lower, *init.leaves], paths, [], length)
        return init.structure.unflatten(results[1:])
    dtype = (upper if isinstance(upper, Tensor) else lower).dtype
    first, last = [symbol(tracer, bound, dtype) for bound in (lower, upper)]
    results = append_while(
        "fori_loop",
        tracer,
        lambda i, *rest: [i < last],
        body,
        [first, *init.leaves],
        paths,
        checkpoint_every,
    )
    return init.structure.unflatten(results[1:])


def _fori_in_chunks(
    lower: int, upper: int, body_fun: Callable[[Any, Any], Any], init_val: Any, size: int
) -> Any:
    def step(carry: Any, _: Any) -> Any:
        return (carry[0] + 1, body_fun(*carry)), None

    (_, last), _ = scan(step, (lower, init_val), None, max(0, upper - lower), checkpoint_every=size)
    return last


def _bound(which: str, value: Any) -> Any:
    """A bound of a fori_loop: a Python integer, or an integer scalar."""
    if type(value) is int:
        if not -(2**63) <= value < 2**63:
            raise DomainError(f"fori_loop: {which} must be an integer that fits 64 bits, got {value}")
        return value
    bound = value if isinstance(value, Tensor) else None
    if bound is None and type(value) not in SCALARS:
        bound = wrap(as_array(value))
    if bound is None or bound.dtype.kind not in "iu":
        shown = bound.type if bound is not None else f"a Python {type(value).__name__}"
        raise DTypeError(f"fori_loop: {which} must be an integer, got {shown}")
    if bound.shape != ():
        raise ShapeError(f"fori_loop: {which} must be a scalar, got {bound.type}")
    return bound
