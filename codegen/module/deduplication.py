"""Kernels that a module has already: layers of a network, and what a function does several times, are written
and compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ...ir.access import resolve
from ...ir.content import NoContent, attributes, content
from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ..kernels.kernel import Kernel


class KernelDeduplication:
    """The kernels of a module so far."""

    def __init__(self) -> None:
        self._by_content: dict[str, Kernel | None] = {}
        self._by_text: dict[str, str] = {}

    def lower(
        self,
        instruction: Instruction,
        defs: Mapping[Value, Instruction],
        name: str,
        lowering: Callable[[], Kernel | None],
    ) -> Kernel | None:
        """What ``lowering()`` gives for `instruction`, called `name`; a copy where there was an equal one."""
        key = _content_of(instruction, defs)
        if key is None:
            return lowering()
        if key not in self._by_content:
            made = self._by_content[key] = lowering()
            return made
        known = self._by_content[key]
        if known is None:
            return None
        copy = known.copy()
        copy.description = copy.description.replace(f" {copy.name}:", f" {name}:", 1)
        return copy

    def has_code(self, kernel: Kernel, name: str) -> bool:
        """Whether the module has the code of `kernel`, made for the instruction `name`, save for the name;
        the kernel takes the name it is there by."""
        if kernel.name == name:
            text = re.sub(rf"@{name}(?![0-9A-Za-z])", "@", kernel.text)
            kernel.name = self._by_text.setdefault(text, name)
        return kernel.name != name


def _content_of(instruction: Instruction, defs: Mapping[Value, Instruction]) -> str | None:
    """Equal for instructions with equal kernels; None where that is not known."""
    try:
        if instruction.op.kind is Kind.REGION:
            return "\n".join(content(region) for region in instruction.regions)
        if instruction.op.kind in (Kind.CONTRACTION, Kind.CONVOLUTION):
            operands = [(operand.type, *_source(operand, defs)) for operand in instruction.operands]
            return (
                f"{instruction.op.name} {attributes(instruction.attrs)} {operands} {instruction.result.type}"
            )
    except NoContent:
        return None
    return None


def _source(operand: Value, defs: Mapping[Value, Instruction]) -> tuple[object, ...]:
    """What a product reads an operand from, and how."""
    source, access = resolve(operand, defs)
    return source.type, access.dims
