"""Elementwise graphs of dask's arrays: one compiled function for each block, in place of one pass over memory
for each operation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import ArgumentError
from ..base.loading import load_module
from ..base.records import record
from ..ir.dtypes import BY_NAME
from ..jitted.jit import jit
from .blocks import ONE_THREAD, dask_module, is_dask_array

#: Operations on elements that dask's arrays make of operators and of NumPy's functions.
_OPERATORS: Final = frozenset(
    getattr(operator, name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "invert", "and_",
        "or_", "xor", "lshift", "rshift", "lt", "le", "eq", "ne", "gt", "ge",
    )
)  # fmt: skip
_FUNCTIONS: Final = frozenset((np.where, np.clip))
_DTYPES: Final = frozenset(BY_NAME.values())
#: The functions in dask's modules that begin reductions.
_REDUCTIONS: Final = (
    ("chunk", "sum"),
    ("chunk", "prod"),
    ("reductions", "chunk_min"),
    ("reductions", "chunk_max"),
)


@record
class _Step:
    """One operation: `function` of what is at `places` and with `options`. Places count the program's blocks,
    then earlier steps; a literal is a tuple of itself."""

    function: Callable[..., Any]
    places: tuple[int | tuple[Any], ...]
    options: tuple[tuple[str, Any], ...]


@record
class _Program:
    """The operations of one block, in order; the last one gives the result."""

    steps: tuple[_Step, ...]

    def __call__(self, *blocks: Any) -> Any:
        values = list(blocks)
        for step in self.steps:
            operands = [place[0] if isinstance(place, tuple) else values[place] for place in step.places]
            values.append(step.function(*operands, **dict(step.options)))
        return values[-1]


def compiled(array: Any) -> Any:
    """Compile the elementwise operations of a dask array, and the first step of sums, products and extrema of
    them, into one function for each block.

    Operators, NumPy's ufuncs that this library has, ``where``, ``clip`` and ``astype`` are compiled, between
    whatever else the graph has. Blocks of other dtypes (text, dates, objects), without elements, or that are
    no arrays of NumPy, are computed by NumPy as before. With
    ``dask.config.set(array_optimize=tj.dask.optimize)`` it is done for all arrays that are computed.

    Example:
        >>> import dask.array as da
        >>> import tracejit as tj, tracejit.dask
        >>> x = da.arange(6.0, chunks=3)
        >>> y = tj.dask.compiled(da.sin(x) ** 2 + da.cos(x) ** 2)
        >>> y.sum().compute()
        np.float64(6.0)

    Raises ArgumentError for what is no dask array, TracejitError without dask. Results are NumPy's but for
    rounding.
    """
    if not is_dask_array(array):
        raise ArgumentError(f"compiled: expected a dask array, got {type(array).__name__}")
    graph = _fused(array.dask, {array.name})
    return dask_module("dask.array").Array(graph, array.name, array.chunks, meta=array._meta)


def optimize(dsk: Any, keys: Any, **options: Any) -> Any:
    """dask's optimization of arrays, after `compiled`: for ``dask.config.set(array_optimize=...)``.

    Example:
        >>> import dask, dask.array as da, tracejit as tj
        >>> x = da.arange(6.0, chunks=3)
        >>> with dask.config.set(array_optimize=tj.dask.optimize):
        ...     (x * 2 + 1).compute()
        array([ 1.,  3.,  5.,  7.,  9., 11.])
    """
    if isinstance(dsk, dask_module("dask.highlevelgraph").HighLevelGraph):
        names = {key[0] if isinstance(key, tuple) else key for key in dask_module("dask.core").flatten(keys)}
        dsk = _fused(dsk, names)
    return dask_module("dask.array.optimization").optimize(dsk, keys, **options)


# -- graphs ---------------------------------------------------------------------------------------


def _fused(graph: Any, wanted: set[str]) -> Any:
    """`graph` with groups of elementwise layers as one layer each; those of `wanted` names stay."""
    layers, dependencies = dict(graph.layers), {name: set(d) for name, d in graph.dependencies.items()}
    dependents: dict[str, set[str]] = {name: set() for name in layers}
    for name, needed in dependencies.items():
        for other in needed:
            dependents[other].add(name)
    #: The root of the group that each layer is in.
    groups: dict[str, str] = {}
    for name in reversed(graph._toposort_layers()):
        if _step_of(layers[name]) is None:
            continue
        roots = {groups.get(user) for user in dependents[name]}
        joins = len(roots) == 1 and None not in roots and name not in wanted and not _reduces(layers[name])
        groups[name] = str(roots.pop()) if joins else name
    for root in set(groups.values()):
        members = [name for name, other in groups.items() if other == root]
        if len(members) == 1:
            continue
        layers[root], leaves = _layer(root, layers, set(members))
        dependencies[root] = leaves
        for name in members:
            if name != root:
                del layers[name], dependencies[name]
    return dask_module("dask.highlevelgraph").HighLevelGraph(layers, dependencies)


def _layer(root: str, layers: Mapping[str, Any], members: set[str]) -> tuple[Any, set[str]]:
    """The layer `root` of all `members` in one, and the names of what it reads."""
    places: dict[Any, int] = {}
    blocks: list[tuple[str, tuple[Any, ...]]] = []
    steps: list[tuple[Callable[..., Any], list[Any], tuple[tuple[str, Any], ...]]] = []
    numblocks: dict[str, Any] = {}

    def place(name: str, indices: tuple[Any, ...]) -> Any:
        """The place of the block or step that computes a layer whose axes have `indices` in the result."""
        if (name, indices) not in places:
            if name not in members:
                blocks.append((name, indices))
                places[name, indices] = -len(blocks)
            else:
                layer = layers[name]
                renamed = dict(zip(layer.output_indices, indices, strict=True))
                numblocks.update(layer.numblocks)
                step = _step_of(layer)
                assert step is not None
                operands = [
                    (_literal(value),) if axes is None else place(value, tuple([renamed[i] for i in axes]))
                    for value, axes in layer.indices
                ]
                steps.append((step.function, operands, step.options))
                places[name, indices] = len(steps) - 1
        return places[name, indices]

    indices = layers[root].output_indices
    place(root, tuple(indices))

    def number(operand: Any) -> Any:
        if isinstance(operand, tuple):
            return operand
        return -operand - 1 if operand < 0 else len(blocks) + operand

    program = _Program(
        tuple(
            [_Step(function, tuple(map(number, operands)), options) for function, operands, options in steps]
        )
    )
    pairs = [item for name, axes in blocks for item in (name, axes)]
    layer = dask_module("dask.blockwise").blockwise(
        functools.partial(_run, program), root, indices, *pairs,
        numblocks={name: numblocks[name] for name, _ in blocks},
    )  # fmt: skip
    return layer, {name for name, _ in blocks}


def _step_of(layer: Any) -> _Step | None:
    """The operation of a layer; None where it is not known to be one on elements."""
    if not isinstance(layer, dask_module("dask.blockwise").Blockwise) or layer.io_deps or layer.new_axes:
        return None
    task, output = getattr(layer, "task", None), tuple(layer.output_indices)
    if task is None or len(task.args) != len(layer.indices):
        return None
    for value, axes in layer.indices:
        if axes is None:
            if not isinstance(_literal(value), (bool, int, float, complex, np.generic)):
                return None
        elif tuple(axes) != output[len(output) - len(axes) :]:
            return None
    function: Any = task.func
    options = dict(task.kwargs)
    if isinstance(function, functools.partial) and not function.args:
        function, options = function.func, {**function.keywords, **options}
    chunk = dask_module("dask.array.chunk")
    if function is chunk.astype and set(options) == {"astype_dtype"}:
        return _Step(_astype, (), (("dtype", np.dtype(options["astype_dtype"])),))
    if function in _reductions() and set(options) <= {"axis", "keepdims", "dtype"}:
        return _Step(function, (), tuple(sorted(options.items())))
    known = function in _OPERATORS or function in _FUNCTIONS if _is_hashable(function) else False
    if isinstance(function, np.ufunc):
        known = function.nout == 1 and hasattr(load_module("tracejit"), function.__name__)
    return _Step(function, (), ()) if known and not options else None


def _reduces(layer: Any) -> bool:
    step = _step_of(layer)
    return step is not None and step.function in _reductions()


@functools.cache
def _reductions() -> tuple[Any, ...]:
    return tuple([getattr(dask_module(f"dask.array.{module}"), name) for module, name in _REDUCTIONS])


def _literal(value: Any) -> Any:
    """The literal operand of a layer."""
    return getattr(value, "value", value)


def _is_hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None


def _astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


# -- blocks ---------------------------------------------------------------------------------------


def _run(program: _Program, *blocks: Any) -> Any:
    """The result for one block of each array."""
    if not all(type(block) is np.ndarray and block.dtype in _DTYPES and block.size for block in blocks):
        return program(*blocks)
    function, dtype = _function(program, tuple([(block.dtype, block.ndim) for block in blocks]))
    with ONE_THREAD:
        result = np.asarray(function(*blocks))
    return result if result.dtype == dtype else result.astype(dtype)


@functools.lru_cache(maxsize=256)
def _function(program: _Program, kinds: Sequence[tuple[Any, int]]) -> tuple[Callable[..., Any], Any]:
    """The compiled function of a program, and the dtype that NumPy's result has."""
    with np.errstate(all="ignore"):
        dtype = np.asarray(program(*[np.ones((1,) * ndim, dtype) for dtype, ndim in kinds])).dtype
    return jit(program), dtype
