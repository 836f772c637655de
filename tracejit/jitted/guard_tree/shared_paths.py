"""The paths of a signature as one native function.

Apart, a call runs one path to its end, looks at its decisions, and begins another where they come out
otherwise. Together, what paths have in common runs once, and at each decision that they take differently a
``switch`` goes on with the right one. The function's last result is the number of the path that was taken,
-1 where the call belongs to none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...frontend.values import Source
from ...generator import Draws
from ...ir.builder import Builder
from ...ir.dataflow import acts, has_effect
from ...ir.dtypes import INT64
from ...ir.graph import Function, Instruction, Substitution, Value
from ...ir.ops.control_flow.definitions import SWITCH
from ...ir.registry import Kind
from ...pytree import flatten
from ...tracing.branches import Decision
from ..calls import CompiledFunction
from ..captures import Bindings
from .specializations import Specialization

#: Programs with more instructions than this stay apart: they take long to compile, and a decision more or
#: less is little of what a call costs.
_MAX_INSTRUCTIONS: Final = 4000


def share_paths(name: str, paths: Sequence[Specialization]) -> Specialization | None:
    """Compile together those `paths` that can be: with results of the types that the first has, and without
    effects or random draws, which a call that belongs to none of them would do twice. None where that leaves
    none, or where the paths are too long."""
    first = _result_types(paths[0]) if paths else []
    chosen = [path for path in paths if _result_types(path) == first and not _acts(path)]
    if not chosen:
        return None
    merger = _Merger(chosen)
    try:
        function = merger.run(name)
    except _ApartError:
        return None
    lead = chosen[0]
    guards = [guard for path in chosen for guard in path.bindings.guards]
    return Specialization(
        lead.structure,
        lead.leaf_types,
        lead.static,
        function,
        CompiledFunction(function, flush_denormals=lead.compiled.flush_denormals),
        Bindings(list(merger.sources.values()), guards),
        flatten([0] * len(function.results))[1],
        _ranges(chosen),
        together=chosen,
        no_alias=next((path.no_alias for path in chosen if path.no_alias), None),
        linalg=next((path.linalg for path in chosen if path.linalg), None),
        namespace=lead.namespace,
    )


def _result_types(path: Specialization) -> list[Any]:
    results = path.function.results
    return [result.type for result in results[: len(results) - len(path.decisions)]]


def _acts(path: Specialization) -> bool:
    """Whether running `path` does more than to compute."""
    draws = any(isinstance(source.holder, Draws) for source in path.bindings.sources)
    return draws or path.writes is not None or acts(path.function)


def binds_path(instruction: Instruction) -> bool:
    """Whether `instruction` may run only where a call is known to be on its path: a loop that need not end
    for other values, and what calls Python or has another effect."""
    return (
        instruction.op.kind is Kind.WHILE
        or has_effect(instruction)
        or "callback" in instruction.attrs
        or any(binds_path(inner) for region in instruction.regions for inner in region.body)
    )


def _ranges(paths: Sequence[Specialization]) -> dict[int, tuple[int, int]]:
    """The Python integers that fit all paths."""
    common: dict[int, tuple[int, int]] = {}
    for path in paths:
        for position, (low, high) in path.ranges.items():
            before = common.get(position, (low, high))
            common[position] = max(low, before[0]), min(high, before[1])
    return common


class _ApartError(Exception):
    """Paths that cannot be one function."""


class _Merger:
    """Writes the Function of `paths` together."""

    def __init__(self, paths: Sequence[Specialization]) -> None:
        self.paths = paths
        self.room = _MAX_INSTRUCTIONS
        #: The place of each capture, in the order of the parameters after the arguments.
        self.sources: dict[Any, Source] = {}
        self._captures: dict[Any, Value] = {}
        #: Values of each path as those of the new Function.
        self._tables: list[Substitution] = []

    def run(self, name: str) -> Function:
        builder = Builder()
        count = len(self.paths[0].leaf_types)
        arguments = [
            builder.parameter(param.type, param.hint) for param in self.paths[0].function.params[:count]
        ]
        for path in self.paths:
            table = Substitution(dict(zip(path.function.params, arguments, strict=False)))
            for param, source in zip(path.function.params[count:], path.bindings.sources, strict=True):
                table[param] = self._capture(param, source)
            self._tables.append(table)
        results = self._write(builder, list(range(len(self.paths))), 0, None)
        builder.params += self._captures.values()
        return builder.finish(name if name.isidentifier() else "paths", results)

    def _capture(self, param: Value, source: Source) -> Value:
        key = (source.identity, source.is_number, param.type)
        if key not in self._captures:
            self._captures[key] = Value(param.type, f"captured{len(self._captures)}")
            self.sources[key] = source
        return self._captures[key]

    def _write(
        self, builder: Builder, members: list[int], decided: int, ok: Value | None
    ) -> tuple[Value, ...]:
        """Append what follows `decided` decisions that `members` have in common. `ok` says whether those came
        out as on the paths, None where they did for certain. Returns the results and the path's number."""
        while True:
            ends = [decided == len(self.paths[member].decisions) for member in members]
            if any(ends) and len(members) > 1:
                raise _ApartError
            self._common(builder, members, decided)
            if ends[0]:
                return self._taken(builder, members[0], ok)
            decision = self.paths[members[0]].decisions[decided]
            value = self._tables[members[0]][decision.value]
            groups: dict[str, list[int]] = {}
            for member in members:
                groups.setdefault(repr(self.paths[member].decisions[decided].seen), []).append(member)
            decided += 1
            ahead = _stretch(self.paths[members[0]], decided)
            if len(groups) > 1 or any(map(binds_path, ahead)):
                return self._split(builder, value, list(groups.values()), decided, ok)
            holds = _is(builder, value, decision)
            ok = holds if ok is None else builder.logical_and(ok, holds)

    def _common(self, builder: Builder, members: list[int], decided: int) -> None:
        """Append the instructions before the next decision, which must be the same on all paths."""
        stretches = [_stretch(self.paths[member], decided) for member in members]
        if len({len(stretch) for stretch in stretches}) > 1:
            raise _ApartError
        self.room -= len(stretches[0])
        if self.room < 0:
            raise _ApartError
        lead, *others = (self._tables[member] for member in members)
        for position, instruction in enumerate(stretches[0]):
            builder.location = instruction.location
            operands = lead.all(instruction.operands)
            results = builder.append(instruction.op, operands, instruction.attrs, regions=instruction.regions)
            same = _identity(instruction, operands)
            for old, new in zip(instruction.results, results, strict=True):
                lead[old] = new
            for table, stretch in zip(others, stretches[1:], strict=True):
                other = stretch[position]
                if _identity(other, table.all(other.operands)) != same:
                    raise _ApartError
                for old, new in zip(other.results, results, strict=True):
                    table[old] = new

    def _taken(self, builder: Builder, member: int, ok: Value | None) -> tuple[Value, ...]:
        path = self.paths[member]
        count = len(path.function.results) - len(path.decisions)
        number = builder.scalar(member, INT64)
        if ok is not None:
            number = builder.where(ok, number, builder.scalar(-1, INT64))
        return (*self._tables[member].all(path.function.results[:count]), number)

    def _split(
        self, builder: Builder, value: Value, groups: list[list[int]], decided: int, ok: Value | None
    ) -> tuple[Value, ...]:
        """Append the ``switch`` that goes on with one of `groups`, or with none of them."""
        index = builder.scalar(len(groups), INT64)
        for number, group in enumerate(groups):
            holds = _is(builder, value, self.paths[group[0]].decisions[decided - 1])
            holds = holds if ok is None else builder.logical_and(ok, holds)
            index = builder.where(holds, builder.scalar(number, INT64), index)
        bodies = []
        for group in groups:
            inner = Builder()
            bodies.append((inner, self._write(inner, group, decided, None)))
        nothing = Builder()
        types = _result_types(self.paths[0])
        zeros = [
            nothing.broadcast_to(nothing.scalar(type_.dtype.type(0).item(), type_.dtype), type_.shape)
            for type_ in types
        ]
        bodies.append((nothing, (*zeros, nothing.scalar(-1, INT64))))
        free = dict.fromkeys(value for body, results in bodies for value in _free(body, results))
        regions = tuple([_closed(body, results, list(free)) for body, results in bodies])
        return builder.append(SWITCH, (index, *free), {}, regions=regions)


