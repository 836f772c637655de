"""``tj.testing``: checks for ops and functions that users add. Loaded at its first use."""

from __future__ import annotations

from ..surface.namespaces import TESTING as _TESTING

_TESTING.attach(globals())
