"""Reverse mode of ``while``.

It is one op, ``while_vjp``, of what the loop was given, of the cotangents of its last carries, and of what
the cotangents of its invariants are added to. It stands for a ``rewind``: the loop runs again, keeping each
step's carries on a stack, and then a step's gradient runs from the last step to the first. The stack belongs
to that one op, so that it needs no type, and no other op sees it. docs/decisions/0005-gradients-of-while.md
says why. Where steps write arrays, the pass ``tape-loops`` makes loops with tapes of it instead.

``U(x, ct) = ct @ J(x)`` is differentiated by ``U(x, ct) @ u = ct @ J(x) @ u``, where ``J(x) @ u`` is a loop
that carries tangents along. So the rule of ``while_vjp`` is made of a ``while`` (by `ct`) and a ``while_vjp``
(by `x`), and gradients of all orders follow. Forward mode, the vjp of the vjp, is that ``while`` alone: no
stack. What the cotangents of invariants are added to is handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.errors import AttributeValueError, ShapeError
from ...builder import Builder, inline
from ...dataflow import without_effects
from ...dtypes import BOOL, is_differentiable
from ...graph import Function, Instruction, Value
from ...registry import NONDIFF, OPS, Attrs, Kind, Regions, Strength
from ...transforms.differentiation import split_pullback, strength_around, zeros_of
from ...transforms.forward import push_forward
from ...types import TensorType, Types
from ..define import check_parameters, define_with_regions, region_count
from .batching import batch_while_vjp
from .gradients import with_sums


def _floating(values: Sequence[Any]) -> list[int]:
    return [i for i, value in enumerate(values) if is_differentiable(value.dtype)]


def _zeros(b: Builder, like: Any) -> Value:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)  # type: ignore[no-any-return]


def _check_loop(name: str, types: Types, carries: int, regions: tuple[Any, ...]) -> None:
    """Raise unless a condition and a body fit the carries and invariants `types`."""
    condition, body = regions
    check_parameters(name, "the condition", condition, types)
    check_parameters(name, "the body", body, types)
    if tuple(result.type for result in condition.results) != (TensorType(BOOL, ()),):
        listed = ", ".join(str(result.type) for result in condition.results)
        raise ShapeError(f"{name}: the condition must return bool[], got ({listed})")
    results = tuple(result.type for result in body.results)
    if results != types[:carries]:
        raise ShapeError(
            f"{name}: the body must return the carries with their initial types, "
            f"({', '.join(map(str, types[:carries]))}), got ({', '.join(map(str, results))})"
        )


def pull_while(b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> list[Value | None]:
    """A ``while_vjp`` of the same loop."""
    count, operands = instruction.attrs["carries"], instruction.operands
    regions = tuple([without_effects(region) for region in instruction.regions])
    seeds = [cotangents[i] or _zeros(b, operands[i]) for i in _floating(operands[:count])]
    attrs = {"carries": count, "strength": int(strength_around())}
    gradients = _vjp(b, operands, seeds, attrs, regions)
    by_operand: list[Value | None] = [None] * len(operands)
    for position, gradient in zip(_floating(operands), gradients, strict=True):
        by_operand[position] = gradient
    return by_operand


def _vjp(
    b: Builder,
    operands: Sequence[Value],
    seeds: Sequence[Value],
    attrs: Attrs,
    regions: tuple[Function, ...],
) -> tuple[Value, ...]:
    """The cotangents of the floating `operands` of a loop whose last carries have the cotangents `seeds`."""
    count = attrs["carries"]
    zeros = [_zeros(b, operands[i]) for i in _floating(operands) if i >= count]
    return b.append(OPS["while_vjp"], (*operands, *seeds, *zeros), attrs, regions=regions)


def own_operands(types: Sequence[Any], carries: int) -> int:
    """The number of operands of a ``while_vjp`` that are the loop's own. Raises AttributeValueError."""
    own = len(types)
    while own + len(_floating(types[:own])) > len(types):
        own -= 1
    if not 0 <= carries <= own or own + len(_floating(types[:own])) != len(types):
        raise AttributeValueError(f"while_vjp: carries={carries} does not fit {len(types)} operands")
    return own


