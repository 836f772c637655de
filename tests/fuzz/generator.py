"""Writes one random program per seed."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable

import numpy as np

from .capturing import Capturing
from .choices import Choices, Unfit
from .elementwise import Elementwise
from .folding import Folding
from .linear_algebra import RIGHT_SIDES, LinearAlgebra
from .moving import Moving
from .multiplying import Multiplying
from .patterns import Patterns
from .program import Program
from .regions import Regions


class Generator(Elementwise, Folding, Moving, Multiplying, LinearAlgebra, Regions, Patterns, Capturing):
    """All steps, and the program that they make."""

    def table(self) -> dict[Callable[[], None], float]:
        """Each step and how often it is taken."""
        return {
            self.unary: 3, self.binary: 4, self.scaled: 3, self.divide: 2, self.network: 1,
            self.comparison: 1,
            self.where: 2, self.mixed: 0.7, self.cast: 0.8, self.parts: 0.4, self.neighbours: 0.3,
            self.reduce: 4, self.normalised: 1.5, self.running: 1.5, self.arg: 0.8, self.sort: 1,
            self.order_statistics: 0.8, self.search: 0.5, self.counts: 0.2,
            self.view: 2.5, self.gather: 1.2, self.gather_traced: 0.7, self.reshape: 1.5, self.transpose: 1.5,
            self.rearrange: 1.5, self.pad: 0.7, self.broadcast: 1, self.join: 1.5, self.split: 0.6,
            self.create: 0.8,
            self.grid: 0.3, self.write_in_place: 1.5, self.augment: 0.8, self.update: 0.6, self.masked: 0.4,
            self.columns: 0.7, self.write_argument: 0.6, self.remake: 0.3,
            self.matmul: 2, self.outer: 0.6, self.einsum: 1, self.convolve: 0.5, self.pool: 0.3,
            self.scan: 0.8, self.fori: 0.6, self.until: 0.5, self.branch: 0.6, self.switch: 0.4,
            self.vmapped: 0.6,
            self.mapped: 0.3, self.associative: 0.4, self.checkpointed: 0.4, self.custom: 0.4,
            self.custom_forward: 0.2, self.nested_jit: 0.3, self.stopped: 0.15, self.python_if: 0.5,
            self.python_loop: 0.4, self.python_while: 0.25, self.comprehension: 0.3,
            self.pairwise: 1, self.attention: 0.5, self.layer: 0.5, self.loss: 0.8, self.covariance: 0.5,
            self.recurrence: 0.4, self.regression: 0.4, self.polynomial: 0.4, self.finite_difference: 0.4,
            self.capture: 1.5,
            self.factored: 0.7, self.solved: 0.7, self.transformed: 0.7, self.filtered: 0.3,
            self.made_complex: 1.5 if self.complex_dtypes else 0,
        }  # fmt: skip

    def write_program(self) -> Program:
        table = self.table()
        steps, weights = list(table), np.array(list(table.values()))
        if self.chance(0.6):
            # swarm testing (Groce et al., 2012): few kinds of step meet what all kinds together bury
            weights = weights * (self.rng.random(len(steps)) < self.choose((0.15, 0.4))) + 1e-3
        count = self.integer(1, 14)
        self.argument(self.shape(), self.dtype())
        tries = 0
        while len(self.statements) < count and tries < 12 * count:
            tries += 1
            step = steps[int(self.rng.choice(len(steps), p=weights / weights.sum()))]
            self.step = step.__name__
            # NumPy's own refusals (a shape that does not fit) are as good as ours
            with contextlib.suppress(
                Unfit, ValueError, IndexError, TypeError, OverflowError, FloatingPointError
            ):
                step()
        return self.finished()

    def finished(self) -> Program:
        """The program, its results among its values, with their tolerances."""
        values = [name for name in self.values if name.startswith("v")] or self.values
        read = {name for s in self.statements for name in s.names() - set(s.targets)}
        # what nothing else reads would not be computed otherwise
        results = [values[-1], *[name for name in values if name not in read][-3:], str(self.choose(values))]
        results = list(dict.fromkeys(results))
        tolerances = tuple(self.tolerance(name) for name in results)
        texts = (*(s.text for s in self.statements), *(a.dtype for a in self.arguments))
        narrow = {"float32": "float32|complex64", "float16": "float16"}
        self.features.update(
            name for name, words in narrow.items() if any(re.search(words, text) for text in texts)
        )
        return Program(
            seed=self.seed, arguments=tuple(self.arguments), captures=tuple(self.captures),
            statements=tuple(self.statements), results=tuple(results), tolerances=tolerances,
            rebound_tolerances=self.rebound(results), features=frozenset(self.features),
        )  # fmt: skip

    def rebound(self, results: list[str]) -> tuple[float, ...] | None:
        """The tolerances after rebinding: None where nothing is captured, or the program is unfit then."""
        if not self.captures:
            return None
        try:
            with np.errstate(all="ignore"):
                for world in self.worlds:
                    world.restore()
                    for capture in self.captures:
                        exec(capture.rebinding, world.names)
                    for statement in self.statements:
                        world.run(statement.text, statement.targets)
            for name in self.values:
                self.check(name)
        except (Unfit, ValueError, IndexError, TypeError):
            return None
        return tuple(self.tolerance(name) for name in results)


class Matrices(Generator):
    """Programs of linear algebra whose axes have few sizes, so that rows, columns and batches coincide."""

    EXACT = 0.0
    AT_THRESHOLDS = 0.0

    def __init__(self, seed: tuple[int, int]) -> None:
        super().__init__(seed)
        self.dtypes = tuple(self.choose((("float64",), ("float64",), ("float32", "float64"))))
        if self.complex_dtypes:
            self.complex_dtypes = ("complex128",)
        self.floats_only = True
        n, other = (int(self.choose((1, 2, 2, 3, 3, 3, 4, 4, 5, 9))) for _ in range(2))
        self.sizes = self.rows = self.columns_of_right_sides = (n, n, n, other, 1)
        self.right_sides = RIGHT_SIDES
        self.batches = ((), (n,), (n,), (n, n), (1, n), (n, 1), (other,), (other, n))

    def table(self) -> dict[Callable[[], None], float]:
        return {
            self.factored: 4, self.solved: 6, self.decomposed: 2, self.fitted: 0.7, self.matmul: 3,
            self.einsum: 1, self.outer: 0.5,
            self.unary: 1.5, self.binary: 2, self.scaled: 2, self.divide: 0.7, self.where: 1, self.cast: 0.3,
            self.reduce: 2, self.normalised: 0.7, self.running: 0.5,
            self.view: 1.5, self.gather: 0.7, self.reshape: 1, self.transpose: 2, self.rearrange: 0.7,
            self.broadcast: 1.5, self.join: 1, self.split: 0.3, self.pad: 0.3, self.update: 0.4,
            self.write_in_place: 0.5, self.scan: 0.5, self.fori: 0.4, self.vmapped: 1, self.mapped: 0.4,
            self.nested_jit: 0.3, self.covariance: 0.5, self.regression: 0.5,
            self.made_complex: 0.5 if self.complex_dtypes else 0,
        }  # fmt: skip


#: Kinds of programs.
GENERATORS: dict[str, type[Generator]] = {"all": Generator, "matrices": Matrices}


def write_program(seed: int, index: int, kind: str = "all") -> Program:
    """The program number `index` of this seed and kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GENERATORS[kind]((seed, index)).write_program()


__all__ = ["GENERATORS", "Choices", "Generator", "write_program"]
