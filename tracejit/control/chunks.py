"""Scans and maps in chunks: a loop over batches of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..array.joining import concatenate
from ..autograd.checkpoint import checkpoint
from ..pytree import tree_map
from ..tensors.tensor import Tensor
from ..transforms.vmap import vmap
from .carry import as_tensor

#: ``run(f, init, xs, length) -> (last carry, stacked ys)``, from the end or from the beginning.
Loop = Callable[..., tuple[Any, Any]]


def scan_in_chunks(
    run: Loop, f: Callable[..., Any], init: Any, xs: Any, length: int, size: int, *, reverse: bool
) -> tuple[Any, Any]:
    """``run(f, init, xs, length)`` as a scan over chunks of `size` steps, each of them a checkpointed scan.

    Steps that fill no chunk are one more, which comes last.
    """
    count, rest = divmod(length, size)

    def chunk(steps: int) -> Callable[[Any, Any], Any]:
        return lambda carry, part: checkpoint(lambda carry, part: run(f, carry, part, steps), carry, part)

    if count == 0:
        return chunk(rest)(init, xs) if rest else run(f, init, xs, length)
    first = slice(rest, length) if reverse else slice(0, length - rest)
    last = slice(0, rest) if reverse else slice(length - rest, length)
    whole = tree_map(lambda leaf: _parted(as_tensor(leaf)[first], count, size), xs)
    carry, ys = run(chunk(size), init, whole, count)
    ys = tree_map(_joined, ys)
    if rest:
        carry, more = chunk(rest)(carry, tree_map(lambda leaf: as_tensor(leaf)[last], xs))
        ys = tree_map(
            lambda joined, remaining: concatenate([remaining, joined] if reverse else [joined, remaining]),
            ys,
            more,
        )
    return carry, ys


def map_in_batches(run: Callable[..., Any], f: Callable[[Any], Any], xs: Any, length: int, size: int) -> Any:
    """`f` of `size` slices of `xs` at once, batch after batch; ``run(f, xs)`` is the map over slices."""
    count, rest = divmod(length, size)
    many = vmap(f)
    if count == 0:
        return many(xs) if rest else run(f, xs)
    whole = tree_map(lambda leaf: _parted(as_tensor(leaf)[: length - rest], count, size), xs)
    ys = tree_map(_joined, run(many, whole))
    if rest:
        more = many(tree_map(lambda leaf: as_tensor(leaf)[length - rest :], xs))
        ys = tree_map(lambda joined, remaining: concatenate([joined, remaining]), ys, more)
    return ys


def _parted(stack: Tensor, count: int, size: int) -> Tensor:
    return stack.reshape(count, size, *stack.shape[1:])


def _joined(stack: Tensor) -> Tensor:
    return stack.reshape(stack.shape[0] * stack.shape[1], *stack.shape[2:])
