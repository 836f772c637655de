"""Makers of random arguments for functions that create arrays, or change shapes and places."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import DTYPES, FLOATS, Arguments, Fixed
from .makers import CallArguments, dtype_argument, optional


def _shape_of(a: Arguments) -> Any:
    return a.pick(
        [2, 0, (2, 3), [3], (), (0, 2), range(2), Fixed(np.array([2, 3])), np.int64(3), (1, -1), 2.0]
    )


def filled_arguments(a: Arguments) -> CallArguments:
    return (_shape_of(a),), optional(a, dtype=dtype_argument(a))


def full_arguments(a: Arguments) -> CallArguments:
    value = a.pick([2, -1, 0.5, True, np.float32(2), np.int8(3), [1, 2, 3]])
    return (_shape_of(a), value), optional(a, dtype=a.pick(FLOATS))


def like_arguments(a: Arguments) -> CallArguments:
    return (a.operand(),), optional(a, dtype=dtype_argument(a), shape=a.pick([(2,), 3, ()]))


def full_like_arguments(a: Arguments) -> CallArguments:
    return (a.array(), a.pick([1, 0, 2, True])), optional(a, dtype=dtype_argument(a))


def array_arguments(a: Arguments) -> CallArguments:
    values = [
        a.operand(),
        a.nested(),
        [a.nested()],
        np.float32(2),
        [np.float32(1), 2],
        [1, 2.5],
        [[]],
        [True, 2],
    ]
    return (a.pick(values),), optional(a, dtype=a.pick([*FLOATS, None]))


def arange_arguments(a: Arguments) -> CallArguments:
    numbers = [0, 1, 3, 5, -2, 0.5, 2.5, -1.0, 10, np.int8(4), np.float32(2.5)]
    return tuple(a.pick(numbers) for _ in range(a.whole(1, 3))), optional(
        a, dtype=a.pick([None, *DTYPES[1:]])
    )


def spaced_arguments(a: Arguments) -> CallArguments:
    ends = [1, 2, 4, 0.5, 8.0, np.float32(3)]
    keywords = optional(a, num=a.pick([0, 1, 2, 5]), endpoint=a.chance(0.5))
    if a.chance(0.5):  # an end of float32 makes NumPy compute in float32, whatever the dtype
        return (a.pick(ends[:-1]), a.pick(ends[:-1])), {**keywords, "dtype": a.pick([None, *FLOATS])}
    return (a.pick(ends), a.pick(ends)), keywords


def eye_arguments(a: Arguments) -> CallArguments:
    return (a.whole(0, 4), *([a.whole(0, 4)] if a.chance(0.5) else [])), optional(
        a, k=a.whole(-2, 2), dtype=dtype_argument(a)
    )


def identity_arguments(a: Arguments) -> CallArguments:
    return (a.whole(0, 4),), optional(a, dtype=dtype_argument(a))


def joined_arguments(a: Arguments) -> CallArguments:
    shape = a.shape()
    parts = [a.array(DTYPES, shape if a.chance(0.9) else a.shape()) for _ in range(a.whole(1, 3))]
    if a.chance(0.1):
        return ([*parts, a.nested()],), {}
    return (parts if a.chance(0.7) else tuple(parts),), {}


def joined_along_arguments(a: Arguments) -> CallArguments:
    (parts,), _ = joined_arguments(a)
    return (parts,), {"axis": a.axis(np.ndim(parts[0]), several=False)} if a.chance(0.7) else {}


def stacked_arguments(a: Arguments) -> CallArguments:
    (parts,), _ = joined_arguments(a)
    return (parts,), {"axis": a.axis(np.ndim(parts[0]) + 1, several=False, none=False)} if a.chance(
        0.7
    ) else {}


def split_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    sections = [1, 2, 3, [1], [0, 2], [1, 1], (2, -1), [], Fixed(np.array([1, 2])), 0, [5]]
    return (x, a.pick(sections)), optional(a, axis=a.axis(x.ndim, several=False, none=False))


def reshape_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    size = x.size
    shapes = [
        -1,
        (-1,),
        size,
        (size, 1),
        (1, -1),
        (-1, 1),
        (),
        (2, -1),
        (-1, -1),
        (0, -1),
        Fixed(np.array([size])),
    ]
    return (x, a.pick(shapes)), {}


def broadcast_to_arguments(a: Arguments) -> CallArguments:
    x = a.operand()
    shape = np.shape(x)
    return (x, a.pick([shape, (2, *shape), (2, 1, *shape), (3,), (2, 3), 3, ()])), {}


def arrays_arguments(a: Arguments) -> CallArguments:
    x, y = a.pair()
    return a.pick([(x,), (x, y), (x, y, a.number()), ()]), {}


def axes_order_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    order = tuple(int(i) for i in a.random.permutation(x.ndim))
    negative = tuple(i - x.ndim for i in order)
    return (x, a.pick([order, negative, list(order), (0, 1), (0, 0)])), {}


def transpose_arguments(a: Arguments) -> CallArguments:
    return ((a.operand(),), {}) if a.chance(0.4) else axes_order_arguments(a)


def two_axes_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    return (x, *[a.axis(x.ndim, several=False, none=False) for _ in range(2)]), {}


def moveaxis_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    if a.chance(0.6):
        return two_axes_arguments(a)
    return (x, a.pick([(0, 1), [0, -1], (0,)]), a.pick([(1, 0), [-1, 0], (0,)])), {}


def flip_arguments(a: Arguments) -> CallArguments:
    x = a.operand()
    return (x,), optional(a, axis=a.axis(np.ndim(x)))


def roll_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    shift = a.pick([0, 1, -2, 7, (1, 2), (1,)])
    return (x, shift), optional(a, axis=a.axis(x.ndim))


def rot90_arguments(a: Arguments) -> CallArguments:
    return (a.array(),), optional(a, k=a.whole(-2, 5), axes=a.pick([(0, 1), (1, 0), (-1, -2), (0, 0)]))


def tile_arguments(a: Arguments) -> CallArguments:
    return (a.operand(), a.pick([2, 0, (2,), (2, 1), (1, 2, 2), [2, 2], (), Fixed(np.array([2, 1]))])), {}


def repeat_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    axis = a.axis(x.ndim, several=False)
    size = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    counts = [0, 1, 2, [2], (3,), [1] * size, Fixed(a.random.integers(0, 3, size)), -1, True]
    return (x, a.pick(counts)), {} if axis is None else {"axis": axis}


def pad_arguments(a: Arguments) -> CallArguments:
    x = a.array(least_rank=0)
    widths = [1, 0, (1, 2), ((1, 2),), [2, 0], ((0, 1), (2, 1)), -1, Fixed(np.array([1, 1]))]
    mode = a.pick(["constant", "constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum"])
    values = a.pick([0, 3, -1, 0.5, (1, 2), ((1, 2), (3, 4))])
    keywords = {"constant_values": values} if mode == "constant" and a.chance(0.6) else {}
    return (x, a.pick(widths), mode), keywords


def meshgrid_arguments(a: Arguments) -> CallArguments:
    vectors = [a.operand(DTYPES, (a.whole(0, 3),)) for _ in range(a.whole(0, 3))]
    return tuple(vectors), optional(a, indexing=a.pick(["xy", "ij"]), sparse=a.chance(0.5))


def diagonal_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    keywords = optional(a, axis1=a.pick([0, 1, -1]), axis2=a.pick([1, 0, -2]))
    return (x,), {**optional(a, offset=a.whole(-2, 2)), **keywords}


def diag_arguments(a: Arguments) -> CallArguments:
    return (a.operand(),), optional(a, k=a.whole(-2, 2))


def triangle_arguments(a: Arguments) -> CallArguments:
    return (a.operand(),), optional(a, k=a.whole(-2, 2))
