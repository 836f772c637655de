"""The kernels of a compiled function: what each has to do, what it takes, and why it is not fused, vectorised
or threaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...base.records import field, record
from ...codegen.lowering.kernel import Kernel
from ...codegen.lowering.loop_nest import Memory, Nest
from ...codegen.module.costs import Cost, cost_of
from ...codegen.module.families import LOWERINGS
from ...codegen.module.writer import Module
from ...ir.graph import Function, Instruction, Value
from ...ir.grouping.reasons import why_alone
from ...ir.registry import Kind
from .numbering import origins_of

#: (an op, what it reads of another group, why it is not in that group), as `ir.passes.fusion.fuse` notes
#: them.
Apart = tuple[Instruction, Instruction, str]


@record(eq=False, frozen=False)
class KernelRow:
    """One kernel, loop or host call, in program order."""

    name: str
    #: "map nest", "row nest", "matmul", "scatter", "loop", "host call", ...
    kind: str
    instruction: Instruction
    parent: str | None
    kernel: Kernel | None
    origins: tuple[int, ...]
    cost: Cost
    #: Number of times that one call runs it, as far as that is known before it runs.
    trips: float = 1.0
    #: The kernel's own ops, by the ops of the equal kernel whose code it shares; empty without one.
    own: dict[Instruction, Instruction] = field(default_factory=dict)
    fused: list[dict[str, str]] = field(default_factory=list)
    vectorised: str = ""
    threaded: str = ""
    #: Measured: seconds of one call, all runs together, and the runs.
    seconds: float | None = None
    runs: int = 0
    #: The seconds while denormal numbers count as zero, where there were some.
    flushed: float | None = None

    @property
    def nest(self) -> Nest | None:
        return self.kernel.nest if self.kernel else None

    @property
    def dtype(self) -> str:
        """The floating dtype that it computes in."""
        names = {str(value.type.dtype) for value in [*self.instruction.results, *self.instruction.operands]}
        return "f32" if "float32" in names and "float64" not in names else "f64"

    @property
    def is_loop(self) -> bool:
        """Whether its time is that of the kernels in it."""
        return self.kernel is None and self.instruction.op.kind.traits.control


def kernel_rows(
    fused: Function, module: Module, names: Mapping[Value, str], apart: Sequence[Apart]
) -> list[KernelRow]:
    """The kernels of `module`, which was generated for `fused`."""
    kernels = {kernel.instruction: kernel for kernel in module.kernels if kernel.instruction is not None}
    rows = list(_rows(fused, "", None, 1.0, kernels))
    _find_shared(rows)
    for row in reversed(rows):  # what loops do is what their kernels do
        if row.is_loop:
            inside = [inner for inner in rows if inner.parent == row.name]
            row.cost = sum((inner.cost.times(int(inner.trips / row.trips)) for inner in inside), Cost())
    writer = {result: row.name for row in rows for result in row.instruction.results}
    for row in rows:
        row.fused = list(_why_apart(row, writer, names, apart))
        row.vectorised = _why_scalar(row, names)
        row.threaded = _why_serial(row)
    return rows


def _find_shared(rows: Sequence[KernelRow]) -> None:
    """Equal kernels are written once: note for each which of its ops the ops of the written one are."""
    written = {inner: row for row in rows for inner in _inside(row.instruction)}
    for row in rows:
        first = written.get(row.nest.members[0].instruction) if row.nest and row.nest.members else None
        if first is not None and first is not row:
            pairs = zip(_inside(first.instruction), _inside(row.instruction), strict=True)
            row.own = dict(pairs)


def _inside(instruction: Instruction) -> list[Instruction]:
    return [inner for region in instruction.regions for inner in region.instructions()]


def alike(rows: Sequence[KernelRow]) -> dict[str, dict[tuple[int, ...], tuple[int, ...]]]:
    """A map for each function of the module, from the ops that mark a line to all ops that it stands for, in
    every kernel whose code the function is."""
    by_function: dict[str, dict[tuple[int, ...], dict[int, None]]] = {}
    for row in rows:
        if row.kernel is None:
            continue
        sets = by_function.setdefault(row.kernel.name, {})
        back = {mine: theirs for theirs, mine in row.own.items()}
        for instruction in _inside(row.instruction):
            mark = back.get(instruction, instruction).origins
            sets.setdefault(mark, dict.fromkeys(mark)).update(dict.fromkeys(instruction.origins))
    return {name: {mark: tuple(all_) for mark, all_ in sets.items()} for name, sets in by_function.items()}


def _rows(
    function: Function, prefix: str, parent: str | None, trips: float, kernels: Mapping[Instruction, Kernel]
) -> Iterator[KernelRow]:
    defs = {result: instruction for instruction in function.body for result in instruction.results}
    for number, instruction in enumerate(function.body):
        if not instruction.op.kind.traits.has_kernel:
            continue
        name = f"{prefix}k{number}"
        kernel = kernels.get(instruction)
        yield KernelRow(
            name,
            _kind(instruction, kernel),
            instruction,
            parent,
            kernel,
            origins_of(instruction),
            _cost(instruction, defs),
            trips,
        )
        if kernel is None and instruction.op.kind.traits.control:
            steps = float(instruction.attrs["length"]) if instruction.op.kind is Kind.SCAN else 1.0
            for index, region in enumerate(instruction.regions):
                yield from _rows(region, f"{name}_r{index}_", name, trips * steps, kernels)


def _cost(instruction: Instruction, defs: Mapping[Value, Instruction]) -> Cost:
    """The cost of one run; of writes at places, what is written alone, as if they were in place."""
    cost = cost_of(instruction, defs)
    if not instruction.op.kind.traits.updates_operand:
        return cost
    written = instruction.operands[1].type.nbytes
    indices = sum(operand.type.nbytes for operand in instruction.operands[2:])
    adds = instruction.attrs.get("mode") == "add"
    return Cost(cost.flops, 0, written * (2 if adds else 1) + indices, written)


def _kind(instruction: Instruction, kernel: Kernel | None) -> str:
    if kernel is None:
        return instruction.op.kind.traits.label or "host call"
    if instruction.op.kind.traits.control:
        return f"{instruction.op.name} in registers"
    if kernel.nest is not None:
        return str(kernel.nest).split(" nest ", 1)[0] + " nest" if kernel.nest.members else "copy"
    return instruction.op.name


# -- why not ---------------------------------------------------------------------------------------


def _why_apart(
    row: KernelRow, writer: Mapping[Value, str], names: Mapping[Value, str], apart: Sequence[Apart]
) -> Iterator[dict[str, str]]:
    """Reason why it is not one kernel with those whose results it reads."""
    misfit = None if row.instruction.op.kind.traits.grouped else why_alone(row.instruction)
    if misfit is not None:
        yield {"why": misfit.text}
    inside = [instruction for region in row.instruction.regions for instruction in region.body]
    for operand in row.instruction.operands:
        if operand not in writer:
            continue
        for reader, read, why in apart:
            if operand in read.results and (
                any(
                    instruction.op is reader.op and instruction.origins == reader.origins
                    for instruction in inside
                )
            ):
                yield {
                    "with": writer[operand],
                    "value": names.get(operand, ""),
                    "op": reader.op.name,
                    "why": why,
                }
                break


def strided_reads(nest: Nest) -> dict[int, int]:
    """The buffers that a nest reads with another stride than 1 along its lanes, and that stride."""
    strides: dict[int, int] = {}
    dim = nest.vector_dim
    sources: list[Any] = [operand for member in nest.members for operand in member.operands]
    sources += [write.source for write in nest.writes]
    for source in sources:
        if not isinstance(source, Memory) or source.buffer is None or source.buffer < 0 or dim is None:
            continue
        if source.strides[dim] not in (0, 1):
            strides[source.buffer] = source.strides[dim]
    return strides


def _why_scalar(row: KernelRow, names: Mapping[Value, str]) -> str:
    """Reason why its inner loop does not work on whole vectors."""
    nest, kind = row.nest, row.instruction.op.kind
    if nest is None:
        if row.kernel is None:
            return "" if row.is_loop else "it is Python and NumPy code, which is not compiled"
        if kind.traits.control:
            return "its state is a few numbers, held in scalar registers"
        lowering = LOWERINGS.get(kind)
        return lowering.why_scalar if lowering is not None else ""
    if nest.lanes == 1 or nest.vector_dim is None:
        return "it has one element" if nest.vector_dim is None else "its elements fill a register each"
    strided = strided_reads(nest)
    if strided:
        operands = row.instruction.operands
        said = [
            f"{names.get(operands[buffer], 'an input') if buffer < len(operands) else 'its result'} "
            f"{abs(stride)} elements apart"
            for buffer, stride in strided.items()
        ]
        return f"it reads {', '.join(said)}: vectors are gathered element by element"
    extent = nest.sizes[nest.vector_dim]
    if extent < nest.lanes:
        return f"its inner dimension has {extent} elements, and a vector {nest.lanes}: most lanes are empty"
    return ""


def _why_serial(row: KernelRow) -> str:
    """Reason why it runs on one thread."""
    if row.kernel is None:
        return "" if row.is_loop else "Python code holds the interpreter's lock"
    return row.kernel.why_serial()
