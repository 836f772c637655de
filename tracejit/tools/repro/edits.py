"""Edits that make a case smaller. What they propose may not be valid or not interesting; trials find out."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ...base.errors import TracejitError
from ...ir.graph import Function, Instruction, Substitution, Value
from ...ir.interpreter import run_instruction
from ...ir.registry import Kind
from .cases import Array, Case
from .resizing import resized

#: Most instructions that are tried one by one where halves found nothing.
_ONE_BY_ONE: Final = 64


class Edit(abc.ABC):
    """One way to make a case smaller."""

    name = ""

    @abc.abstractmethod
    def proposals(self, case: Case) -> Iterator[Case]:
        """Smaller cases, the boldest first."""


class Chunked(Edit):
    """An edit of parts that can be taken out together."""

    @abc.abstractmethod
    def count(self, case: Case) -> int:
        """Number of parts."""

    @abc.abstractmethod
    def without(self, case: Case, parts: range) -> Iterator[Case]:
        """The case without `parts`, in the ways that there are."""

    def proposals(self, case: Case) -> Iterator[Case]:
        """The cases without one of the parts."""
        for part in range(self.count(case)):
            yield from self.without(case, range(part, part + 1))


class EditWindow(Edit):
    """Half of the instructions, from the start, the middle or the end. The values that they read of the
    others become inputs, with the interpreter's values; the values that the others read of them become
    results."""

    name = "half of the program"

    def proposals(self, case: Case) -> Iterator[Case]:
        body, half = case.function.body, len(case.function.body) // 2
        values = values_of(case) if half else None
        if values is None:
            return
        for start in dict.fromkeys((0, len(body) - half, half // 2)):
            yield _window(case, body[start : start + half], values)


def _window(case: Case, body: tuple[Instruction, ...], values: Mapping[Value, Any]) -> Case:
    computed = {value for instruction in body for value in instruction.results}
    inside = set(body)
    read = {
        operand
        for instruction in case.function.body
        if instruction not in inside
        for operand in instruction.operands
    }
    read |= set(case.function.results)
    results = tuple(value for instruction in body for value in instruction.results if value in read)
    outside = dict.fromkeys(
        operand for instruction in body for operand in instruction.operands if operand not in computed
    )
    table = Substitution({value: Value(value.type, f"v{i}") for i, value in enumerate(outside)})
    function = Function(
        case.function.name,
        table.all(tuple(outside)),
        tuple(table.apply(instruction) for instruction in body),
        results,
    )
    return Case(function, tuple(np.asarray(values[value], order="C") for value in outside))


class FewerResults(Chunked):
    """Results taken out."""

    name = "fewer results"

    def count(self, case: Case) -> int:
        return len(case.function.results)

    def without(self, case: Case, parts: range) -> Iterator[Case]:
        kept = tuple(result for i, result in enumerate(case.function.results) if i not in parts)
        if kept:
            yield _with(case, results=kept)


class EarlierResult(Edit):
    """A result of an instruction as the only result of the function, so that all code after it goes.
    Instructions are chosen by halving; in short programs all of them are tried."""

    name = "an earlier result"

    def proposals(self, case: Case) -> Iterator[Case]:
        body = case.function.body
        chosen, left = [], len(body)
        while left > 1:
            left //= 2
            chosen.append(body[len(body) - 1 - left])
        for instruction in [*chosen, *(body if len(body) <= _ONE_BY_ONE else ())]:
            for value in instruction.results:
                if (value,) != case.function.results:
                    yield _with(case, results=(value,))


class ValuesAsInputs(Chunked):
    """Instructions replaced by parameters, with the values that the interpreter gives, so that all before
    them goes."""

    name = "values as inputs"

    def count(self, case: Case) -> int:
        return len(case.function.body)

    def without(self, case: Case, parts: range) -> Iterator[Case]:
        values = values_of(case)
        if values is None:
            return
        function = case.function
        table = Substitution()
        params, inputs = list(function.params), list(case.inputs)
        body = []
        for i, instruction in enumerate(function.body):
            if i in parts:
                for value in instruction.results:
                    table[value] = Value(value.type, f"v{len(params)}")
                    params.append(table[value])
                    inputs.append(np.asarray(values[value], order="C"))
            else:
                body.append(table.apply(instruction))
        smaller = Function(function.name, tuple(params), tuple(body), table.all(function.results))
        yield Case(smaller, tuple(inputs))


class Bypass(Chunked):
    """Instructions replaced by an operand of the same type."""

    name = "instructions bypassed"

    def count(self, case: Case) -> int:
        return len(case.function.body)

    def without(self, case: Case, parts: range) -> Iterator[Case]:
        function = case.function
        table = Substitution()
        body = []
        for i, original in enumerate(function.body):
            instruction = table.apply(original)
            like = _operand_like(instruction) if i in parts else None
            if like is None:
                body.append(instruction)
            else:
                table[instruction.results[0]] = like
        yield Case(
            Function(function.name, function.params, tuple(body), table.all(function.results)), case.inputs
        )


def _operand_like(instruction: Instruction) -> Value | None:
    if len(instruction.results) != 1:
        return None
    return next(
        (operand for operand in instruction.operands if operand.type == instruction.results[0].type), None
    )


class BypassInRegions(Edit):
    """Instructions within loops and branches replaced by an operand of the same type."""

    name = "instructions in regions bypassed"

    def proposals(self, case: Case) -> Iterator[Case]:
        for position, instruction in enumerate(case.function.body):
            for number, region in enumerate(instruction.regions):
                for smaller in _bypassed(region):
                    regions = (*instruction.regions[:number], smaller, *instruction.regions[number + 1 :])
                    replacement = instruction.replace(regions=regions)
                    body = (*case.function.body[:position], replacement, *case.function.body[position + 1 :])
                    yield _with(case, body=body)


def _bypassed(region: Function) -> Iterator[Function]:
    for i, instruction in enumerate(region.body):
        like = _operand_like(instruction)
        if like is not None:
            table = Substitution({instruction.results[0]: like})
            body = tuple(table.apply(each) for j, each in enumerate(region.body) if j != i)
            yield Function(region.name, region.params, body, table.all(region.results))


class Opened(Edit):
    """Loops and branches replaced by one run of a region."""

    name = "a region in place of its op"

    def proposals(self, case: Case) -> Iterator[Case]:
        for position, instruction in enumerate(case.function.body):
            for region, operands in _runs(instruction):
                table = Substitution(dict(zip(region.params, operands, strict=True)))
                inside = [_fresh(each, table) for each in region.body]
                results = table.all(region.results)[: len(instruction.results)]
                if [value.type for value in results] != [value.type for value in instruction.results]:
                    continue
                after = Substitution(dict(zip(instruction.results, results, strict=True)))
                body = [*case.function.body[:position], *inside]
                body += [after.apply(each) for each in case.function.body[position + 1 :]]
                yield _with(case, body=tuple(body), results=after.all(case.function.results))


def _runs(instruction: Instruction) -> Iterator[tuple[Function, tuple[Value, ...]]]:
    """Regions with what they may be run on: a loop's body on its first carries, without slices."""
    kind = instruction.op.kind
    if kind is Kind.SWITCH:
        yield from ((region, instruction.operands[1:]) for region in instruction.regions)
    elif kind is Kind.WHILE or (kind is Kind.SCAN and instruction.attrs["slices"] == 0):
        yield instruction.regions[-1], instruction.operands


