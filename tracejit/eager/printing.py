"""The text of tensors: NumPy's text of their elements, which follows ``np.set_printoptions``.

By default there are eight digits, and more than a thousand elements are summarised, as of NumPy's arrays.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..ir.dtypes import BOOL, INT64, complex_dtype, default_dtype

Array = np.ndarray[Any, Any]

_PREFIX: Final = "tensor("


def tensor_text(data: Array, suffix: str) -> str:
    """``tensor(...)`` of `data` with what its elements do not tell, and `suffix`, such as
    ``requires_grad=True``, after them."""
    suffixes = [f"size={data.shape}"] if data.size == 0 and data.shape != (0,) else []
    own = default_dtype()
    usual = (own,) if data.size == 0 else (own, BOOL, INT64, complex_dtype(own))
    if data.dtype not in usual:
        suffixes.append(f"dtype={data.dtype.name}")
    if suffix:
        suffixes.append(suffix)
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
