"""The text of tensors: NumPy's text of their elements, which follows ``np.set_printoptions``.

By default there are eight digits, and more than a thousand elements are summarised, as of NumPy's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

_PREFIX: Final = "tensor("


def tensor_text(data: Array, suffixes: Sequence[str]) -> str:
    """``tensor(...)`` of `data` with `suffixes` such as ``requires_grad=True`` after it."""
    behind = "," if suffixes else ")"
    elements = np.array2string(data, separator=", ", prefix=_PREFIX, suffix=behind) if data.size else "[]"
    text = _PREFIX + elements
    width = np.get_printoptions()["linewidth"]
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > width:
            text += ",\n" + " " * len(_PREFIX) + suffix
            last_line = len(_PREFIX) + len(suffix)
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"
