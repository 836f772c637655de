"""The table of workloads. Adding one is adding a record to its subject's `WORKLOADS`.

A program is a function of a Library that returns a function of arrays, so every library runs the same source.
"""

from typing import Final

from ..workload import Workload
from . import calls, elementwise, learning, loops, movement, products, reductions, simulation

WORKLOADS: Final[tuple[Workload, ...]] = (
    *calls.WORKLOADS,
    *elementwise.WORKLOADS,
    *reductions.WORKLOADS,
    *learning.WORKLOADS,
    *simulation.WORKLOADS,
    *loops.WORKLOADS,
    *products.WORKLOADS,
    *movement.WORKLOADS,
)
