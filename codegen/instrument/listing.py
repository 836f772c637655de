"""Functions as loops, conditionals, and accesses at addresses, for people: ``--stage operations``.

Loops and conditionals are indented. What is loaded or stored is written as elements of a buffer, such as
``%b0[64*%i1 + 8]``, and the arithmetic of those addresses is left out. All else is an LLVM instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..llvm.control_operations import Loop, Origins, RegionBegin, RegionEnd, When
from ..llvm.function import Code, FunctionCode
from ..llvm.operations import Load, MaskedAccess, Operation, Store
from .addresses import Addresses


def listing(code: Code) -> str:
    """The functions in `code`, as text."""
    return "\n\n".join(["\n".join(_lines(part)) for part in code if isinstance(part, FunctionCode)])


def _lines(function: FunctionCode) -> Iterator[str]:
    parameters = ", ".join(f"{name}: {kind}" for name, kind in function.parameters.items())
    yield f"@{function.name}({parameters}):"
    addresses, depth = Addresses(), 1
    read = set(_read_as_values(function.operations))
    for operation in function.operations:
        if isinstance(operation, RegionEnd):
            if isinstance(operation.region, Loop):
                yield from _indented(_handed_on(operation.region), depth)
            depth -= 1
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
        pairs = zip(operation.carried, operation.first, strict=True)
        carried = "".join(f", {phi} = {value.text}" for phi, value in pairs)
        return [f"for {operation.index.text} from {bounds[0]} to {bounds[1]}{step}{carried}:"]
    if isinstance(operation, When):
        return [f"if {operation.condition}:"]
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


def _handed_on(loop: Loop) -> list[str]:
    """The values that a step hands on, and those behind the loop where it may have no step."""
    lines = [f"next {phi.text} = {value.text}" for phi, value in zip(loop.carried, loop.last, strict=True)]
    return lines + [f"leaves {merged.text}" for merged in loop.merged]


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
    if isinstance(operation, RegionEnd):
        return [value.text for value in operation.region.last] if isinstance(operation.region, Loop) else ()
    return operation.operands()
