"""Address analysis of a function's accesses, which also prints functions as loops, conditionals and accesses.

An address is a buffer, and a sum of registers times bytes. The registers of a sum are loop indices and other
registers that are not sums themselves. An index of a loop with known bounds has a known smallest and largest
value.

Loops and conditionals are indented. A load or store is printed as elements of a buffer, such as
``%b0[64*%i1 + 8]``, and the arithmetic of its address is left out. All other operations are printed as LLVM
instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ...ir.records import record
from ..llvm.control_operations import (
    Conditional,
    Loop,
    Origins,
    RegionBegin,
    RegionEnd,
    RegionPart,
    SideExit,
    While,
)
from ..llvm.function import Code, FunctionCode
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


def listing(code: Code, descriptions: Mapping[str, str] | None = None) -> str:
    """The functions in `code`, as text, under their descriptions."""
    functions = [part for part in code if isinstance(part, FunctionCode)]
    return "\n\n".join(["\n".join(_lines(function, descriptions or {})) for function in functions])


def _lines(function: FunctionCode, descriptions: Mapping[str, str]) -> Iterator[str]:
    yield from (f"; {line}" for line in descriptions.get(function.name, "").splitlines())
    parameters = ", ".join(f"{name}: {kind}" for name, kind in function.parameters.items())
    yield f"@{function.name}({parameters}):"
    addresses, depth = Addresses(), 1
    read = set(_read_as_values(function.operations))
    for operation in function.operations:
        if isinstance(operation, RegionEnd):
            yield from _indented(_ending(operation.region), depth)
            depth -= 1
            continue
        if isinstance(operation, RegionPart):
            yield from _indented(_handed_on(operation.region, operation.number - 1), depth)
            part = "else:" if operation.region.by_bool else f"case {operation.number}:"
            yield from _indented([part], depth - 1)
            continue
        inner = addresses.read(operation)
        result = operation.result
        if inner and (result is None or result.text not in read):
            continue
        yield from _indented(_text(operation, addresses), depth)
        depth += isinstance(operation, RegionBegin)


def _indented(lines: Iterable[str], depth: int) -> Iterator[str]:
    return (f"{'  ' * depth}{line}" for line in lines)


def _text(operation: Operation, addresses: Addresses) -> list[str]:
    if isinstance(operation, Origins):
        return []
    if isinstance(operation, Loop):
        step = f" by {operation.step}" if operation.step != 1 else ""
        bounds = [addresses.sum_of(bound).text() for bound in (operation.start, operation.stop)]
        carried = "".join(_entering(operation.carried, operation.first))
        return [f"for {operation.index.text} from {bounds[0]} to {bounds[1]}{step}{carried}:"]
    if isinstance(operation, Conditional):
        selector = operation.selector.text
        return [f"if {selector}:"] if operation.by_bool else [f"choose by {selector}, case 0:"]
    if isinstance(operation, While):
        carried = "".join(_entering(operation.carried, operation.ways_in[0][1]))
        return [f"repeat {operation.head} until {operation.done}{carried}:"]
    if isinstance(operation, SideExit):
        values = ", ".join(value.text for value in operation.values)
        return [
            f"go to {operation.target} {'if' if operation.holds else 'unless'} {operation.condition.text}"
            f"{' with ' * bool(values)}{values}"
        ]
    access = addresses.accessed(operation)
    if access is None or (operation.result is None and not isinstance(operation, (Store, MaskedAccess))):
        return [operation.line().strip()]
    place = f"{access.address.buffer}[{access.address.offset.text(access.width)}]"
    if isinstance(operation, Load):
        return [f"{operation.text} = load {operation.type} {place}"]
    if isinstance(operation, Store):
        return [f"store {operation.value}, {place}{' past the cache' * operation.past_cache}"]
    assert isinstance(operation, MaskedAccess)
    first, last = access.lanes
    where = f"lanes {first} to {last - 1}" if last else operation.mask.text
    if operation.text:
        return [f"{operation.text} = load {operation.type} {place} where {where}"]
    return [f"store {operation.arguments[0]}, {place} where {where}"]


def _entering(carried: Sequence[Reg], first: Sequence[Reg]) -> Iterator[str]:
    return (f", {phi} = {value.text}" for phi, value in zip(carried, first, strict=True))


def _ending(region: RegionBegin) -> Iterator[str]:
    """The values that the end of a region hands on, and those behind it."""
    if isinstance(region, Conditional):
        yield from (*_handed_on(region, len(region.labels) - 1), *_handed_on(region, -1))
        return
    assert isinstance(region, (Loop, While))
    following = region.last if isinstance(region, Loop) else region.ways_in[-1][1]
    for phi, value in zip(region.carried, following, strict=True):
        yield f"next {phi.text} = {value.text}"
    if isinstance(region, While) and region.more is not None:
        yield f"go to {region.done} unless {region.more.text}"
    yield from (f"leaves {merged.text}" for merged in region.merged)


def _handed_on(region: Conditional, number: int) -> Iterator[str]:
    """The values that a part of a conditional hands on, or those there are without any."""
    if number in region.ways_out:
        part = "then" if number >= 0 else "else"
        values = region.ways_out[number][1]
        yield from (f"{part} {x.text} = {y.text}" for x, y in zip(region.merged, values, strict=True))


def _read_as_values(operations: Iterable[Operation]) -> Iterator[str]:
    """The registers that are read by other than arithmetic of addresses."""
    addresses = Addresses()
    for operation in operations:
        if addresses.read(operation):
            continue
        if addresses.accessed(operation) is None:
            yield from _operands(operation)
        elif isinstance(operation, Store):
            yield operation.value.text
        elif isinstance(operation, MaskedAccess):
            yield from (
                argument.text for argument in operation.arguments if argument is not operation.pointer
            )


def _operands(operation: Operation) -> Iterable[str]:
    if isinstance(operation, Loop):
        return [value.text for value in operation.first]
    if isinstance(operation, RegionEnd) and isinstance(operation.region, Loop):
        return [value.text for value in operation.region.last]
    return operation.operands()
