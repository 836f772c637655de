"""Batching: a Function of one example to a Function of many, by the batching rules of the op records.

A value is *mapped* where it differs between examples: it then has a batch axis, always in front. What is not
mapped is computed once. An instruction with a mapped operand is rewritten by the `batch` rule of its op's
record or, where that has none, by the default of its kind:

    batch(b, instruction, operands, mapped, size) -> results

`operands` are the new values of the instruction's operands, of which those that `mapped` says have a batch
axis of `size`; every result must have one. No rule falls back to a loop over the examples: an op without one
is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...base.errors import TraceError
from ..builder import Builder
from ..dtypes import INT64
from ..graph import Function, Instruction, Value
from ..registry import OPS, Attrs, Kind
from ..types import Shape

#: ``rule(b, instruction, operands, mapped, size) -> results``; see the module's docstring.
BatchRule: TypeAlias = Callable[[Builder, Instruction, Sequence[Value], Sequence[bool], int], Sequence[Value]]


def batch(function: Function, mapped: Sequence[bool], size: int) -> tuple[Function, tuple[bool, ...]]:
    """`function` of `size` examples at once, and which of its results have a batch axis.

    The parameters in `mapped` get a batch axis in front, the others stay what they are.

    Example:
        >>> import tracejit as tj
        >>> function = tj.trace(lambda x, y: (x * y, y), tj.ones(3), tj.ones(3))
        >>> batched, mapped = batch(function, (True, False), 8)
        >>> [str(one.type) for one in batched.results], mapped
        (['f64[8,3]', 'f64[3]'], (True, False))

    Raises TraceError for an op that has no batching rule.
    """
    b = Builder()
    params = [
        b.parameter(param.type.with_shape((size, *param.shape)) if many else param.type, param.hint)
        for param, many in zip(function.params, mapped, strict=True)
    ]
    results, flags = inline_batched(b, function, params, mapped, size)
    return b.finish(f"{function.name}_batched", results), flags


def batch_region(
    function: Function, mapped: Sequence[bool], size: int, batched: Sequence[bool] | None = None
) -> Function:
    """Batch `function` as `batch` does, with batch axes only for the results in `batched` (default: all).

    What is mapped and not batched is summed over the examples: the cotangent of what they share.
    """
    inner, flags = batch(function, mapped, size)
    b = Builder()
    b.params, b.body = list(inner.params), list(inner.body)
    results = []
    for position, (value, many) in enumerate(zip(inner.results, flags, strict=True)):
        want = batched is None or batched[position]
        if want:
            value = value if many else spread(b, value, size)
        elif many:
            value = b.sum(value, axes=(0,))
        results.append(value)
    return b.finish(inner.name, results)


def inline_batched(
    b: Builder, function: Function, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> tuple[list[Value], tuple[bool, ...]]:
    """Append the body of `function` to `b` on `operands`, batched; its results, and which are mapped."""
    values = dict(zip(function.params, operands, strict=True))
    many = {param for param, flag in zip(function.params, mapped, strict=True) if flag}
    for instruction in function.body:
        b.location = instruction.location
        arguments = [values[operand] for operand in instruction.operands]
        flags = [operand in many for operand in instruction.operands]
        if any(flags):
            outputs = rule_of(instruction)(b, instruction, arguments, flags, size)
            many.update(instruction.results)
        else:
            outputs = b.append(
                instruction.op, tuple(arguments), instruction.attrs, regions=instruction.regions
            )
        values.update(zip(instruction.results, outputs, strict=True))
    return [values[result] for result in function.results], tuple(
        [result in many for result in function.results]
    )


def mapped_results(function: Function, mapped: Sequence[bool]) -> list[bool]:
    """Whether each result of `function` differs between examples when the parameters in `mapped` do."""
    many = {param for param, flag in zip(function.params, mapped, strict=True) if flag}
    for instruction in function.body:
        if any(operand in many for operand in instruction.operands):
            many.update(instruction.results)
    return [result in many for result in function.results]


def rule_of(instruction: Instruction) -> BatchRule:
    """The batching rule of the instruction's op: its own, or its kind's. Raises TraceError without one."""
    op = instruction.op
    rule = op.batch or _BY_KIND.get(op.kind)
    if rule is None:
        where = f", at {instruction.location}" if instruction.location else ""
        raise TraceError(
            f"vmap: {op.name} (of kind {op.kind.value}) has no batching rule{where}; map over its operands "
            "with a Python loop outside of vmap, or give the op's record a `batch` rule"
        )
    return rule


# -- what rules are made of -----------------------------------------------------------------------


def spread(b: Builder, value: Value, size: int) -> Value:
    """`value`, the same for all examples, with a batch axis."""
    return b.broadcast_to(value, (size, *value.shape))


def all_mapped(b: Builder, operands: Sequence[Value], mapped: Sequence[bool], size: int) -> list[Value]:
    """`operands`, each with a batch axis."""
    return [
        operand if many else spread(b, operand, size) for operand, many in zip(operands, mapped, strict=True)
    ]


def shifted(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """`axes` of an array of `rank` as axes of the array with a batch axis in front."""
    return tuple([axis % rank + 1 for axis in axes])


def batch_pointwise(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The rule of ops to which a leading axis makes no difference: elementwise ones above all."""
    return b.append(instruction.op, tuple(all_mapped(b, operands, mapped, size)), instruction.attrs)


