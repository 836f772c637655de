"""Finished functions of an LLVM module, with the tables and declarations that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ..interface import c_functions
from .control_operations import Loop, Origins, Structure, While, instructions
from .operations import Arrange, Compute, Convert, FunctionCall, Operation, Phi
from .registers import BITS, Reg

if TYPE_CHECKING:
    from .target import Target

#: A line of text with the numbers of the traced ops that it is for.
Marked: TypeAlias = tuple[str, tuple[int, ...]]

#: The label of the first block.
ENTRY: Final = "entry"
#: Bits of the longest registers that cost nothing beside short ones.
_SHORT: Final = 256
#: Operations on longer registers up to which their time does not matter.
_FEW: Final = 16
#: Attributes that make LLVM compile a function without optimization.
UNOPTIMIZED: Final = "noinline optnone"
#: Says that longer ones are not needed; LLVM avoids them then on CPUs that are slower with them.
_SHORT_REGISTERS: Final = '"min-legal-vector-width"="0"'


class FunctionCode:
    """A function. `operations` are structured; `instructions` are what they become, a line of text each."""

    __slots__ = (
        "_head", "_instructions", "_lines", "attributes", "name", "operations", "scratch_bytes", "signature",
        "stack_bytes",
    )  # fmt: skip

    def __init__(
        self, signature: str, attributes: str, operations: Sequence[Operation], stack_bytes: int = 0,
        scratch_bytes: int = 0,
    ) -> None:  # fmt: skip
        self.signature, self.attributes, self.operations = signature, attributes, operations
        #: Bytes that its slots take on the stack, and in its scratch block.
        self.stack_bytes, self.scratch_bytes = stack_bytes, scratch_bytes
        self.name = signature.partition("@")[2].partition("(")[0]
        self._head = ""
        self._instructions: list[Operation] | None = None
        self._lines: list[str] | None = None

    @property
    def parameters(self) -> dict[str, str]:
        """The types of its parameters, by their names."""
        listed = self.signature.partition("(")[2].rstrip(")")
        pairs = [parameter.rpartition(" ") for parameter in listed.split(", ") if parameter]
        return {name: kind.removesuffix(" noalias") for kind, _, name in pairs}

    @property
    def head(self) -> str:
        """First lines of the text, up to the label of the first block."""
        if not self._head:
            attributes = self.attributes
            if "<" not in self.signature and _is_mostly_scalar(self.operations):
                attributes += f" {_SHORT_REGISTERS}"
            self._head = f"define {self.signature} {attributes} {{\n{ENTRY}:"
        return self._head

    @property
    def instructions(self) -> list[Operation]:
        """Instructions and labels, without structure."""
        if self._instructions is None:
            self._instructions = instructions(self.operations)
        return self._instructions

    @property
    def lines(self) -> list[str]:
        """The text of each of `instructions`."""
        if self._lines is None:
            self._lines = [operation.line() for operation in self.instructions]
        return self._lines

    @property
    def length(self) -> int:
        """Length of its text in characters."""
        return sum(map(len, self.lines)) + len(self.lines) + len(self.head) + 2

    def text_of(self, lines: Sequence[str]) -> str:
        """The function with `lines` as its body."""
        return "\n".join([self.head, *lines, "}"])

    def __str__(self) -> str:
        return self.text_of(self.lines)

    def rewritten(self, operations: Sequence[Operation]) -> FunctionCode:
        """Copy of the function with other operations."""
        return FunctionCode(self.signature, self.attributes, operations, self.stack_bytes, self.scratch_bytes)

    def marked_lines(self, default: tuple[int, ...]) -> list[Marked]:
        """Lines of the text, each with the traced ops that it is for; `default` for those that name none,
        such as loops and addresses."""
        lines = [(line, default) for line in self.head.split("\n")]
        origins = default
        for operation in self.operations:
            if isinstance(operation, Origins):
                origins = operation.numbers or default
            elif isinstance(operation, Structure):
                lines += [(instruction.line(), origins) for instruction in operation.lowered()]
            else:
                lines.append((operation.line(), origins))
        return [*lines, ("}", default)]


def _is_mostly_scalar(operations: Sequence[Operation]) -> bool:
    """Whether they are straight code that computes more with scalars and short vectors than with long ones,
    or little at all.

    Registers of 512 bits close one of three units of some cores for as long as they are in use. What is
    written for those registers, or called with them, needs them.
    """
    short = long = 0
    for operation in operations:
        if isinstance(operation, Compute):  # most are
            if _is_long(operation):
                long += 1
            elif operation.dtype[0] == "f":
                short += 1
            continue
        if isinstance(operation, (Loop, While, Phi)):
            return False
        if isinstance(operation, FunctionCall):
            values = (operation, *operation.arguments)
            if any(map(_is_long, values)) and not operation.callee.startswith("@llvm."):
                return False
            if operation.callee.startswith("@llvm.x86.") and operation.callee.endswith(".512"):
                return False
        if isinstance(operation, (Arrange, Convert, FunctionCall)):
            if _is_long(operation):
                long += 1
            elif operation.is_float:
                short += 1
    return long <= max(short, _FEW)


def _is_long(x: Reg) -> bool:
    return x.lanes > 1 and x.lanes * BITS.get(x.dtype, 64) > _SHORT


class Table:
    """A constant array of integers beside functions; `name` has its ``@``."""

    __slots__ = ("dtype", "name", "values")

    def __init__(self, name: str, dtype: str, values: Sequence[int]) -> None:
        self.name, self.dtype, self.values = name, dtype, values

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self.values) * int(self.dtype[1:]) // 8

    def __str__(self) -> str:
        values = ", ".join([f"{self.dtype} {value}" for value in self.values])
        return f"{self.name} = internal constant [{len(self.values)} x {self.dtype}] [{values}]"


def symbol(part: FunctionCode | Table | str) -> str:
    """The name of a function or table, with its ``@``."""
    return f"@{part.name}" if isinstance(part, FunctionCode) else str(part).partition(" ")[0]


def text_of(code: Code) -> str:
    """The LLVM text of parts of a module."""
    return "\n".join([str(part) for part in code])


def code_length(code: Code) -> int:
    """Length of `code` in characters, roughly."""
    return sum(part.length if isinstance(part, FunctionCode) else len(str(part)) for part in code)


def _callees(code: Code) -> Iterator[str]:
    """The names of what the functions in `code` call."""
    for part in code:
        if isinstance(part, FunctionCode):
            for operation in part.operations:
                if isinstance(operation, FunctionCall):
                    yield operation.callee[1:]


def calls(code: Code, name: str) -> bool:
    """Whether one of the functions in `code` calls `name`."""
    return name in _callees(code)


def calls_c_functions(code: Code) -> bool:
    """Whether one of the functions in `code` calls a C function that is known by its address."""
    return bool(c_functions(_callees(code)))


#: Parts of a module: functions, tables, and as text what has no operations (declarations, variables).
Code: TypeAlias = list[FunctionCode | Table | str]


class Declarations(dict[str, "FunctionCode | str"]):
    """Declarations and shared functions of a module by name, and what the machine has that it is written
    for."""

    def __init__(self, target: Target | None = None) -> None:
        super().__init__()
        #: Whether tables can be looked up in registers of 512 bits, with AVX-512's other instructions on
        #: floats' exponents (`maths.wide`).
        self.wide_tables = target is not None and target.wide_tables
        self.address_bits = 64 if target is None else target.address_bits
        #: Whether one instruction converts between float16 and float32.
        self.half_conversions = target is not None and target.half_conversions
        #: Whether a scalar that does not fit an integer is converted to the most negative one, as by NumPy.
        self.indefinite_integers = target is not None and target.indefinite_integers
