"""Kernels that a module has already: layers of a network, and what a function does several times, are written
and compiled once."""

from __future__ import annotations

from ...ir.content import NoContent
from ...ir.graph import Instruction
from ..kernels.kernel import Kernel
from ..kernels.lowering import Lowering, LoweringContext
from ..llvm.function import Code, FunctionCode, symbol


class KernelDeduplication:
    """The kernels of a module so far."""

    def __init__(self) -> None:
        self._by_content: dict[str, Kernel | None] = {}
        #: The first kernel with a shape of code, and once there is a second one, the names of all by their
        #: code's text.
        self._first: dict[tuple[int, ...], Kernel] = {}
        self._by_text: dict[tuple[int, ...], dict[str, str]] = {}

    def lower(
        self, lowering: Lowering, name: str, instruction: Instruction, context: LoweringContext
    ) -> Kernel | None:
        """The kernel that `lowering` makes of `instruction`; a copy where there was an equal one."""
        key = _content_of(lowering, instruction, context)
        if key is None:
            return lowering.kernel(name, instruction, context)
        if key not in self._by_content:
            kernel = self._by_content[key] = lowering.kernel(name, instruction, context)
            return kernel
        equal = self._by_content[key]
        if equal is None:
            return None
        copy = equal.copy()
        copy.described = equal.description.replace(f" {copy.name}:", f" {name}:", 1)
        return copy

    def has_code(self, kernel: Kernel, name: str) -> bool:
        """Whether the module has the code of `kernel`, made for the instruction `name`, save for the name;
        the kernel takes the name it is there by."""
        if kernel.name == name:
            shape = _shape(kernel.code)
            first = self._first.setdefault(shape, kernel)
            if first is not kernel:
                names = self._by_text.get(shape)
                if names is None:
                    names = self._by_text[shape] = {_nameless(first.code): first.name}
                kernel.name = names.setdefault(_nameless(kernel.code), name)
        return kernel.name != name


def _shape(code: Code) -> tuple[int, ...]:
    """How long the parts of `code` are."""
    return tuple([len(part.operations) if isinstance(part, FunctionCode) else 0 for part in code])


def _nameless(code: Code) -> str:
    """The text of `code` with its own functions and tables by number."""
    own = {symbol(part): f"@{number}" for number, part in enumerate(code)}
    lines = []
    for part in code:
        if not isinstance(part, FunctionCode):
            lines.append(str(part).replace(symbol(part), own[symbol(part)], 1))
            continue
        lines.append(part.head.replace(symbol(part), own[symbol(part)]))
        for operation, line in zip(part.instructions, part.lines, strict=True):
            if "@" in line:
                for text in sorted(own.keys() & set(operation.operands()), key=len, reverse=True):
                    line = line.replace(text, own[text])
            lines.append(line)
    return "\n".join(lines)


def _content_of(lowering: Lowering, instruction: Instruction, context: LoweringContext) -> str | None:
    """Equal for instructions with equal kernels; None where that is not known."""
    if lowering.content is None:
        return None
    try:
        return lowering.content(instruction, context)
    except NoContent:
        return None
