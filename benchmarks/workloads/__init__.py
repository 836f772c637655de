"""The table of workloads. Adding one is adding a record to its subject's `WORKLOADS`.

A program is a function of a Library that returns a function of arrays, so every library runs the same source.
"""

import argparse
from typing import Final

from ..workload import Workload
from . import (
    array_steps,
    calls,
    complex_numbers,
    elementwise,
    everyday_loops,
    fourier,
    handwritten,
    learning,
    linalg,
    loops,
    maths,
    movement,
    plain_loops,
    products,
    rearrangements,
    reductions,
    seawater,
    simulation,
)

WORKLOADS: Final[tuple[Workload, ...]] = (
    *calls.WORKLOADS,
    *elementwise.WORKLOADS,
    *seawater.WORKLOADS,
    *reductions.WORKLOADS,
    *learning.WORKLOADS,
    *simulation.WORKLOADS,
    *loops.WORKLOADS,
    *array_steps.WORKLOADS,
    *products.WORKLOADS,
    *movement.WORKLOADS,
    *rearrangements.WORKLOADS,
)

#: Groups that ``--group`` chooses from. Numbers of the whole suite leave out those with a group of their own.
GROUPS: Final = {
    "suite": WORKLOADS,
    "maths": maths.WORKLOADS,
    "linalg": linalg.WORKLOADS,
    "complex": complex_numbers.WORKLOADS,
    "fourier": fourier.WORKLOADS,
    "c": handwritten.WORKLOADS,
    "numba": (*plain_loops.WORKLOADS, *everyday_loops.WORKLOADS),
}


def only_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--only``, whose value is for `chosen`."""
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="workloads whose name begins so; may be repeated"
    )


def chosen(
    parser: argparse.ArgumentParser, only: list[str] | None, workloads: tuple[Workload, ...] = WORKLOADS
) -> list[Workload]:
    """The workloads whose names begin so, all of them by default; the parser's error where there are none."""
    selected = [workload for workload in workloads if not only or workload.name.startswith(tuple(only))]
    if not selected:
        parser.error(
            f"no workload is called so; there are {', '.join(workload.name for workload in workloads)}"
        )
    return selected
