"""Arguments of jitted functions that are NumPy's scalars.

Unlike arrays of rank 0, they select views where they index, and an augmented assignment gives their name a
new value. A call with one is specialised on that.
"""

from __future__ import annotations

from typing import Any, Final

#: The mark of a scalar's leaf type, behind its dtype and shape.
NUMPY_SCALAR: Final = "NumPy scalar"


def is_numpy_scalar(leaf_type: Any) -> bool:
    """Whether a leaf of this type is one of NumPy's scalars."""
    return not isinstance(leaf_type, str) and NUMPY_SCALAR in leaf_type