def _stretch(path: Specialization, decided: int) -> Sequence[Instruction]:
    """The instructions between two decisions."""
    positions = [0, *[decision.position for decision in path.decisions], len(path.function.body)]
    return path.function.body[positions[decided] : positions[decided + 1]]


def _identity(instruction: Instruction, operands: tuple[Value, ...]) -> tuple[Any, ...]:
    """The key of an instruction; instructions with equal keys compute the same. Values are compared by
    identity, NaN by its name."""
    attrs = repr(sorted(instruction.attrs.items()))
    return instruction.op, operands, attrs, [str(region) for region in instruction.regions]


def _is(builder: Builder, value: Value, decision: Decision) -> Value:
    """Whether `value` is what the trace saw: NaN is itself, 0.0 is not -0.0."""
    seen = decision.seen
    if isinstance(seen, bool):
        same: Value = value if seen else builder.logical_not(value)
        return same
    if seen != seen:
        nan: Value = builder.isnan(value)
        return nan
    same = builder.eq(value, builder.scalar(seen, value.dtype))
    if isinstance(seen, float) and seen == 0:
        negative = builder.signbit(value)
        same = builder.logical_and(same, negative if np.signbit(seen) else builder.logical_not(negative))
    return same


def _free(body: Builder, results: Sequence[Value]) -> list[Value]:
    """The values from outside that `body` uses."""
    own = {result for instruction in body.body for result in instruction.results}
    used = [operand for instruction in body.body for operand in instruction.operands]
    return [value for value in [*used, *results] if value not in own]


def _closed(body: Builder, results: Sequence[Value], free: Sequence[Value]) -> Function:
    """`body` as a Function of the values `free`."""
    params = [Value(value.type) for value in free]
    table = Substitution(dict(zip(free, params, strict=True)))
    return Function("branch", tuple(params), tuple(map(table.apply, body.body)), table.all(tuple(results)))
