"""Special functions as ufuncs of NumPy's, whose inner loops are our machine code.

So NumPy broadcasts, steps through memory, makes results and lets go of the GIL. A ufunc is one derivative of
one function in one dtype, compiled at its first use or found in the disk cache.
"""

from __future__ import annotations

import ctypes
import importlib
import platform
from typing import Any, Final

import numpy as np

from ...base.machine import DEFAULT, use_machine
from ...base.process.locks import ForkLock
from ...codegen.interface import SPECIAL_LOOP, Library
from ...ir.dtypes import SHORT_NAME, DType
from ...ir.special.jets import Index
from ..loading.objects import load_support
from .eager import FLAGS

#: Index of PyUFunc_FromFuncAndData in NumPy's table of its ufunc API, fixed by its ABI.
_FROM_FUNCTIONS: Final = 1
#: PyUFunc_None: the ufunc has no identity.
_NO_IDENTITY: Final = -1
_UFUNCS: Final[dict[tuple[str, Index, DType], np.ufunc]] = {}
#: The objects that ufuncs refer to without owning a reference.
_KEPT: Final[list[Any]] = []
_LOCK: Final = ForkLock()


def special_ufunc(name: str, orders: Index, dtype: DType) -> np.ufunc:
    """The ufunc of the derivative `orders` of the special function `name`, in float32 or float64.

    Raises CompileError where there can be no machine code.
    """
    with _LOCK:
        ufunc = _UFUNCS.get((name, orders, dtype))
        if ufunc is None:
            ufunc = _UFUNCS[name, orders, dtype] = _compiled(name, orders, dtype)
        return ufunc


def problem() -> str:
    """The reason why these ufuncs are unavailable here, empty if they are available."""
    if platform.machine() not in FLAGS:
        return f"no floating-point flags known for {platform.machine()}"
    return ""


def _compiled(name: str, orders: Index, dtype: DType) -> np.ufunc:
    functions, contexts = (ctypes.c_void_p * 1)(), (ctypes.c_void_p * 1)()
    types = ctypes.create_string_buffer(bytes([dtype.num] * (len(orders) + 1)))
    text = ctypes.c_char_p(name.encode())

    def use(library: Library) -> None:
        _KEPT.append(library)  # calls may be in the code of the baseline tier
        functions[0] = library.addresses[SPECIAL_LOOP]

    _KEPT.append((functions, contexts, types, text))
    clear = ctypes.cast(ctypes.CDLL(None).feclearexcept, ctypes.c_void_p).value or 0
    arguments = (name, orders, SHORT_NAME[dtype], FLAGS[platform.machine()])
    with use_machine(DEFAULT):  # a process has them once, for its own CPU
        load_support("special", (SPECIAL_LOOP,), {"feclearexcept": clear}, *arguments, use=use)
    ufunc: np.ufunc = _constructor()(
        functions, contexts, types, 1, len(orders), 1, _NO_IDENTITY, text, None, 0
    )
    return ufunc


def _constructor() -> Any:
    """PyUFunc_FromFuncAndData of NumPy's C API."""
    capsule = importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
        ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int,
    )(table[_FROM_FUNCTIONS])  # fmt: skip
