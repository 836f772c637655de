"""C functions as kernels: of arrays, of elements, and as machine code of an elementwise op."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..base.errors import TracejitError
from ..base.records import record
from ..codegen.interface import c_function_symbol
from ..codegen.llvm.emitter import Emitter, Reg
from ..ir.dtypes import BY_NAME, SHORT_NAME, as_dtype
from ..ir.registry import External, Op
from ..ir.types import TensorType

__all__ = ["CFunction", "array_function", "element_emitter", "element_function", "is_c_function"]

#: Types that C passes in registers as LLVM does, without attributes for sign or zero extension.
_PASSED: Final = ("i32", "u32", "i64", "u64", "f32", "f64")
#: The class of every ctypes function: the base of the types that `CFUNCTYPE` makes.
_FUNCTION_POINTER: Final[Any] = ctypes.CFUNCTYPE(None).__mro__[1]
#: Functions that were given: code that runs may call them after their registration has ended.
_LOADED: Final[list[Any]] = []


@record(eq=False)
class CFunction:
    """An address with its types; of a bare address all are ``double``."""

    address: int
    arguments: tuple[str, ...] | None
    result: str


def is_c_function(fn: Any) -> bool:
    """Whether `fn` is an address, or something that has one."""
    if isinstance(fn, bool):
        return False
    return isinstance(fn, (int, _FUNCTION_POINTER)) or (hasattr(fn, "address") and hasattr(fn, "ctypes"))


def array_function(op: Op, fn: Any) -> External:
    """`fn` as a function over whole arrays; its types cannot be checked."""
    _LOADED.append(fn)
    return External(_address(op, fn), fn)


def element_function(op: Op, fn: Any) -> CFunction:
    """`fn` as a function of one element of each operand.

    Raises TracejitError where its types are not declared, or do not fit the op.
    """
    _LOADED.append(fn)
    address = _address(op, fn)
    if isinstance(fn, int):
        return CFunction(address, None, "f64")
    declared = fn if isinstance(fn, _FUNCTION_POINTER) else fn.ctypes
    if declared.argtypes is None:
        raise TracejitError(
            f"register_kernel {op.name!r}: set argtypes and restype of the ctypes function first; C types "
            "cannot be found out"
        )
    arguments = tuple(_short(op, argtype) for argtype in declared.argtypes)
    if len(arguments) != len(op.params):
        raise TracejitError(
            f"register_kernel {op.name!r}: the C function takes {len(arguments)} arguments, the op has "
            f"{len(op.params)} inputs ({', '.join(op.params)})"
        )
    return CFunction(address, arguments, _short(op, declared.restype))


def _address(op: Op, fn: Any) -> int:
    if isinstance(fn, _FUNCTION_POINTER):
        kept = getattr(fn, "_objects", None)
        if isinstance(kept, dict) and any(type(item).__name__ == "CThunkObject" for item in kept.values()):
            raise TracejitError(
                f"register_kernel {op.name!r}: this ctypes function calls back into Python, which native "
                "threads must not; register the Python function as a kernel of backend 'numpy'"
            )
        address = ctypes.cast(fn, ctypes.c_void_p).value
    else:
        address = fn if isinstance(fn, int) else fn.address
    if not address or address < 0:
        raise TracejitError(f"register_kernel {op.name!r}: {address!r} is not the address of a function")
    return int(address)


def _short(op: Op, ctype: Any) -> str:
    try:
        name = SHORT_NAME[as_dtype(np.dtype(ctype))] if ctype is not None else "void"
    except TypeError:
        name = str(getattr(ctype, "__name__", ctype))
    if name not in _PASSED:
        raise TracejitError(
            f"register_kernel {op.name!r}: a C function of elements takes and returns 32- or 64-bit numbers, "
            f"got {name}"
        )
    return name


def element_emitter(op: Op, function: CFunction) -> Callable[..., Reg]:
    """`function` as scalar code: one call per lane, from within the loop."""

    def emit(b: Emitter, *operands: Reg, **attrs: Any) -> Reg:
        types = tuple(TensorType(BY_NAME[operand.dtype], ()) for operand in operands)
        dtype = SHORT_NAME[op.infer(types, attrs)[0].dtype]
        taken = function.arguments or ("f64",) * len(operands)
        converted = [b.cast(operand, argument) for operand, argument in zip(operands, taken, strict=True)]
        results = b.call_elementwise(c_function_symbol(function.address), function.result, *converted)
        return b.cast(results, dtype)

    return emit
