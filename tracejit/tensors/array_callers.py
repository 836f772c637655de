"""Callers that take arrays in place of Tensors: the code of SciPy.

SciPy computes with what callbacks return by operators, keeps it in results, and hands it to C and Fortran. So
jitted functions give its code arrays, and NumPy's functions take tensors for arrays there. The native entry
asks the same of its caller (`codegen.native.entry.code`).
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from ..base.user_code import is_user_file
from ..codegen.interface import TAKES_ARRAYS
from ..state import STATE
from .python_values import plain_class

__all__ = ["class_for_caller", "frame_above", "takes_arrays"]

#: The beginnings of the names of modules that ask whether a matrix is an ndarray, and write none that they
#: are given. Elsewhere in SciPy an array made of something that is no ndarray itself may be overwritten.
_ASKERS: Final = ("scipy.sparse.", "scipy.linalg.interpolative")
#: The beginnings of the names of those whose functions take matrices by their values alone.
_SOLVERS: Final = ("scipy.sparse.linalg.", "scipy.linalg.interpolative")
#: The frame so many calls up.
frame_above: Final = sys._getframe


class _Takers(dict[Any, bool]):
    """Whether the code of a module takes arrays, by the module's name; a look-up is cheaper than a test."""

    def __missing__(self, name: Any) -> bool:
        return self.setdefault(name, isinstance(name, str) and name.startswith(TAKES_ARRAYS))


_TAKERS: Final = _Takers()


class _Askers(dict[Any, bool]):
    """Whether the code of a module asks for the class of matrices, by the module's name."""

    def __missing__(self, name: Any) -> bool:
        return self.setdefault(name, isinstance(name, str) and name.startswith(_ASKERS))


_ASKS: Final = _Askers()


class TensorAsArray(np.ndarray[Any, Any]):
    """The class of tensors to code that asks whether they are ndarrays. It has no instances. Code with a
    short way for ndarray itself does not take that for a subclass."""


def class_for_caller(tensor: Any) -> type:
    """The class of `tensor` for the code that asks: for the user's, of a traced one, that of what it is where
    the function runs as it is. For SciPy's a subclass of ndarray where that takes matrices which are
    sparse or ndarrays, and where the tensor is no more than an array. To solvers a traced one is a matrix:
    they ask for its value, and the error names the function and the user's line."""
    asker = frame_above(1)
    name: Any = asker.f_globals.get("__name__")
    if not _ASKS[name]:
        is_users = tensor.is_traced and not _TAKERS[name] and is_user_file(asker.f_code.co_filename)
        return plain_class(tensor) if is_users else type(tensor)
    if tensor.is_traced:
        return TensorAsArray if name.startswith(_SOLVERS) else type(tensor)
    return type(tensor) if tensor._requires_grad or STATE.tracer is not None else TensorAsArray


def takes_arrays(frame: Any) -> bool:
    """Whether the code of `frame` takes arrays in place of tensors."""
    return _TAKERS[frame.f_globals.get("__name__")]
