"""The table of workloads. Adding one is adding a record to its subject's `WORKLOADS`.

A program is a function of a Library that returns a function of arrays, so every library runs the same source.
"""

from typing import Final

from ..workload import Workload
from . import calls, elementwise, learning, loops, maths, movement, products, reductions, simulation

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

#: What ``--group`` chooses between. Numbers of the whole suite leave out those with a group of their own.
GROUPS: Final = {"suite": WORKLOADS, "maths": maths.WORKLOADS}