def _fresh(instruction: Instruction, table: Substitution) -> Instruction:
    """`instruction` with values of its own, so that a region may be used twice."""
    results = tuple(Value(value.type, value.hint) for value in instruction.results)
    operands, location = table.all(instruction.operands), instruction.location
    fresh = Instruction(instruction.op, operands, instruction.attrs, results, location, instruction.regions)
    for old, new in zip(instruction.results, results, strict=True):
        table[old] = new
    return fresh


class FewerSteps(Edit):
    """A loop with fewer steps, where nothing is stacked."""

    name = "fewer steps"

    def proposals(self, case: Case) -> Iterator[Case]:
        for position, instruction in enumerate(case.function.body):
            length = instruction.attrs.get("length", 0)
            if (
                instruction.op.kind is not Kind.SCAN
                or instruction.attrs["slices"]
                or len(instruction.results) > instruction.attrs["carries"]
            ):
                continue
            for fewer in dict.fromkeys((1, 2, length // 2, length - 1)):
                if 0 < fewer < length:
                    attrs = {**instruction.attrs, "length": fewer}
                    replacement = instruction.replace(attrs=attrs)
                    body = (*case.function.body[:position], replacement, *case.function.body[position + 1 :])
                    yield _with(case, body=body)


class SmallerSizes(Edit):
    """A size that dimensions have made smaller everywhere, inputs cut at their ends or at their starts."""

    name = "smaller sizes"

    def proposals(self, case: Case) -> Iterator[Case]:
        sizes = {size for param in case.function.params for size in param.shape if size > 1}
        for size in sorted(sizes, reverse=True):
            for smaller in dict.fromkeys((1, 2, size // 4, size // 2, size - size // 8, size - 1)):
                if 0 < smaller < size:
                    yield from resized(case, size, smaller)


class SimplerNumbers(Edit):
    """Inputs of zeros, of ones, or rounded."""

    name = "simpler numbers"

    def proposals(self, case: Case) -> Iterator[Case]:
        for i, array in enumerate(case.inputs):
            for simple in _simpler(array):
                if not np.array_equal(simple, array, equal_nan=array.dtype.kind == "f"):
                    yield Case(case.function, (*case.inputs[:i], simple, *case.inputs[i + 1 :]))


def _simpler(array: Array) -> Iterator[Array]:
    yield np.zeros_like(array)
    yield np.ones_like(array)
    if array.dtype.kind == "f" and np.isfinite(array).all():
        yield np.sign(array)
        yield np.where(np.arange(array.size).reshape(array.shape) == 0, array, array.dtype.type(0))


#: Edits in the order in which they are tried.
EDITS: Final[tuple[Edit, ...]] = (
    EditWindow(), FewerResults(), EarlierResult(), ValuesAsInputs(), Bypass(), Opened(), FewerSteps(),
    BypassInRegions(), SmallerSizes(), SimplerNumbers(),
)  # fmt: skip


def _with(
    case: Case, *, body: tuple[Instruction, ...] | None = None, results: tuple[Value, ...] | None = None
) -> Case:
    old = case.function
    function = Function(
        old.name, old.params, old.body if body is None else body, old.results if results is None else results
    )
    return Case(function, case.inputs)


def values_of(case: Case) -> Mapping[Value, Any] | None:
    """The interpreter's result for every value; None if it raises."""
    values: dict[Value, Any] = dict(zip(case.function.params, case.inputs, strict=True))
    try:
        with np.errstate(all="ignore"):
            for instruction in case.function.body:
                run_instruction(instruction, values)
    except (TracejitError, ValueError, ArithmeticError, LookupError):
        return None
    return values
