"""Profiles of time with ``tj.profile``, and of memory with ``tj.memory``. Loaded at first use.

See docs/profiling.md.
"""

from __future__ import annotations

from ..surface.namespaces import PROFILING as _PROFILING

_PROFILING.attach(globals())
