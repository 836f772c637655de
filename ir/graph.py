"""The IR: immutable SSA Functions over tensors.

A Function has typed parameters, a straight list of Instructions in order, and results. An Instruction
applies an op to operands and attributes, and carries the user's source line. Values are compared by
identity; their names exist only in text. Ops of kind REGION own Functions, held in `regions`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from ..base.loading import Provided
from ..base.records import field, record
from .dtypes import DType
from .registry import Op, cost_of
from .types import Shape, TensorType

#: The printer, which imports this module.
PRINT_FUNCTION: Final = Provided[Callable[..., str]]("the printer")


@record
class Location:
    """A line of the user's program, and what of its work an instruction is."""

    file: str
    line: int
    #: Whether this is part of the gradient of that line.
    gradient: bool = False
    #: The numbers of the traced ops that an instruction stems from, where someone numbered them (`view`).
    origins: tuple[int, ...] = ()

    def of_gradient(self) -> Location:
        """Return this location, marked as part of the gradient of its line."""
        return self if self.gradient else Location(self.file, self.line, True, self.origins)

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


class Value:
    """One SSA value: a parameter, or a result of an instruction."""

    __slots__ = ("hint", "type")

    def __init__(self, type: TensorType, hint: str = "") -> None:
        self.type = type
        #: The name of a parameter, for printing.
        self.hint = hint

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    def __repr__(self) -> str:
        return f"Value({self.hint + ': ' if self.hint else ''}{self.type})"


def distinct_types(values: Iterable[Value]) -> Collection[TensorType]:
    """The types of `values` without repeated objects. Comparing types would take longer than most uses of
    them."""
    return {id(value.type): value.type for value in values}.values()


@record(eq=False)
class Instruction:
    """`op` applied to `operands` with `attrs`."""

    op: Op
    operands: tuple[Value, ...]
    attrs: Mapping[str, Any]
    results: tuple[Value, ...]
    location: Location | None = None
    regions: tuple[Function, ...] = ()

    @property
    def result(self) -> Value:
        """The result of an instruction that has one."""
        (only,) = self.results
        return only

    @property
    def cost(self) -> float:
        """Rough cost per element in cycles."""
        return cost_of(self.op, self.attrs)

    @property
    def origins(self) -> tuple[int, ...]:
        """The numbers of the traced ops that this stems from; none unless they were numbered."""
        return self.location.origins if self.location else ()

    def replace(
        self,
        *,
        operands: tuple[Value, ...] | None = None,
        attrs: Mapping[str, Any] | None = None,
        results: tuple[Value, ...] | None = None,
        regions: tuple[Function, ...] | None = None,
    ) -> Instruction:
        """Copy this instruction with other operands, attributes, results or regions, where they are given."""
        return Instruction(
            self.op,
            self.operands if operands is None else operands,
            self.attrs if attrs is None else attrs,
            self.results if results is None else results,
            self.location,
            self.regions if regions is None else regions,
        )

    def also_for(self, others: Iterable[Instruction]) -> Instruction:
        """Return this instruction with the origins of `others` added, whose work it does too."""
        origins = tuple(dict.fromkeys([*self.origins, *(n for other in others for n in other.origins)]))
        if self.location is None or origins == self.origins:
            return self
        location = Location(self.location.file, self.location.line, self.location.gradient, origins)
        return Instruction(self.op, self.operands, self.attrs, self.results, location, self.regions)


@record(eq=False)
class Function:
    """A straight-line program: `params` in, `body` in order, `results` out.

    Example:
        >>> import tracejit as tj
        >>> function = tj.make_ir(lambda x: tj.sin(x).sum())(tj.ones(3))
        >>> [str(param.type) for param in function.params]
        ['f64[3]']
        >>> [instruction.op.name for instruction in function.body]
        ['sin', 'sum']
    """

    name: str
    params: tuple[Value, ...]
    body: tuple[Instruction, ...]
    results: tuple[Value, ...]
    #: Cached results of `ops`, `has_control`, `dtypes` and `defs`: a body does not change.
    _ops: frozenset[Op] | None = None
    _control: bool | None = None
    _dtypes: frozenset[DType] | None = None
    _defs: Mapping[Value, Instruction] | None = None

    @property
    def ops(self) -> frozenset[Op]:
        """The ops of the body, without those of regions. A pass that looks for a kind of op can skip the body
        by it."""
        ops = self._ops
        if ops is None:
            ops = frozenset([instruction.op for instruction in self.body])
            setattr(self, "_ops", ops)  # noqa: B010
        return ops

    @property
    def has_control(self) -> bool:
        """Whether there are branches or loops in the body."""
        control = self._control
        if control is None:
            control = any(op.kind.traits.control for op in self.ops)
            setattr(self, "_control", control)  # noqa: B010
        return control

    @property
    def dtypes(self) -> frozenset[DType]:
        """The dtypes of the parameters and of what the body computes, regions not among them."""
        dtypes = self._dtypes
        if dtypes is None:
            results = [result for instruction in self.body for result in instruction.results]
            dtypes = frozenset([type_.dtype for type_ in distinct_types([*results, *self.params])])
            setattr(self, "_dtypes", dtypes)  # noqa: B010
        return dtypes

    @property
    def defs(self) -> Mapping[Value, Instruction]:
        """The instruction that computes each value of the body."""
        defs = self._defs
        if defs is None:
            defs = {result: instruction for instruction in self.body for result in instruction.results}
            setattr(self, "_defs", defs)  # noqa: B010
        return defs

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction, those of regions included, outer before inner."""
        for instruction in self.body:
            yield instruction
            for region in instruction.regions:
                yield from region.instructions()

    def __str__(self) -> str:
        return PRINT_FUNCTION()(self)


@record(eq=False, frozen=False)
class Substitution:
    """Old values to new ones, for passes that rebuild a Function."""

    table: dict[Value, Value] = field(default_factory=dict)

    def __getitem__(self, value: Value) -> Value:
        return self.table.get(value, value)

    def __setitem__(self, old: Value, new: Value) -> None:
        self.table[old] = new

    def all(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        table = self.table
        return tuple([table.get(value, value) for value in values])

    def apply(self, instruction: Instruction) -> Instruction:
        """`instruction` with its operands replaced; itself where nothing changes."""
        table, operands = self.table, instruction.operands
        if table.keys().isdisjoint(operands):
            return instruction
        op, attrs, results = instruction.op, instruction.attrs, instruction.results
        replaced = tuple([table.get(operand, operand) for operand in operands])
        return Instruction(op, replaced, attrs, results, instruction.location, instruction.regions)
