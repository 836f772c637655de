"""Searches, counts and writes at places, of values that repeat others."""

from __future__ import annotations

import math

from ....graph import Instruction, Value
from ....registry import OPS
from .. import LARGE
from .pieces import scatter_of_slices, sum_of_weights
from .repeated_axes import Line, cut_by
from .repeated_values import RepeatedValues


def search(repeats: RepeatedValues, instruction: Instruction) -> Value | None:
    """A search for values that are repeated, each once."""
    among, values = instruction.operands
    line = repeats.lines.get(values)
    if line is None:
        return _search_among(repeats, instruction, repeats.lines[among], values)
    found = repeats.emit(instruction.op, (among, line.value), instruction.attrs)
    return repeats.whole(found, line.fine, values.shape)


def _search_among(
    repeats: RepeatedValues, instruction: Instruction, line: Line, values: Value
) -> Value | None:
    """A search among elements each of which is repeated, and so among the elements."""
    cut = cut_by(line, line.shape)
    if cut is None or len(cut.fine) > 2 or cut.sizes[-1] != 1:
        return None
    copies, count = cut.fine[-1], math.prod(cut.fine[:-1])
    few = repeats.reshaped(line.value, (count,))
    (found,) = repeats.b.append(instruction.op, (few, values), instruction.attrs)
    return repeats.times(found, copies)


def histogram(repeats: RepeatedValues, instruction: Instruction) -> Value | None:
    """Counts, or sums of weights: what is repeated once, with the sums of the weights of all copies."""
    b, (places, *weights) = repeats.b, instruction.operands
    line = repeats.lines.get(places)
    if line is None:
        return sum_of_weights(repeats.b, instruction, repeats.lines[weights[0]])
    copies = math.prod(size for size, own in zip(line.fine, line.repeated, strict=True) if own)
    flat = (places.type.size // copies,)
    few = repeats.reshaped(line.value, flat)
    if not weights:
        (counts,) = b.append(instruction.op, (few,), instruction.attrs)
        return repeats.times(counts, copies)
    axes = tuple([axis for axis, own in enumerate(line.repeated) if own])
    total = repeats.emit(OPS["sum"], (repeats.reshaped(weights[0], line.fine),), {"axes": axes})
    (sums,) = b.append(instruction.op, (few, repeats.reshaped(total, flat)), instruction.attrs)
    return sums


def scatter(repeats: RepeatedValues, instruction: Instruction) -> Value | None:
    """Writes of repeated slices, some slices at a time."""
    _, value, *indices = instruction.operands
    line, rank = repeats.lines.get(value), len(indices[0].shape)
    if line is None or value.type.size < LARGE:
        return None
    cut = cut_by(line, (indices[0].type.size, *value.shape[rank:]))
    return scatter_of_slices(repeats.b, instruction, repeats.cut(line, cut)) if cut is not None else None
