"""The cases of a seed: case number i is the same whenever and wherever it is drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracejit.base.machine import Machine

from .drawing import Case, Draw, draw_machine, draw_threads
from .folds import reduction, scan, sort
from .loops import loop
from .matrices import factorization
from .moving import broadcast, elementwise, gather, scatter, transpose
from .products import batch, product
from .signals import convolution, fourier

FAMILIES: dict[str, Callable[[Draw], Case]] = {
    "products": product, "batches": batch, "reductions": reduction, "scans": scan, "sorts": sort,
    "convolutions": convolution, "transforms": fourier, "factorizations": factorization,
    "scatters": scatter, "gathers": gather, "loops": loop, "maps": elementwise, "transposes": transpose,
    "broadcasts": broadcast,
}  # fmt: skip


@dataclass
class Trial:
    """A case, the machine it is compiled for, and how it is run."""

    case: Case
    machine: Machine
    threads: int
    checked: bool

    def __str__(self) -> str:
        return f"{self.case} on {self.plan}"

    @property
    def plan(self) -> str:
        """The machine and the threads that work is shared among."""
        default = Machine()
        changed = [
            f"{name}={getattr(self.machine, name)!r}"
            for name in Machine.__annotations__
            if getattr(self.machine, name) != getattr(default, name)
        ]
        return f"Machine({', '.join(changed)}), {self.threads} threads"


def trial(seed: int, number: int, families: Sequence[str] = ()) -> Trial:
    """Trial `number` of `seed`, of some `families` or of all."""
    rng = random.Random(f"{seed} {number}")
    family = rng.choice(families or list(FAMILIES))
    machine = draw_machine(rng)
    threads, checked = draw_threads(rng), rng.random() < 0.25
    return Trial(FAMILIES[family](Draw(rng)), machine, threads, checked)
