"""Conditionals on traced values inside loops: both sides are traced, and one runs, or a select takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..array.elementwise import floats
from ..array.indexing.writing import OutsideWriteError, is_seen
from ..array.operands import filled
from ..control.branches import agree
from ..control.carry import Region, as_leaf, shared_captures, traced
from ..dispatch.regions import apply_with_regions, replay
from ..ir.dataflow import can_fail
from ..ir.dtypes import BOOL
from ..ir.graph import Function, Instruction, Value
from ..ir.registry import OPS, Kind
from ..pytree import TreeDef, containers_in, flatten
from ..state import STATE
from ..tape.views import base_of, chain_of
from ..tensors.tensor import Tensor, wrap
from ..tracing.tracer import tracing
from .lists.appends import APPENDED, FLAG, BranchAppends
from .lists.buffers import is_searched, untyped
from .lists.stacked_lists import check_containers
from .optional_values import OptionalValue
from .origins import Container, ContainerOrigins, Origin
from .reports import CURRENT, LoopError
from .scalars import opposite
from .source.descriptions import Statement
from .variables import (
    UNDEFINED,
    Content,
    Variables,
    WrittenTensors,
    called,
    content_of,
    is_array,
    is_returned,
    is_traced,
)

_LABELS: Final = ("else", "then")
#: Operations that both sides may compute: they cannot fail, and neither do their derivatives.
_HARMLESS: Final = frozenset(
    ("abs", "add", "cast", "eq", "ge", "gt", "le", "logical_and", "logical_not", "logical_or", "lt",
     "maximum", "minimum", "ne", "neg", "select", "sub", "where", "full", "constant", "bitwise_and",
     "bitwise_or", "invert", "bitwise_not")
)  # fmt: skip
#: Conditionals with at most so many of them become selects.
_FEW: Final = 8


def conditional(
    test: Tensor,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    statement: Statement,
    variables: Variables,
) -> None:
    """Trace an ``if`` statement, and give its variables the values behind it."""
    memory = WrittenTensors()
    for name in statement.written:
        value = variables.get(name)
        if name not in statement.assigned and is_traced(value) and not memory.holds(value):
            memory.add(value)
    while True:
        try:
            return _trace_conditional(test, (orelse, then), statement, variables, memory)
        except OutsideWriteError as error:
            if not STATE.tracer.owns(error.tensor._data):
                raise
            memory.add(error.tensor)


def _trace_conditional(
    test: Tensor, sides: Sequence[Any], statement: Statement, variables: Variables, memory: WrittenTensors
) -> None:
    memory.check()
    before = variables.values(statement.assigned)
    appends = BranchAppends(statement.appended, variables)

    def side(function: Callable[[], Any]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            saved = memory.save()
            CURRENT.session.sides += 1
            try:
                memory.enter([STATE.tracer.lift(base) for base in memory.bases])
                appends.enter()
                function()
                values = variables.values(statement.results)
                for name, value in values.items():
                    if value is not before.get(name):
                        check_containers(name, value)
                        values[name] = memory.snapshot(name, value)
                    elif memory.is_written(value):
                        memory.variables.add(name)
                bases = [wrap(base._data) for base in memory.bases]
                return [*values.values(), *appends.leave(), *bases]
            finally:
                CURRENT.session.sides -= 1
                appends.restore()
                memory.restore(saved)
                variables.update(before)

        return run

    names = [*statement.results, *[f"array {i}" for i in range(len(memory.bases))]]
    values = merged(test, [side(function) for function in sides], names, statement, memory, appends)
    count = len(statement.results)
    appends.finish(values[count : len(values) - len(memory.bases)])
    variables.update(dict.fromkeys(statement.assigned, UNDEFINED))
    variables.update(dict(zip(statement.results, values[:count], strict=True)))


def chosen(test: Tensor, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """The value of one of two expressions, by a traced test. What one of them writes in place, as a draw
    does, has its value from the side that runs."""
    memory = WrittenTensors()

    def side(function: Callable[[], Any]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            saved = memory.save()
            try:
                memory.enter([STATE.tracer.lift(base) for base in memory.bases])
                value = memory.snapshot("the value", function())
                check_containers("the value", value)
                return [value, *[wrap(base._data) for base in memory.bases]]
            finally:
                memory.restore(saved)

        return run

    while True:
        names = ["the value", *[f"array {i}" for i in range(len(memory.bases))]]
        try:
            memory.check()
            return merged(test, [side(orelse), side(then)], names, None, memory)[0]
        except OutsideWriteError as error:
            if not STATE.tracer.owns(error.tensor._data):
                raise
            memory.add(error.tensor)


def guarded(test: Tensor, value: Callable[[], Any]) -> Any:
    """``test and value()``, where `value` gives a truth value. A `value` that may fail, act, write or not end
    runs only where `test` is true; another is computed anyway."""
    parent = STATE.tracer
    results: list[Any] = []

    def flat() -> list[Any]:
        results.append(value())
        return [results[-1]]

    try:
        region = traced(parent, flat, (), (), (), repeats=False)
    except OutsideWriteError as error:
        if not parent.owns(error.tensor._data):
            raise
        return chosen(test, value, lambda: False)
    if type(results[-1]) is bool and all(step.op.kind is Kind.CREATION for step in region.tracer.body):
        return test if results[-1] else False
    holders, params = shared_captures([region.tracer])
    body = region.function("then", params[0])
    if can_fail(body) or any(inner.op.kind is Kind.WHILE for inner in body.instructions()):
        return chosen(test, value, lambda: False)
    return test & replay(body, holders, located=True)[0]


def merged(
    test: Tensor,
    sides: Sequence[Callable[[], list[Any]]],
    names: Sequence[str],
    statement: Statement | None,
    memory: WrittenTensors | None = None,
    appends: BranchAppends | None = None,
) -> list[Any]:
    """The values that the side taken returns: of ``sides[1]`` where `test`, else of ``sides[0]``. The last of
    them are written to the tensors of `memory`. Before these stands what the sides append, by `appends`: one
    side may append more than the other."""
    memory = memory or WrittenTensors()
    place = len(names) - len(memory.bases)
    parent = STATE.tracer
    regions: list[Region] = []
    contents: list[list[Content]] = []
    arrays: list[list[list[bool]]] = []
    origins: list[list[list[frozenset[Origin]]]] = []
    is_left_out = False
    for side in sides:

        def flat(side: Callable[[], list[Any]] = side) -> list[Any]:
            contents.append([content_of(value) for value in side()])
            here = ContainerOrigins()
            origins.append(
                [
                    [here.of(container) for container in containers_in(content.value)]
                    if content.structure is not None
                    else []
                    for content in contents[-1]
                ]
            )
            arrays.append([[is_array(leaf) for leaf in content.leaves] for content in contents[-1]])
            appended = len(contents[-1]) - len(names)
            return [
                as_leaf("if", name, path, leaf)
                for name, content in zip(_with_appended(names, place, appended), contents[-1], strict=True)
                if content.structure is not None
                for path, leaf in zip(content.structure.paths(), content.leaves, strict=True)
            ]

        try:
            regions.append(traced(parent, flat, (), (), (), repeats=False))
        except Exception as error:
            if not is_searched(error):
                raise
            is_left_out = True  # the other side may tell what is appended
    if is_left_out:
        raise untyped()
    if appends is not None:
        appended = _aligned([contents, arrays, origins], appends.counts(), place)
        names = _with_appended(names, place, appended)
    positions = [0, 0]
    results: list[list[Any]] = [[], []]
    weak: list[list[bool]] = [[], []]
    values: list[Any] = []
    for place, (name, *pair) in enumerate(zip(names, *contents, strict=True)):
        starts = list(positions)
        optional = _optional(name, pair)
        if optional is not None:
            for k in (0, 1):
                _add_flag(k, regions, pair, optional, starts, (results, weak))
                positions[k] += len(pair[k].leaves)
                if pair[k].structure is not None and pair[k].structure != optional:
                    contents[k][place] = Content(pair[k].value, [True, *pair[k].leaves], optional)
                    arrays[k][place] = [False, *arrays[k][place]]
            values.append(optional)
            continue
        for k in (0, 1):
            positions[k] += len(pair[k].leaves)
        kept = _kept_flag(test, pair) if name is FLAG else _kept(name, pair[0], pair[1])
        if kept is not None:
            values.append(kept)
            continue
        _check_identity(name, pair, statement, memory)
        model = pair[0] if pair[0].structure is not None else pair[1]
        for k in (0, 1):
            if pair[k].structure is None:
                other = regions[1 - k].results[starts[1 - k] : positions[1 - k]]
                with tracing(regions[k].tracer):
                    zeros = [filled(0, value.shape, value.dtype) for value in other]
                    results[k] += [regions[k].tracer.lift(zero) for zero in zeros]
                weak[k] += regions[1 - k].weak[starts[1 - k] : positions[1 - k]]
            else:
                results[k] += regions[k].results[starts[k] : positions[k]]
                weak[k] += regions[k].weak[starts[k] : positions[k]]
        values.append(model.structure)
    for k in (0, 1):
        regions[k].results[:], regions[k].weak[:] = results[k], weak[k]
    for region in regions:
        _share_reads(parent, region)
    for i in range(len(results[0])):
        agree("if", _LABELS, regions, i, "")
    outputs = _appended(parent, test, regions)
    memory.write(outputs[len(outputs) - len(memory.bases) :])
    _note_merged(contents, arrays, values, regions, outputs, memory)
    remaining = iter(outputs)
    results_of_sides = [
        value.unflatten([next(remaining) for _ in range(value.leaves)])
        if _is_structure(value)
        else value.value
        for value in values
    ]
    _note_containers(origins, values, results_of_sides)
    return results_of_sides


def _note_containers(
    origins: Sequence[list[list[frozenset[Origin]]]], values: Sequence[Any], results: Sequence[Any]
) -> None:
    """Note which containers among the `results` are in Python ones that have other names. `origins` are those
    of the containers in the values of each side, and `values` the structures of those that are merged."""
    merged = [k for k, value in enumerate(values) if _is_structure(value)]
    containers = [container for k in merged for container in containers_in(results[k])]
    sources: list[list[Any]] = [[] for _ in containers]
    for side in origins:
        position, owners = 0, dict[Origin, int]()
        for k in merged:
            count = sum(1 for _ in containers_in(results[k]))
            for i, own in enumerate(side[k], position):  # none of a side where it has no value
                for origin in own:
                    if isinstance(origin, Container):
                        sources[i].append(origin.value)
                    if (other := owners.setdefault(origin, i)) != i:
                        sources[i].append(containers[other])
            position += count
    for container, own_sources in zip(containers, sources, strict=True):
        STATE.tracer.merged_containers.add(container, own_sources)


def _note_merged(
    contents: Sequence[list[Content]],
    arrays: Sequence[list[list[bool]]],
    values: Sequence[Any],
    regions: Sequence[Region],
    outputs: Sequence[Tensor],
    memory: WrittenTensors,
) -> None:
    """Note which of the `outputs` are in Python arrays that have other names. `contents` are the values of
    each side, `arrays` whether their leaves are arrays, and `values` the structures of those that are
    merged. Both sides write `memory`."""
    tracer = STATE.tracer
    sources: list[set[Value]] = [set() for _ in outputs]
    kinds = [set[bool]() for _ in outputs]
    for side, flags, region in zip(contents, arrays, regions, strict=True):
        position, owners = 0, dict[Value, int]()
        for content, are_arrays, value in zip(side, flags, values, strict=True):
            if not _is_structure(value):
                continue
            for i, (leaf, array) in enumerate(zip(content.leaves, are_arrays, strict=True), position):
                kinds[i].add(array)
                for source in _memories(leaf, region, memory) if array else ():
                    if is_seen(source):
                        sources[i].add(source)
                    elif (other := owners.setdefault(source, i)) != i:
                        sources[i].add(outputs[other]._data)
                        sources[other].add(outputs[i]._data)
            position += value.leaves
    for i, output in enumerate(outputs[: len(outputs) - len(memory.bases)]):
        is_either = len(kinds[i]) == 2
        if not output.shape and True in kinds[i]:
            tracer.note_array(output)
        if sources[i] or (not output.shape and is_either):
            tracer.merged_arrays.add(output, sources[i])


def _memories(leaf: Any, region: Region, memory: WrittenTensors) -> set[Value]:
    """The values of the memory that the array `leaf`, made in `region`, may be a part of. Memory outside has
    its value there, also that which the region writes as a part of `memory`."""
    tracer = STATE.tracer
    if not isinstance(leaf, Tensor) or not is_traced(base := base_of(leaf)):
        return {tracer.lift(leaf)}
    if leaf._data in memory.snapshots:
        return {memory.bases[memory.snapshots[leaf._data]]._data}
    outer_of = {inner: outer for outer, inner in region.tracer.captured.items()}
    inside = region.tracer.merged_arrays.sources_of(base._data) or ()
    return {outer_of.get(source, source) for source in (base._data, *inside)}


def _with_appended(names: Sequence[str], place: int, count: int) -> list[str]:
    """`names` with those of `count` values of appended items and their flags, at `place`."""
    return [*names[:place], *[APPENDED, FLAG] * (count // 2), *names[place:]]


def _aligned(sides: Sequence[list[list[Any]]], counts: Sequence[Sequence[int]], place: int) -> int:
    """Give the sides the same number of values for each list: both have, from `place` on, as many as `counts`
    says, in each of the lists `sides`. Returns how many these are now."""
    longest = [max(pair) for pair in zip(*counts, strict=True)]
    for values, missing in zip(sides, (Content(UNDEFINED, [], None), [], []), strict=True):
        for side, own in zip(values, counts, strict=True):
            position = place
            for count, expected in zip(own, longest, strict=True):
                side[position + count : position + count] = [missing] * (expected - count)
                position += expected
    return sum(longest)


def _optional(name: str, pair: Sequence[Content]) -> TreeDef | None:
    """The structure of a variable that is None on one side and has a value on the other, or may have one."""
    if is_returned(name) or name in (APPENDED, FLAG):
        return None
    missing = [content.value is None for content in pair]
    optional = [isinstance(content.value, OptionalValue) for content in pair]
    if not any((*missing, *optional)) or all(missing):
        return None
    if not (CURRENT.session.attempts or CURRENT.session.sides):  # what tests it is not rewritten
        raise LoopError(f"{called(name)} is None in one branch and has a value in the other")
    if all(optional) or pair[0].value is pair[1].value:
        return None
    structures = set()
    for content, is_optional in zip(pair, optional, strict=True):
        if content.structure is not None:
            value = content.value if is_optional else OptionalValue(True, content.value)
            structures.add(flatten(value, static_strings=True)[1])
        elif content.value is not None:
            return None
    return structures.pop() if len(structures) == 1 else None


def _add_flag(
    k: int,
    regions: Sequence[Region],
    pair: Sequence[Content],
    optional: TreeDef,
    starts: Sequence[int],
    added: tuple[list[list[Any]], list[list[bool]]],
) -> None:
    """Add to the results of side `k` those of a variable that is `optional`: whether it is not None, and its
    leaves; zeros where it is None."""
    results, weak = added
    mine, other = pair[k], pair[1 - k]
    has_flag = [content.structure == optional for content in pair]
    tracer = regions[k].tracer
    if not has_flag[k]:
        results[k].append(tracer.scalar(mine.structure is not None, BOOL))
        weak[k].append(False)
    if mine.structure is not None:
        end = starts[k] + len(mine.leaves)
        results[k] += regions[k].results[starts[k] : end]
        weak[k] += regions[k].weak[starts[k] : end]
        return
    first, end = starts[1 - k] + has_flag[1 - k], starts[1 - k] + len(other.leaves)
    with tracing(tracer):
        zeros = [filled(0, value.shape, value.dtype) for value in regions[1 - k].results[first:end]]
        results[k] += [tracer.lift(zero) for zero in zeros]
    weak[k] += regions[1 - k].weak[first:end]


def _kept_flag(test: Tensor, pair: Sequence[Content]) -> _Kept | None:
    """The flag of an item, where it follows from the `test` alone; None where it is to be merged."""
    otherwise, then = pair[0].value, pair[1].value
    if then is True:
        if otherwise is True:
            return _Kept(True)
        return _Kept(test) if otherwise is UNDEFINED else None
    return _Kept(opposite(test)) if then is UNDEFINED and otherwise is True else None


class _Kept:
    """A value that both sides have."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _is_structure(value: Any) -> bool:
    return not isinstance(value, _Kept)


