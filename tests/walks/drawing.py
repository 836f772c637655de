"""Draws what a case is made of: sizes, dtypes, layouts, values, and the machine that code is made for.

Sizes come from a small pool that each case draws first, so that its axes often coincide. Values are small
whole numbers, whose sums and products are exact in whatever order they are taken, unless a case asks for
others. Operands and results have at most so many elements that a trial fits into `TRIAL_BYTES`.
"""

from __future__ import annotations

import math
import platform
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tracejit.base.machine import Machine

from ..fuzz import reference
from .memory import Array

T = TypeVar("T")
#: Sizes on both sides of vector widths, tiles and blocks of the kernels.
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 22, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 100,
         127, 128, 129, 200, 255, 256, 257, 300, 511, 513, 700, 1000, 1025)  # fmt: skip
#: Lengths of long and thin arrays.
LONG = (2047, 3058, 4097, 4761, 9000, 16384, 20_001, 32_769, 65_537, 100_003, 140_000, 200_000)
#: Memory that a trial takes at most: operands, guarded copies, results, references, and arenas of both tiers.
TRIAL_BYTES = 1 << 30
#: Elements that a case's operands have in memory at most, and its results. Elements take up to 16 bytes.
OPERAND_ELEMENTS = 6_000_000
RESULT_ELEMENTS = 4_000_000
#: Threads that a trial runs on at most, and parts that its work is cut into.
MAX_THREADS = 64
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f4", "f8")
#: The features of x86 that CPUs of some generations lack, newest first: AVX2, SSE4.2, SSE2.
_X86 = (
    "", "", "", "-avx512f", "-avx512f,-prfchw", "-avx", "-avx,-prfchw",
    "-sse3,-popcnt,-lzcnt,-bmi,-bmi2,-movbe,-crc32,-prfchw,-aes,-pclmul,-sha,-gfni",
)  # fmt: skip
GENERATIONS = _X86 if platform.machine() in ("x86_64", "AMD64") else ("",)

#: A function of an array library and arrays.
Program = Callable[..., Any]
#: Bounds on differences of elements: all of them, those of each result, or of a result that should be that.
Tolerance = float | list[float] | Callable[[Array], Any]


@dataclass
class Case:
    """A program, the memory of its operands, and how far its results may be from NumPy's.

    Where values are exact, the `tolerance` is 0. Where NumPy's results may be further off than it, `exact`
    computes them without rounding from the same operands; eager ones, many of which are NumPy's, have a
    tolerance of their own.
    """

    family: str
    form: str
    program: Program
    arrays: list[Array]
    views: list[View]
    tolerance: Tolerance = 0.0
    exact: Callable[..., Any] | None = None
    eager_tolerance: Tolerance | None = None

    def run(self, xp: Any, arrays: Sequence[Any]) -> list[Any]:
        """The results of the program over `xp`."""
        return _listed(self.program(xp, *self._operands(xp, arrays)))

    def expected(self) -> list[Array]:
        """The exact results, or those of NumPy."""
        with np.errstate(all="ignore"):
            if self.exact is None:
                return [np.asarray(result) for result in self.run(reference, self.arrays)]
            return [np.asarray(each) for each in _listed(self.exact(*self._operands(np, self.arrays)))]

    def _operands(self, xp: Any, arrays: Sequence[Any]) -> list[Any]:
        return [view.of(xp, array) for view, array in zip(self.views, arrays, strict=True)]

    def __str__(self) -> str:
        operands = [
            f"{view.name} of {array.dtype}{list(array.shape)}"
            for view, array in zip(self.views, self.arrays, strict=True)
        ]
        return f"{self.family}: {self.form}; {'; '.join(operands)}"


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


@dataclass
class View:
    """Layout of an operand in its memory."""

    name: str
    of: Callable[[Any, Any], Any]


ROWS = View("rows", lambda xp, x: x)


