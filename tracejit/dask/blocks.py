"""A jitted function on each block of dask arrays; dask is imported on first use."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import ArgumentError, TracejitError
from ..base.process.locks import ForkLock
from ..base.process.progress import current_progress
from ..carried import CarriedFunction
from ..ir.dtypes import as_dtype
from ..ir.types import TensorType
from ..jitted.function import JitFunction
from ..jitted.jit import eval_shape, jit
from ..runtime.threads import num_threads, set_num_threads


def dask_module(name: str) -> Any:
    """The module of dask's with this name. Raises TracejitError where dask is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise TracejitError(
            f"tracejit.dask needs {name}, which is not installed: pip install 'tracejit[dask]'"
        ) from error


def is_dask_array(value: Any) -> bool:
    """Whether `value` is an array in blocks."""
    return isinstance(value, dask_module("dask.array").Array)


def current_client() -> Any:
    """The client whose workers compute, None where dask does so in this process."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.Client.current()
    except ValueError:  # what it raises where there is none
        return None


@contextlib.contextmanager
def tasks_shown(what: str) -> Iterator[None]:
    """A progress bar of the tasks that dask's schedulers of this machine run within, where somebody asked for
    bars. (A client's are shown by ``distributed.progress``.)"""
    shown = current_progress()
    if shown is None:
        yield
        return
    bars: list[Any] = []

    def start(dsk: Any, state: Any) -> None:
        waiting = sum(len(state[kind]) for kind in ("ready", "waiting", "running"))
        bars.append(shown.counter(waiting, what))

    with dask_module("dask.callbacks").Callback(start_state=start, posttask=lambda *_: bars[-1].update()):
        try:
            yield
        finally:
            for bar in bars:
                bar.close()


class _OneThread:
    """Context manager: native code of this process keeps to its caller's thread, as dask runs a task in each
    of its own."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._tasks, self._before = 0, 1

    def __enter__(self) -> None:
        with self._lock:
            self._tasks += 1
            if self._tasks == 1:
                self._before = num_threads()
                set_num_threads(1)

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._tasks -= 1
            if self._tasks == 0:
                set_num_threads(self._before)


ONE_THREAD: Final = _OneThread()


#: Number of places of blocks, first or last along each axis, for which machine code goes along.
_MAX_PLACES: Final = 8


def map_blocks(fun: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
    """The dask array of what `fun`, compiled, returns for each block of `arrays`.

    `arrays` are dask arrays whose blocks fit as for ``dask.array.map_blocks``, and others that each block
    gets whole; `fun` returns one array. `options` are those of dask's function: ``chunks`` where the
    results' shapes are not those of the blocks. Nothing is computed but the result's dtype.

    Example:
        >>> import dask.array as da
        >>> import tracejit as tj, tracejit.dask
        >>> x = da.arange(6.0, chunks=3)
        >>> tj.dask.map_blocks(lambda x: tj.sin(x) ** 2 + tj.cos(x) ** 2, x).sum().compute()
        np.float64(6.0)

    Raises ArgumentError where none of `arrays` is a dask array, TracejitError without dask. Semantics:
    ``dask.array.map_blocks``.
    """
    blocked = [array for array in arrays if is_dask_array(array)]
    if not blocked:
        raise ArgumentError("map_blocks: no argument is a dask array")
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    axes = [range(array.ndim)[::-1] if is_dask_array(array) else None for array in arrays]
    several = _types_of_blocks(arrays, axes, lambda _: True)
    result = eval_shape(jitted, *several[0])
    if not isinstance(result, TensorType):
        raise ArgumentError("map_blocks: the function must return one array")
    meta = np.empty((0,) * len(result.shape), result.dtype)
    return dask_module("dask.array").map_blocks(
        _on_block, *arrays, function=_sent(jitted, several), **{"dtype": meta.dtype, "meta": meta, **options}
    )


def blockwise(fun: Callable[..., Any], indices: Any, *pairs: Any, **options: Any) -> Any:
    """The dask array of what `fun`, compiled, returns for the blocks of arrays that have the same indices.

    `pairs` are arrays, each followed by a letter or number for each of its axes; `indices` are those of the
    result. Along others `fun` gets all blocks of an array as one. What is followed by None each block gets
    whole. `options` are those of ``dask.array.blockwise``.

    Example:
        >>> import dask.array as da
        >>> import tracejit as tj, tracejit.dask
        >>> x, y = da.ones((4, 6), chunks=(2, 3)), da.ones((6, 2), chunks=(3, 2))
        >>> product = tj.dask.blockwise(lambda x, y: tj.tanh(x @ y), "ij", x, "ik", y, "kj")
        >>> product.numblocks, product.sum().compute().round(6)
        ((2, 1), np.float64(7.999902))

    Raises ArgumentError where no array is a dask array, TracejitError without dask. Semantics:
    ``dask.array.blockwise`` with ``concatenate=True``.
    """
    arrays, axes = pairs[::2], pairs[1::2]
    if len(arrays) != len(axes) or not any(map(is_dask_array, arrays)):
        raise ArgumentError("blockwise: expected arrays, of which one is a dask array, each with its indices")
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    several = _types_of_blocks(arrays, axes, set(indices).__contains__)
    result = eval_shape(jitted, *several[0])
    if not isinstance(result, TensorType):
        raise ArgumentError("blockwise: the function must return one array")
    meta = np.empty((0,) * len(result.shape), result.dtype)
    return dask_module("dask.array").blockwise(
        _on_block, indices, *pairs, function=_sent(jitted, several),
        **{"dtype": meta.dtype, "meta": meta, "concatenate": True, **options},
    )  # fmt: skip


def _sent(jitted: JitFunction, several: list[tuple[Any, ...]]) -> Any:
    """`jitted` as a value of the graph, which goes to other processes with its machine code for `several`."""
    carried = CarriedFunction(jitted, several)
    return dask_module("dask").delayed(carried, pure=False, traverse=False)


def _types_of_blocks(
    arrays: Sequence[Any], axes: Sequence[Any], is_cut: Callable[[Any], bool]
) -> list[tuple[Any, ...]]:
    """The types of the function's arguments for several blocks of `arrays`, whose `axes` have letters. The
    first blocks along all letters come first, then the last blocks along some, which are often smaller."""
    letters = list(dict.fromkeys(letter for names in axes for letter in names or ()))
    several = []
    for numbers in itertools.islice(itertools.product((0, -1), repeat=len(letters)), _MAX_PLACES):
        place = dict(zip(letters, numbers, strict=True))
        pairs = zip(arrays, axes, strict=True)
        several.append(tuple([_block_type(array, names, place, is_cut) for array, names in pairs]))
    return several


def _block_type(array: Any, letters: Any, place: dict[Any, int], is_cut: Callable[[Any], bool]) -> Any:
    """The type of what the function gets of an `array`: whole along axes that are not cut."""
    if letters is None or not is_dask_array(array):
        return array
    shape = [
        sizes[place[letter]] if is_cut(letter) else sum(sizes)
        for sizes, letter in zip(array.chunks, letters, strict=True)
    ]
    return TensorType(as_dtype(array.dtype), tuple(shape))


def _on_block(*blocks: Any, function: Any) -> Any:
    with ONE_THREAD:
        return np.asarray(function(*blocks))
