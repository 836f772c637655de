"""Removal of writes that nobody reads any more.

    for i in range(1, n):                             for i in range(1, n):
        u = c[i] + 0.9 * u; c[i] = 0                      u = c[i] + 0.9 * u
    return u, c[0]                                    return u, c[0]

A step back through ``y[i] = ...`` takes what y[i] passes back and leaves zero. Where no step meets the
element of another one, and nothing behind the loop reads what was written, the array is what it was before.
And what such steps add to zeros they write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...analysis.affine import AffineValues, loop_forms
from ...graph import Function, Instruction, Value
from ...ops.indexing import indexed_axes
from ...registry import Kind
from ..layout.updates import add_parts
from ..rewriting import Definitions, constant_of
from .control_flow import map_regions


def drop_unread_writes(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results, but for the signs of zeros; no scan writes elements
    of an array, each step its own, that nothing but the step itself reads, or adds to such that are zero."""
    if not any(op.kind is Kind.SCAN for op in function.ops):
        return function
    function = add_parts(map_regions(function, drop_unread_writes))
    readers: dict[Value, list[Instruction]] = {}
    for instruction in function.body:
        for operand in instruction.operands:
            readers.setdefault(operand, []).append(instruction)
    defs = function.defs
    body, changed = [], False
    for instruction in function.body:
        if instruction.op.kind is Kind.SCAN:
            step = _without_writes(instruction, readers, function.results, defs)
            if step is not instruction.regions[0]:
                instruction, changed = instruction.replace(regions=(step,)), True
        body.append(instruction)
    return Function(function.name, function.params, tuple(body), function.results) if changed else function


def _without_writes(
    scan: Instruction,
    readers: Mapping[Value, Sequence[Instruction]],
    returned: Sequence[Value],
    defs: Definitions,
) -> Function:
    """The body of `scan` without dead writes: a carry whose written elements are not read is handed on
    unchanged."""
    (body,) = scan.regions
    results, steps = list(body.results), list(body.body)
    forms = None
    for carry in range(scan.attrs["carries"]):
        result, param = scan.results[carry], body.params[carry]
        write = _only_write(body, carry) if param.shape else None
        if write is None:
            continue
        forms = forms or loop_forms(scan, AffineValues(defs))
        box = _written_box(write, forms, scan.attrs["length"])
        if box is None:
            continue
        outside = readers.get(result, ())
        if write.attrs["mode"] == "add":
            start = constant_of(scan.operands[carry], defs)
            if start == 0 and sum(param in step.operands for step in steps) == 1:
                steps[steps.index(write)] = write.replace(attrs={**write.attrs, "mode": "set"})
        elif result not in returned and all(
            reader.op.name == "slice" and _lies_apart(reader, box) for reader in outside
        ):
            results[carry] = param
    if results == list(body.results) and steps == list(body.body):
        return body
    return Function(body.name, body.params, tuple(steps), tuple(results))


def _only_write(body: Function, carry: int) -> Instruction | None:
    """The scatter that gives a carry its next value, where else steps read the element that it writes alone,
    before that."""
    param, result = body.params[carry], body.results[carry]
    touching = [step for step in body.body if param in step.operands or result in step.operands]
    writes = [step for step in touching if result in step.results]
    if len(writes) != 1 or writes[0].op.name != "scatter" or writes[0].attrs["mode"] not in ("set", "add"):
        return None
    (write,) = writes
    if write.operands[0] is not param or param in write.operands[1:] or body.results.count(result) > 1:
        return None
    for step in touching:
        reads = (
            step.op.kind is Kind.GATHER
            and step.operands[0] is param
            and step.operands[1:] == write.operands[2:]
            and step.attrs["axes"] == write.attrs["axes"]
        )
        if step is not write and not reads:
            return None
    return None if param in body.results else write


def _written_box(write: Instruction, forms: AffineValues, length: int) -> dict[int, tuple[int, int]] | None:
    """The first and the last place that steps write along each axis; None where two steps may write one
    element."""
    box: dict[int, tuple[int, int]] = {}
    indices = write.operands[2:]
    apart = False
    for axis, index in zip(indexed_axes(len(indices), write.attrs["axes"]), indices, strict=True):
        form = forms.of(index) if not index.shape else None
        bounds = form.bounds((), length) if form is not None else None
        if form is None or bounds is None or not 0 <= bounds[0] <= bounds[1] < write.operands[0].shape[axis]:
            return None
        apart |= form.step != 0
        box[axis] = bounds
    return box if apart else None


def _lies_apart(read: Instruction, box: Mapping[int, tuple[int, int]]) -> bool:
    """Whether a slice has nothing of `box`."""
    for axis, (first, last) in box.items():
        start, size, step = (read.attrs[name][axis] for name in ("start", "size", "step"))
        ends = sorted((start, start + step * (size - 1)))
        if not size or ends[1] < first or ends[0] > last:
            return True
    return False