def _kept(name: str, first: Content, second: Content) -> _Kept | None:
    """The value where both sides have the same, None where they are to be merged."""
    a, b = first.value, second.value
    if a is b or (type(a) is type(b) and type(a) in (bool, int, float, str) and repr(a) == repr(b)):
        return _Kept(a)
    if first.structure is None or second.structure is None:
        structured = first.structure is not None or second.structure is not None
        counts_by_flag = is_returned(name) or name in (APPENDED, FLAG)
        if counts_by_flag and structured and (a is UNDEFINED or b is UNDEFINED):
            return None  # it counts where a flag says so
        if counts_by_flag and (a is UNDEFINED or b is UNDEFINED):
            return _Kept(b if a is UNDEFINED else a)
        if a is UNDEFINED or b is UNDEFINED:
            typed = first.structure is not None or second.structure is not None
            return None if typed and name in CURRENT.session.untyped else _Kept(UNDEFINED)
        raise LoopError(f"{called(name)} is {_shown(a)} in one branch and {_shown(b)} in the other")
    if first.structure != second.structure:
        raise LoopError(
            f"{called(name)} has the structure {first.structure} in one branch, "
            f"{second.structure} in the other"
        )
    return None


def _check_identity(
    name: str, pair: Sequence[Content], statement: Statement | None, memory: WrittenTensors
) -> None:
    """Raise where an array that is there already gets another name, by which it may be written, or where one
    side has written the array of `name` and the other gives it another one."""
    if name in memory.variables:
        raise LoopError(_another_name(name))
    if statement is None or name not in statement.written_anywhere:
        return
    for content in pair:
        for leaf in content.leaves:
            is_tensor = isinstance(leaf, Tensor) and is_array(leaf)
            if is_tensor and (not is_traced(leaf) or is_seen(leaf._data) or chain_of(leaf)):
                raise LoopError(_another_name(name))


