"""Programs written for another library, changed to import the namespace of it that `tracejit.compat` has."""

from __future__ import annotations

from .names import Missing, missing_names, ported

__all__ = ["Missing", "missing_names", "ported"]
