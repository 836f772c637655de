"""Random programs in the user's own words, with results that rounding cannot change.

All floats are small whole numbers, so sums, products, convolutions and their gradients are the same bit for
bit in whatever order they are computed, and sorts, searches and comparisons may follow. What grows is
brought back by `% 13 - 6`. So one program can run sorts of convolutions of scans, and every difference is a
bug.

A program is a list of steps, each of which takes the values before it and appends one. It is built while
running eagerly, on arguments of all memory layouts (`laid_out`), and can then be replayed on any values:
eagerly, under `jit`, `grad`, `vmap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit as tj

from .support import Array

DIMS = [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65]
FLOATS = ["f4", "f8"]
INTS = ["i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"]
LIMIT = 60.0

Values = list[Any]
Step = Callable[[Values], Any]


@dataclass
class Exact:
    """A program: steps over arguments, and which values are its results."""

    arguments: list[Array]
    steps: list[tuple[str, Step]]
    results: list[int]

    @property
    def names(self) -> list[str]:
        """What each step does, for the report of a failure."""
        return [name for name, _ in self.steps]

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        values: Values = list(arguments)
        for _, step in self.steps:
            values.append(step(values))
        return tuple(values[i] for i in self.results)


def laid_out(array: Array, kind: int) -> Array:
    """The same elements, elsewhere in memory: contiguous, Fortran, strided, reversed, misaligned,
    read-only."""
    shape, dtype = array.shape, array.dtype
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2 and array.ndim:
        wide = np.zeros((*shape[:-1], 2 * shape[-1] + 1), dtype)
        wide[..., 1::2] = array
        return wide[..., 1::2]
    if kind == 3 and array.ndim:
        return array[..., ::-1].copy()[..., ::-1]
    if kind == 4:
        raw = np.zeros(array.nbytes + 1, np.uint8)
        view = np.ndarray(shape, dtype, raw.data, 1)
        view[...] = array
        return view
    if kind == 5:
        copy = array.copy()
        copy.flags.writeable = False
        return copy
    if kind == 6 and array.ndim and shape[0] > 1 and (array == array[:1]).all():
        return np.broadcast_to(array[:1].copy(), shape)
    if kind == 7 and array.ndim > 1:
        return np.moveaxis(np.moveaxis(array, -1, 0).copy(), 0, -1)
    return array


class Builder:
    """Builds one program from random choices, running it eagerly as it goes."""

    def __init__(self, seed: int, *, smooth: bool = False, special: bool = False, largest: int = 6000):
        self.rng = np.random.default_rng([seed, 77])
        self.smooth, self.special, self.largest = smooth, special, largest
        self.arguments: list[Array] = []
        self.values: Values = []
        self.steps: list[tuple[str, Step]] = []

    # -- choices ----------------------------------------------------------------------------------

    def choose(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        while True:
            r = int(self.choose([0, 1, 1, 2, 2, 2, 3, 3, 4])) if rank is None else rank
            shape = tuple(int(self.choose(DIMS)) for _ in range(r))
            if math.prod(shape) <= self.largest:
                return shape

    def fresh(self, shape: tuple[int, ...], dtype: str) -> Array:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.asarray(self.rng.integers(0, 2, shape)).astype(kind)
        low = 0 if kind.kind == "u" else -5
        x = np.asarray(self.rng.integers(low, 6, shape)).astype(kind)
        if x.ndim and x.shape[0] > 1 and self.chance(0.08):
            x[...] = x[:1]
        if kind.kind == "f" and self.special:
            odd = self.rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0]), shape)
            x = np.where(self.rng.random(shape) < 0.08, odd, x).astype(kind)
        return x

    def dtype(self) -> str:
        if self.smooth:
            return "f8"
        return str(self.choose([*FLOATS, *FLOATS, *FLOATS, "i8", "i4", "?", self.choose(INTS)]))

    def array(self, index: int) -> Array:
        return np.asarray(self.values[index])

    def find(self, kinds: str = "biuf", rank: int = 0, most: int = 9, nonempty: bool = False) -> int:
        """The index of a value of these kinds, a recent one rather."""
        fits = [
            i
            for i, v in enumerate(self.values)
            if v.dtype.kind in kinds and rank <= v.ndim <= most and not (nonempty and 0 in v.shape)
        ]
        if not fits:
            raise Unfit
        return fits[-1 - min(int(self.rng.exponential(3)), len(fits) - 1)]

    def partner(self, i: int, *, same: bool = False) -> int:
        """A value that broadcasts with value `i`, mostly of its dtype."""
        x = self.values[i]
        fits = [
            j
            for j, v in enumerate(self.values)
            if v.dtype == x.dtype and (v.shape == x.shape if same else _broadcast(v.shape, x.shape))
        ]
        return int(self.choose(fits))

    # -- appending --------------------------------------------------------------------------------

    def add(self, name: str, step: Step) -> None:
        with np.errstate(all="ignore"):
            value = step(self.values)
        if not isinstance(value, tj.Tensor) or value.size > self.largest:
            raise Unfit
        data = np.asarray(value)
        if data.dtype.kind == "f" and data.size:
            sizes = np.abs(np.where(np.isfinite(data), data, 0))
            finite = sizes.max()
            if finite > 1e6 or (sizes % 0.125).any():  # f32 has 24 bits, and thirds come of gradients at ties
                raise Unfit
        self.steps.append((name, step))
        self.values.append(value)
        if data.dtype.kind == "f" and data.size and finite > LIMIT:
            last = len(self.values) - 1
            self.add("wrap", lambda v: v[last] % 13.0 - 6.0)

    # -- steps ------------------------------------------------------------------------------------

    def unary(self) -> None:
        i = self.find()
        kind = self.values[i].dtype.kind
        f: Any = self.choose(
            {
                "b": [tj.logical_not],
                "i": [tj.negative, tj.abs, tj.sign, tj.square, tj.invert],
                "u": [tj.square, tj.invert, tj.sign],
                "f": [tj.negative, tj.abs, tj.square, tj.floor, tj.rint, lambda x: tj.clip(x, -2, 3),
                      lambda x: tj.where(x > 1, x - 1, 2 * x), lambda x: x**2, lambda x: 3 - x],
            }[kind]
        )  # fmt: skip
        self.add("unary", lambda v: f(v[i]))

    def binary(self) -> None:
        i = self.find()
        j = self.partner(i)
        if self.chance(0.5):
            i, j = j, i
        kind = self.values[i].dtype.kind
        f = self.choose(
            {
                "b": [tj.logical_and, tj.logical_or, tj.logical_xor, tj.maximum],
                "i": [tj.add, tj.subtract, tj.multiply, tj.maximum, tj.minimum, tj.bitwise_xor],
                "u": [tj.add, tj.subtract, tj.multiply, tj.maximum, tj.minimum, tj.bitwise_and],
                "f": [tj.add, tj.subtract, tj.multiply, tj.multiply, tj.maximum, tj.minimum],
            }[kind]
        )
        self.add(f.__name__, lambda v: f(v[i], v[j]))

    def mixed(self) -> None:
        """Operands of two dtypes."""
        i, j = self.find("iuf"), self.find("biuf")
        if not _broadcast(self.values[i].shape, self.values[j].shape):
            raise Unfit
        self.add("mixed", lambda v: v[i] * v[j])

    def where(self) -> None:
        i = self.find("iuf")
        j, k = self.partner(i), self.partner(i, same=True)
        self.add("where", lambda v: tj.where(v[i] > v[j], v[k], v[i]))

    def compare(self) -> None:
        i = self.find("iuf")
        j = self.partner(i)
        f = self.choose([tj.less, tj.less_equal, tj.equal, tj.greater])
        self.add("compare", lambda v: f(v[i], v[j]))

    def cast(self) -> None:
        i = self.find()
        if self.special and self.values[i].dtype.kind == "f":
            raise Unfit
        to = self.choose(["f4", "f8", "i4", "i8", "i2"])
        self.add("cast", lambda v: v[i].astype(to))

    def axes(self, i: int) -> tuple[int, ...]:
        rank = self.values[i].ndim
        return tuple(a for a in range(rank) if self.chance(0.5)) or (int(self.rng.integers(rank)),)

    def reduce(self) -> None:
        i = self.find("iuf", 1)
        axes = self.axes(i)
        if 0 in self.values[i].shape:
            f = self.choose([tj.sum, tj.prod])
        else:
            f = self.choose([tj.sum, tj.sum, tj.max, tj.min, tj.ptp, tj.prod])
        if f is tj.prod and self.values[i].dtype.kind == "f":
            f = tj.sum
        keep = self.chance(0.4)
        if f is tj.ptp:
            self.add("ptp", lambda v: f(v[i], axis=axes[0], keepdims=keep))
        else:
            self.add(f.__name__, lambda v: f(v[i], axis=axes, keepdims=keep))

    def fold(self) -> None:
        i = self.find(rank=1)
        axis = int(self.choose(self.axes(i)))
        f = self.choose([tj.any, tj.all, tj.count_nonzero])
        self.add(f.__name__, lambda v: f(v[i], axis=axis))

    def arg(self) -> None:
        i = self.find("iuf", 1)
        axis = int(self.choose(self.axes(i)))
        if self.values[i].shape[axis] == 0:
            raise Unfit
        f = self.choose([tj.argmax, tj.argmin])
        self.add(f.__name__, lambda v: f(v[i], axis=axis))

    def running(self) -> None:
        i = self.find("iuf", 1)
        axis = int(self.choose(self.axes(i)))
        back = self.chance(0.3)

        def step(v: Values) -> Any:
            x = tj.flip(v[i], axis) if back else v[i]
            return tj.cumsum(x, axis)

        self.add("cumsum", step)

    def sort(self) -> None:
        i = self.find("biuf", 1)
        axis = int(self.choose(self.axes(i)))
        f = self.choose([tj.sort, tj.sort, tj.argsort, tj.median])
        if f is tj.median and (0 in self.values[i].shape or self.values[i].dtype.kind != "f" or self.special):
            f = tj.sort
        if f is tj.median:
            self.add("median", lambda v: 2 * tj.median(v[i], axis=axis))
        else:
            self.add(f.__name__, lambda v: f(v[i], axis=axis))

    def take_sorted(self) -> None:
        i = self.find("iuf", 1)
        axis = int(self.choose(self.axes(i)))
        j = self.partner(i, same=True)
        self.add("by_key", lambda v: tj.take_along_axis(v[j], tj.argsort(v[i], axis=axis), axis))

    def partition(self) -> None:
        i = self.find("iuf", 1, nonempty=True)
        k = int(self.rng.integers(self.values[i].shape[-1]))
        self.add("partition", lambda v: tj.partition(v[i], k, axis=-1)[..., k])

    def search(self) -> None:
        i, side = self.find("f", 1), self.choose(["left", "right"])
        j = self.find("f")
        if self.values[i].dtype != self.values[j].dtype:
            raise Unfit
        self.add("searchsorted", lambda v: tj.searchsorted(tj.sort(v[i].reshape(-1)), v[j], side=side))

    def slice(self) -> None:
        i = self.find(rank=1)
        key = []
        for extent in self.values[i].shape:
            a, b = sorted(int(n) for n in self.rng.integers(0, extent + 1, 2))
            step = int(self.choose([1, 1, 1, 2, 3, -1, -2]))
            key.append(
                self.choose(
                    [
                        slice(a, b, step) if step > 0 else slice(b - 1 if b else None, a, step),
                        slice(None),
                        slice(None),
                        slice(None, None, step),
                        slice(1, None),
                        slice(None, -1),
                        int(self.rng.integers(-extent, extent)) if extent else slice(None),
                    ]
                )
            )
        if self.chance(0.2):
            key.insert(int(self.rng.integers(len(key) + 1)), None)
        self.add("slice", lambda v: v[i][tuple(key)])

    def write(self) -> None:
        """x[key] = or += what fits there."""
        i = self.find(rank=1)
        key = []
        for extent in self.values[i].shape:
            step = int(self.choose([1, 1, 2, -1]))
            key.append(
                self.choose(
                    [
                        slice(None),
                        slice(1, None),
                        slice(None, None, step),
                        slice(None, extent // 2),
                        int(self.rng.integers(-extent, extent)) if extent else slice(None),
                    ]
                )
            )
        place = tuple(key)
        shape = np.zeros(self.values[i].shape)[place].shape
        fits = [
            j for j, v in enumerate(self.values) if v.dtype == self.values[i].dtype and _into(v.shape, shape)
        ]
        j = int(self.choose(fits)) if fits else -1
        plus = self.chance(0.5) and self.values[i].dtype.kind != "b"

        def step(v: Values) -> Any:
            y = v[i].copy()
            what = v[j] if j >= 0 else 1
            if plus:
                y[place] += what
            else:
                y[place] = what
            return y

        self.add("write", step)

    def gather(self) -> None:
        i = self.find(rank=1, nonempty=True)
        count = int(self.rng.integers(1, self.values[i].ndim + 1))
        form = self.choose([(), (3,), (7,), (2, 5), (40,), (0,)])
        at = tuple(self.rng.integers(-n, n, form) for n in self.values[i].shape[:count])
        self.add("gather", lambda v: v[i][at])

    def gather_traced(self) -> None:
        """Indices that are values of the program."""
        i, j = self.find(rank=1, nonempty=True), self.find("iu")
        n = self.values[i].shape[0]
        size = self.values[i].size // n * self.values[j].size
        if n > 100 or size > self.largest or self.values[j].dtype == np.dtype("u8"):
            raise Unfit
        self.add("take", lambda v: v[i][v[j] % n])

    def scatter(self) -> None:
        i, j = self.find("iuf", 1, nonempty=True), self.find("iu", 1, 1)
        n = self.values[i].shape[0]
        if n > 100 or self.values[j].dtype == np.dtype("u8"):
            raise Unfit
        plus = self.chance(0.6)

        def step(v: Values) -> Any:
            y = v[i].copy()
            at = v[j] % n
            if plus:
                return tj.index_add(y, at, 2)
            y[at] = 1
            return y

        self.add("scatter", step)

    def move(self) -> None:
        i = self.find(rank=1)
        x = self.values[i]
        axis, other = int(self.rng.integers(x.ndim)), int(self.rng.integers(x.ndim))
        perm = tuple(int(p) for p in self.rng.permutation(x.ndim))
        by = int(self.rng.integers(-9, 10))
        ends = (int(self.rng.integers(3)), int(self.rng.integers(3)))
        widths = [ends if a == axis else (0, 0) for a in range(x.ndim)]
        mode = self.choose(["constant", "edge", "reflect", "wrap", "symmetric"])
        if mode != "constant" and x.shape[axis] < 3:
            mode = "constant"
        f: Any = self.choose(
            [
                lambda x: x.transpose(perm),
                lambda x: tj.swapaxes(x, axis, other),
                lambda x: tj.flip(x, axis),
                lambda x: tj.roll(x, by, axis),
                lambda x: tj.pad(x, widths, mode=mode),
                lambda x: tj.repeat(x, 2, axis),
                lambda x: tj.tile(x, 2),
                lambda x: x.reshape(-1),
                lambda x: tj.expand_dims(x, axis),
                lambda x: tj.diff(x, axis=axis),
                lambda x: tj.tril(x) if x.ndim > 1 else x,
            ]
        )
        if x.dtype.kind == "b":
            f = lambda x: tj.flip(x, axis)  # noqa: E731
        self.add("move", lambda v: f(v[i]))

    def join(self) -> None:
        i = self.find(rank=1)
        j, k = self.partner(i, same=True), self.partner(i, same=True)
        axis = int(self.rng.integers(self.values[i].ndim))
        f = self.choose([tj.concatenate, tj.stack])
        self.add(f.__name__, lambda v: f([v[i], v[j], v[k]], axis=axis))

    def columns(self) -> None:
        """A narrow last dimension, taken apart and put together."""
        i = self.find("iuf", 1)
        n = self.values[i].shape[-1] if self.values[i].ndim else 0
        if not 2 <= n <= 5:
            raise Unfit

        def step(v: Values) -> Any:
            c = [v[i][..., k] for k in range(n)]
            return tj.stack([c[k] * c[(k + 1) % n] - c[(k + 2) % n] for k in range(n)], -1)

        self.add("columns", step)

    def matmul(self) -> None:
        i = self.find("iuf", 2)
        x = self.values[i]
        fits = [
            j
            for j, v in enumerate(self.values)
            if v.dtype == x.dtype
            and (v.ndim == 1 or (v.ndim >= 2 and _broadcast(v.shape[:-2], x.shape[:-2])))
            and v.shape[-min(v.ndim, 2)] == x.shape[-1]
        ]
        if fits and self.chance(0.6):
            j = int(self.choose(fits))
            self.add("matmul", lambda v: v[i] @ v[j])
        else:
            self.add("gram", lambda v: v[i] @ tj.swapaxes(v[i], -1, -2))

    def convolve(self) -> None:
        i = self.find("f", 1, 4, nonempty=True)
        x = self.values[i]
        while True:
            channels, groups = int(self.choose([1, 2, 3, 4, 8])), int(self.choose([1, 1, 1, 2]))
            outputs = int(self.choose([1, 2, 3, 5, 16, 17])) * groups
            kernel = (int(self.choose([1, 2, 3, 5])), int(self.choose([1, 2, 3, 5])))
            stride = (int(self.choose([1, 1, 2, 3])), int(self.choose([1, 1, 2, 3])))
            dilation = (int(self.choose([1, 1, 2])), int(self.choose([1, 1, 3])))
            pad = (int(self.choose([0, 0, 1, 2, 4])), int(self.choose([0, 0, 1, 2, 4])))
            size = math.prod(x.shape)
            per = size // (channels * groups)
            if per == 0:
                continue
            side = max(1, min(per, int(self.choose([1, 2, 3, 5, 7, 12]))))
            wide = per // side
            if wide > 0:
                break
        images = int(self.choose([1, 1, 2, 3])) if wide >= 6 else 1
        wide //= images
        w = self.rng.integers(-2, 3, (outputs, channels, *kernel)).astype(x.dtype)
        count = images * channels * groups * side * wide
        use = self.chance(0.5) and [
            j for j, v in enumerate(self.values) if v.dtype == x.dtype and v.size >= w.size > 0
        ]
        j = int(self.choose(use)) if use else -1

        def step(v: Values) -> Any:
            image = v[i].reshape(-1)[:count].reshape(images, channels * groups, side, wide)
            kernels = v[j].reshape(-1)[: w.size].reshape(w.shape) if j >= 0 else w
            return tj.nn.conv2d(image, kernels, None, stride, pad, dilation, groups)

        if self.special:
            raise Unfit
        try:
            self.add("conv2d", step)
        except tj.ShapeError:
            raise Unfit from None

    def pool(self) -> None:
        i = self.find("f", 3, 4, nonempty=True)
        k, s = int(self.choose([1, 2, 3])), int(self.choose([1, 2, 3]))
        if min(self.values[i].shape[-2:]) < k:
            raise Unfit
        self.add("max_pool2d", lambda v: tj.nn.max_pool2d(v[i], k, s))

    def _body(self, shape: tuple[int, ...]) -> Callable[[Any, Any], Any]:
        """A step of a loop: carry and something of its shape to carry."""
        n = shape[0] if shape else 0
        last = shape[-1] if shape else 0
        k = int(self.rng.integers(n)) if n else 0
        plain: list[Any] = [
            lambda c, x: (c + x) % 7,
            lambda c, x: tj.maximum(c, x) - 1,
            lambda c, x: (c * 2 + x) % 5 - 2,
            lambda c, x: tj.where(c > x, c - 1, x),
        ]
        if n:

            def written(c: Any, x: Any) -> Any:
                c = c.copy()
                c[k] = x[0] + 1
                return c

            plain += [
                lambda c, x: tj.sort(c - x, -1) % 6,
                lambda c, x: tj.roll(c, 1, 0) - x % 3,
                lambda c, x: (tj.cumsum(c, -1) + x) % 7,
                lambda c, x: (c - tj.sum(x, axis=0)) % 9 - 4,
                lambda c, x: tj.flip(c, -1) + x % 3,
                lambda c, x: (c + tj.max(c, axis=-1, keepdims=True) * x) % 7 if last else c,
                written,
            ]
        return self.choose(plain)  # type: ignore[no-any-return]

    def scan(self) -> None:
        i = self.find("f", 1, 3)
        x = self.values[i]
        if x.shape[0] > 40:
            raise Unfit
        body, back, stacked = self._body(x.shape[1:]), self.chance(0.3), self.chance(0.5)
        last = self._body(x.shape[1:])

        def step(v: Values) -> Any:
            def one(c: Any, y: Any) -> Any:
                new = body(c, y)
                return new, last(new, c)

            end, ys = tj.scan(one, tj.zeros(x.shape[1:], dtype=x.dtype), v[i], reverse=back)
            return ys if stacked else end

        self.add("scan", step)

    def loop(self) -> None:
        i = self.find("f")
        j = self.partner(i, same=True)
        body, count = self._body(self.values[i].shape), int(self.choose([0, 1, 2, 5]))
        n = self.values[i].shape[0] if self.values[i].ndim else 0
        updates = n > 0 and self.chance(0.5)

        def step(v: Values) -> Any:
            def one(k: Any, c: Any) -> Any:
                c = body(c, v[j])
                if updates:
                    c = c.copy()
                    c[k % n] = c[(k + 1) % n] - 1
                return c

            return tj.fori_loop(0, count, one, v[i])

        self.add("fori_loop", step)

    def until(self) -> None:
        i = self.find("f", nonempty=True)
        body = self._body(self.values[i].shape)

        def step(v: Values) -> Any:
            def more(state: Any) -> Any:
                return (state[0] < 6) & (tj.sum(state[1]) % 5 != 2)

            def one(state: Any) -> Any:
                return state[0] + 1, body(state[1], v[i])

            return tj.while_loop(more, one, (0, v[i]))[1]

        self.add("while_loop", step)

    def branch(self) -> None:
        i = self.find("f", nonempty=True)
        one, two = self._body(self.values[i].shape), self._body(self.values[i].shape)
        self.add("cond", lambda v: tj.cond(tj.sum(v[i]) % 2 == 0, one, two, v[i], v[i]))

    def mapped(self) -> None:
        i = self.find("f", 1, 3)
        j = self.partner(i, same=True)
        body = self._body(self.values[i].shape[1:])
        axis = int(self.rng.integers(-1, self.values[i].ndim))
        if axis > 0 and self.chance(0.6):
            axis = 0
        if axis > 0:
            shape = list(self.values[i].shape)
            del shape[axis]
            body = self._body(tuple(shape))
        if axis < 0:
            self.add("vmap", lambda v: tj.vmap(body)(v[i], v[j]))
        else:
            self.add("vmap", lambda v: tj.vmap(body, in_axes=axis, out_axes=0)(v[i], v[j]))

    def associative(self) -> None:
        i = self.find("f", 1, 3)
        f = self.choose([tj.maximum, tj.minimum, tj.add])
        self.add("associative_scan", lambda v: tj.associative_scan(f, v[i]))

    def differentiate(self) -> None:
        i = self.find("f", 0, 3)
        body = self._body(self.values[i].shape)
        j = self.partner(i, same=True)

        def step(v: Values) -> Any:
            return tj.grad(lambda x: tj.sum(body(x, v[j]) * v[j] + body(v[j], x)))(v[i])

        self.add("grad", step)

    def program(self, count: int) -> Exact:
        for _ in range(int(self.rng.integers(1, 4))):
            self.argument()
        simple = [self.unary, self.binary, self.binary, self.reduce, self.slice, self.write, self.move]
        more = [
            self.where, self.running, self.sort, self.take_sorted, self.gather, self.gather_traced,
            self.scatter, self.join, self.columns, self.matmul, self.convolve, self.pool, self.scan,
            self.loop, self.until, self.branch, self.mapped, self.associative, self.partition,
        ]  # fmt: skip
        if not self.smooth:
            more += [self.cast, self.compare, self.fold, self.arg, self.search, self.mixed]
            if not self.special:
                more.append(self.differentiate)
        tries = 0
        while len(self.steps) < count and tries < 30 * count:
            tries += 1
            try:
                self.choose(simple if self.chance(0.5) else more)()
            except (Unfit, tj.DTypeError):
                continue
        last = len(self.values)
        results = sorted({last - 1, *(int(self.rng.integers(last)) for _ in range(2))})
        return Exact(self.arguments, self.steps, results)

    def argument(self) -> None:
        like = self.values[-1] if self.values and self.chance(0.4) else None
        array = self.fresh(*((self.shape(), self.dtype()) if like is None else (like.shape, like.dtype.str)))
        self.arguments.append(laid_out(array, int(self.rng.integers(12))))
        self.values.append(tj.asarray(self.arguments[-1]))


class Unfit(Exception):
    """No value that this step could take."""


def _broadcast(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(one, two)
    except ValueError:
        return False
    return True


def _into(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return _broadcast(shape, target) and np.broadcast_shapes(shape, target) == target


def exact_program(seed: int, largest: int = 6000) -> Exact:
    """The program of `seed`; every fifth one holds NaN and infinities."""
    builder = Builder(seed, special=seed % 5 == 4, largest=largest)
    return builder.program(int(builder.rng.integers(2, 16)))


def smooth_exact_program(seed: int) -> Exact:
    """A program of float64 whose gradients are whole numbers as well."""
    builder = Builder(seed + 10**6, smooth=True, largest=2000)
    return builder.program(int(builder.rng.integers(2, 10)))
