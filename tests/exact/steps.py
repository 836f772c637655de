"""Steps over whole arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tracejit as tj

from .choices import Choices, Unfit, Values, broadcasts, into


class Steps(Choices):
    """Arithmetic, reductions, sorts, indexing, movement, products."""

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
        if not broadcasts(self.values[i].shape, self.values[j].shape):
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
            j for j, v in enumerate(self.values) if v.dtype == self.values[i].dtype and into(v.shape, shape)
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
            and (v.ndim == 1 or (v.ndim >= 2 and broadcasts(v.shape[:-2], x.shape[:-2])))
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
