"""Kernels that a module has already: layers of a network, and what a function does several times, are written
and compiled once."""

from __future__ import annotations

import re

from ...ir.content import NoContent
from ...ir.graph import Instruction
from ..kernels.kernel import Kernel
from ..kernels.lowering import Lowering, LoweringContext


class KernelDeduplication:
    """The kernels of a module so far."""

    def __init__(self) -> None:
        self._by_content: dict[str, Kernel | None] = {}
        self._by_text: dict[str, str] = {}

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
        copy.description = copy.description.replace(f" {copy.name}:", f" {name}:", 1)
        return copy

    def has_code(self, kernel: Kernel, name: str) -> bool:
        """Whether the module has the code of `kernel`, made for the instruction `name`, save for the name;
        the kernel takes the name it is there by."""
        if kernel.name == name:
            text = re.sub(rf"@{name}(?![0-9A-Za-z])", "@", kernel.text)
            kernel.name = self._by_text.setdefault(text, name)
        return kernel.name != name


def _content_of(lowering: Lowering, instruction: Instruction, context: LoweringContext) -> str | None:
    """Equal for instructions with equal kernels; None where that is not known."""
    if lowering.content is None:
        return None
    try:
        return lowering.content(instruction, context)
    except NoContent:
        return None