@dataclass
class Draw:
    """The choices of one case."""

    rng: random.Random
    arrays: list[Array] = field(default_factory=list)
    views: list[View] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: Elements that further operands may have in memory.
        self.room = OPERAND_ELEMENTS
        count = self.rng.choice((1, 2, 2, 3, 4))
        self.pool = [self.rng.choice(SIZES) for _ in range(count)]
        self.long = self.rng.choice(LONG)
        #: Some cases are large enough for what only large arrays are worth.
        self.scale = self.rng.choice((1,) * 9 + (12,))
        self.numbers = np.random.default_rng(self.rng.getrandbits(64))

    def choose(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def size(self, most: int = 1 << 30) -> int:
        """A size of the pool; a smaller one where those are too large."""
        fits = [size for size in self.pool if size <= most]
        return self.choose(fits or [size for size in SIZES if size <= most])

    def shape(self, rank: int, elements: int = 60_000) -> tuple[int, ...]:
        """The shape of an array, long along one axis at times."""
        long = self.rng.randrange(rank) if rank and self.chance(0.25) else -1
        elements *= self.scale
        sizes = [1] * rank
        if long >= 0:
            sizes[long] = self.long
            elements = max(elements, 4 * self.long)
        for axis in self.rng.sample(range(rank), rank):
            if axis != long:
                sizes[axis] = self.size(max(1, elements // math.prod(sizes)))
        return tuple(sizes)

    def dtype(self, kinds: str = "fi") -> str:
        """A dtype: floats twice as often as others."""
        options: list[str] = []
        if "f" in kinds:
            options += FLOATS * 5
        if "i" in kinds:
            options += INTEGERS
        if "h" in kinds:
            options += ["f2"]
        if "c" in kinds:
            options += ["c8", "c16"]
        if "b" in kinds:
            options += ["?"]
        return self.choose(options)

    # -- operands ------------------------------------------------------------------------------------

    def values(self, shape: tuple[int, ...], dtype: str, low: int = -3, high: int = 3) -> Array:
        """Whole numbers between `low` and `high`, without negative ones where there is no sign."""
        if dtype == "?":
            return self.numbers.integers(0, 2, shape).astype(dtype)
        low = max(low, 0) if dtype[0] == "u" else low
        whole = self.numbers.integers(low, high + 1, shape)
        if dtype[0] == "c":
            return (whole + 1j * self.numbers.integers(low, high + 1, shape)).astype(dtype)
        return whole.astype(dtype)

    def operand(self, shape: tuple[int, ...], dtype: str, low: int = -3, high: int = 3) -> None:
        """An operand of whole numbers in some layout."""
        memory, view = self.layout(shape)
        self.give(self.values(memory, dtype, low, high), view)

    def give(self, array: Array, view: View | None = None) -> None:
        """An operand that is this array, or the view of it."""
        self.room -= array.size
        assert self.room >= 0, f"operands of more than {OPERAND_ELEMENTS} elements: draw smaller ones"
        self.arrays.append(array)
        self.views.append(view or View("all", lambda xp, x: x))

    def layout(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], View]:
        """The shape of the memory of an operand of `shape`, and the view of it that the operand is.

        Operands are rows where the steps of a view would take the room of two more operands.
        """
        memory, view = self._lying(shape)
        return (memory, view) if 3 * math.prod(memory) <= self.room else (shape, ROWS)

    def _lying(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], View]:
        rank = len(shape)
        kinds = ["rows"] * 4
        if rank:
            kinds += ["strided", "reversed", "inner", "repeated", "strided"]
        if rank > 1:
            kinds += ["columns"] * 3 + ["turned"]
        kind = self.choose(kinds)
        if kind == "columns":
            return (*shape[:-2], shape[-1], shape[-2]), View(kind, lambda xp, x: xp.swapaxes(x, -1, -2))
        if kind == "turned":
            perm = tuple(self.rng.sample(range(rank), rank))
            memory = [0] * rank
            for axis, source in enumerate(perm):
                memory[source] = shape[axis]
            return tuple(memory), View(f"turned{perm}", lambda xp, x: xp.transpose(x, perm))
        if kind == "strided":
            return self._sliced(shape, "strided", steps=(2, 3, 4, -2, -3))
        if kind == "reversed":
            return self._sliced(shape, "reversed", steps=(-1,))
        if kind == "inner":
            return self._sliced(shape, "inner", steps=(1,))
        if kind == "repeated":
            axes = [axis for axis in range(rank) if self.chance(0.5)] or [rank - 1]
            memory = [1 if axis in axes else size for axis, size in enumerate(shape)]
            return tuple(memory), View(f"repeated{axes}", lambda xp, x: xp.broadcast_to(x, shape))
        return shape, ROWS

    def _sliced(
        self, shape: tuple[int, ...], name: str, steps: Sequence[int]
    ) -> tuple[tuple[int, ...], View]:
        """A view with steps along some axes, among elements before and behind."""
        memory, key = list(shape), [slice(None)] * len(shape)
        axes = [axis for axis in range(len(shape)) if self.chance(0.5)] or [len(shape) - 1]
        for axis in axes:
            step, before, behind = self.choose(steps), self.rng.randrange(3), self.rng.randrange(3)
            if name == "reversed":
                before = behind = 0
            extent = (shape[axis] - 1) * abs(step) + 1
            memory[axis] = before + extent + behind
            first, last = before, before + extent - 1
            if step > 0:
                key[axis] = slice(first, last + 1, step)
            else:
                key[axis] = slice(last, first - 1 if first else None, step)
        text = ", ".join(f"{s.start}:{s.stop}:{s.step}" for s in key)
        keys = tuple(key)
        return tuple(memory), View(f"{name}[{text}]", lambda xp, x: x[keys])

    def case(
        self,
        family: str,
        form: str,
        program: Program,
        tolerance: Tolerance = 0.0,
        exact: Callable[..., Any] | None = None,
        eager_tolerance: Tolerance | None = None,
    ) -> Case:
        """The case of `program` of the operands so far."""
        return Case(family, form, program, self.arrays, self.views, tolerance, exact, eager_tolerance)


def draw_machine(rng: random.Random) -> Machine:
    """A machine, some of them such as nobody builds: choices that are rare are made on those."""
    if rng.random() < 0.2:
        return Machine(features=rng.choice(GENERATIONS))
    return Machine(
        l1_bytes=rng.choice((1 << 15, 1 << 15, 48 << 10, 1 << 16, 1 << 17, 1 << 9)),
        l2_bytes=rng.choice((1 << 18, 1 << 19, 1 << 20, 1 << 21, 12 << 20, 1 << 12)),
        l3_bytes=rng.choice((1 << 20, 1 << 22, 1 << 25, 1 << 28, 1 << 14)),
        line_bytes=rng.choice((64, 64, 64, 128)),
        huge_page_bytes=rng.choice((1 << 21, 1 << 14)),
        multiply_adds_in_flight=rng.choice((4, 8, 8, 10, 16)),
        task_cycles=rng.choice((1.0, 300.0, 3000.0, 30_000.0, 30_000.0, 1e12)),
        least_tasks=rng.choice((0, 1, 5, 5)),
        product_task_cycles=rng.choice((1.0, 300.0, 8000.0, 8000.0, 1e12)),
        task_multiplications=rng.choice((64, 1 << 10, 1 << 14, 1 << 17, 1 << 17, 1 << 40)),
        chunks=rng.choice((1, 2, 3, 4, 8, 16, 16, *[rng.randint(1, MAX_THREADS)] * 7)),
        features=rng.choice(GENERATIONS),
    )


def draw_threads(rng: random.Random) -> int:
    """Threads that share the tasks: few of them, or as many as large machines have."""
    return rng.choice((2, 2, 3, 4, rng.randint(1, MAX_THREADS), rng.randint(5, MAX_THREADS)))
