"""Makers of random arguments, one for each kind of function: right ones, and now and then wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.array.aggregates.quantile_methods import METHODS

from .arguments import DTYPES, INTEGERS, Arguments, Fixed

#: The positional and the keyword arguments of a call.
CallArguments = tuple[tuple[Any, ...], dict[str, Any]]
Maker = Callable[[Arguments], CallArguments]


def optional(a: Arguments, **values: Any) -> dict[str, Any]:
    """Draw a subset of the keyword arguments `values`."""
    return {name: value for name, value in values.items() if a.chance(0.5)}


def unary_arguments(a: Arguments) -> CallArguments:
    return (a.operand(),), {}


def binary_arguments(a: Arguments) -> CallArguments:
    return a.pair(), {}


def binary_integers_arguments(a: Arguments) -> CallArguments:
    return a.pair(DTYPES if a.chance(0.15) else [*INTEGERS, np.dtype(bool)]), {}


def shift_arguments(a: Arguments) -> CallArguments:
    x = a.array(INTEGERS)
    return (x, a.whole(0, 5) if a.chance(0.3) else a.array(INTEGERS, a.broadcasting(x.shape)) % 7), {}


def power_arguments(a: Arguments) -> CallArguments:
    x = a.operand()
    exponents = [0, 1, 2, 3, -1, 2.0, 0.5, -1.5, True]
    return (x, a.pick(exponents) if a.chance(0.5) else a.array(DTYPES, a.broadcasting(np.shape(x)))), {}


def reduction_arguments(**keywords: Any) -> Maker:
    def make(a: Arguments) -> CallArguments:
        x = a.operand()
        values = {name: value(a) if callable(value) else value for name, value in keywords.items()}
        if a.chance(0.3):
            return (x,), optional(a, **values)
        return (x,), {"axis": a.axis(np.ndim(x)), **optional(a, keepdims=a.chance(0.5), **values)}

    return make


def median_arguments(a: Arguments) -> CallArguments:
    args, keywords = reduction_arguments()(a)
    if np.size(args[0]) == 0 and keywords.get("axis") == ():  # for which NumPy has a wrong error
        return args, {}
    return args, keywords


def dtype_argument(a: Arguments) -> Any:
    return a.pick([*DTYPES, float, int, bool, "f4", "int16", None])


def single_axis_arguments(**keywords: Any) -> Maker:
    def make(a: Arguments) -> CallArguments:
        x = a.operand()
        values = {name: value(a) if callable(value) else value for name, value in keywords.items()}
        if a.chance(0.25):
            return (x,), optional(a, **values)
        return (x,), {"axis": a.axis(np.ndim(x), several=False), **optional(a, **values)}

    return make


def average_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    axis = a.axis(x.ndim)
    keywords: dict[str, Any] = {"axis": axis, **optional(a, keepdims=a.chance(0.5), returned=a.chance(0.5))}
    if a.chance(0.6):
        shape = x.shape
        if a.chance(0.5) and axis is not None:
            names = axis if isinstance(axis, tuple) else (axis,)
            shape = tuple(x.shape[name] for name in names if -x.ndim <= name < x.ndim)
        keywords["weights"] = a.array(DTYPES, shape)
    return (x,), keywords


def quantile_arguments(most: int) -> Maker:
    def make(a: Arguments) -> CallArguments:
        x = a.array(shape=a.pick([(1,), (3,), (5,), (2, 3), (3, 2, 2)]))
        options: list[Any] = [0.5, 0, 1, [0.0, 0.25], [[0.5], [1.0]], np.float32(0.5), 0.3]
        share = np.multiply(a.pick(options), most)
        q = share.item() if share.ndim == 0 else Fixed(share)
        methods = ["linear", a.pick(METHODS)]
        return (x, q), {"axis": a.axis(x.ndim), **optional(a, method=a.pick(methods), keepdims=True)}

    return make


def clip_arguments(a: Arguments) -> CallArguments:
    x = a.operand()
    bounds = [a.pick([None, a.number(), a.array(DTYPES, a.broadcasting(np.shape(x)))]) for _ in range(2)]
    return (x, *bounds), {}


def where_arguments(a: Arguments) -> CallArguments:
    x, y = a.pair()
    shape = np.broadcast_shapes(np.shape(x), ()) if a.chance(0.5) else a.broadcasting(np.shape(x))
    return (a.operand([np.dtype(bool)] if a.chance(0.7) else DTYPES, shape), x, y), {}


def round_arguments(a: Arguments) -> CallArguments:
    return (a.operand(),), optional(a, decimals=a.whole(-2, 3))


def close_arguments(a: Arguments) -> CallArguments:
    return a.pair(), optional(a, rtol=0.1, atol=0.5, equal_nan=True)


def array_equal_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    y = x.copy() if a.chance(0.5) else a.array()
    return (x, y), optional(a, equal_nan=True)


def take_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    indices = a.pick([0, -1, 1, [0, 0], [[0], [-1]], [], (0, 1), Fixed(np.array([0, 1], np.uint8)), True, 7])
    return (x, indices), {
        **optional(a, axis=a.axis(x.ndim, several=False)),
        **optional(a, mode=a.pick(["raise", "wrap", "clip"])),
    }


def take_along_axis_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    axis = a.axis(x.ndim, several=False)
    line = x.reshape(-1) if axis is None else x
    place = 0 if axis is None else axis
    extent = line.shape[place] if -line.ndim <= place < line.ndim else 1
    shape = list(line.shape)
    if line.ndim and -line.ndim <= place < line.ndim:
        shape[place] = a.whole(0, 3)
    low = -extent if extent else 0
    return (x, Fixed(a.random.integers(low, max(extent, 1), shape))), {"axis": axis}


def diff_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    keywords = optional(a, n=a.whole(-1, 3), axis=a.axis(np.ndim(x), several=False, none=False))
    return (x,), {**keywords, **({"prepend": a.number()} if a.chance(0.2) else {})}


def searchsorted_arguments(a: Arguments) -> CallArguments:
    line = np.sort(a.array(DTYPES, (a.whole(0, 5),)))
    return (line, a.operand()), optional(a, side=a.pick(["left", "right"]))


def bincount_arguments(a: Arguments) -> CallArguments:
    x = a.random.integers(-1 if a.chance(0.1) else 0, 5, a.whole(0, 6))
    return (x if a.chance(0.9) else a.array(),), {
        **optional(a, minlength=a.whole(-1, 8)),
        **({"weights": a.array(DTYPES, x.shape)} if a.chance(0.4) else {}),
    }


def lexsort_arguments(a: Arguments) -> CallArguments:
    shape = a.shape()
    keys = [a.array(DTYPES, shape) for _ in range(a.whole(1, 3))]
    return (keys if a.chance(0.5) else tuple(keys),), optional(
        a, axis=a.axis(len(shape), several=False, none=False)
    )


def partition_arguments(a: Arguments) -> CallArguments:
    # a constant line has one order, and so does one element
    x = np.full(a.shape(), a.whole(0, 2), a.pick(DTYPES))
    return (x, a.pick([0, -1, 1, [0, 1], 5])), optional(a, axis=a.axis(x.ndim, several=False))


def matrices_arguments(a: Arguments) -> CallArguments:
    rows, inner, columns = (a.whole(0, 3) for _ in range(3))
    left = a.pick([(rows, inner), (inner,), (2, rows, inner), (1, rows, inner)])
    right = a.pick([(inner, columns), (inner,), (2, inner, columns), (inner + 1, columns), ()])
    return (a.operand(DTYPES, left), a.operand(DTYPES, right)), {}


def products_arguments(a: Arguments) -> CallArguments:
    if a.chance(0.3):
        return a.pair(), {}
    return matrices_arguments(a)


def inner_arguments(a: Arguments) -> CallArguments:
    size = a.whole(0, 3)
    left, right = (a.pick([(size,), (2, size), (1, size), (), (size, 1)]) for _ in range(2))
    return (a.operand(DTYPES, left), a.operand(DTYPES, right)), {}


def tensordot_arguments(a: Arguments) -> CallArguments:
    shape = a.pick([(2, 3), (3, 2), (2, 3, 2)])
    axes = a.pick([0, 1, 2, (0, 0), ([0], [0]), ([0, 1], [0, 1]), (-1, -1), ((0, 1), (1, 0))])
    return (a.array(DTYPES, shape), a.array(DTYPES, a.pick([shape, shape[::-1]]))), {"axes": axes}


def einsum_arguments(a: Arguments) -> CallArguments:
    text = a.pick(["ij,jk->ik", "ij,jk", "ii", "ij->ji", "ij,ij->", "...j,jk->...k", "ij,j", "ji", "ij->j"])
    parts = text.partition("->")[0].split(",")
    size = {"i": 2, "j": 3 if text != "ii" else 2, "k": 2, ".": 1}
    operands = [
        a.array(DTYPES, tuple(size["i" if label == "." else label] for label in part.replace("...", ".")))
        for part in parts
    ]
    if "." in text or a.chance(0.6):
        return (text, *operands), {}
    output = [["ijk".index(label) for label in text.partition("->")[2]]] if "->" in text else []
    lists = [["ijk".index(label) for label in part] for part in parts]
    return (*[item for pair in zip(operands, lists, strict=True) for item in pair], *output), {}


def cast_arguments(a: Arguments) -> CallArguments:
    x = a.array()
    if x.dtype.kind == "f":
        x = np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0)  # what NaN is as an integer, nobody says
        x = np.abs(x)
    return (x, a.pick(DTYPES)), {}


def nan_to_num_arguments(a: Arguments) -> CallArguments:
    return (a.operand(),), optional(a, nan=a.pick([1, 2.5]), posinf=3, neginf=-1.5)


def ldexp_arguments(a: Arguments) -> CallArguments:
    x = a.operand()
    exponents = a.array([*INTEGERS, np.dtype(bool)], a.broadcasting(np.shape(x)))
    return (x, exponents if a.chance(0.8) else a.number()), {}


def unique_arguments(a: Arguments) -> CallArguments:
    x = a.operand()
    flags = optional(a, return_index=True, return_inverse=True, return_counts=True)
    return (x,), {**flags, **({"axis": a.axis(np.ndim(x), several=False)} if a.chance(0.3) else {})}


def sorted_arguments(a: Arguments) -> CallArguments:
    args, keywords = single_axis_arguments()(a)
    return args, {**keywords, "kind": "stable"}


def vecdot_arguments(a: Arguments) -> CallArguments:
    args, _ = inner_arguments(a)
    return args, optional(a, axis=a.pick([-1, 0]))
