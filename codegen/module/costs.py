"""Lower bounds on the work of an instruction: arithmetic operations, and bytes to and from memory.

Counted from types alone, so the numbers do not depend on the machine. Flops are operations with
floating results: one for each element of an elementwise op (casts and selections too, comparisons not), one
for each element folded in a reduction, ``2 m n k`` for a matrix product. exp, log, sin and the like are one
flop each, and counted as *transcendentals* besides.
Bytes are each distinct element read or written once, as if caches were perfect; what a nest keeps between its
own members costs nothing. With achieved time they give GFLOP/s and GB/s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from ...base.records import record
from ...ir.access import resolve
from ...ir.dtypes import is_real_floating
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Access, Kind
from .families import LOWERINGS

#: Cost in cycles from which an elementwise op is a series or a table rather than an instruction.
_TRANSCENDENTAL_CYCLES: Final = 12.0


@record
class Cost:
    """Work and traffic of an instruction or a Function.

    Attributes:
        flops: floating operations, transcendental functions as one each.
        transcendentals: those among them.
        read: bytes read from memory.
        written: bytes written.
        exact: False where a loop's number of steps is not known; it counts as one.
    """

    flops: int = 0
    transcendentals: int = 0
    read: int = 0
    written: int = 0
    exact: bool = True

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops, self.transcendentals + other.transcendentals,
            self.read + other.read, self.written + other.written, self.exact and other.exact,
        )  # fmt: skip

    def times(self, count: int) -> Cost:
        """The cost of doing it `count` times."""
        return Cost(
            self.flops * count, self.transcendentals * count, self.read * count, self.written * count,
            self.exact,
        )  # fmt: skip


def cost_of(instruction: Instruction, defs: Mapping[Value, Instruction] | None = None) -> Cost:
    """The cost of one run of `instruction` of a fused Function.

    `defs` are the instructions that make values around it: operands that are views count as what they read.

    Example:
        >>> import tracejit as tj
        >>> lowered = tj.jit(lambda x, y: tj.exp(x * y)).lower(tj.ones(1000), tj.ones(1000))
        >>> (nest,) = lowered.fused.body
        >>> cost = cost_of(nest)
        >>> cost.flops, cost.transcendentals, cost.read, cost.written
        (2000, 1000, 16000, 8000)
    """
    kind = instruction.op.kind
    if not kind.traits.has_kernel:
        return Cost()
    if kind.traits.control:
        return _control(instruction)
    written = sum(result.type.nbytes for result in instruction.results)
    if kind.traits.grouped and instruction.regions:
        (region,) = instruction.regions[-1:]
        work = _work_of(region)
        return work + Cost(read=_read_by(region), written=written)
    return _work(instruction) + Cost(read=_read(instruction, defs or {}), written=written)


def cost_of_function(function: Function) -> Cost:
    """The cost of one call of a fused Function."""
    defs = {result: instruction for instruction in function.body for result in instruction.results}
    return sum((cost_of(instruction, defs) for instruction in function.body), Cost())


def _control(instruction: Instruction) -> Cost:
    """Cost of a control flow instruction: of a scan, its body's times its length; of branches, the dearest
    one's."""
    costs = [cost_of_function(region) for region in instruction.regions]
    if instruction.op.kind is Kind.SWITCH:
        return max(costs, key=lambda cost: (cost.flops, cost.bytes))
    if instruction.op.kind is Kind.SCAN:
        return sum(costs, Cost()).times(instruction.attrs["length"])
    return sum(costs, Cost(exact=False))


def _work_of(region: Function) -> Cost:
    """Flops of a region, and of the regions in it."""
    nested = (inside for instruction in region.body for inside in instruction.regions)
    work = sum((_work(instruction) for instruction in region.body), Cost())
    return sum((_work_of(inside) for inside in nested), work)


def _work(instruction: Instruction) -> Cost:
    """Flops alone."""
    op = instruction.op
    if not instruction.results or not op.kind.traits.has_kernel:
        return Cost()
    dtype = instruction.results[0].dtype
    lowering = LOWERINGS.get(op.kind)
    if lowering is not None:
        return Cost(flops=lowering.flops(instruction) if lowering.flops is not None else 0)
    if not is_real_floating(dtype):
        return Cost()
    if op.kind is Kind.REDUCTION:
        return Cost(flops=instruction.operands[0].type.size)
    if op.kind is not Kind.ELEMENTWISE:
        return Cost()
    size = instruction.results[0].type.size
    return Cost(flops=op.flops * size, transcendentals=size if op.cost >= _TRANSCENDENTAL_CYCLES else 0)


def _read_by(region: Function) -> int:
    """Bytes that a fusion region reads of its parameters, each distinct element once."""
    defs = {result: instruction for instruction in region.body for result in instruction.results}
    touched: dict[Value, int] = dict.fromkeys(region.params, 0)
    seen: set[tuple[Value, Access]] = set()
    for value, shape in _uses(region):
        source, access = resolve(value, defs)
        if source in touched and (source, access) not in seen:
            seen.add((source, access))
            touched[source] += _elements(access, shape)
    return sum(min(count, value.type.size) * value.dtype.itemsize for value, count in touched.items())


def _uses(region: Function) -> Iterable[tuple[Value, tuple[int, ...]]]:
    """Values that members read, and the region's results: views only lead there."""
    for instruction in region.body:
        if instruction.op.kind is not Kind.VIEW:
            yield from ((operand, operand.shape) for operand in instruction.operands)
    yield from ((result, result.shape) for result in region.results)


def _elements(access: Access, shape: tuple[int, ...]) -> int:
    """Number of distinct elements of its source that an access over `shape` reads."""
    used = {axis for axis, step, _ in access.dims if axis is not None and step != 0}
    return math.prod(shape[axis] for axis in used)


def _read(instruction: Instruction, defs: Mapping[Value, Instruction]) -> int:
    """Bytes read by an instruction that is no fusion."""
    lowering = LOWERINGS.get(instruction.op.kind)
    operands = list(instruction.operands)
    total = 0
    if lowering is not None and lowering.reads_result_size:
        total, operands = sum(result.type.nbytes for result in instruction.results), operands[1:]
    for operand in operands:
        source, access = resolve(operand, defs)
        total += min(_elements(access, operand.shape), source.type.size) * operand.dtype.itemsize
    return total
