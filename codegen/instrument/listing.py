"""Listing of functions as loops, conditionals and accesses.

Loops and conditionals are indented. A load or store is printed as elements of a buffer, such as
``%b0[64*%i1 + 8]``, and the arithmetic of its address is left out. All other operations are printed as LLVM
instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
from ..llvm.operations import Load, MaskedAccess, Operation, Store
from ..llvm.registers import Reg
from .addresses import Addresses


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
