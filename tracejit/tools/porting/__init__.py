"""Programs written for another library, changed to import the namespace of it that `tracejit.compat` has."""

from __future__ import annotations

from .imports import ported
from .names import Missing, missing_names

__all__ = ["Missing", "missing_names", "ported"]