def _vjp_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("while_vjp", regions, 2)
    count = attrs["carries"]
    own = own_operands(types, count)
    _check_loop("while_vjp", types[:own], count, regions)
    expected = tuple([types[i] for i in _floating(types[:own])])
    if types[own:] != expected:
        raise ShapeError(
            f"while_vjp: the last operands must be cotangents of the floating carries and invariants, "
            f"({', '.join(map(str, expected))}), got ({', '.join(map(str, types[own:]))})"
        )
    return expected


def _step_back(body: Function, count: int, strength: int) -> Function:
    """``(*carries, *invariants, *cotangents of carries, *sums for invariants) -> the last two, a step
    earlier``."""
    wrt = _floating(body.params)
    carries = [i for i in wrt if i < count]
    invariants = wrt[len(carries) :]
    with zeros_of(Strength(strength)):
        split = split_pullback(body, wrt, carries)
    b = Builder()
    params = [b.parameter(param.type, param.hint) for param in body.params]
    cotangents = [b.parameter(params[i].type, f"ct_{params[i].hint or i}") for i in carries]
    sums = [b.parameter(params[i].type, f"sum_{params[i].hint or i}") for i in invariants]
    residuals = inline(b, split.forward, params)[split.outputs :]
    gradients = inline(b, split.backward, [*residuals, *cotangents])
    b.location = None
    return b.finish(f"{body.name}_backward", with_sums(b, gradients, sums, len(carries)))


def rewound(b: Builder, regions: tuple[Any, ...], operands: Sequence[Value], attrs: Attrs) -> Any:
    """The ``rewind`` that a ``while_vjp`` stands for."""
    count = attrs["carries"]
    own = own_operands(operands, count)
    backward = _step_back(regions[1], count, attrs["strength"])
    attrs = {"carries": count, "states": len(operands) - own}
    return b.append(OPS["rewind"], tuple(operands), attrs, regions=(*regions, backward))


def _run_vjp(call: Any, regions: tuple[Any, ...], operands: list[Any], attrs: Attrs) -> Any:
    b = Builder()
    params = [b.parameter(TensorType(operand.dtype, operand.shape)) for operand in operands]
    results = rewound(b, regions, params, attrs)
    return call(b.finish("rewound", results), operands)


