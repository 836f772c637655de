"""Sums over blocks of rows, with their gradients: each block by a task, results by a tree of additions."""

from __future__ import annotations

import collections
import functools
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..array.creation import asarray
from ..base.errors import ArgumentError, ShapeError
from ..carried import CarriedFunction
from ..ir.dtypes import as_dtype
from ..ir.types import TensorType
from ..jitted.jit import jit
from ..pytree import flatten, tree_map
from ..transforms.grad import checked_argnums, name_of
from ..transforms.grad import value_and_grad as of_one_block
from .blocks import ONE_THREAD, current_client, dask_module, is_dask_array, tasks_shown

#: Number of sizes of blocks for which machine code goes along; workers compile for others.
_MAX_SIZES: Final = 4


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
    """The function that `value_and_grad` returns."""

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int], split_every: int) -> None:
        self._name = f"value_and_grad of {name_of(fun)}"
        self._positions = checked_argnums("value_and_grad", argnums)
        self._split_every = split_every
        self._function = jit(of_one_block(fun, argnums))
        #: The function as a value in the graph, which workers keep, so that they trace it once; the client of
        #: these workers, and the types of arguments for which its machine code went along.
        self._sent: Any = None
        self._client: Callable[[], Any] = lambda: None
        self._kinds: dict[Any, None] = {}

    def __call__(self, *args: Any) -> Any:
        with tasks_shown(self._name):
            return tree_map(asarray, self.delayed(*args).compute())

    def delayed(self, *args: Any) -> Any:
        """The value and gradient as a ``dask.delayed`` object of NumPy arrays, for a client's futures."""
        dask = dask_module("dask")
        delayed = dask.delayed
        split = [i for i, arg in enumerate(args) if is_dask_array(arg)]
        self._check(args, split)
        whole = {i: tree_map(_as_array, arg) for i, arg in enumerate(args) if i not in split}
        sent = delayed(whole, pure=False, traverse=False)
        arrays = dask.optimize(*[_whole_rows(args[i]) for i in split])
        function = self._function_there(whole, dict(zip(split, arrays, strict=True)))
        graph, name = _graph(split, function.key, sent.key, arrays, self._split_every)
        layers = dask_module("dask.highlevelgraph").HighLevelGraph.from_collections(
            name, graph, dependencies=[function, sent, *arrays]
        )
        return dask_module("dask.delayed").Delayed(name, layers)

    def _function_there(self, whole: dict[int, Any], split: dict[int, Any]) -> Any:
        """The function as a value that the workers have, who get it with its machine code for blocks of
        `split` arrays beside the `whole` ones. It is sent again for other workers, or other types."""
        client = current_client()
        several = [] if client is None else list(_types_of_blocks(whole, split))
        kinds = dict.fromkeys(map(_kind, several))
        if self._sent is None or self._client() is not client or _is_lost(self._sent):
            self._kinds = {}
        elif kinds.keys() <= self._kinds.keys():
            return self._sent
        self._kinds |= kinds
        carried = CarriedFunction(self._function, several)
        (self._sent,) = dask_module("dask").persist(
            dask_module("dask").delayed(carried, pure=False, traverse=False)
        )
        self._client = (lambda: None) if client is None else weakref.ref(client)
        return self._sent

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


def _is_lost(sent: Any) -> bool:
    """Whether workers had a value, and have it no more: their client was closed or restarted."""
    future = sent.dask[sent.key]
    return getattr(future, "status", "") in ("cancelled", "lost", "error")


def _types_of_blocks(whole: dict[int, Any], split: dict[int, Any]) -> Iterator[tuple[Any, ...]]:
    """Arguments like those of tasks, for each size of blocks, the most frequent first."""
    rows = collections.Counter(next(iter(split.values())).chunks[0])
    for count, _ in rows.most_common(_MAX_SIZES):
        shapes = {i: (count, *array.shape[1:]) for i, array in split.items()}
        if not any(np.isnan(shape).any() for shape in shapes.values()):  # a size that dask does not know
            blocks = {i: TensorType(as_dtype(split[i].dtype), shape) for i, shape in shapes.items()}
            specs = {**whole, **blocks}
            yield tuple([specs[i] for i in range(len(specs))])


def _kind(specs: tuple[Any, ...]) -> Any:
    """The cache key of arguments: their structure and the dtypes and shapes of their leaves."""
    leaves, structure = flatten(specs)
    types = [(getattr(leaf, "dtype", type(leaf)), getattr(leaf, "shape", ())) for leaf in leaves]
    return structure, tuple(types)


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, (bool, int, float, complex)) else np.asarray(leaf)


def _whole_rows(array: Any) -> Any:
    """A dask array whose blocks are whole rows."""
    return array.rechunk(dict.fromkeys(range(1, array.ndim), -1))


def _graph(
    split: Sequence[int], function: Any, whole: Any, arrays: Sequence[Any], split_every: int
) -> tuple[dict[Any, Any], str]:
    """The tasks for all blocks and their sum, and the name of the last one.

    Values of ``dask.delayed`` would take several times as long to make."""
    tasks, block = dask_module("dask._task_spec"), functools.partial(_of_block, tuple(split))
    name = f"value-and-grad-{uuid.uuid4().hex}"
    count, level = arrays[0].numblocks[0], 0
    graph: dict[Any, Any] = {}

    def add(key: Any, called: Callable[..., Any], *keys: Any) -> Any:
        graph[key] = tasks.Task(key, called, *map(tasks.TaskRef, keys))
        return key

    def key_of(number: int, many: int) -> Any:
        return name if many == 1 else (name, level, number)

    keys = [
        add(key_of(number, count), block, function, whole,
            *[(array.name, number, *[0] * (array.ndim - 1)) for array in arrays])
        for number in range(count)
    ]  # fmt: skip
    while len(keys) > 1:
        groups, level = [keys[i : i + split_every] for i in range(0, len(keys), split_every)], level + 1
        keys = [add(key_of(number, len(groups)), _added, *group) for number, group in enumerate(groups)]
    return graph, name


def _of_block(split: Sequence[int], function: Any, whole: dict[int, Any], *blocks: Any) -> Any:
    """The result of `function` for one block of each array that is split."""
    args = {**whole, **dict(zip(split, blocks, strict=True))}
    with ONE_THREAD:
        return tree_map(np.asarray, function(*[args[i] for i in range(len(args))]))


def _added(*trees: Any) -> Any:
    leaves, structure = flatten(trees[0])
    every = [leaves, *(flatten(tree)[0] for tree in trees[1:])]
    return structure.unflatten([sum(same[1:], same[0]) for same in zip(*every, strict=True)])
