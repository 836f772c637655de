"""NumPy's inner loops: the C functions behind a ufunc, one per dtype, as its object lists them.

A loop is ``void f(char **data, intp *count, intp *steps, void *context)``; the fields of PyUFuncObject are
part of NumPy's public C interface (``ufuncobject.h``).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...ir.dtypes import DType
from ...ir.records import record

#: Byte offsets in PyUFuncObject.
_OPERANDS, _RESULTS, _FUNCTIONS, _CONTEXTS, _COUNT, _TYPES = 16, 20, 32, 40, 48, 64
_LOOP: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_void_p, ctypes.c_void_p
)


@record
class InnerLoop:
    """One inner loop: all its operands are of dtype `operand`."""

    function: int
    context: int
    operand: DType
    result: DType


def loops_of(ufunc: np.ufunc, dtypes: Sequence[DType]) -> Iterator[InnerLoop]:
    """The loops of `ufunc`, which has one result, for operands that are all of one of `dtypes`."""
    if not _layout_holds():
        return
    base = id(ufunc)
    functions, contexts = _word(base + _FUNCTIONS), _word(base + _CONTEXTS)
    for number, types in enumerate(ufunc.types):
        operands, result = types.split("->")
        for dtype in dtypes:
            if operands == dtype.char * ufunc.nin:
                function = _word(functions + 8 * number)
                context = _word(contexts + 8 * number) if contexts else 0
                if function:
                    yield InnerLoop(function, context, dtype, np.dtype(result))


def _word(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


@functools.lru_cache(maxsize=1)
def _layout_holds() -> bool:
    """Whether a ufunc's object is laid out as here, and its loop for doubles adds."""
    base = id(np.add)
    kinds = [np.dtype(text).num for text in "".join(np.add.types).replace("->", "")]
    if (
        ctypes.c_int.from_address(base + _OPERANDS).value != 2
        or ctypes.c_int.from_address(base + _RESULTS).value != 1
        or ctypes.c_int.from_address(base + _COUNT).value != len(np.add.types)
        or list(ctypes.string_at(_word(base + _TYPES), len(kinds))) != kinds
    ):
        return False
    number = np.add.types.index("dd->d")
    add: Any = _LOOP(_word(_word(base + _FUNCTIONS) + 8 * number))
    x = np.array([1.0, 2.0, 3.0])
    y, out = x * 10, np.zeros(3)
    data = (ctypes.c_void_p * 3)(x.ctypes.data, y.ctypes.data, out.ctypes.data)
    add(data, ctypes.c_ssize_t(3), (ctypes.c_ssize_t * 3)(8, 8, 8), None)
    return out.tolist() == [11.0, 22.0, 33.0]
