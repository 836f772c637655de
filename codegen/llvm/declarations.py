"""What the functions of one LLVM module share."""

from __future__ import annotations

from .function import FunctionCode


class Declarations(dict[str, "FunctionCode | str"]):
    """Declarations and shared functions of a module by name, and what the machine has that it is written
    for."""

    def __init__(self, wide_tables: bool = False, half_conversions: bool = False) -> None:
        super().__init__()
        #: Whether tables can be looked up in registers of 512 bits, with AVX-512's other instructions on
        #: floats' exponents (`maths.wide`).
        self.wide_tables = wide_tables
        #: Whether one instruction converts between float16 and float32.
        self.half_conversions = half_conversions
