"""First calls in fresh processes: the second one finds the first one's code."""

from __future__ import annotations

from benchmarks.start import WARMED, cold_and_warm
from benchmarks.workloads import WORKLOADS

from ..rotation import one_in


def test_workloads_are_known() -> None:
    assert set(WARMED) <= {workload.name for workload in WORKLOADS}


@one_in(5)
def test_a_warm_process_begins_sooner() -> None:
    """A tenth of the time where nothing else runs; tests run beside others, so the best of some counts."""
    ratios = []
    while len(ratios) < 8 and min(ratios, default=1.0) >= 0.6:
        cold, warm = cold_and_warm("rosenbrock-16")
        ratios.append(warm / cold)
    assert 0 < min(ratios) < 0.6
