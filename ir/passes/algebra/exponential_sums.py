"""Sums of exponentials along rows that leave the caches are summed by parts, each with its own maximum.

    m = max(x)    p = exp(x - m)    s = sum(p)    p / s

reads a row three times, each time from memory where it is longer than the second cache. With x cut into parts
z, and each part's maximum taken,

    e = exp(z - max(z))    c = exp(max(z) - m)    p = e c    s = sum(sum(e) c)    p / s = e (c / s)

reads it once for maxima, exponentials and their sums, as a part stays in the first cache, and scales it then
(Milakov and Gimelshein 2018). Parts' maxima are held within finite numbers: a part of -inf gives zeros. Where
all that is made of the maximum is the sum and quotients by it, NaN may be no maximum, which a third of the
operations finds: its exponential makes the sum NaN.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ....base.machine import machine
from ....base.records import record
from ...access import resolve
from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...registry import Kind
from ..rewriting import Definitions, Rule, constant_of, defined_by, rewrite
from .cleanup import dce

_OPS: Final = {"max", "sub", "exp", "sum"}


@record
class _Sum:
    """sum(exp(x - shift)) along rows, where the shift is the maximum of each, or that held within numbers."""

    largest: Value
    power: Value
    total: Value


@record
class _Product:
    """A large value as a number for each element of its parts times a factor for each part."""

    elements: Value
    factors: Value

    def value(self, b: Builder, like: Value) -> Value:
        factors = b.reshape(self.factors, shape=(*self.factors.shape, 1))
        product = b.mul(self.elements, b.broadcast(factors, shape=self.elements.shape))
        whole: Value = b.reshape(product, shape=like.shape)
        return whole


def split_exponential_sums(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: exponentials of long rows less their maxima, of which the sum is
    taken, are computed by parts; no dead code where it changed anything."""
    if not {op.name for op in function.ops} >= _OPS:
        return function
    defs = {result: instruction for instruction in function.body for result in instruction.results}
    sums = [_sum_of(instruction, defs) for instruction in function.body if instruction.op.name == "sum"]
    matches = [match for match in sums if match is not None]
    if not matches:
        return function
    readers = _readers(function)
    normalized = {match.largest for match in matches if _is_normalized(match, readers, defs)}
    return dce(rewrite(function, _rules(matches, normalized)))


