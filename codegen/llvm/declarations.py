"""What the functions of one LLVM module share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .function import FunctionCode

if TYPE_CHECKING:
    from .target import Target


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
