"""The error about a function of NumPy or SciPy that is missing here, with the nearest names that are not."""

from __future__ import annotations

import difflib
import sys

from ...ir.errors import ArgumentError
from ...missing_names import ADVICE, PLACES, hint

__all__ = ["missing"]


def missing(label: str, name: str) -> ArgumentError:
    """The error for `label`, as in ``np.fft.fft``, whose own name is `name`."""
    advice = hint(name) if name in PLACES or name in ADVICE else ""
    if not advice:
        nearest = difflib.get_close_matches(name, sys.modules["tracejit"].__all__, 3, 0.7)
        named = " or ".join(f"tj.{other}" for other in nearest)
        advice = f"; the nearest are {named}" if named else ""
        advice += "; compute it from x.detach().numpy() outside of traced functions, or by tj.pure_callback"
    return ArgumentError(f"{label}: tracejit has no {name} for tensors{advice}")