def _rules(matches: list[_Sum], normalized: set[Value]) -> dict[str, tuple[Rule, ...]]:
    rows, powers = {match.largest for match in matches}, {match.power: match.largest for match in matches}
    #: Rows cut into parts, and the maximum of each part, by the maxima of rows.
    cut: dict[Value, tuple[Value, Value]] = {}
    products: dict[Value, _Product] = {}

    def maximum(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        if instruction.result not in rows:
            return None
        x = instruction.operands[0]
        size = x.shape[-1] // part_size(x)
        z = b.reshape(x, shape=(*x.shape[:-1], size, x.shape[-1] // size))
        fold = b.nanmax if instruction.result in normalized else b.max
        largest = fold(z, axes=(len(x.shape),))
        cut[instruction.result] = z, largest
        whole: Value = fold(largest, axes=(len(x.shape) - 1,))
        return whole

    def power(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        if instruction.result not in powers:
            return None
        z, largest = cut[powers[instruction.result]]
        limits = np.finfo(largest.dtype)
        bounds = [
            b.full(value=float(limit), shape=largest.shape, dtype=largest.dtype)
            for limit in (limits.min, limits.max)
        ]
        own = b.clip(largest, *bounds)
        along = b.broadcast(b.reshape(own, shape=(*own.shape, 1)), shape=z.shape)
        shift = _row_value(defs[instruction.operands[0]].operands[1], defs)
        assert shift is not None
        product = _Product(b.exp(b.sub(z, along)), b.exp(b.sub(own, _for_parts(b, shift, own))))
        value = product.value(b, instruction.result)
        products[value] = product
        return value

    def total(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        product = products.get(instruction.operands[0])
        x = instruction.operands[0]
        if product is None or instruction.attrs["axes"] != (len(x.shape) - 1,):
            return None
        by_part = b.mul(b.sum(product.elements, axes=(len(x.shape),)), product.factors)
        value: Value = b.sum(by_part, axes=(len(x.shape) - 1,))
        return value

    def quotient(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        product = products.get(instruction.operands[0])
        divisor = _row_value(instruction.operands[1], defs)
        if product is None or divisor is None:
            return None
        factors = b.div(product.factors, _for_parts(b, divisor, product.factors))
        return _Product(product.elements, factors).value(b, instruction.result)

    return {"max": (maximum,), "exp": (power,), "sum": (total,), "div": (quotient,)}


def _sum_of(total: Instruction, defs: Definitions) -> _Sum | None:
    """Match `total` as a sum of exponentials of long rows less their maxima."""
    power = defined_by(total.operands[0], "exp", defs)
    difference = defined_by(power.operands[0], "sub", defs) if power is not None else None
    if power is None or difference is None or total.attrs["axes"] != (len(power.result.shape) - 1,):
        return None
    x, shift = difference.operands
    row = _row_value(shift, defs)
    if row is None or not part_size(x):
        return None
    source, _ = resolve(row, defs)
    held = defined_by(source, "clip", defs)
    if held is not None and constant_of(held.operands[2], defs) == float(np.finfo(x.dtype).max):
        source, _ = resolve(held.operands[0], defs)
    largest = defined_by(source, "max", defs)
    if largest is None or largest.operands[0] is not x or largest.attrs["axes"] != total.attrs["axes"]:
        return None
    return _Sum(largest.result, power.result, total.result)


def _readers(function: Function) -> dict[Value, list[Instruction | None]]:
    """The instructions that read each value, and None for the caller, who reads results."""
    readers: dict[Value, list[Instruction | None]] = {value: [None] for value in function.results}
    for instruction in function.body:
        for operand in instruction.operands:
            readers.setdefault(operand, []).append(instruction)
    return readers


def _is_normalized(match: _Sum, readers: dict[Value, list[Instruction | None]], defs: Definitions) -> bool:
    """Whether the maximum is read for the exponentials alone, and these for their sum and quotients by it."""
    values = [match.largest]
    for value in values:
        for reader in readers.get(value, ()):
            if reader is None:
                return False
            if reader.op.kind is Kind.VIEW or reader.op.name == "clip":
                values.append(reader.result)
            elif reader.op.name != "sub" or readers.get(reader.result) != [defs[match.power]]:
                return False
    return all(
        reader is not None and (reader.results == (match.total,) or _is_quotient(reader, match, defs))
        for reader in readers[match.power]
    )


def _is_quotient(instruction: Instruction, match: _Sum, defs: Definitions) -> bool:
    """Whether it divides the exponentials by their sum."""
    divisor = _row_value(instruction.operands[1], defs) if instruction.op.name == "div" else None
    return divisor is not None and resolve(divisor, defs)[0] is match.total


def part_size(x: Value) -> int:
    """Number of elements in a part of the rows of `x`: a quarter of the first cache at most, so that it holds
    a part, its exponentials and what is read next. 0 where rows stay in the second cache beside their
    exponentials, or cannot be cut into whole lines."""
    size = x.shape[-1] if x.shape else 0
    if x.dtype.kind != "f" or 2 * size * x.dtype.itemsize <= machine().l2_bytes:
        return 0
    line = machine().line_bytes // x.dtype.itemsize
    most = machine().l1_bytes // (4 * x.dtype.itemsize)
    sizes = [count for count in range(most // 8, most + 1) if size % count == count % line == 0]
    # whole groups of four vectors leave no rest
    return max(sizes, key=lambda count: (count % (4 * line) == 0, count), default=0)


def _row_value(value: Value, defs: Definitions) -> Value | None:
    """The source of a broadcast along rows, with one element for each row, or None if `value` is none."""
    instruction = defined_by(value, "broadcast", defs)
    source = instruction.operands[0] if instruction is not None else None
    return source if source is not None and math.prod(source.shape[-1:]) == 1 else None


def _for_parts(b: Builder, row_value: Value, like: Value) -> Value:
    """A value for each row as one for each part, in the shape of `like`."""
    whole: Value = b.broadcast(row_value, shape=like.shape)
    return whole
