"""Callers that take arrays in place of Tensors: the code of SciPy.

SciPy computes with what callbacks return by operators, keeps it in results, and hands it to C and Fortran. So
jitted functions give its code arrays, and NumPy's functions take tensors for arrays there. The native entry
asks the same of its caller (`codegen.native.entry.code`).
"""

from __future__ import annotations

import sys
from typing import Any, Final

from ..codegen.interface import TAKES_ARRAYS

__all__ = ["frame_above", "takes_arrays"]

#: The frame so many calls up.
frame_above: Final = sys._getframe


class _Takers(dict[Any, bool]):
    """Whether the code of a module takes arrays, by the module's name; a look-up is cheaper than a test."""

    def __missing__(self, name: Any) -> bool:
        return self.setdefault(name, isinstance(name, str) and name.startswith(TAKES_ARRAYS))


_TAKERS: Final = _Takers()


def takes_arrays(frame: Any) -> bool:
    """Whether the code of `frame` takes arrays in place of tensors."""
    return _TAKERS[frame.f_globals.get("__name__")]
