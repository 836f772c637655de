"""Choices for programs: random ones, values of all kinds, and statements tried as they come.

Every statement runs at once, on NumPy, in several worlds (`worlds.py`), whose drift is the tolerance. A
statement whose integers, bools or branches differ between worlds is not taken, nor one whose floats drift
far.

Programs of whole numbers (`exact`) have no drift and no tolerance: all their results are exact, so that NaN
and infinities may occur, and sorts and comparisons follow sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .known import gated
from .layouts import LAYOUTS, copied, laid_out
from .program import Argument, Capture, Statement
from .worlds import World, real_bytes, worlds

DIMS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 12, 13)
#: Sizes on both sides of vector widths, of unrolled loops, and of what is a small or a large dimension to the
#: compiler (`ir/passes`, `codegen/nest`: MAX_ELEMENTS, SMALL, CHUNKS, RANKED, BLOCK, MIN_ROWS, INNER ...)
THRESHOLDS = (
    0, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 511, 512, 513,
    1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097,
)  # fmt: skip
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
LARGE = 300.0
#: Largest number in float16, which ends at 65504: products of two are finite.
HALF_LARGE = 100.0
EXACT_LARGE = 1e5
#: Whole numbers up to which float16 has all eighths.
HALF_EXACT_LARGE = 250.0
#: Statements whose results drift apart by more than this, relative to their size, are ill-conditioned.
ILL = {2: 0.1, 4: 2e-3, 8: 1e-9}


class Unfit(Exception):
    """The step has nothing to work on here, or its result would not do."""


class Choices:
    """A program in the making."""

    #: Share of programs of whole numbers.
    EXACT = 0.25
    #: Share of sizes that are from `THRESHOLDS`.
    AT_THRESHOLDS = 0.12

    def __init__(self, seed: tuple[int, int]) -> None:
        self.seed, self.rng = seed, np.random.default_rng(seed)
        self.exact = self.chance(self.EXACT)
        self.special = self.exact and self.chance(0.3)
        self.dtypes: tuple[str, ...] = ("float64",) if self.chance(0.45) else FLOATS
        if self.chance(0.1):
            self.dtypes = ("float16", *FLOATS[: self.integer(0, 2)])
        #: Dtypes of complex values, of which NaN and infinities are not compared.
        self.complex_dtypes: tuple[str, ...] = ()
        if self.chance(0.25) and not self.special:
            self.complex_dtypes = ("complex128",) if "float64" in self.dtypes[:1] else COMPLEX
        self.floats_only = self.chance(0.3)
        #: Sizes of axes.
        self.sizes: Sequence[int] = DIMS
        self.limit = 150_000 if self.chance(0.015) else 3000
        self.worlds = worlds(exact=self.exact)
        self.arguments: list[Argument] = []
        self.captures: list[Capture] = []
        self.statements: list[Statement] = []
        #: The names of values, in order; arguments first.
        self.values: list[str] = []
        self.features: set[str] = set()
        self.step = ""
        if self.exact:
            self.features.add("exact")
        if self.special:
            self.features.add("special")

    # -- choices ----------------------------------------------------------------------------------

    def choose(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """An integer of low, ..., high."""
        return int(self.rng.integers(low, high + 1))

    def number(self) -> float:
        """A float constant."""
        if self.exact:
            return float(self.integer(-4, 4))
        return float(self.choose([0.5, 2.0, -1.0, 0.1, 0.25, 3.0, -0.7, 1.5, 0.0, 1e-3]))

    def dimension(self) -> int:
        return int(self.choose(THRESHOLDS if self.chance(self.AT_THRESHOLDS) else self.sizes))

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        while True:
            ndim = int(self.choose((0, 1, 1, 2, 2, 2, 3, 3, 4))) if rank is None else rank
            shape = tuple(self.dimension() for _ in range(ndim))
            if math.prod(shape) <= self.limit:
                return shape

    def float_dtype(self) -> str:
        return str(self.choose(self.dtypes))

    def complex_dtype(self) -> str:
        return str(self.choose(self.complex_dtypes))

    def dtype(self) -> str:
        if self.complex_dtypes and self.chance(0.5):
            return self.complex_dtype()
        if self.floats_only or self.chance(0.7):
            return self.float_dtype()
        return str(self.choose(("int64", "int32", "bool", self.choose(INTS))))

    # -- values -----------------------------------------------------------------------------------

    def array(self, name: str) -> NDArray[Any]:
        return self.worlds[0].names[name]  # type: ignore[no-any-return]

    def writable(self, name: str) -> bool:
        """Whether a write to it stays away from arguments, captures, broadcasts, and from what is of rank 0:
        that is a scalar to NumPy, which views do not share memory with, and here a tensor."""
        x = self.array(name)
        outside = [self.array(argument.name) for argument in self.arguments]
        outside += [v for v in self.captured_arrays() if isinstance(v, np.ndarray)]
        others = [self.array(other) for other in self.values if other != name]
        outside += [other for other in others if x.ndim == 0 or other.ndim == 0]
        return (
            name.startswith("v")
            and x.flags.writeable
            and not any(np.may_share_memory(x, other) for other in outside)
        )

    def captured_arrays(self) -> list[Any]:
        return [eval(c.expression, self.worlds[0].names) for c in self.captures if c.content in ARRAYS]

    def fresh(self, shape: tuple[int, ...], dtype: str, *, positive: bool = False) -> str:
        """The text of an array of random elements."""
        rng = f"np.random.default_rng({self.integer(0, 10**6)})"
        kind = np.dtype(dtype).kind
        if kind == "c":
            real = self.fresh(shape, "float64", positive=positive)
            return f"({real} + 1j * {self.fresh(shape, 'float64')}).astype('{dtype}')"
        if kind == "b":
            return f"{rng}.random({shape}) < 0.5"
        if kind in "iu":
            low = 0 if kind == "u" or positive else -5
            if self.chance(0.15) and not positive:
                info = np.iinfo(dtype)
                return f"{rng}.integers({info.min}, {info.max}, {shape}, '{dtype}')"
            return f"{rng}.integers({low}, 6, {shape}).astype('{dtype}')"
        if self.exact:
            text = f"{rng}.integers({0 if positive else -5}, 6, {shape}).astype('{dtype}')"
            if self.special and self.chance(0.7):
                odd = f"np.where({rng}.random({shape}) < 0.1, {self.choose(SPECIALS)}, {text})"
                text = f"{odd}.astype('{dtype}')"
            return text
        forms = ["uniform(0.1, 2, {})"] if positive else ["normal(size={})", "uniform(-3, 3, {})"]
        form = self.choose(forms) if positive or self.chance(0.9) else "integers(-3, 4, {})"
        return f"{rng}.{form.format(shape)}.astype('{dtype}')"

    def argument(self, shape: tuple[int, ...], dtype: str, *, positive: bool = False) -> str:
        """A new argument's name."""
        name, text = f"a{len(self.arguments)}", self.fresh(shape, dtype, positive=positive)
        layout = self.choose(LAYOUTS) if self.chance(0.35) else ""
        array = np.asarray(eval(text, {"np": np}))
        text = f"laid_out(np.asarray({text}), '{layout}')" if layout else f"np.asarray({text})"
        array = laid_out(array, layout)
        for world in self.worlds:
            world.names[name] = world.drifted(world.ordered(copied(array)))
            world.arguments[name] = copied(world.names[name])
        self.arguments.append(Argument(name, text, dtype, shape))
        self.values.append(name)
        return name

    def find(
        self,
        kinds: str = "f",
        rank: int = 0,
        most: int = 9,
        *,
        nonempty: bool = False,
        size: int | None = None,
    ) -> str:
        """A value of these kinds and ranks, a recent one rather; at times a new argument."""
        fits = [
            name
            for name in self.values
            if (x := self.array(name)).dtype.kind in kinds
            and rank <= x.ndim <= most
            and not (nonempty and x.size == 0)
            and (size is None or x.size <= size)
        ]
        if fits and not self.chance(0.06):
            return str(fits[-1 - min(int(self.rng.exponential(3)), len(fits) - 1)])
        if len(self.arguments) > 5:
            raise Unfit
        dtype = self.new_dtype(kinds)
        while True:
            shape = self.shape(self.integer(rank, max(rank, min(most, 3))))
            if not (nonempty and 0 in shape) and (size is None or math.prod(shape) <= size):
                return self.argument(shape, dtype)

    def new_dtype(self, kinds: str) -> str:
        """A dtype of one of these kinds for a new argument."""
        if "c" in kinds and self.complex_dtypes and ("f" not in kinds or self.chance(0.5)):
            return self.complex_dtype()
        if kinds == "c":
            raise Unfit
        return self.float_dtype() if "f" in kinds else "bool" if kinds == "b" else str(self.choose(INTS))

    def partner(self, name: str, *, same: bool = False, dtype: str | None = None) -> str:
        """A value that broadcasts with `name` (or has its shape), of its dtype or of `dtype`."""
        x = self.array(name)
        kind = np.dtype(dtype or x.dtype)
        fits = [
            other
            for other in self.values
            if (y := self.array(other)).dtype == kind
            and (y.shape == x.shape if same else self.broadcasts(x.shape, y.shape))
            and (other != name or self.chance(0.3))
        ]
        if fits and (self.chance(0.85) or len(self.arguments) > 5):
            return str(fits[-1 - min(int(self.rng.exponential(4)), len(fits) - 1)])
        if len(self.arguments) > 5:
            raise Unfit
        shape = x.shape if same else tuple(1 if self.chance(0.25) else n for n in x.shape)
        if not same and self.chance(0.3):
            shape = shape[self.integer(0, len(shape)) :]
        return self.argument(shape, kind.name)

    def broadcasts(self, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
        try:
            return math.prod(np.broadcast_shapes(first, second)) <= self.limit
        except ValueError:
            return False

    def axis(self, name: str) -> int:
        """An axis of it, counted from either end."""
        ndim = self.array(name).ndim
        return self.integer(-ndim, ndim - 1)

    def bounds(self, name: str) -> tuple[float, float]:
        """The least and the largest of its elements; (0, 0) of none."""
        x = self.array(name)
        if x.dtype.kind == "c":
            return (-self.size(name), self.size(name))
        if not x.size or not np.isfinite(x).all():
            return (0.0, 0.0) if not x.size else (-math.inf, math.inf)
        return float(x.min()), float(x.max())

    def size(self, name: str) -> float:
        """The largest absolute value of its elements."""
        return float(np.abs(self.array(name)).max(initial=0))

    # -- appending --------------------------------------------------------------------------------

    def define(self, expression: str, *features: str) -> str:
        """``v = expression``."""
        return self.append(f"{{}} = {expression}", 1, *features)[0]

    def append(self, text: str, count: int, *features: str) -> list[str]:
        """Append a statement that defines `count` values, in the places of ``{}`` in its text."""
        start = sum(len(statement.targets) for statement in self.statements)
        targets = [f"v{start + i}" for i in range(count)]
        for name in targets:
            text = text.replace("{}", name, 1)
        if any(gated(feature) for feature in (*features, self.step)):
            raise Unfit
        self.run(text, targets)
        self.statements.append(Statement(text, tuple(targets), self.step))
        self.values += targets
        self.features.update(features)
        return targets

    def write(self, text: str, name: str) -> None:
        """Append a write to `name`; it must not be undone, so it is tried on copies of the worlds' memory."""
        world = self.worlds[0]
        if any(np.may_share_memory(world.names[name], source) for source in world.sources):
            raise Unfit
        before = [self.root(world, name).copy() for world in self.worlds]
        try:
            self.run(text, [name])
            for other in self.values:  # which may share the memory in one world, and be a copy in another
                self.check(other)
        except Unfit:
            for world, kept in zip(self.worlds, before, strict=True):
                self.root(world, name)[...] = kept
            raise
        self.statements.append(Statement(text, (), self.step))
        self.features.add("write")

    @staticmethod
    def root(world: World, name: str) -> NDArray[Any]:
        """The memory that a view looks at."""
        x = world.names[name]
        while isinstance(x.base, np.ndarray):
            x = x.base
        return x  # type: ignore[no-any-return]

    def run(self, text: str, names: Sequence[str]) -> None:
        """Run a statement in all worlds; Unfit where a result will not do."""
        with np.errstate(all="ignore"):
            for world in self.worlds:
                world.run(text, names)
        for name in names:
            self.check(name)

    def check(self, name: str) -> None:
        """Unfit unless the value is small, finite and the same in all worlds but for rounding."""
        x = self.array(name)
        if x.size > self.limit or x.ndim > 5 or x.dtype.itemsize not in SIZES.get(x.dtype.kind, ()):
            raise Unfit
        inexact, half = x.dtype.kind in "fc", x.dtype == np.float16
        if self.exact:
            finite = np.where(np.isfinite(x), x, 0) if inexact else x
            if not self.special and inexact and not np.isfinite(x).all():
                raise Unfit
            # sums of eighths below 2**21 are exact in float32
            largest = HALF_EXACT_LARGE if half else EXACT_LARGE
            if inexact and (
                (finite.real % 0.125).any() or (finite.imag % 0.125).any() or self.size(name) > largest
            ):
                raise Unfit
            other = np.asarray(self.worlds[1].names[name])
            if x.dtype != other.dtype or not np.array_equal(x, other, equal_nan=inexact):
                raise Unfit
            return
        if inexact and not self.size(name) < (HALF_LARGE if half else LARGE):
            raise Unfit
        drift = self.drift(name)
        if drift > 0 and (not inexact or drift > ILL[real_bytes(x.dtype)] * (1 + self.size(name))):
            raise Unfit

    def drift(self, name: str) -> float:
        """Distance between the worlds; infinity where they disagree about a shape or what is not a float."""
        x = self.array(name)
        largest = 0.0
        for world in self.worlds[1:]:
            y = np.asarray(world.names[name])
            if y.shape != x.shape or y.dtype != x.dtype:
                return math.inf
            if x.dtype.kind not in "fc":
                largest = max(largest, 0.0 if np.array_equal(x, y) else math.inf)
            elif x.size:
                largest = max(largest, float(np.abs(y - x.astype(np.result_type(x, "f8"))).max()))
        return largest

    def tolerance(self, name: str) -> float:
        """The rounding error of a result: twice the drift of worlds with roundings DRIFT times as large."""
        x = self.array(name)
        if self.exact or x.dtype.kind not in "fc":
            return 0.0
        eps = float(np.finfo(x.dtype).eps)
        # squares of what is nothing but rounding drift by their own size
        large = HALF_LARGE if x.dtype == np.float16 else LARGE
        return 2 * self.drift(name) + 4 * eps * self.size(name) + (large * eps) ** 2


#: Contents of captures that are arrays.
ARRAYS = ("tensor", "ndarray")
SPECIALS = ("np.nan", "np.inf", "-np.inf", "-0.0")
SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
