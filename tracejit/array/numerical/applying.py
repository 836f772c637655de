"""Functions of Python's made to work along axes and on elements."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.errors import ArgumentError, ShapeError
from ...ir.dtypes import as_dtype
from ...ir.types import broadcast_shapes, normalize_axis
from ...provided import NAMESPACE
from ...tensors.tensor import Tensor
from ..indexing.access import getitem
from ..joining import stack
from ..manipulation import broadcast_to, expand_dims, moveaxis, reshape
from ..operands import as_tensor, cast


def apply_along_axis(func1d: Callable[..., Any], axis: int, x: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The results of `func1d` of every line of `x` along `axis`, which the results' axes replace.

    Under a trace the function is batched, as by ``vmap``; eagerly it is called for each line.

    Example:
        >>> import tracejit as tj
        >>> tj.apply_along_axis(lambda line: line.max() - line.min(), 1, [[1, 5], [7, 3]])
        tensor([4, 4])

    Raises AxisError, and ShapeError where there are no lines. Semantics: ``numpy.apply_along_axis``.
    """
    x = as_tensor(x)
    place = normalize_axis("apply_along_axis", axis, x.ndim)
    moved = moveaxis(x, place, -1)
    outer = moved.shape[:-1]
    if 0 in outer:
        raise ShapeError("apply_along_axis: there are no lines to apply the function to")
    lines = reshape(moved, (-1, moved.shape[-1]))
    if x.is_traced:
        vmap = NAMESPACE().vmap
        flat = vmap(lambda line: as_tensor(func1d(line, *args, **kwargs)))(lines)
    else:
        flat = stack(
            [as_tensor(func1d(getitem(lines, row), *args, **kwargs)) for row in range(lines.shape[0])]
        )
    result = reshape(flat, (*outer, *flat.shape[1:]))
    inner = result.ndim - len(outer)
    sources = tuple(range(len(outer), result.ndim))
    return moveaxis(result, sources, tuple(range(place, place + inner)))


def apply_over_axes(func: Callable[..., Any], x: Any, axes: Any) -> Tensor:
    """``func(x, axis)`` for each of `axes`, in order; an axis that goes away comes back with size 1.

    Example:
        >>> import tracejit as tj
        >>> tj.apply_over_axes(tj.sum, [[1, 2], [3, 4]], [0, 1])
        tensor([[10]])

    Raises AxisError and ShapeError. Semantics: ``numpy.apply_over_axes``.
    """
    result = as_tensor(x)
    rank = result.ndim
    for axis in np.atleast_1d(axes).tolist():
        place = normalize_axis("apply_over_axes", axis, rank)
        value = as_tensor(func(result, place))
        result = value if value.ndim == rank else expand_dims(value, place)
        if result.ndim != rank:
            raise ShapeError("apply_over_axes: the function must keep the rank, or lower it by 1")
    return result


class vectorize:
    """A function of numbers, made one of arrays: it is applied to each element, of arrays that broadcast.

    With a `signature` such as ``"(n),(n)->()"`` to vectors and matrices. Under a trace the function is
    batched, as by ``vmap``; eagerly it is called for each element.

    Example:
        >>> import tracejit as tj
        >>> f = tj.vectorize(lambda a, b: a - b if a > b else a + b)
        >>> f([1, 2, 3, 4], 2)
        tensor([3, 4, 1, 2])

    Semantics: ``numpy.vectorize``.
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any] | None = None,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self._otypes, self._excluded, self._signature = otypes, frozenset(excluded or ()), signature
        self._function = pyfunc
        if pyfunc is not None:
            functools.update_wrapper(self, pyfunc)
        if doc is not None:
            self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:  # it is a decorator with options
            (function,) = args
            return vectorize(function, self._otypes, None, self._excluded, False, self._signature)
        names = [name for name in kwargs if name not in self._excluded]
        places = [place for place in range(len(args)) if place not in self._excluded]
        arrays = [as_tensor(args[place]) for place in places] + [as_tensor(kwargs[name]) for name in names]
        if not arrays:
            raise ArgumentError("vectorize: expected at least one array among the arguments")
        ranks = self._core_ranks(len(arrays))
        outer = broadcast_shapes(
            "vectorize", *[x.shape[: x.ndim - rank] for x, rank in zip(arrays, ranks, strict=True)]
        )
        spread = [
            broadcast_to(x, (*outer, *x.shape[x.ndim - rank :]))
            for x, rank in zip(arrays, ranks, strict=True)
        ]
        function = self._function

        def of_elements(*elements: Any) -> Any:
            positional, named = list(args), dict(kwargs)
            for place, element in zip(places, elements, strict=False):
                positional[place] = element
            named.update(zip(names, elements[len(places) :], strict=True))
            return function(*positional, **named)

        return self._results(of_elements, spread, outer)

    def _core_ranks(self, count: int) -> list[int]:
        if self._signature is None:
            return [0] * count
        inputs = self._signature.partition("->")[0]
        groups = inputs.replace(" ", "").strip("()").split("),(")
        if len(groups) != count:
            raise ArgumentError(
                f"vectorize: signature {self._signature!r} has {len(groups)} arguments, got {count}"
            )
        return [len([name for name in group.split(",") if name]) for group in groups]

    def _results(self, function: Callable[..., Any], arrays: Sequence[Tensor], outer: tuple[int, ...]) -> Any:
        flat = [reshape(x, (-1, *x.shape[len(outer) :])) if x.size else x for x in arrays]
        if 0 in outer:
            if self._otypes is None:
                raise ShapeError(
                    "vectorize: of no elements, the dtypes of the results are known by otypes alone"
                )
            dtypes = [as_dtype(kind) for kind in self._otypes]
            empty = [as_tensor(np.zeros(outer, dtype)) for dtype in dtypes]
            return empty[0] if len(empty) == 1 else tuple(empty)
        if any(x.is_traced for x in arrays):
            results = NAMESPACE().vmap(function)(*flat)
            several = isinstance(results, tuple)
            columns = list(results) if several else [results]
        else:
            rows = [function(*[getitem(x, row) for x in flat]) for row in range(flat[0].shape[0])]
            several = isinstance(rows[0], tuple)
            columns = (
                [stack(list(column)) for column in zip(*rows, strict=True)] if several else [stack(rows)]
            )
        shaped = [reshape(as_tensor(column), (*outer, *column.shape[1:])) for column in columns]
        if self._otypes is not None:
            shaped = [
                cast(x, as_dtype(kind))
                for x, kind in zip(shaped, itertools.cycle(self._otypes), strict=False)
            ]
        return tuple(shaped) if several else shaped[0]
