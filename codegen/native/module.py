"""A module of native code: the functions that its exports need, declarations, and variables."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Protocol

from ..llvm.emitter import LLVM_SCALAR
from ..llvm.function import Declarations
from .structs import CFunctionType, Type


class FunctionDefinition(Protocol):
    """A function that a module may have."""

    name: str

    def definition(self, module: NativeModule) -> str:
        """LLVM text of the function."""


def type_text(type: Type | None) -> str:
    """A type as LLVM writes it."""
    if type is None:
        return "void"
    return LLVM_SCALAR[type] if isinstance(type, str) else "ptr"


class NativeModule:
    """Functions by name, each written when another one, or the list of exports, first names it."""

    def __init__(
        self,
        slots: Mapping[str, int] | None = None,
        numbers: Mapping[str, int] | None = None,
        checked: bool = False,
    ) -> None:
        #: Offsets of a Tensor's slots.
        self.slots = slots or {}
        #: Numbers of this machine that functions ask for by name.
        self.numbers = numbers or {}
        #: Whether functions check what they read and write: see `writer`.
        self.checked = checked
        self.declarations = Declarations()
        self._globals: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._pending: list[FunctionDefinition] = []

    def require(self, function: FunctionDefinition) -> None:
        """Have `function` in the module."""
        if function.name not in self._functions:
            self._functions[function.name] = ""
            self._pending.append(function)

    def declare(self, name: str, signature: CFunctionType) -> None:
        """Declare a C function."""
        parameters = ", ".join(map(type_text, signature.parameters))
        self.declarations.setdefault(name, f"declare {type_text(signature.result)} @{name}({parameters})")

    def external_global(self, name: str, type: Type) -> None:
        """A variable that the module is linked with, unless it has one of this name itself."""
        memory = "i8" if type == "bool" else type_text(type)
        self._globals.setdefault(name, f"@{name} = external global {memory}")

    def add_global(self, name: str, text: str) -> None:
        """A variable or constant of the module: what stands behind ``@name =``."""
        self._globals[name] = f"@{name} = {text}"

    def message(self, text: str) -> str:
        """A constant C string."""
        name = f"message.{zlib.crc32(text.encode())}"
        self.add_global(name, f'private constant [{len(text) + 1} x i8] c"{text}\\00"')
        return f"@{name}"

    def text(self, *exports: FunctionDefinition) -> str:
        """The module's text."""
        for function in exports:
            self.require(function)
        while self._pending:
            function = self._pending.pop()
            self._functions[function.name] = function.definition(self)
        parts = [*self._globals.values(), *self.declarations.values(), *self._functions.values()]
        return "\n".join(map(str, parts))
