"""Sums over blocks of rows, with their gradients: each block by a task, results by a tree of additions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.creation import asarray
from ..ir.errors import ArgumentError, ShapeError
from ..jitted.jit import jit
from ..pytree import flatten, tree_map
from ..transforms.grad import checked_argnums, name_of
from ..transforms.grad import value_and_grad as of_one_block
from .library import ONE_THREAD, dask_module, is_dask_array


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, split_every: int = 8
) -> Callable[..., Any]:
    """A function that returns ``(value, gradient)`` of `fun` summed over blocks of rows.

    Arguments that are dask arrays are cut along their first axis, where they have the same chunks; `fun` gets
    one block of each as an array, and the other arguments whole. It returns a floating scalar, and the
    result is the sum of these over all blocks, with the gradient by the arguments at `argnums`, which are
    pytrees of floating arrays. Blocks are made when their turn comes and freed afterwards, so that the data
    may be larger than memory. `split_every` results are added at a time.

    It runs where dask does: with a ``distributed.Client``, on its workers. There each call is a graph of its
    own, and a lost worker's blocks are computed again. The method ``delayed`` of what is returned, with the
    same arguments, computes nothing yet: ``client.compute`` of that is a future, which
    ``distributed.progress`` shows and ``cancel`` ends.

    Example:
        >>> import dask.array as da, numpy as np
        >>> import tracejit as tj, tracejit.dask
        >>> def squares(w, x, y):
        ...     return ((x @ w - y) ** 2).sum()
        >>> x, y = da.ones((6, 2), chunks=(2, 2)), da.arange(6.0, chunks=2)
        >>> tj.dask.value_and_grad(squares)(np.zeros(2), x, y)
        (tensor(55.), tensor([-30., -30.]))

    Raises ArgumentError where no argument or one of `argnums` is a dask array, ShapeError where chunks do not
    fit, TracejitError without dask. Semantics: `tj.value_and_grad`, of a sum.
    """
    if not isinstance(split_every, int) or split_every < 2:
        raise ArgumentError(f"value_and_grad: split_every must be an integer from 2 on, got {split_every!r}")
    return _Summed(fun, argnums, split_every)


class _Summed:
    """What `value_and_grad` returns."""

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int], split_every: int) -> None:
        self._name = f"value_and_grad of {name_of(fun)}"
        self._positions = checked_argnums("value_and_grad", argnums)
        self._split_every = split_every
        self._function = jit(of_one_block(fun, argnums))
        #: The function as a value in the graph, which workers keep, so that they trace it once.
        self._sent: Any = None

    def __call__(self, *args: Any) -> Any:
        return tree_map(asarray, self.delayed(*args).compute())

    def delayed(self, *args: Any) -> Any:
        """The same as a value of ``dask.delayed``, of NumPy's arrays: for a client's futures."""
        dask = dask_module("dask")
        delayed = dask.delayed
        split = [i for i, arg in enumerate(args) if is_dask_array(arg)]
        self._check(args, split)
        if self._sent is None:
            (self._sent,) = dask.persist(delayed(self._function, pure=False, traverse=False))
        whole = {i: tree_map(_as_array, arg) for i, arg in enumerate(args) if i not in split}
        sent = delayed(whole, pure=False, traverse=False)
        columns = [_row_blocks(args[i]) for i in split]
        tasks = [
            delayed(_of_block, pure=False)(self._sent, sent, split, *blocks)
            for blocks in zip(*columns, strict=True)
        ]
        while len(tasks) > 1:
            groups = [tasks[i : i + self._split_every] for i in range(0, len(tasks), self._split_every)]
            tasks = [group[0] if len(group) == 1 else delayed(_added, pure=False)(group) for group in groups]
        return tasks[0]

    def _check(self, args: tuple[Any, ...], split: list[int]) -> None:
        if not split:
            raise ArgumentError(f"{self._name}: no argument is a dask array; tj.value_and_grad takes others")
        for position in self._positions:
            if -len(args) <= position < len(args) and position % len(args) in split:
                raise ArgumentError(f"{self._name}: argument {position} is a dask array, and is in argnums")
        first = args[split[0]]
        for i in split:
            if not args[i].ndim or args[i].chunks[0] != first.chunks[0]:
                raise ShapeError(
                    f"{self._name}: argument {i} has chunks {args[i].chunks[:1]} along its first axis, and "
                    f"argument {split[0]} has {first.chunks[:1]}; rechunk one of them"
                )


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, (bool, int, float, complex)) else np.asarray(leaf)


def _row_blocks(array: Any) -> list[Any]:
    """The blocks of rows of a dask array, as delayed values."""
    whole_rows = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    blocks: list[Any] = whole_rows.to_delayed().ravel().tolist()
    return blocks


def _of_block(function: Any, whole: dict[int, Any], split: list[int], *blocks: Any) -> Any:
    """What `function` gives for one block of each array that is split."""
    args = {**whole, **dict(zip(split, blocks, strict=True))}
    with ONE_THREAD:
        return tree_map(np.asarray, function(*[args[i] for i in range(len(args))]))


def _added(trees: list[Any]) -> Any:
    leaves, structure = flatten(trees[0])
    every = [leaves, *(flatten(tree)[0] for tree in trees[1:])]
    return structure.unflatten([sum(same[1:], same[0]) for same in zip(*every, strict=True)])
