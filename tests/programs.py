"""Random programs for tests/test_fuzz.py: Functions with arguments, and how far rounding may take each value.

A program is built with concrete arguments, and every value is evaluated as it is made. Beside its array a
value
carries `error`, a bound on its absolute rounding error by forward analysis: what the operands' errors become,
plus the op's own rounding. Values of error 0 are *exact*: the same bit for bit however a compiler orders,
contracts or vectorises. Only exact values meet ops with jumps (comparisons, floor, argmax, casts to
integers),
and operations whose result would be large, not finite, or ill-conditioned are not taken; so a difference
beyond
the bound is a bug and not chaos.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import BOOL, BY_NAME, INT64
from tracejit.ir.errors import DTypeError
from tracejit.ir.graph import Function, Value
from tracejit.ir.registry import OPS
from tracejit.ir.types import TensorType

from .samples import random_values, specials
from .support import Array

DIMS = [0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 100, 257]
MAX_SIZE = 6000
LARGE = 300.0
ROUNDINGS = 8.0  # ours against NumPy's: maths functions are within 4 ULP on either side

EXACT_UNARY = ["neg", "abs", "sign", "floor", "ceil", "trunc", "rint", "square"]
EXACT_BINARY = ["maximum", "minimum", "fmax", "fmin", "copysign"]
SMOOTH_UNARY = [
    "sin",
    "cos",
    "tanh",
    "atan",
    "erf",
    "asinh",
    "exp",
    "expm1",
    "log1p",
    "sqrt",
    "log",
    "square",
    "sinh",
    "reciprocal",
    "cbrt",
]
INT_UNARY = ["neg", "abs", "sign", "square", "bitwise_not"]
INT_BINARY = [
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "shift_left",
    "shift_right",
    "floor_divide",
    "remainder",
    "fmod",
]
BOOL_BINARY = ["logical_and", "logical_or", "logical_xor", "bitwise_xor", "add", "mul", "maximum", "eq"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
#: Bounds on the slope of smooth functions at |x| <= m, where it is not 1.
SLOPES: dict[str, Any] = {
    "exp": lambda x: math.exp(float(x.max(initial=0.0))),
    "expm1": lambda x: math.exp(float(x.max(initial=0.0))),
    "sinh": lambda x: math.cosh(float(np.abs(x).max(initial=0.0))),
    "square": lambda x: 2 * float(np.abs(x).max(initial=0.0)),
    "log": lambda x: 1 / float(x.min(initial=1.0)), "log1p": lambda x: 1 / (1 + float(x.min(initial=0.0))),
    "sqrt": lambda x: 0.5 / math.sqrt(float(x.min(initial=1.0))),
    "reciprocal": lambda x: float(np.abs(x).min(initial=1.0)) ** -2, "erf": lambda x: 1.2,
    "cbrt": lambda x: float(np.abs(x).min(initial=1.0)) ** (-2 / 3),
}  # fmt: skip
#: Where they are taken at all.
ALLOWED: dict[str, Any] = {
    "exp": lambda x: x.max(initial=0.0) < 5,
    "expm1": lambda x: x.max(initial=0.0) < 5,
    "sinh": lambda x: np.abs(x).max(initial=0.0) < 5,
    "log": lambda x: x.min(initial=1.0) > 0.05, "sqrt": lambda x: x.min(initial=1.0) > 0.05,
    "log1p": lambda x: x.min(initial=0.0) > -0.9, "reciprocal": lambda x: np.abs(x).min(initial=1.0) > 0.1,
    "cbrt": lambda x: np.abs(x).min(initial=1.0) > 0.1,
}  # fmt: skip


@dataclass
class Node:
    """A value of the program with its array and the bound on its error."""

    value: Value
    array: Array
    error: float


@dataclass
class Program:
    """A Function, arguments, and the error bounds of its results."""

    function: Function
    arrays: list[Array]
    errors: list[float]


@dataclass
class Writer:
    """Writes one random program. `special` ones hold NaN and infinities, and so only exact ops on floats."""

    rng: np.random.Generator
    special: bool = False
    floats_only: bool = False
    b: Builder = field(default_factory=Builder)
    nodes: list[Node] = field(default_factory=list)
    arguments: list[Array] = field(default_factory=list)

    # -- choices ----------------------------------------------------------------------------------

    def choose(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def dtype(self) -> np.dtype[Any]:
        if self.floats_only:
            return BY_NAME["f64"]
        return BY_NAME[
            self.choose(["f64", "f64", "f32", "f32", "i64", "i32", "bool", self.choose(list(BY_NAME))])
        ]

    def shape(self) -> tuple[int, ...]:
        while True:
            rank = int(self.rng.choice([0, 1, 2, 2, 3, 4], p=[0.1, 0.25, 0.2, 0.2, 0.2, 0.05]))
            shape = tuple(int(self.choose(DIMS)) for _ in range(rank))
            if math.prod(shape) <= MAX_SIZE:
                return shape

    def parameter(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Node:
        array = np.asarray(random_values(dtype, shape, self.rng))
        if self.special:
            array = np.where(
                self.rng.random(shape) < 0.2, self.rng.choice(specials(dtype), shape), array
            ).astype(dtype)
        self.arguments.append(array)
        node = Node(self.b.parameter(TensorType(dtype, shape), f"a{len(self.arguments)}"), array, 0.0)
        self.nodes.append(node)
        return node

    def pick(self, kinds: str = "biuf", *, exact: bool = False, rank: int = 0) -> Node:
        """A value made before, of these kinds, recent ones rather; a new parameter where there is none."""
        found = [
            node
            for node in self.nodes
            if node.array.dtype.kind in kinds and node.array.ndim >= rank and not (exact and node.error)
        ]
        if not found or self.chance(0.08):
            while True:
                dtype, shape = self.dtype(), self.shape()
                if self.floats_only and "f" not in kinds:
                    dtype = BOOL if "b" in kinds else INT64
                if dtype.kind in kinds and len(shape) >= rank:
                    return self.parameter(dtype, shape)
        return found[-1 - min(int(self.rng.exponential(4)), len(found) - 1)]

    def partner(self, x: Node, *, exact: bool = False, dtype: Any = None) -> Node:
        """A value that broadcasts with `x`, often of its shape."""
        dtype = dtype or x.array.dtype
        found = [
            node
            for node in self.nodes
            if node.array.dtype == dtype
            and not (exact and node.error)
            and self._fits(x.array.shape, node.array.shape)
        ]
        if found and self.chance(0.8):
            return self.choose(found)  # type: ignore[no-any-return]
        shape = tuple(1 if self.chance(0.25) else size for size in x.array.shape)
        return self.parameter(
            dtype, shape[int(self.rng.integers(len(shape) + 1)) if self.chance(0.3) else 0 :]
        )

    @staticmethod
    def _fits(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
        try:
            return math.prod(np.broadcast_shapes(one, two)) <= MAX_SIZE
        except ValueError:
            return False

    # -- appending --------------------------------------------------------------------------------

    def apply(
        self, name: str, operands: list[Any], attrs: dict[str, Any], error: float, roundings: float = 0.0
    ) -> bool:
        """Append op `name` unless its result would be unfit; `error` is what comes from the operands."""
        arrays = [one.array if isinstance(one, Node) else one for one in operands]
        values = tuple(one.value if isinstance(one, Node) else one for one in operands)
        before = len(self.b.body)
        value = self.b.apply(OPS[name], values, attrs)
        with np.errstate(all="ignore"):
            cast = self._as_built(before, dict(zip(values, arrays, strict=True)))
        if cast.dtype.kind == "f" and not self.special:
            largest = float(np.abs(cast).max(initial=0.0))
            if not largest < LARGE or not error < 1e-3:
                del self.b.body[before:]
                return False
            error += roundings * largest * float(np.finfo(cast.dtype).eps)
        elif cast.dtype.kind != "f":
            error = 0.0
        self.nodes.append(Node(value, cast, error))
        return True

    def _as_built(self, before: int, known: dict[Any, Any]) -> Array:
        """Evaluate the instructions that were appended, casts and broadcasts included."""
        for one in self.b.body[before:]:
            arrays = [known[operand] for operand in one.operands]
            known[one.result] = np.asarray(one.op.eval(*arrays, **one.attrs), one.result.dtype)
        return known[self.b.body[-1].result]  # type: ignore[no-any-return]

    # -- kinds of step ----------------------------------------------------------------------------

    def unary(self) -> bool:
        x = self.pick()
        kind = x.array.dtype.kind
        if kind == "b":
            return self.apply("logical_not", [x], {}, 0.0)
        if kind in "iu":
            return self.apply(self.choose(INT_UNARY), [x], {}, 0.0)
        if self.special or (not self.floats_only and self.chance(0.3)):
            name = self.choose(EXACT_UNARY[: 2 if x.error else 7])
            return self.apply(name, [x], {}, x.error)
        name = self.choose(SMOOTH_UNARY)
        if not ALLOWED.get(name, lambda x: True)(x.array):
            return False
        slope = SLOPES.get(name, lambda x: 1.0)(x.array)
        return self.apply(name, [x], {}, slope * x.error, ROUNDINGS)

    def binary(self) -> bool:
        x = self.pick()
        kind = x.array.dtype.kind
        if kind == "b":
            return self.apply(self.choose(BOOL_BINARY), self._ordered(x, self.partner(x)), {}, 0.0)
        if kind in "iu":
            y: Any = self.choose([1, 2, 3]) if self.chance(0.2) else self.partner(x)
            return self.apply(self.choose(INT_BINARY), self._ordered(x, y), {}, 0.0)
        if self.special or self.chance(0.2):
            y = self.partner(x)
            return self.apply(
                self.choose(EXACT_BINARY[: 2 if x.error + y.error else 5]), [x, y], {}, x.error + y.error
            )
        name = self.choose(["add", "sub", "mul", "mul", "div"])
        if self.chance(0.25):
            scalar = self.choose([2.0, 0.5, 1.0, -1.0, 0.1, 3.0, 0.0, -0.0])
            scalar = scalar or (0.0 if name != "div" else 4.0)
            factor = abs(scalar) if name == "mul" else 1 / abs(scalar) if name == "div" else 1.0
            return self.apply(name, [x, scalar], {}, factor * x.error, ROUNDINGS)
        y = self.partner(x)
        sizes = [float(np.abs(one.array).max(initial=0.0)) for one in (x, y)]
        if name == "div":
            least = float(np.abs(y.array).min(initial=1.0))
            if least < 0.1:
                return False
            return self.apply(name, [x, y], {}, x.error / least + sizes[0] / least**2 * y.error, ROUNDINGS)
        if name == "mul":
            return self.apply(name, [x, y], {}, sizes[1] * x.error + sizes[0] * y.error, ROUNDINGS)
        # a sum may be small where its terms are not: rounding before it, contraction inside it
        error = x.error + y.error + 2 * sum(sizes) * float(np.finfo(x.array.dtype).eps)
        return self.apply(name, self._ordered(x, y), {}, error, ROUNDINGS)

    def _ordered(self, x: Any, y: Any) -> list[Any]:
        return [x, y] if self.chance(0.5) or not isinstance(y, Node) else [y, x]

    def comparison(self) -> bool:
        x = self.pick(exact=True)
        return self.apply(self.choose(COMPARISONS), [x, self.partner(x, exact=True)], {}, 0.0)

    def where(self) -> bool:
        x = self.pick()
        y = self.partner(x)
        condition = self.partner(x, dtype=BOOL)
        if self.chance(0.2):
            scalar = x.array.dtype.type(1).item()
            return self.apply("where", [condition, x, scalar], {}, x.error)
        if not self._fits(np.broadcast_shapes(x.array.shape, y.array.shape), condition.array.shape):
            return False
        return self.apply("where", [condition, x, y], {}, x.error + y.error)

    def reduce(self) -> bool:
        x = self.pick(rank=1)
        shape = x.array.shape
        axes = tuple(axis for axis in range(len(shape)) if self.chance(0.5))
        count = math.prod(shape[axis] for axis in axes)
        kind = x.array.dtype.kind
        if kind == "b":
            return self.apply(
                self.choose(["any", "all", "sum", "max"]) if count else "all", [x], {"axes": axes}, 0.0
            )
        name = (
            self.choose(["max", "min"])
            if kind == "f" and self.special
            else self.choose(["sum", "max", "min", "sum", "prod", "mean"])
        )
        if count == 0 and name in ("max", "min"):
            return False
        if kind == "f":
            if (name == "prod" and (x.error or count > 8)) or (name == "mean" and not count):
                return False
            if name in ("sum", "mean"):
                largest = float(np.abs(x.array).max(initial=0.0))
                rounding = count * largest * float(np.finfo(x.array.dtype).eps)
                scale = 1.0 if name == "sum" else 1 / count
                return self.apply(name, [x], {"axes": axes}, count * scale * (x.error + rounding), ROUNDINGS)
            return self.apply(name, [x], {"axes": axes}, x.error, 2.0 * count if name == "prod" else 0.0)
        if name == "mean":
            return False
        return self.apply(name, [x], {"axes": axes}, 0.0)

    def arg_reduce(self) -> bool:
        x = self.pick(exact=True, rank=1)
        axis = int(self.rng.integers(x.array.ndim))
        if x.array.shape[axis] == 0:
            return False
        return self.apply(self.choose(["argmax", "argmin"]), [x], {"axis": axis}, 0.0)

    def cumsum(self) -> bool:
        x = self.pick("biu" if self.special else "biuf", rank=1)
        axis = int(self.rng.integers(x.array.ndim))
        count = x.array.shape[axis]
        error = 0.0
        if x.array.dtype.kind == "f":
            largest = float(np.abs(x.array).max(initial=0.0))
            error = count * (x.error + count * largest * float(np.finfo(x.array.dtype).eps))
        return self.apply("cumsum", [x], {"axis": axis, "reverse": self.chance(0.4)}, error)

    def running_extremum(self) -> bool:
        x = self.pick(rank=1)
        attrs = {"axis": int(self.rng.integers(x.array.ndim)), "reverse": self.chance(0.4)}
        return self.apply(self.choose(["cummax", "cummin"]), [x], attrs, x.error)

    def broadcast(self) -> bool:
        x = self.pick()
        shape = tuple(
            int(self.choose([2, 3, 8, 17])) if size == 1 and self.chance(0.6) else size
            for size in x.array.shape
        )
        shape = tuple(int(self.choose(DIMS)) for _ in range(int(self.rng.integers(3)))) + shape
        if math.prod(shape) > MAX_SIZE or shape == x.array.shape:
            return False
        return self.apply("broadcast", [x], {"shape": shape}, x.error)

    def reshape(self) -> bool:
        x = self.pick()
        sizes = [size for size in x.array.shape if size != 1 or self.chance(0.5)]
        if self.chance(0.3):  # affine: ones come and go
            for _ in range(int(self.rng.integers(3))):
                sizes.insert(int(self.rng.integers(len(sizes) + 1)), 1)
        elif len(sizes) > 1 and self.chance(0.6):  # neighbours merge
            at = int(self.rng.integers(len(sizes) - 1))
            sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
        else:  # one splits
            for at, size in enumerate(sizes):
                by = next((by for by in (2, 3, 4, 5, 8) if size and size % by == 0), 0)
                if by:
                    sizes[at : at + 1] = [size // by, by] if self.chance(0.5) else [by, size // by]
                    break
        return self.apply("reshape", [x], {"shape": tuple(sizes)}, x.error)

    def transpose(self) -> bool:
        x = self.pick(rank=2)
        perm = tuple(int(i) for i in self.rng.permutation(x.array.ndim))
        return self.apply("transpose", [x], {"perm": perm}, x.error)

    def _slice(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        starts, sizes, steps = [], [], []
        for extent in shape:
            if extent == 0 or self.chance(0.1):
                starts.append(0), sizes.append(0 if extent == 0 or self.chance(0.3) else 1), steps.append(1)
                continue
            step = int(self.choose([1, 1, 1, 2, 3]))
            most = (extent - 1) // step + 1
            size = most if self.chance(0.3) else int(self.rng.integers(1, most + 1))
            start = int(self.rng.integers(0, extent - step * (size - 1)))
            if self.chance(0.3):
                start, step = start + step * (size - 1), -step
            starts.append(start), sizes.append(size), steps.append(step)
        return tuple(starts), tuple(sizes), tuple(steps)

    def slice(self) -> bool:
        x = self.pick(rank=1)
        start, size, step = self._slice(x.array.shape)
        return self.apply("slice", [x], {"start": start, "size": size, "step": step}, x.error)

    def update(self) -> bool:
        x = self.pick(rank=1)
        start, size, step = self._slice(x.array.shape)
        found = [one for one in self.nodes if one.array.shape == size and one.array.dtype == x.array.dtype]
        v = self.choose(found) if found and self.chance(0.7) else self.parameter(x.array.dtype, size)
        return self.apply("update", [x, v], {"start": start, "step": step}, x.error + v.error)

    def concat(self) -> bool:
        x = self.pick(rank=1)
        axis = int(self.rng.integers(x.array.ndim))

        def rest(node: Node) -> Any:
            shape = list(node.array.shape)
            shape[axis : axis + 1] = []
            return (node.array.dtype, len(node.array.shape), shape)

        fitting = [one for one in self.nodes if one.array.ndim == x.array.ndim and rest(one) == rest(x)]
        parts = [x] + [self.choose(fitting) for _ in range(int(self.rng.integers(3)))]
        if sum(one.array.size for one in parts) > MAX_SIZE:
            return False
        return self.apply("concat", parts, {"axis": axis}, sum(one.error for one in parts))

    def _indices(self, shape: tuple[int, ...]) -> list[Node] | None:
        count = int(self.rng.integers(1, len(shape) + 1))
        form = tuple(int(self.choose([1, 2, 3, 5, 17])) for _ in range(int(self.rng.integers(3))))
        if 0 in shape[:count] or math.prod(form) * math.prod(shape[count:]) > MAX_SIZE:
            return None
        made = []
        for extent in shape[:count]:
            array = np.asarray(self.rng.integers(-extent, extent, form))
            self.arguments.append(array)
            value = self.b.parameter(TensorType(INT64, form), f"i{len(self.arguments)}")
            made.append(Node(value, array, 0.0))
        return made

    def gather(self) -> bool:
        x = self.pick(rank=1)
        indices = self._indices(x.array.shape)
        return indices is not None and self.apply("gather", [x, *indices], {}, x.error)

    def scatter(self) -> bool:
        x = self.pick(rank=1)
        indices = self._indices(x.array.shape)
        if indices is None:
            return False
        shape = indices[0].array.shape + x.array.shape[len(indices) :]
        found = [one for one in self.nodes if one.array.shape == shape and one.array.dtype == x.array.dtype]
        v = self.choose(found) if found else self.parameter(x.array.dtype, shape)
        mode = "set" if x.array.dtype.kind == "f" and self.special else self.choose(["set", "add"])
        count = float(indices[0].array.size)
        largest = (
            float(np.abs(x.array).max(initial=0.0)) + count * float(np.abs(v.array).max(initial=0.0))
            if mode == "add" and x.array.dtype.kind == "f"
            else 0.0
        )
        rounding = count * largest * float(np.finfo(x.array.dtype).eps) if largest else 0.0
        return self.apply("scatter", [x, v, *indices], {"mode": mode}, x.error + count * v.error + rounding)

    def matmul(self) -> bool:
        x = self.pick("iu" if self.special else "biuf", rank=2)
        *batch, m, k = x.array.shape
        found = [
            one
            for one in self.nodes
            if one.array.dtype == x.array.dtype and one.array.ndim == x.array.ndim
            and one.array.shape[:-1] == (*batch, k)
        ]  # fmt: skip
        y = (
            self.choose(found)
            if found
            else self.parameter(x.array.dtype, (*batch, k, int(self.choose([1, 2, 5, 16, 33]))))
        )
        if math.prod(batch) * m * y.array.shape[-1] > MAX_SIZE:
            return False
        error = 0.0
        if x.array.dtype.kind == "f":
            sizes = [float(np.abs(one.array).max(initial=0.0)) for one in (x, y)]
            rounding = k * sizes[0] * sizes[1] * float(np.finfo(x.array.dtype).eps)
            error = k * (sizes[0] * y.error + sizes[1] * x.error + rounding)
        return self.apply("matmul", [x, y], {}, error)

    def cast(self) -> bool:
        x = self.pick(exact=self.chance(0.8))
        target = self.dtype()
        if x.array.dtype.kind == "f" and target.kind != "f":
            if x.error or self.special:
                return False
            low, high = (0, 2) if target.kind == "b" else (np.iinfo(target).min, np.iinfo(target).max)
            if target.kind != "b" and x.array.size and not (low <= x.array.min() and x.array.max() <= high):
                return False
        error = x.error
        if target == BY_NAME["f32"] and x.error:
            error += float(np.abs(x.array).max(initial=0.0)) * 1.2e-7
        return self.apply("cast", [x], {"dtype": target}, error)

    def create(self) -> bool:
        dtype, shape = self.dtype(), self.shape()
        if self.chance(0.6) or not shape or dtype.kind == "b" or (dtype.itemsize == 1 and max(shape) > 100):
            values = random_values(dtype, (), self.rng).item()
            return self.apply("full", [], {"value": values, "shape": shape, "dtype": dtype}, 0.0)
        if math.prod(shape) < 20 and self.chance(0.5):
            data = tuple(random_values(dtype, shape, self.rng).reshape(-1).tolist())
            return self.apply("constant", [], {"data": data, "shape": shape, "dtype": dtype}, 0.0)
        axis = int(self.rng.integers(len(shape)))
        return self.apply("iota", [], {"shape": shape, "axis": axis, "dtype": dtype}, 0.0)

    # -- the program ------------------------------------------------------------------------------

    def write(self, count: int) -> Program:
        smooth = [self.unary, self.unary, self.binary, self.binary, self.where, self.reduce, self.broadcast]
        moves = [
            self.reshape,
            self.transpose,
            self.slice,
            self.update,
            self.concat,
            self.gather,
            self.scatter,
        ]
        steps = smooth * 2 + moves + [self.matmul, self.cumsum, self.running_extremum, self.create]
        if not self.floats_only:
            steps += [self.comparison, self.arg_reduce, self.cast]
        self.parameter(self.dtype(), self.shape())
        tries = 0
        while len(self.b.body) < count and tries < 20 * count:
            tries += 1
            try:
                self.choose(steps)()
            except DTypeError:
                continue  # an op that this dtype does not have
        chosen = [self.pick() for _ in range(int(self.rng.integers(1, 6)))]
        if self.chance(0.3):
            chosen.append(self.nodes[0])
        if self.chance(0.3):
            chosen.append(chosen[0])
        function = self.b.finish("fuzz", [one.value for one in chosen])
        return Program(function, self.arguments, [one.error for one in chosen])


def program(seed: int) -> Program:
    """The random program of `seed`; every fourth one holds special values."""
    rng = np.random.default_rng(seed)
    return Writer(rng, special=seed % 4 == 3).write(int(rng.integers(3, 41)))


def smooth_program(seed: int) -> Program:
    """A random program of f64 ops with one scalar result, to differentiate."""
    rng = np.random.default_rng([seed, 1])
    writer = Writer(rng, floats_only=True)
    writer.write(int(rng.integers(3, 20)))
    floats = [one for one in writer.nodes if one.array.dtype == BY_NAME["f64"]]
    b, total = writer.b, None
    for node in floats[-3:]:
        part = b.sum(node.value, axes=tuple(range(node.array.ndim)))
        total = part if total is None else b.add(total, part)
    return Program(b.finish("smooth", [total]), writer.arguments, [0.0])