def _pull_vjp(b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> list[Value | None]:
    """Differentiate ``while_vjp``. With `cotangents` as tangents u: the gradient by the loop's operands is a
    ``while_vjp`` of the loop that carries tangents along u; the gradient by the cotangents is the final
    tangents of that loop. What invariants' cotangents are added to has those of the results."""
    operands, count = instruction.operands, instruction.attrs["carries"]
    condition, body = instruction.regions
    own = own_operands(operands, count)
    wrt = _floating(operands[:own])
    carried = [i for i in wrt if i < count]
    # invariants without a tangent have none in the loop either
    floating = {
        i: cotangent
        for i, cotangent in zip(wrt, cotangents, strict=True)
        if cotangent is not None or i < count
    }
    tangents = [value or _zeros(b, operands[i]) for i, value in floating.items()]
    pushed = _with_tangents(body, count, list(floating), carried)
    test = _widened(condition, pushed.params, count, len(carried))
    first, middle = operands[:count], len(carried)
    loop = (*first, *tangents[:middle], *operands[count:own], *tangents[middle:])
    attrs = {"carries": count + middle}
    ends = b.append(OPS["while"], loop, attrs, regions=(test, pushed))
    zeros = [_zeros(b, operands[i]) for i in carried]
    seeds = (*zeros, *operands[own : own + middle])  # of the carries themselves, and of their tangents
    attrs = {**attrs, "strength": instruction.attrs["strength"]}
    slopes = _vjp(b, loop, seeds, attrs, (test, pushed))
    by_place = dict(zip(_floating(loop), slopes, strict=True))
    by_operand: list[Value | None] = [None] * len(operands)
    for i in wrt:
        by_operand[i] = by_place[i if i < count else i + middle]
    by_operand[own:] = (*ends[count:], *cotangents[middle:])
    return by_operand


def _with_tangents(body: Function, count: int, wrt: list[int], carried: list[int]) -> Function:
    """A step of ``(*carries, *their tangents, *invariants, *their tangents)``."""
    pushed = push_forward(body, wrt, carried)
    params, tangents = pushed.params[: len(body.params)], pushed.params[len(body.params) :]
    middle = len(carried)
    order = (*params[:count], *tangents[:middle], *params[count:], *tangents[middle:])
    return Function(pushed.name, order, pushed.body, pushed.results)


def _widened(condition: Function, like: Sequence[Value], count: int, tangents: int) -> Function:
    """`condition` with the parameters of a loop that carries tangents, too."""
    params = [Value(value.type, value.hint) for value in like]
    params[:count] = condition.params[:count]
    invariants = condition.params[count:]
    start = count + tangents
    params[start : start + len(invariants)] = invariants
    return Function(condition.name, tuple(params), condition.body, condition.results)


WHILE_VJP = define_with_regions(
    "while_vjp", Kind.REGION, "*operands", vjp=NONDIFF, attrs={"carries": (int,), "strength": (int,)},
    batch=batch_while_vjp,
    doc="the cotangents of the floating operands of a ``while`` with these regions; behind its operands come "
    "the cotangents of its floating carries, and what those of its floating invariants are added to. "
    "`strength` is that of the zeros in the carries' cotangents: see `kinds.Strength`",
    regions=Regions(types=_vjp_types, run=_run_vjp, pull=_pull_vjp, expand=rewound),
)  # fmt: skip


def _rewind_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("rewind", regions, 3)
    count, states = attrs["carries"], attrs["states"]
    if min(count, states) < 0 or count + states > len(types):
        raise AttributeValueError(
            f"rewind: carries={count}, states={states} do not fit {len(types)} operands"
        )
    own = len(types) - states
    _check_loop("rewind", types[:own], count, regions[:2])
    check_parameters("rewind", "the backward step", regions[2], types)
    results = tuple(result.type for result in regions[2].results)
    if results != types[own:]:
        raise ShapeError(
            f"rewind: the backward step must return the states with their initial types, "
            f"({', '.join(map(str, types[own:]))}), got ({', '.join(map(str, results))})"
        )
    return types[own:]


def _run_rewind(call: Any, regions: tuple[Any, ...], operands: list[Any], attrs: Attrs) -> Any:
    condition, body, backward = regions
    count, own = attrs["carries"], len(operands) - attrs["states"]
    carries, invariants, states = operands[:count], operands[count:own], operands[own:]
    kept = []
    while call(condition, [*carries, *invariants])[0]:
        kept.append(carries)
        carries = call(body, [*carries, *invariants])
    for carries in reversed(kept):
        states = call(backward, [*carries, *invariants, *states])
    return states


def _no_batch(b: Any, instruction: Instruction, operands: Any, mapped: Any, size: int) -> Any:
    raise AttributeValueError("rewind: what is batched or differentiated is while_vjp, which it is made of")


REWIND = define_with_regions(
    "rewind", Kind.REWIND, "*operands", vjp=NONDIFF, attrs={"carries": (int,), "states": (int,)},
    batch=_no_batch,
    doc="a ``while`` of its first two regions that keeps what each step was given; then, from the last step "
    "to the first, the last `states` operands replaced by the third region's results on the step's carries, "
    "the invariants and the states",
    regions=Regions(types=_rewind_types, run=_run_rewind),
)  # fmt: skip
