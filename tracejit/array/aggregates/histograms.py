"""Histograms in any number of dimensions, and the bins that elements fall into.

The counts are those of NumPy, which sorts elements into bins by comparing them with the edges. Where the
number of bins is a number, the shape is known before the function runs, so that all of it is traced; the
names of rules for it (``"auto"``) need values.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...base.errors import DomainError, ShapeError
from ...ir.dtypes import BOOL, FLOAT64, INT64, is_real_floating, result_type
from ...ir.types import as_shape
from ...tensors.tensor import Tensor, wrap
from ..manipulation import ravel
from ..numerical.calculus import diff
from ..operands import (
    SCALARS,
    as_tensor,
    cast,
    filled,
    holds_tensors,
    promoted_arrays,
    require_real,
    reshaped,
    run,
)
from ..ordering.counting import bincount
from ..ranges import linspace
from ..reductions import max, min, sum


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin that each element of `x` falls into: i where ``bins[i-1] <= x < bins[i]``.

    With `right` the bins hold their upper edge in place of the lower one. `bins` is monotonic; where it
    descends, ``bins[i-1] > x >= bins[i]``.

    Example:
        >>> import tracejit as tj
        >>> tj.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0])
        tensor([1, 4, 3])

    Raises DomainError for bins that are not monotonic; of traced ones the first and the last say whether
    they ascend. Semantics: ``numpy.digitize``.
    """
    values, edges = promoted_arrays(x, bins)
    require_real("digitize", values)
    if edges.ndim != 1:
        raise ShapeError(f"digitize: expected bins of rank 1, got shape {edges.shape}")
    count = edges.shape[0]
    side = "left" if right else "right"
    if not edges.is_traced:
        steps = np.diff(edges.detach().numpy())
        if np.all(steps >= 0):
            return run("searchsorted", edges, values, side=side)
        if not np.all(steps <= 0):
            raise DomainError("digitize: bins must ascend or descend")
    ascending = run("searchsorted", edges, values, side=side) if count < 2 or edges.is_traced else None
    flipped = run("slice", edges, start=(count - 1,), size=(count,), step=(-1,)) if count else edges
    descending = run("sub", count, run("searchsorted", flipped, values, side=side))
    if ascending is None:
        return descending
    if count < 2:
        return ascending
    first, last = [run("slice", edges, start=(at,), size=(1,), step=(1,)) for at in (0, count - 1)]
    return run("where", reshaped(run("le", first, last), ()), ascending, descending)


