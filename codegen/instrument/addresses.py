"""Address analysis of a function's accesses.

An address is a buffer, and a sum of registers times bytes. The registers of a sum are loop indices and other
registers that are not sums themselves. An index of a loop with known bounds has a known smallest and largest
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...base.records import record
from ..llvm.control_operations import (
    Loop,
)
from ..llvm.operations import Compute, Load, MaskedAccess, Offset, Operation, Slot, Store
from ..llvm.registers import MEMORY_BYTES, Reg, llvm_type
from ..llvm.stack import ScratchSlot

#: The smallest and the largest value.
Range: TypeAlias = tuple[int, int]


@record
class Sum:
    """A constant, and registers times factors."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """This sum plus `factor` times the other one."""
        terms = dict(self.terms)
        for name, times in other.terms:
            terms[name] = terms.get(name, 0) + factor * times
        kept = tuple((name, times) for name, times in terms.items() if times)
        return Sum(self.constant + factor * other.constant, kept)

    def times(self, factor: int) -> Sum:
        """This sum times a number."""
        return Sum(0).plus(self, factor)

    def range(self, ranges: Mapping[str, Range]) -> Range | None:
        """Smallest and largest value of the sum; None where a register may have any."""
        low = high = self.constant
        for name, times in self.terms:
            if name not in ranges:
                return None
            ends = [times * end for end in ranges[name]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def text(self, unit: int = 1) -> str:
        """Text such as ``8*%i + %j - 3``, in units of `unit` bytes if every term is a multiple of that, else
        in bytes."""
        if any(number % unit for number in (self.constant, *(times for _, times in self.terms))):
            return f"{self.text()} bytes"
        parts = []
        for name, times in self.terms:
            count = times // unit
            parts.append(
                ("- " if count < 0 else "+ ") + (name if abs(count) == 1 else f"{abs(count)}*{name}")
            )
        if self.constant or not parts:
            count = self.constant // unit
            parts.append(f"{'- ' if count < 0 else '+ '}{abs(count)}")
        joined = " ".join(parts)
        return joined[2:] if joined.startswith("+ ") else f"-{joined[2:]}"


@record
class Address:
    """A place in a buffer: `buffer` is its pointer's name, `offset` is in bytes."""

    buffer: str
    offset: Sum


@record
class ElementAccess:
    """Elements of `width` bytes, from the first of `lanes` up to the second, counted from `address`."""

    address: Address
    width: int
    lanes: tuple[int, int]


class Addresses:
    """Registers as affine sums and pointers as addresses, for the part of a function that has been read."""

    def __init__(self) -> None:
        self._sums: dict[str, Sum] = {}
        self._pointers: dict[str, Address] = {}
        #: The values of loop indices and parameters, where they are known.
        self.ranges: dict[str, Range] = {}
        #: Bytes of stack slots.
        self.slots: dict[str, int] = {}

    def sum_of(self, x: Reg) -> Sum:
        """`x` as a sum."""
        if x.text in self._sums:
            return self._sums[x.text]
        return Sum(0, ((x.text, 1),)) if x.text[0] == "%" else Sum(int(x.text))

    def address(self, pointer: str) -> Address:
        """Address that `pointer` holds: in a buffer of its own, unless it was moved from another pointer."""
        return self._pointers.get(pointer, Address(pointer, Sum(0)))

    def read(self, operation: Operation) -> bool:
        """Go on behind `operation`; whether it is arithmetic of addresses alone, which others contain."""
        if isinstance(operation, Compute) and operation.lanes == 1 and operation.dtype == "i64":
            return self._arithmetic(operation)
        if isinstance(operation, ScratchSlot):
            self.slots[operation.text] = operation.nbytes
        elif isinstance(operation, Offset) and operation.lanes == 1:
            address, width = self.address(operation.pointer), MEMORY_BYTES[operation.element]
            offset = address.offset.plus(self.sum_of(operation.index), width)
            self._pointers[operation.text] = Address(address.buffer, offset)
            return True
        elif isinstance(operation, Slot):
            self.slots[operation.text] = operation.count * MEMORY_BYTES[operation.element]
        elif isinstance(operation, Loop):
            first, stop = self._bound(operation.start), self._bound(operation.stop)
            if first is not None and stop is not None:
                self._loop(operation, first, stop)
        return False

    def _bound(self, bound: Reg) -> Range | None:
        """The values of a loop's bound, unless they depend on other loops."""
        if bound.text in ("%begin", "%end"):
            return self.ranges.get(bound.text)
        total = self.sum_of(bound)
        return None if total.terms else (total.constant, total.constant)

    def _loop(self, loop: Loop, first: Range, stop: Range) -> None:
        """Note the values of an index, if they are all there are."""
        if first[0] == first[1] and stop[0] == stop[1]:
            last = first[0] + (stop[0] - 1 - first[0]) // loop.step * loop.step
            self.ranges[loop.index.text] = first[0], last
        elif loop.step == 1:
            self.ranges[loop.index.text] = first[0], stop[1] - 1

    def _arithmetic(self, operation: Compute) -> bool:
        if operation.code not in ("add", "sub", "mul"):
            return False
        x, y = map(self.sum_of, operation.arguments)
        if operation.code == "mul":
            if x.terms and y.terms:
                return False
            self._sums[operation.text] = x.times(y.constant) if x.terms else y.times(x.constant)
        else:
            self._sums[operation.text] = x.plus(y, 1 if operation.code == "add" else -1)
        return True

    def accessed(self, operation: Operation) -> ElementAccess | None:
        """Access of an operation on contiguous elements; None for other operations."""
        lanes = 0, 1
        if isinstance(operation, Load):
            width, pointer = MEMORY_BYTES[llvm_type(operation.dtype)], operation.pointer
            lanes = 0, operation.lanes
        elif isinstance(operation, Store):
            if operation.value.text == "zeroinitializer":
                return None
            pointer, lanes = operation.pointer, (0, operation.value.lanes)
            width = MEMORY_BYTES[llvm_type(operation.value.dtype)]
        elif isinstance(operation, MaskedAccess) and not operation.by_lanes:
            width, pointer = operation.element_bytes, operation.pointer.text
            lanes = _lanes_of(operation.mask)
        else:
            return None
        return ElementAccess(self.address(pointer), width, lanes)


def _lanes_of(mask: Reg) -> tuple[int, int]:
    """The lanes that are surely on: the first one, and the one behind the last."""
    if mask.text[0] != "<" or "true" not in mask.text:
        return 0, 0
    on = [number for number, lane in enumerate(mask.text.split(",")) if "true" in lane]
    return on[0], on[-1] + 1
