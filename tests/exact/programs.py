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

import tracejit as tj

from .choices import Exact, Unfit, laid_out
from .loops import Loops


class Builder(Loops):
    """Builds one program from random choices, running it eagerly as it goes."""

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


def exact_program(seed: int, largest: int = 6000) -> Exact:
    """The program of `seed`; every fifth one holds NaN and infinities."""
    builder = Builder(seed, special=seed % 5 == 4, largest=largest)
    return builder.program(int(builder.rng.integers(2, 16)))


def smooth_exact_program(seed: int) -> Exact:
    """A program of float64 whose gradients are whole numbers as well."""
    builder = Builder(seed + 10**6, smooth=True, largest=2000)
    return builder.program(int(builder.rng.integers(2, 10)))
