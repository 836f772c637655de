"""Control flow ops, which choose among regions or repeat them, with the gradients of ``while``.

Operands of a loop come in this order: *carries*, which each step gets from the step before, *invariants*, the
same for all steps, and for ``scan`` *slices*, of which step i gets the i-th along the leading axis. A
region has a parameter for each of them. Their gradients are in `gradients` and here.

Reverse mode of ``while`` is one op, ``while_vjp``, of what the loop was given and of the cotangents of its
last carries. It stands for a ``rewind``: the loop runs again, keeping each step's carries on a stack, and
then a step's gradient runs from the last step to the first. The stack belongs to that one op, so that it
needs no type, and no other op sees it. docs/decisions/0005-gradients-of-while.md says why.

``U(x, ct) = ct @ J(x)`` is differentiated by ``U(x, ct) @ u = ct @ J(x) @ u``, where ``J(x) @ u`` is a loop
that carries tangents along. So the rule of ``while_vjp`` is made of a ``while`` (by `ct`) and a ``while_vjp``
(by `x`), and gradients of all orders follow. Forward mode, the vjp of the vjp, is that ``while`` alone: no
stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import Builder, inline
from ...dataflow import without_effects
from ...dtypes import BOOL, INT64, is_differentiable
from ...errors import AttributeValueError, DTypeError, ShapeError
from ...graph import Function, Instruction, Value
from ...registry import NONDIFF, OPS, Attrs, Kind, Regions
from ...transforms.differentiation import push_forward, split_pullback
from ...types import TensorType
from ..define import check_parameters, define_with_regions, region_count
from .batching import batch_scan, batch_switch, batch_while, batch_while_vjp
from .gradients import accumulated, pull_scan, pull_switch


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


# -- while_vjp ------------------------------------------------------------------------------------


def pull_while(b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> list[Value | None]:
    """A ``while_vjp`` of the same loop."""
    count, operands = instruction.attrs["carries"], instruction.operands
    regions = tuple([without_effects(region) for region in instruction.regions])
    seeds = [cotangents[i] or _zeros(b, operands[i]) for i in _floating(operands[:count])]
    gradients = b.append(OPS["while_vjp"], (*operands, *seeds), {"carries": count}, regions=regions)
    by_operand: list[Value | None] = [None] * len(operands)
    for position, gradient in zip(_floating(operands), gradients, strict=True):
        by_operand[position] = gradient
    return by_operand


def _parted(types: Sequence[Any], carries: int) -> int:
    """Number of a ``while_vjp``'s operands that are the loop's own. Raises AttributeValueError."""
    own = len(types) - len(_floating(types[:carries]))
    if not 0 <= carries <= own:
        raise AttributeValueError(f"while_vjp: carries={carries} does not fit {len(types)} operands")
    return own


def _vjp_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("while_vjp", regions, 2)
    count = attrs["carries"]
    own = _parted(types, count)
    _check_loop("while_vjp", types[:own], count, regions)
    expected = tuple([types[i] for i in _floating(types[:count])])
    if types[own:] != expected:
        raise ShapeError(
            f"while_vjp: the last operands must be cotangents of the floating carries, "
            f"({', '.join(map(str, expected))}), got ({', '.join(map(str, types[own:]))})"
        )
    return tuple([types[i] for i in _floating(types[:own])])


def _step_back(body: Function, count: int) -> Function:
    """``(*carries, *invariants, *cotangents of carries, *sums for invariants) -> the last two, a step
    earlier``."""
    wrt = _floating(body.params)
    carries = [i for i in wrt if i < count]
    invariants = wrt[len(carries) :]
    split = split_pullback(body, wrt, carries)
    b = Builder()
    params = [b.parameter(param.type, param.hint) for param in body.params]
    cotangents = [b.parameter(params[i].type, f"ct_{params[i].hint or i}") for i in carries]
    sums = [b.parameter(params[i].type, f"sum_{params[i].hint or i}") for i in invariants]
    residuals = inline(b, split.forward, params)[split.outputs :]
    gradients = inline(b, split.backward, [*residuals, *cotangents])
    b.location = None
    defs = {result: instruction for instruction in b.body for result in instruction.results}
    parts = gradients[len(carries) :]
    added = [accumulated(b, total, part, defs) for total, part in zip(sums, parts, strict=True)]
    return b.finish(f"{body.name}_backward", [*gradients[: len(carries)], *added])


def _rewound(b: Builder, regions: tuple[Any, ...], operands: Sequence[Value], attrs: Attrs) -> Any:
    """The ``rewind`` that a ``while_vjp`` stands for."""
    count = attrs["carries"]
    own = _parted(operands, count)
    start = [_zeros(b, operands[i]) for i in _floating(operands[:own]) if i >= count]
    attrs = {"carries": count, "states": len(operands) - own + len(start)}
    backward = _step_back(regions[1], count)
    return b.append(OPS["rewind"], (*operands, *start), attrs, regions=(*regions, backward))


def _run_vjp(call: Any, regions: tuple[Any, ...], operands: list[Any], attrs: Attrs) -> Any:
    b = Builder()
    params = [b.parameter(TensorType(operand.dtype, operand.shape)) for operand in operands]
    results = _rewound(b, regions, params, attrs)
    return call(b.finish("rewound", results), operands)


def _pull_vjp(b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> list[Value | None]:
    """Differentiate ``while_vjp``. With `cotangents` as tangents u: the gradient by the loop's operands is a
    ``while_vjp`` of the loop that carries tangents along u; the gradient by the cotangents is the final
    tangents of that loop."""
    operands, count = instruction.operands, instruction.attrs["carries"]
    condition, body = instruction.regions
    own = _parted(operands, count)
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
    seeds = (*zeros, *operands[own:])  # of the carries themselves, and of their tangents
    slopes = b.append(OPS["while_vjp"], (*loop, *seeds), attrs, regions=(test, pushed))
    by_place = dict(zip(_floating(loop), slopes, strict=True))
    by_operand: list[Value | None] = [None] * len(operands)
    for i in wrt:
        by_operand[i] = by_place[i if i < count else i + middle]
    by_operand[own:] = ends[count:]
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
    "while_vjp", Kind.REGION, "*operands", vjp=NONDIFF, attrs={"carries": (int,)}, batch=batch_while_vjp,
    doc="the cotangents of the floating operands of a ``while`` with these regions; behind its operands come "
    "the cotangents of its floating carries",
    regions=Regions(types=_vjp_types, run=_run_vjp, pull=_pull_vjp, expand=_rewound),
)  # fmt: skip


# -- rewind ---------------------------------------------------------------------------------------


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


Types = tuple[TensorType, ...]


def _types_of(values: Any) -> Types:
    return tuple(value.type for value in values)


def _text(types: Types) -> str:
    return f"({', '.join(map(str, types))})"


# -- switch ---------------------------------------------------------------------------------------


def _switch_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    if not types or types[0].shape != () or types[0].dtype not in (BOOL, INT64):
        raise DTypeError(f"switch: the index must be bool[] or i64[], got {_text(types[:1])}")
    if types[0].dtype is BOOL:
        region_count("switch of a bool", regions, 2)
    elif not regions:
        raise ShapeError("switch: expected at least one region, got 0")
    results = _types_of(regions[0].results)
    for number, region in enumerate(regions):
        check_parameters("switch", f"region {number}", region, types[1:])
        if _types_of(region.results) != results:
            raise ShapeError(
                f"switch: regions must return the same types; region 0 returns {_text(results)}, region "
                f"{number} {_text(_types_of(region.results))}"
            )
    return results


def _run_switch(call: Any, regions: tuple[Any, ...], operands: list[Any], attrs: Attrs) -> Any:
    chosen = min(max(int(operands[0]), 0), len(regions) - 1)
    return call(regions[chosen], operands[1:])


SWITCH = define_with_regions(
    "switch", Kind.SWITCH, "index *operands", vjp=NONDIFF, batch=batch_switch,
    doc="the results of the region number `index` (false is 0, true is 1; clamped to the regions that there "
    "are) on the operands",
    regions=Regions(types=_switch_types, run=_run_switch, pull=pull_switch),
)  # fmt: skip


# -- while ----------------------------------------------------------------------------------------


def _counted(name: str, types: Types, **counts: int) -> None:
    if min(counts.values()) < 0 or sum(counts.values()) > len(types):
        listed = ", ".join(f"{key}={value}" for key, value in counts.items())
        raise AttributeValueError(f"{name}: {listed} do not fit {len(types)} operands")


def _keeps(name: str, carries: Types, results: Types) -> None:
    if results != carries:
        raise ShapeError(
            f"{name}: the body must return the carries with their initial types, {_text(carries)}, got "
            f"{_text(results)}"
        )


def _while_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("while", regions, 2)
    count = attrs["carries"]
    _counted("while", types, carries=count)
    condition, body = regions
    check_parameters("while", "the condition", condition, types)
    check_parameters("while", "the body", body, types)
    if _types_of(condition.results) != (TensorType(BOOL, ()),):
        raise ShapeError(
            f"while: the condition must return bool[], got {_text(_types_of(condition.results))}"
        )
    _keeps("while", types[:count], _types_of(body.results))
    return types[:count]


def _run_while(call: Any, regions: tuple[Any, ...], operands: list[Any], attrs: Attrs) -> Any:
    condition, body = regions
    state, invariants = operands[: attrs["carries"]], operands[attrs["carries"] :]
    while call(condition, [*state, *invariants])[0]:
        state = call(body, [*state, *invariants])
    return state


WHILE = define_with_regions(
    "while", Kind.WHILE, "*operands", vjp=NONDIFF, attrs={"carries": (int,)}, batch=batch_while,
    doc="the first `carries` operands, replaced by the second region's results while the first gives true",
    regions=Regions(types=_while_types, run=_run_while, pull=pull_while),
)  # fmt: skip


# -- scan -----------------------------------------------------------------------------------------


def _scan_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("scan", regions, 1)
    count, slices, length = attrs["carries"], attrs["slices"], attrs["length"]
    _counted("scan", types, carries=count, slices=slices)
    if length < 0:
        raise AttributeValueError(f"scan: length must not be negative, got {length}")
    stacked = types[len(types) - slices :]
    for type_ in stacked:
        if type_.shape[:1] != (length,):
            raise ShapeError(f"scan: a stacked operand must have {length} slices, got {type_}")
    (body,) = regions
    taken = tuple(whole.with_shape(whole.shape[1:]) for whole in stacked)
    check_parameters("scan", "the body", body, types[: len(types) - slices] + taken)
    results = _types_of(body.results)
    _keeps("scan", types[:count], results[:count])
    return types[:count] + tuple(result.with_shape((length, *result.shape)) for result in results[count:])


def _run_scan(call: Any, regions: tuple[Any, ...], operands: list[Any], attrs: Attrs) -> Any:
    (body,) = regions
    count, length, first = attrs["carries"], attrs["length"], len(operands) - attrs["slices"]
    state, invariants, stacked = operands[:count], operands[count:first], operands[first:]
    out = [np.empty((length, *result.shape), result.dtype) for result in body.results[count:]]
    for step in reversed(range(length)) if attrs["reverse"] else range(length):
        outputs = call(body, [*state, *invariants, *[array[step] for array in stacked]])
        state = outputs[:count]
        for target, value in zip(out, outputs[count:], strict=True):
            target[step] = value
    return [*state, *out]


SCAN = define_with_regions(
    "scan", Kind.SCAN, "*operands", vjp=NONDIFF, batch=batch_scan,
    attrs={"carries": (int,), "slices": (int,), "length": (int,), "reverse": (bool,)},
    doc="`length` steps of its region; the last carries, and what else the region returns, stacked. The last "
    "`slices` operands are taken apart along their leading axis, from its end if `reverse`",
    regions=Regions(types=_scan_types, run=_run_scan, pull=pull_scan),
)  # fmt: skip