def batch_shaped(shape: str) -> BatchRule:
    """The rule of an op that is the same on leading axes, but for its attribute `shape`."""

    def rule(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
        attrs = {**instruction.attrs, shape: (size, *instruction.attrs[shape])}
        return b.append(instruction.op, tuple(operands), attrs)

    return rule


def batch_sliced(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The rule of ops with a start, a step and perhaps a size for each axis: all of the batch axis."""
    whole = {"start": 0, "size": size, "step": 1}
    attrs = {name: (whole[name], *value) for name, value in instruction.attrs.items()}
    return b.append(instruction.op, tuple(all_mapped(b, operands, mapped, size)), attrs)


def batch_axes(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The rule of ops that work along their attribute `axis` or `axes`."""
    rank = len(instruction.operands[0].shape)
    attrs = dict(instruction.attrs)
    if "axes" in attrs:
        attrs["axes"] = shifted(attrs["axes"], rank)
    if "axis" in attrs:
        (attrs["axis"],) = shifted((attrs["axis"],), rank)
    return b.append(instruction.op, tuple(all_mapped(b, operands, mapped, size)), attrs)


def batch_each(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The rule of ops that know one example alone, such as a user's kernel: a scan over the examples."""
    body = Builder()
    body.location = instruction.location
    place = {}
    for many in (False, True):  # a scan takes what all steps share first
        for position, operand in enumerate(instruction.operands):
            if mapped[position] is many:
                place[position] = body.parameter(operand.type, f"x{position}")
    inner = tuple([place[position] for position in range(len(operands))])
    results = body.append(instruction.op, inner, instruction.attrs)
    region = body.finish(f"each_{instruction.op.name}", results)
    outer = tuple([operands[position] for position in place])
    attrs = {"carries": 0, "slices": sum(mapped), "length": size, "reverse": False}
    return b.append(OPS["scan"], outer, attrs, regions=(region,))


# -- products, gathers and scatters ---------------------------------------------------------------


def _positions(b: Any, shape: Shape) -> Value:
    """The number of the example everywhere, for indices of `shape`, whose first axis numbers examples."""
    result: Value = b.iota(shape=shape, axis=0, dtype=INT64)
    return result


def batch_gather(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The rule of gathers: the number of the example is one more index into what differs between examples."""
    x, *indices = operands
    indices, attrs = all_mapped(b, indices, mapped[1:], size), instruction.attrs
    if mapped[0]:
        indices, attrs = [_positions(b, indices[0].shape), *indices], _behind_examples(attrs)
    return b.append(instruction.op, (x, *indices), attrs)


def batch_scatter(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The rule of scatters: the number of the example is one more index."""
    # row-major order of the indices is the order of the writes, so that the last one of each example stays
    x, v, *indices = all_mapped(b, operands, mapped, size)
    places = [_positions(b, indices[0].shape), *indices]
    return b.append(instruction.op, (x, v, *places), _behind_examples(instruction.attrs))


def _behind_examples(attrs: Attrs) -> Attrs:
    """The attributes of an indexed op whose first index is the number of the example."""
    axes = attrs["axes"]
    return {**attrs, "axes": (0, *[axis + 1 for axis in axes])} if axes else attrs


def batch_matmul(
    b: Any, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """A matrix that all examples share takes part in one product with all of them, not in one with each."""
    x, y = operands
    op, attrs = instruction.op, instruction.attrs
    *stacked, m, k = instruction.operands[0].shape
    n = instruction.operands[1].shape[-1]
    if not mapped[1] and not stacked:  # (size m, k) (k, n)
        (product,) = b.append(op, (b.reshape(x, shape=(size * m, k)), y), attrs)
        return [b.reshape(product, shape=(size, m, n))]
    if mapped[0] or stacked or n > m:
        x, y = all_mapped(b, operands, mapped, size)
        return b.append(op, (x, y), attrs)  # type: ignore[no-any-return]
    # (size n, k) (k, m), the transpose of what is asked for; it costs little where n is small: matrix times
    # vector above all
    rows = b.reshape(b.transpose(y, perm=(0, 2, 1)), shape=(size * n, k))
    (product,) = b.append(op, (rows, b.transpose(x, perm=(1, 0))), attrs)
    return [b.transpose(b.reshape(product, shape=(size, n, m)), perm=(0, 2, 1))]


# -- the defaults of the kinds --------------------------------------------------------------------


def _batch_composite(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The ops it stands for, batched."""
    op = instruction.op
    assert op.decompose is not None
    inner = Builder()
    params = [inner.parameter(operand.type) for operand in instruction.operands]
    outputs = op.decompose(inner, *params, **instruction.attrs)
    function = inner.finish(op.name, outputs if isinstance(outputs, tuple) else [outputs])
    results, flags = inline_batched(b, function, operands, mapped, size)
    return all_mapped(b, results, flags, size)


#: Default rules by kind. Views and ops with kernels of their own state their rules; ops that run on the host
#: or own regions must; creations have no operands, and so are never mapped.
_BY_KIND: Final[Mapping[Kind, BatchRule]] = {
    Kind.ELEMENTWISE: batch_pointwise,
    Kind.REDUCTION: batch_axes,
    Kind.CONCAT: batch_axes,
    Kind.UPDATE: batch_sliced,
    Kind.COMPOSITE: _batch_composite,
}
