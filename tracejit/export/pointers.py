"""Function pointers of compiled functions in this process: what ``f.cfunc`` returns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from ..base.errors import TracejitError
from ..codegen.interface import Library
from .prototypes import CPrototype
from .signatures import Signature

_NUMBERS: Final[dict[str, Any]] = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
}
#: The types of ctypes by those in C.
_CTYPES: Final[dict[str, Any]] = {
    **_NUMBERS,
    **{f"{name} *": ctypes.POINTER(number) for name, number in _NUMBERS.items()},
    "void *": ctypes.c_void_p,
}


class FunctionPointer:
    """A function pointer, which is good as long as this object lives.

    Attributes:
        address: where the function begins.
        prototype: arguments and results of the function with status and workspace; where there is a
            signature, `address` is that of a function around it.
        signature: the signature that was asked for, None without one.
    """

    def __init__(
        self,
        prototype: CPrototype,
        signature: Signature | None,
        messages: Sequence[str],
        library: Library,
        symbol: str,
    ) -> None:
        self.prototype, self.signature = prototype, signature
        self.address = library.addresses[symbol]
        self._messages, self._library = tuple(messages), library

    def __repr__(self) -> str:
        return f"<C function {self.declaration} at {self.address:#x}>"

    @property
    def declaration(self) -> str:
        """The type of the function in C."""
        return self.signature.text if self.signature is not None else self.prototype.declaration

    @property
    def workspace_bytes(self) -> int:
        """The bytes that the workspace must have; 0 where there may be none, and with a signature."""
        return 0 if self.signature is not None else self.prototype.workspace_bytes

    @property
    def ctypes(self) -> Any:
        """The function of ctypes, which lets go of the GIL, and keeps this object alive. Pointers to arrays
        are addresses, such as ``array.ctypes.data``."""
        if self.signature is not None:
            types = self.signature.c_types
        else:
            pointers = len(self.prototype.arguments) + len(self.prototype.results) + 1
            types = ("int", *["void *"] * pointers)
        result, *parameters = [_CTYPES[name] for name in types]
        function: Any = ctypes.CFUNCTYPE(result, *parameters)(self.address)
        function.owner = self
        return function

    @property
    def cffi(self) -> Any:
        """The pointer as an object of cffi, which does not keep this object alive.

        Raises TracejitError where cffi is not installed.
        """
        try:
            ffi: Any = import_module("cffi").FFI()
        except ImportError as error:
            raise TracejitError("cfunc: .cffi needs the package cffi; .ctypes and .address do not") from error
        result, _, parameters = self.declaration.partition("(")
        kind = result.split()[0]
        return ffi.cast(f"{kind} (*)({parameters}", self.address)

    def status_message(self, status: int) -> str:
        """The message for a status that the function returned."""
        return self._messages[status] if 0 <= status < len(self._messages) else "unknown status"
