# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .memory import (
    MemoryInfo as MemoryInfo,
    memory as memory,
)

from .profiles import (
    Profile as Profile,
    profile as profile,
)

from .records import (
    FunctionProfile as FunctionProfile,
    KernelRecord as KernelRecord,
    NestProfile as NestProfile,
)
