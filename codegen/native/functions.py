"""Native functions as Python functions that write them.

`native` makes a native function of a Python function ``body(f, *parameters)``, whose annotations say which
types its parameters have; called with a writer, it writes a call and has itself put into the module. An
`ImportedFunction` is a C function that the module is linked with, called in the same way::

    @native("bool")
    def is_zero(f: NativeWriter, number: Int) -> None:
        "Whether `number` is 0."
        f.ret(f.eq(number, 0))
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

from ...base.process.locks import computed_once
from ..llvm.emitter import Reg
from .module import NativeModule, type_text
from .pointers import Operand, Pointer
from .structs import ARRAY, BYTES, OBJECT, OBJECTS, TENSOR, WORDS, CFunctionType, Items, Type
from .writer import NativeWriter

Body = Callable[..., None]

#: The types of parameters, as annotations.
Bool = Annotated[Reg, "bool"]
Int32 = Annotated[Reg, "i32"]
Int = Annotated[Reg, "i64"]
Bytes = Annotated[Pointer, BYTES]
Words = Annotated[Pointer, WORDS]
Object = Annotated[Pointer, OBJECT]
Objects = Annotated[Pointer, OBJECTS]
Array = Annotated[Pointer, ARRAY]
TensorObject = Annotated[Pointer, TENSOR]


class NativeFunction:
    """A function of the module; `export` is the symbol by which Python finds it."""

    def __init__(self, body: Body, result: Type | None, export: str, attributes: str) -> None:
        self.body = body
        self.name = export or body.__name__
        self._result = result
        self._linkage = "" if export else "internal "
        self._attributes = attributes

    @computed_once
    def parameters(self) -> dict[str, Type]:
        """The parameters' types by name, from the annotations of the body."""
        hints = typing.get_type_hints(self.body, include_extras=True)
        names = list(inspect.signature(self.body).parameters)[1:]
        return {name: hints[name].__metadata__[0] for name in names}

    @computed_once
    def signature(self) -> CFunctionType:
        """The type of the function."""
        return CFunctionType(self._result, tuple(self.parameters.values()))

    def __call__(self, f: NativeWriter, *arguments: Operand) -> Any:
        f.module.require(self)
        return f.invoke(f"@{self.name}", self.signature, *arguments)

    def address(self, f: NativeWriter) -> Pointer:
        """A pointer to the function."""
        f.module.require(self)
        return Pointer(f"@{self.name}", self.signature, f)

    def definition(self, module: NativeModule) -> str:
        """The function's text."""
        f = NativeWriter(module, self.name, self.signature)
        self.body(f, *[f.typed(f"%{name}", type) for name, type in self.parameters.items()])
        if not f.ended:
            assert self._result is None, f"{self.name} ends without a result"
            f.ret()
        parameters = ", ".join(f"{type_text(type)} %{name}" for name, type in self.parameters.items())
        function = f.function(
            f"{self._linkage}{type_text(self._result)} @{self.name}({parameters})",
            f"{self._attributes} nounwind",
        )
        first_line = (inspect.getdoc(self.body) or "").partition("\n")[0]
        return f"; {first_line}\n{function}" if first_line else str(function)


def native(
    result: Type | None = None, *, export: str = "", inline: bool = False, attributes: str = ""
) -> Callable[[Body], NativeFunction]:
    """A native function with this result, written by the Python function that this decorates."""
    attributes = "alwaysinline" if inline else attributes
    return lambda body: NativeFunction(body, result, export, attributes)


class ImportedFunction:
    """A C function that the module is linked with."""

    def __init__(self, name: str, result: Type | None, *parameters: Type) -> None:
        self.name = name
        self.signature = CFunctionType(result, parameters)

    def __call__(self, f: NativeWriter, *arguments: Operand) -> Any:
        f.module.declare(self.name, self.signature)
        return f.invoke(f"@{self.name}", self.signature, *arguments)


class ModuleVariable:
    """A variable of the module itself, or `count` of them; Python finds those that are `exported`."""

    def __init__(
        self, name: str, type: Type, count: int = 1, *, initial: int = 0, exported: bool = False
    ) -> None:
        self.name = name
        self._type = type
        self._count = count
        value = str(initial) if initial else "zeroinitializer"
        memory = type_text(type) if count == 1 else f"[{count} x {type_text(type)}]"
        # each has a cache line of its own: the pool's threads write some of them
        self._text = f"{'' if exported else 'internal '}global {memory} {value}, align 64"

    def __call__(self, f: NativeWriter) -> Pointer:
        f.module.add_global(self.name, self._text)
        return Pointer(f"@{self.name}", Items(self._type), f, self._count)
