"""Profiles of time with ``tj.profile``, and of memory with ``tj.memory``. Loaded at first use.

See docs/profiling.md.
"""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from .memory import MemoryInfo, memory
from .profiles import Profile, profile
from .records import FunctionProfile, KernelRecord, NestProfile

__all__ = ["FunctionProfile", "KernelRecord", "MemoryInfo", "NestProfile", "Profile", "memory", "profile"]

_check_public(globals(), ["memory", "profile"])
