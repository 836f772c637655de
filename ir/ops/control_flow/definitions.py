"""Control flow ops, which choose among regions or repeat them.

Operands of a loop come in this order: *carries*, which each step gets from the step before; *invariants*, the
same for all steps; and, for ``scan``, *slices*, of which step i gets the i-th along the leading axis. A
region has a parameter for each of them. Gradients are in `gradients`, those of ``while`` in `rewinding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import AttributeValueError, DTypeError, ShapeError
from ...dtypes import BOOL, INT64
from ...registry import NONDIFF, Attrs, Kind, Regions
from ...types import TensorType, Types
from ..define import check_parameters, define_with_regions, region_count
from .batching import batch_scan, batch_switch, batch_while
from .gradients import pull_scan, pull_switch
from .rewinding import pull_while


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