def _another_name(name: str) -> str:
    return f"{name} becomes another name of an array in a branch, and is written in place"


def _shown(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        return "an array"
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"


def _appended(parent: Any, test: Tensor, regions: Sequence[Region]) -> list[Tensor]:
    """The results of the side taken, in the running trace."""
    if not regions[0].results and not any(region.tracer.body for region in regions):
        return []
    weak = [a and b for a, b in zip(regions[0].weak, regions[1].weak, strict=True)]
    holders, params = shared_captures([region.tracer for region in regions])
    bodies = [
        region.function(label, mine) for region, label, mine in zip(regions, _LABELS, params, strict=True)
    ]
    if all(map(_is_cheap, bodies)):
        otherwise, then = [replay(body, holders, located=True) for body in bodies]
        results = [floats.chosen(test, a, b) for a, b in zip(then, otherwise, strict=True)]
    else:
        results = apply_with_regions(OPS["switch"], [test, *holders], {}, tuple(bodies))
    for result, number in zip(results, weak, strict=True):
        if number:
            parent.mark_weak(result._data)
    return results


def _share_reads(parent: Any, region: Region) -> None:
    """Reuse in `region` the elements that its `parent` has read at equal indices. The gradient of a read
    inside a branch is an array for each step, and a branch without reads may become a select."""
    done = {
        _content(instruction, instruction.operands): instruction.results[0]
        for instruction in parent.body
        if instruction.op.kind in (Kind.GATHER, Kind.ELEMENTWISE, Kind.CREATION)
    }
    tracer = region.tracer
    outside = {inner: outer for outer, inner in tracer.captured.items()}
    #: Values outside the branch that equal values in it, including indices.
    equal = dict(outside)
    shared: dict[Value, Value] = {}
    body = []
    for instruction in tracer.body:
        outer = None
        if instruction.results and all(operand in equal for operand in instruction.operands):
            outer = done.get(_content(instruction, [equal[operand] for operand in instruction.operands]))
        if outer is not None:
            equal[instruction.results[0]] = outer
            if instruction.op.kind is Kind.GATHER:
                shared[instruction.results[0]] = tracer.lift(wrap(outer))
                continue
        body.append(instruction)
    if shared:
        region.results[:] = [shared.get(result, result) for result in region.results]
        used = set(region.results)
        tracer.body.clear()
        for instruction in reversed(body):
            if instruction.results and instruction.results[0] in equal and instruction.results[0] not in used:
                continue  # an index of what is read outside
            operands = tuple([shared.get(x, x) for x in instruction.operands])
            used.update(operands)
            tracer.body.insert(0, instruction.replace(operands=operands))
        for inner, outer in outside.items():
            if inner not in used:
                del tracer.captured[outer], tracer.holders[outer]


def _content(instruction: Instruction, operands: Sequence[Value]) -> object:
    """The key of an instruction on `operands`; instructions with equal keys have equal results."""
    return instruction.op.name, tuple(operands), repr(instruction.attrs), instruction.results[0].type


def _is_cheap(body: Function) -> bool:
    return len(body.body) <= _FEW and all(
        instruction.op.name in _HARMLESS and not any(result.shape for result in instruction.results)
        for instruction in body.body
    )
