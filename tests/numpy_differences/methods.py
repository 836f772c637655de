"""Random uses of what Tensors and ndarrays both are: methods, operators, reading and writing by index."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

from .arguments import DTYPES, FLOATS, INTEGERS, Arguments, Fixed
from .calls import FUNCTIONS, in_order
from .makers import Maker
from .oracle import Call


def shared_methods() -> list[str]:
    """The public methods and attributes that Tensors and ndarrays have under one name."""
    return [name for name in dir(tj.Tensor) if not name.startswith("_") and hasattr(np.ndarray, name)]


def _first(maker: Maker, *rest: Any) -> Maker:
    """A maker like `maker` whose first argument is always an ndarray."""

    def make(a: Arguments) -> Any:
        while True:
            args, kwargs = maker(a)
            if isinstance(args[0], np.ndarray):
                return args, kwargs

    return make


def _alone(a: Arguments) -> Any:
    return (a.array(),), {}


def _one_element(a: Arguments) -> Any:
    return (a.array(shape=a.pick([(), (1,), (1, 1), (2,), (0,)])),), {}


def _reshaped(a: Arguments) -> Any:
    (x, shape), _ = FUNCTIONS["reshape"](a)
    if isinstance(shape, tuple) and a.chance(0.5):
        return (x, *(shape or (-1,))), {}
    return (x, shape), {}


def _transposed(a: Arguments) -> Any:
    (x, *axes), _ = _first(FUNCTIONS["transpose"])(a)
    if axes and a.chance(0.5):
        return (x, *axes[0]), {}
    return (x, *axes), {}


def _filled(a: Arguments) -> Any:
    x = a.array()
    return (x, a.whole(0, 3) if x.dtype.kind in "ub" else a.pick([0, -1, 0.5, 2])), {}


#: Methods by the makers of functions of other names, or of their own.
METHODS: dict[str, Maker] = {
    **{
        name: _first(FUNCTIONS[name])
        for name in FUNCTIONS
        if hasattr(np.ndarray, name) and hasattr(tj.Tensor, name)
    },
    **dict.fromkeys(
        (
            "T",
            "mT",
            "real",
            "imag",
            "nonzero",
            "dtype",
            "ndim",
            "shape",
            "size",
            "itemsize",
            "nbytes",
            "tolist",
            "flatten",
        ),
        _alone,
    ),
    "item": _one_element,
    "reshape": _reshaped,
    "transpose": _transposed,
    "fill": _filled,
    "trace": _first(FUNCTIONS["diagonal"]),
    "sort": lambda a: ((x := a.array(), a.axis(x.ndim, several=False, none=False)), {}),
    "searchsorted": _first(FUNCTIONS["searchsorted"]),
    "partition": lambda a: (
        (x := a.array(shape=(3, 3)), a.whole(-2, 2), a.axis(x.ndim, several=False, none=False)),
        {},
    ),
    "choose": lambda a: (([0, 2, 1] * np.array(1), [a.array(INTEGERS, (3,)) for _ in range(3)]), {}),
    "compress": lambda a: ((a.array(shape=(3,)), [True, a.chance(0.5), False]), {}),
    "put": lambda a: ((a.array(INTEGERS, (2, 2)), a.pick([0, [1, -2], 5]), a.pick([1, [0, 1, 2]])), {}),
}
#: Attributes that are about memory, views of other types and the like.
UNTESTED_METHODS = frozenset(
    ("data", "view", "device", "to_device", "dump", "dumps", "flat", "flags", "strides", "tobytes", "tofile")
)
_IN_PLACE = frozenset(("fill", "partition", "put", "sort"))
_CONCRETE = frozenset(("item", "tolist"))


def method_call(name: str, a: Arguments) -> Call:
    """A random use of the method or attribute `name`."""
    args, kwargs = METHODS[name](a)

    def run(xp: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _IN_PLACE:
            x = x.copy()
        attribute = getattr(x, name)
        result = attribute(*args, **kwargs) if callable(attribute) else attribute
        if name == "dtype":
            return str(result) == str(np.dtype(result))
        if name == "argpartition":
            return in_order(xp, result, kwargs)
        if name == "partition":
            return xp.sort(x, args[1])
        return x if name in _IN_PLACE else result

    return Call(f"ndarray.{name}", run, args, kwargs, jitted=name not in _CONCRETE, is_method=True)


# -- operators ------------------------------------------------------------------------------------

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "@": operator.matmul, "divmod": divmod,
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "&=": operator.iand, "|=": operator.ior,
    "^=": operator.ixor,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "~": operator.invert,
    "float": float, "int": int, "bool": bool, "len": len, "list": list, "index": operator.index,
}  # fmt: skip
_SCALARS = [
    2,
    -1,
    3,
    0.5,
    -2.0,
    True,
    0,
    np.float32(1.5),
    np.int8(2),
    np.int64(3),
    np.bool_(True),
    np.uint8(200),
]


def operator_call(name: str, a: Arguments) -> Call:
    """A random use of the operator `name`."""
    if name in UNARY:
        function = UNARY[name]
        concrete = name in ("float", "int", "bool", "index")
        shapes = [(), (2,), (0,), (2, 2)] if concrete else None
        dtypes = INTEGERS if name == "int" else DTYPES  # of NaN there is none
        x = a.array(dtypes, a.pick(shapes) if shapes else None)
        return Call(name, lambda xp, x: function(x), (x,), jitted=not concrete, is_method=True)
    if name == "@":
        args, _ = _first(FUNCTIONS["matmul"])(a)
    elif name in ("<<", ">>"):
        args, _ = FUNCTIONS["left_shift"](a)
    elif name == "**":
        args, _ = _first(FUNCTIONS["power"])(a)
    else:
        dtypes = [*INTEGERS, np.dtype(bool)] if name[0] in "&|^" and a.chance(0.8) else DTYPES
        x = a.array(dtypes)
        other = a.pick(_SCALARS) if a.chance(0.35) else a.array(dtypes, a.broadcasting(x.shape))
        args = (x, other)
        if not name.endswith("=") and a.chance(0.3):
            args = args[::-1]
    binary = BINARY[name]
    in_place = name.endswith("=") and name not in ("<=", ">=", "==", "!=")

    def run(xp: Any, x: Any, y: Any) -> Any:
        return binary(x.copy() if in_place else x, y)

    return Call(name, run, args, is_method=True)


# -- indexing -------------------------------------------------------------------------------------


def _entry(a: Arguments, extent: int) -> Any:
    """One entry of a key for an axis of `extent` elements; now and then one outside."""
    bound = extent if a.chance(0.95) else extent + 2
    low, high = (-bound, bound - 1) if bound else (0, 0)
    whole = lambda: a.whole(low, high) if bound else 0  # noqa: E731
    kind = a.whole(0, 9)
    if kind <= 2:
        return whole()
    if kind <= 5:
        ends = [None, *range(-extent - 1, extent + 2)]
        return slice(a.pick(ends), a.pick(ends), a.pick([None, 1, 2, -1, -2, 3]))
    if kind == 6:
        return np.int64(whole()) if a.chance(0.5) else np.uint8(max(whole(), 0) % 256)
    if kind == 7:
        return [whole() for _ in range(a.whole(0, 3))] if extent else []
    if kind == 8:
        shape = a.pick([(2,), (1,), (2, 1), (1, 3), ()])
        dtype = a.pick([np.int64, np.int8, np.int32])
        return (
            Fixed(a.random.integers(low, max(high, low) + 1, shape).astype(dtype)) if extent else slice(None)
        )
    return Fixed(a.random.random(extent) < 0.5)


def _key(a: Arguments, shape: tuple[int, ...]) -> Any:
    """A key for an array of `shape`, right or wrong."""
    if a.chance(0.08):
        return Fixed(np.asarray(a.random.random(shape) < 0.5))
    if a.chance(0.06):
        return a.pick(
            [Ellipsis, None, True, False, (), [], slice(None), (None, Ellipsis), [True], [[0]], 0.5, "a"]
        )
    count = a.whole(0, len(shape)) if a.chance(0.95) else len(shape) + 1
    entries = [_entry(a, shape[axis] if axis < len(shape) else 1) for axis in range(count)]
    if entries and a.chance(0.2):
        entries.insert(a.whole(0, len(entries)), a.pick([None, None, True, False]))
    if count < len(shape) and a.chance(0.3):
        place = a.whole(0, len(entries))
        entries = [*[_entry(a, size) for size in shape[:place]], Ellipsis][: place + 1]
    if len(entries) == 1 and a.chance(0.6):
        return entries[0]
    return tuple(entries)


def getitem_call(a: Arguments) -> Call:
    """Reading by a random key."""
    x = a.array()
    return Call("getitem", lambda xp, x, key: x[key], (x, _key(a, x.shape)), is_method=True)


def setitem_call(a: Arguments) -> Call:
    """Writing by a random key, to a copy, which is the result."""
    x = a.array()
    key = _key(a, x.shape)
    try:
        shape = np.shape(x[key.array if isinstance(key, Fixed) else _plain(key)])
    except (IndexError, TypeError):
        shape = ()
    options: list[Any] = [1, True, 2, a.array([x.dtype], a.broadcasting(shape)), a.array([x.dtype], shape)]
    if x.dtype.kind == "f":
        options += [0.5, -1.0, np.float32(2.5), a.array(FLOATS, shape), a.array(INTEGERS, shape)]
    value = a.pick(options)
    adds = a.chance(0.2) and x.dtype.kind != "b"

    def run(xp: Any, x: Any, key: Any, value: Any) -> Any:
        x = x.copy()
        if adds:
            x[key] += value
        else:
            x[key] = value
        return x

    return Call("setitem+=" if adds else "setitem", run, (x, key, value), is_method=True)


def _plain(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(item.array if isinstance(item, Fixed) else item for item in key)
    return key
