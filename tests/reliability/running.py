"""Runs the programs of `faults` in processes of their own."""

from __future__ import annotations

from ..runtime.interrupts import PRELUDE as INTERRUPTS
from ..runtime.programs import python
from .faults import FAULTS, INTERRUPTED, PRELUDE, Fault

ALL = {**FAULTS, **{f"interrupted {name}": fault for name, fault in INTERRUPTED.items()}}


def run(name: str, count: int, timeout: float) -> str:
    """The line of figures that the program prints; AssertionError where it fails."""
    fault: Fault = ALL[name]
    prelude = f"COUNT = {count}\n{PRELUDE}\n{INTERRUPTS if fault in INTERRUPTED.values() else ''}"
    return python(f"{prelude}\n{fault.program}", timeout, **dict(fault.environment)).splitlines()[-1]