def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of the bins that ``histogram`` uses.

    Example:
        >>> import tracejit as tj
        >>> tj.histogram_bin_edges([1.0, 2.0, 5.0], bins=4)
        tensor([1., 2., 3., 4., 5.])

    Raises DomainError. Semantics: ``numpy.histogram_bin_edges``.
    """
    return _edges("histogram_bin_edges", ravel(as_tensor(x)), bins, range, weights)


def histogram(
    x: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """Count of the elements of `x` in each bin, and the edges of the bins.

    `bins` are the edges, of which the last one belongs to its bin; or the number of bins of equal width
    between the ends in `range`, or the smallest and the largest element; or the name of a rule for it. With
    `weights` the sums of those; with `density` the counts over their sum and the widths. Gradients go to
    the weights, and to the edges.

    Example:
        >>> import tracejit as tj
        >>> tj.histogram([1, 2, 1], bins=[0, 1, 2, 3])
        (tensor([0, 2, 1]), tensor([0, 1, 2, 3]))

    Raises DomainError, and ShapeError for weights of another shape. Semantics: ``numpy.histogram``.
    """
    x = as_tensor(x)
    terms = None if weights is None else as_tensor(weights)
    if terms is not None and terms.shape != x.shape:
        raise ShapeError(f"histogram: weights must have the shape of x, {x.shape}, got {terms.shape}")
    x = ravel(x)
    if x.dtype is BOOL:
        x = cast(x, INT64)
    edges = _edges("histogram", x, bins, range, weights)
    places = _bins(x, edges)
    counts = _counts(places, terms, edges.shape[0] - 1)
    if density:
        counts = run("div", run("div", counts, diff(edges)), sum(counts))
    return counts, edges


def _edges(name: str, x: Tensor, bins: Any, range: Any, weights: Any) -> Tensor:
    require_real(name, x)
    if isinstance(bins, str):
        data = x.detach()._concrete(f"{name} with bins={bins!r}", "a number of bins")
        ends: Any = None if range is None else tuple(float(end) for end in range)
        return wrap(np.histogram_bin_edges(data, bins, ends, weights))
    if (
        not isinstance(bins, (list, tuple))
        and np.ndim(bins if not isinstance(bins, Tensor) else bins._data) == 0
    ):
        count = operator.index(bins)
        if count < 1:
            raise DomainError(f"{name}: bins must be positive, got {count}")
        low, high = _ends(name, x, range)
        dtype = result_type(x.dtype, *[float if type(end) in SCALARS else end.dtype for end in (low, high)])
        edges = linspace(low, high, count + 1, dtype=dtype if is_real_floating(dtype) else FLOAT64)
        return edges  # type: ignore[no-any-return]  # noqa: RET504
    edges = as_tensor(bins)
    if edges.ndim != 1:
        raise ShapeError(f"{name}: bins must be a number or a line of edges, got shape {edges.shape}")
    if not edges.is_traced and np.any(np.diff(edges.detach().numpy()) < 0):
        raise DomainError(f"{name}: the edges in bins must ascend")
    return edges


def _ends(name: str, x: Tensor, range: Any) -> tuple[Any, Any]:
    """The first and last edge, apart where all elements are equal."""
    if range is not None:
        low, high = range
        if not holds_tensors([low, high]):
            if low > high:
                raise DomainError(f"{name}: max must be larger than min in range, got {(low, high)}")
            if not (math.isfinite(low) and math.isfinite(high)):
                raise DomainError(f"{name}: range {(low, high)} is not finite")
            return (low - 0.5, high + 0.5) if low == high else (low, high)
    elif x.size == 0:
        return 0.0, 1.0
    else:
        low, high = min(x), max(x)
        if not x.is_traced and not (math.isfinite(low.item()) and math.isfinite(high.item())):
            raise DomainError(f"{name}: the range [{low.item()}, {high.item()}] of x is not finite")
    low, high = [
        end if is_real_floating(end.dtype) else cast(end, FLOAT64) for end in map(as_tensor, (low, high))
    ]
    half = run("where", run("eq", low, high), filled(0.5, (), low.dtype), 0.0)
    return run("sub", low, half), run("add", high, half)


def _bins(x: Tensor, edges: Tensor) -> Tensor:
    """The number of the bin of each element; that of bins where it falls into none."""
    values, limits = promoted_arrays(x, edges)
    count = edges.shape[0] - 1
    place = run("sub", run("searchsorted", limits, values, side="right"), 1)
    last = run("slice", limits, start=(count,), size=(1,), step=(1,))
    place = run("where", run("eq", values, last), count - 1, place)  # the last bin holds its upper edge
    outside = run("logical_or", run("lt", place, 0), run("isnan", values))
    return run("where", outside, count, place)


def _counts(places: Tensor, weights: Tensor | None, bins: int) -> Tensor:
    if weights is None:
        return bincount(places, length=bins)
    counts = bincount(places, ravel(weights), length=bins)
    return cast(counts, weights.dtype) if weights.dtype is not BOOL else counts


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The counts of the points (x, y) in a grid of bins, and the edges along x and y.

    `bins` is a number or edges for both, or a pair of such.

    Example:
        >>> import tracejit as tj
        >>> tj.histogram2d([1.0, 2.0, 2.0], [1.0, 1.0, 2.0], bins=2)[0]
        tensor([[1., 0.],
                [1., 1.]])

    Raises DomainError and ShapeError. Semantics: ``numpy.histogram2d``.
    """
    x, y = as_tensor(x), as_tensor(y)
    if x.shape != y.shape or x.ndim != 1:
        raise ShapeError(f"histogram2d: expected lines of one length, got shapes {x.shape} and {y.shape}")
    if isinstance(bins, (list, tuple, np.ndarray, Tensor)) and len(bins) not in (1, 2):
        bins = [bins, bins]
    elif isinstance(bins, (list, tuple)) and len(bins) == 1:
        bins = [bins[0], bins[0]]
    counts, (first, second) = _counted("histogram2d", [x, y], bins, range, density, weights)
    return counts, first, second


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The counts of the points that are the rows of `sample` in a grid of bins, and its edges by dimension.

    `sample` may also be a list of coordinates, one array for each dimension.

    Example:
        >>> import tracejit as tj
        >>> tj.histogramdd([[1.0, 1.0], [2.0, 1.0], [2.0, 2.0]], bins=2)[0]
        tensor([[1., 0.],
                [1., 1.]])

    Raises DomainError and ShapeError. Semantics: ``numpy.histogramdd``.
    """
    points = as_tensor(sample)
    if points.ndim == 1:
        points = reshaped(points, (points.shape[0], 1))
    if points.ndim != 2:
        raise ShapeError(f"histogramdd: expected points as rows, got shape {points.shape}")
    count, rank = points.shape
    columns = [
        reshaped(run("slice", points, start=(0, place), size=(count, 1), step=(1, 1)), (count,))
        for place in np.arange(rank).tolist()
    ]
    return _counted("histogramdd", columns, bins, range, density, weights)


def _counted(
    name: str, columns: list[Tensor], bins: Any, range: Any, density: bool, weights: Any
) -> tuple[Tensor, tuple[Tensor, ...]]:
    rank = len(columns)
    each = list(bins) if isinstance(bins, (list, tuple, np.ndarray)) else [bins] * rank
    ranges = [None] * rank if range is None else list(range)
    if len(each) != rank or len(ranges) != rank:
        raise ShapeError(f"{name}: expected bins and range for {rank} dimensions")
    edges = [
        cast(tensor, FLOAT64) if not is_real_floating(tensor.dtype) else tensor
        for tensor in (
            _edges(name, column, number, ends, None)
            for column, number, ends in zip(columns, each, ranges, strict=True)
        )
    ]
    sizes = as_shape(f"{name}: bins", [line.shape[0] - 1 for line in edges])
    flat, outside = filled(0, columns[0].shape, INT64), filled(False, columns[0].shape, BOOL)
    for column, line, size in zip(columns, edges, sizes, strict=True):
        place = _bins(column, line)
        outside = run("logical_or", outside, run("eq", place, size))
        flat = run("add", run("mul", flat, size), place)
    total = math.prod(sizes)
    flat = run("where", outside, total, flat)
    terms = None if weights is None else as_tensor(weights)
    counts = reshaped(cast(_counts(flat, terms, total), FLOAT64), sizes)
    if density:
        counts = run("div", counts, sum(counts))
        for number, line in enumerate(edges):
            shape = tuple(sizes[number] if axis == number else 1 for axis in np.arange(rank).tolist())
            counts = run("div", counts, reshaped(diff(line), shape))
    return counts, tuple(edges)
