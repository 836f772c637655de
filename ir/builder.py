"""Builder: writes a Function op by op, inserting casts and broadcasts.

A Builder is an `OpNamespace` over Values: ``b.mul(x, 2.0)`` promotes by NumPy's rules, broadcasts
explicitly, runs the op's type rule, and appends an Instruction. Gradient rules and decompositions run on
it unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import is_
from typing import Any, Final

import numpy as np

from ..base.errors import DomainError, DTypeError, TracejitError
from ..base.records import record
from .dtypes import (
    BOOL,
    FLOAT64,
    INT64,
    DType,
    Number,
    Operand,
    as_dtype,
    default_dtype,
    result_type,
)
from .graph import Function, Instruction, Location, Substitution, Value
from .registry import OPS, Attrs, Kind, Op, OpNamespace, check_attrs
from .types import Shape, TensorType, broadcast_shapes, tensor_type

_SCALARS = (bool, int, float, complex)
_NO_ATTRS: Final[Attrs] = {}
#: A global, as looking up the member of an enumeration costs more than the comparison.
_ELEMENTWISE = Kind.ELEMENTWISE


#: Cache of inferred result types of ops without attributes. Keys are the identities of the type rule and of
#: the operand types, because comparing types takes longer than the rule; entries keep these objects alive.
_INFERRED: dict[tuple[int, ...], tuple[Any, tuple[TensorType, ...], tuple[TensorType, ...]]] = {}
_MAX_INFERRED = 1 << 12


@record(eq=False)
class Plan:
    """The typing of an elementwise op for operands of some types: its result's type, and casts and
    broadcasts."""

    #: The objects whose identities form the key, kept alive.
    op: Op
    types: tuple[TensorType | type, ...]
    #: The dtypes and the shape that operands get, None for those that fit as they are; none where all do.
    loop: tuple[DType | None, ...]
    shape: Shape
    result: TensorType


#: Types by the identities of the op, of the default dtype, and of the operands' types: those of Values that
#: are Python numbers inverted, and the Python types of numbers.
PLANS: Final[dict[tuple[int, ...], Plan]] = {}


def _inferred(op: Op, types: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
    """Infer the result types of `op`, without attributes, for operands of `types`, from a cache."""
    rule = op.infer
    key = (id(rule), *map(id, types))
    known = _INFERRED.get(key)
    if known is not None:
        return known[2]
    inferred = rule(types, {})
    if len(_INFERRED) >= _MAX_INFERRED:
        _INFERRED.clear()
    _INFERRED[key] = rule, types, inferred
    return inferred


class Builder(OpNamespace):
    """Appends instructions to the body of a Function under construction."""

    #: The values that are Python numbers to promotion: a trace may have some.
    _weak: AbstractSet[Value] = frozenset()

    def __init__(self) -> None:
        self.params: list[Value] = []
        self.body: list[Instruction] = []
        #: The instructions of the body by their results, for the first `_indexed` of them.
        self._definitions: dict[Value, Instruction] = {}
        self._indexed = 0
        #: Set by the user of the builder: the source line of what is being built.
        self.location: Location | None = None

    def parameter(self, type: TensorType, name: str = "") -> Value:
        value = Value(type, name)
        self.params.append(value)
        return value

    def finish(self, name: str, results: Sequence[Value]) -> Function:
        return Function(name, tuple(self.params), tuple(self.body), tuple(results))

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        """Append `op`. Operands are Values or, for elementwise ops, Python scalars too."""
        if op.kind is not _ELEMENTWISE:
            results = self.append(op, operands, attrs)
            return results[0] if len(results) == 1 else results
        weak = self._weak
        key = (
            id(op),
            id(default_dtype()),
            *[
                id(type(operand))
                if type(operand) is not Value
                else ~id(operand.type)
                if operand in weak
                else id(operand.type)
                for operand in operands
            ],
        )
        plan = PLANS.get(key)
        if plan is None or attrs:
            return self._planned(op, operands, attrs, key)
        return self.write_planned(plan, op, operands)

    def write_planned(self, plan: Plan, op: Op, operands: tuple[Any, ...]) -> Value:
        """Append the elementwise `op`, without attributes, to `operands` of the types of its `plan`."""
        if plan.loop:
            operands = tuple(
                [
                    operand if dtype is None else self._converted(operand, dtype, plan.shape)
                    for operand, dtype in zip(operands, plan.loop, strict=True)
                ]
            )
        result = Value(plan.result)
        self.write(Instruction(op, operands, _NO_ATTRS, (result,), self.location))
        return result

    def _planned(self, op: Op, operands: tuple[Any, ...], attrs: Attrs, key: tuple[int, ...]) -> Value:
        """Append the elementwise `op`, and cache the conversions of its operands as a `Plan` under `key`."""
        matched = self._matched(op, operands)
        (result,) = self.append(op, matched, attrs)
        by_value = op.name in COMPARISONS and int in map(self.operand_kind, operands)
        if not attrs and not by_value:
            if len(PLANS) >= _MAX_INFERRED:
                PLANS.clear()
            types = tuple([each.type if type(each) is Value else type(each) for each in operands])
            kept = [value is operand for value, operand in zip(matched, operands, strict=True)]
            loop = [None if same else value.type.dtype for same, value in zip(kept, matched, strict=True)]
            plan = Plan(op, types, () if all(kept) else tuple(loop), result.type.shape, result.type)
            PLANS[key] = plan
        return result

    def append(
        self,
        op: Op,
        operands: tuple[Value, ...],
        attrs: Attrs,
        *,
        regions: tuple[Function, ...] = (),
    ) -> tuple[Value, ...]:
        """Append `op`, with its regions, to operands that fit as they are."""
        if attrs or op.attrs:
            check_attrs(op, attrs)
        try:
            operand_types = tuple([operand.type for operand in operands])
        except AttributeError:
            wrong = next(operand for operand in operands if not isinstance(operand, Value))
            raise TracejitError(f"{op.name}: expected a Value, got {wrong!r}") from None
        if op.regions is not None:
            inferred = op.regions.types(operand_types, attrs, regions)
        elif attrs:
            inferred = op.infer(operand_types, attrs)
        else:
            inferred = _inferred(op, operand_types)
        results = tuple([Value(type_) for type_ in inferred])
        self.write(Instruction(op, operands, attrs, results, self.location, regions))
        return results

    def write(self, instruction: Instruction) -> None:
        """Append `instruction`, which is valid."""
        self.body.append(instruction)

    def without_factor(self, product: Any, factor: Any) -> Any:
        definition = self._definition(product)
        name = "" if definition is None else definition.op.name
        if definition is None or name not in ("add", "mul", "pow"):
            return None
        x, y = definition.operands
        if name == "pow":
            power = self.known_number(y) if self._are_same(x, factor) else None
            return self.pow(x, power - 1) if power is not None and power >= 2 else None
        if name == "add":
            rests = [self.without_factor(term, factor) for term in (x, y)]
            return None if any(rest is None for rest in rests) else self.add(*rests)
        for operand, other in ((x, y), (y, x)):
            if self._are_same(operand, factor):
                return other
            rest = self.without_factor(operand, factor)
            if rest is not None:
                return self.mul(rest, other)
        return None

    def known_number(self, value: Any) -> Any:
        definition = self._definition(value)
        if definition is None:
            return super().known_number(value)
        if definition.op.name == "broadcast":
            return self.known_number(definition.operands[0])
        return definition.attrs["value"] if definition.op.name == "full" else None

    def _are_same(self, x: Any, y: Any) -> bool:
        """Whether `x` is `y`, or the same op of the same value."""
        if x is y:
            return True
        of_x, of_y = self._definition(x), self._definition(y)
        return (
            of_x is not None
            and of_y is not None
            and of_x.op is of_y.op
            and len(of_x.operands) == 1
            and of_x.operands == of_y.operands
            and of_x.attrs == of_y.attrs
        )

    def _definition(self, value: Any) -> Instruction | None:
        """The instruction that gives `value`; None for parameters and numbers."""
        if self._indexed > len(self.body):
            self._indexed = 0
        for instruction in self.body[self._indexed :]:
            for result in instruction.results:
                self._definitions[result] = instruction
        self._indexed = len(self.body)
        return self._definitions.get(value) if type(value) is Value else None

    def repeat(self, instruction: Instruction, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """Append `instruction` on other operands of its own operands' types; returns the results there."""
        results = tuple([Value(result.type) for result in instruction.results])
        op, attrs, regions = instruction.op, instruction.attrs, instruction.regions
        self.write(Instruction(op, operands, attrs, results, instruction.location, regions))
        return results

    def extend(self, instruction: Instruction, regions: tuple[Function, ...]) -> tuple[Value, ...]:
        """Add results to `instruction`: `regions` return the results of its own regions and then more ones,
        which are returned.

        The instruction is replaced where it is in this builder's body; elsewhere the op is applied again.
        """
        op, operands, attrs = instruction.op, instruction.operands, instruction.attrs
        assert op.regions is not None
        kept = len(instruction.results)
        for position, existing in enumerate(self.body):
            if existing is instruction:
                types = op.regions.types(tuple([operand.type for operand in operands]), attrs, regions)
                results = (*existing.results, *[Value(type) for type in types[kept:]])
                self.body[position] = Instruction(op, operands, attrs, results, existing.location, regions)
                return results[kept:]
        return self.append(op, operands, attrs, regions=regions)[kept:]

    def _matched(self, op: Op, operands: tuple[Any, ...]) -> tuple[Value, ...]:
        """Operands cast to the op's loop types and broadcast to one shape."""
        shapes = [operand.type.shape if type(operand) is Value else () for operand in operands]
        shape, equal = shapes[0], shapes.count(shapes[0]) == len(shapes)
        if not equal:
            shape = broadcast_shapes(op.name, *shapes)
        if op.promote is None:
            return operands if equal else tuple([self._broadcast(operand, shape) for operand in operands])
        kinds = tuple([self.operand_kind(operand) for operand in operands])
        loop = op.promote(kinds)
        if equal and all(map(is_, kinds, loop)) and bool not in map(type, operands):
            return operands  # the usual case: numbers and weak values are of other kinds than dtypes
        if op.name in COMPARISONS:
            operands, loop = self._wide_enough(operands, loop)
        return tuple(
            [self._converted(operand, dtype, shape) for operand, dtype in zip(operands, loop, strict=True)]
        )

    def operand_kind(self, value: Any) -> Operand:
        """Classify `value` for type promotion, as `operand_of` does."""
        return operand_of(value)

    def _wide_enough(
        self, operands: tuple[Any, ...], loop: tuple[DType, ...]
    ) -> tuple[tuple[Any, ...], tuple[DType, ...]]:
        """The operands, and loop types that hold the Python integers among them, whatever their values.

        An integer that no dtype holds together with the other operand's is greater than all of that, or
        less: an infinity in its place.
        """
        for operand in operands:
            if loop[0].kind not in "iu" or self.operand_kind(operand) is not int:
                continue
            if not isinstance(operand, int):  # its value is not known yet
                if loop[0].kind == "u" and loop[0].itemsize == 8:  # compared by value: no dtype holds both
                    return operands, tuple([INT64 if other is operand else loop[0] for other in operands])
                return operands, (result_type(loop[0], INT64),) * len(loop)
            limits = np.iinfo(loop[0])
            if limits.min <= operand <= limits.max:
                continue
            fits = abs(operand) < 2**63
            if not fits and BOOL in map(self.operand_kind, operands):  # NumPy makes an int64 of it
                raise DomainError(f"the Python integer {operand} does not fit int64")
            wide = result_type(loop[0], as_dtype(np.min_scalar_type(operand))) if fits else FLOAT64
            if wide is FLOAT64:
                beyond = math.copysign(math.inf, operand)
                operands = tuple([beyond if other is operand else other for other in operands])
            return operands, (wide,) * len(loop)
        return operands, loop

    def _converted(self, operand: Any, dtype: DType, shape: Shape) -> Value:
        if isinstance(operand, _SCALARS):
            return self._broadcast(self.scalar(operand, dtype), shape)
        value: Value = operand
        if value.type.dtype is not dtype:
            value = self.append(OPS["cast"], (value,), {"dtype": dtype})[0]
        return self._broadcast(value, shape)

    def scalar(self, value: Number, dtype: DType) -> Value:
        """A rank-0 constant. Raises DTypeError for an integer that `dtype` cannot hold, as NumPy does."""
        try:
            item = value if dtype is FLOAT64 and type(value) is float else dtype.type(value).item()
        except OverflowError as error:
            raise DTypeError(f"the Python integer {value} does not fit {dtype.name}") from error
        return self._valid(OPS["full"], (), {"value": item, "shape": (), "dtype": dtype}, dtype, ())

    def broadcast_to(self, value: Value, shape: Shape) -> Value:
        """`value` with `shape`, itself where it has that already."""
        if value.type.shape == shape:
            return value
        return self.append(OPS["broadcast"], (value,), {"shape": shape})[0]

    def _broadcast(self, value: Value, shape: Shape) -> Value:
        """`value` with `shape`, to which it broadcasts."""
        if value.type.shape == shape:
            return value
        return self._valid(OPS["broadcast"], (value,), {"shape": shape}, value.type.dtype, shape)

    def _valid(self, op: Op, operands: tuple[Value, ...], attrs: Attrs, dtype: DType, shape: Shape) -> Value:
        """Append `op` without asking its type rule, which says that the result has `dtype` and `shape`."""
        result = Value(tensor_type(dtype, shape))
        self.write(Instruction(op, operands, attrs, (result,), self.location))
        return result


#: Comparisons are right for every Python integer, whether the other operand's dtype can hold it or not.
COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def operand_of(value: Any) -> Operand:
    """Classify `value` for type promotion: by its dtype, or as a weak Python type."""
    if type(value) is Value:
        return value.type.dtype
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, (int, float, complex)):
        return type(value)
    dtype: DType = value.dtype
    return dtype


def inline(builder: Builder, function: Function, args: Sequence[Value]) -> tuple[Value, ...]:
    """Append `function`'s body to `builder` on `args`, which have its parameters' types; returns its results
    there. `builder` keeps the location of the last instruction."""
    table = Substitution(dict(zip(function.params, args, strict=True)))
    for param, value in table.table.items():
        if value.type != param.type:
            raise TracejitError(f"@{function.name}: expected {param.type}, got {value.type}")
    for instruction in function.body:
        builder.location = instruction.location
        results = builder.repeat(instruction, table.all(instruction.operands))
        for old, new in zip(instruction.results, results, strict=True):
            table[old] = new
    return table.all(function.results)
