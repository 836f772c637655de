"""Passes that most Functions do not need: each loads with the first one that has such ops as it looks for, or
on which another one fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...base.loading import LazyModule
from ..dtypes import FLOAT16, is_complex
from ..graph import Function, Instruction
from ..registry import Kind
from .layout import is_large_broadcast, is_large_fill
from .loops import MIN_OPS


class OnDemand:
    """A pass that loads with the first Function that it `concerns`: it leaves others as they are."""

    __slots__ = ("_attribute", "_module", "concerns")

    def __init__(self, module: str, attribute: str, concerns: Callable[[Function], bool]) -> None:
        self._module, self._attribute, self.concerns = LazyModule(module, __package__), attribute, concerns

    def __call__(self, function: Function) -> Function:
        return self.load()(function) if self.concerns(function) else function

    def load(self) -> Callable[[Function], Function]:
        """The pass, whose docstring says what it requires and ensures."""
        return getattr(self._module, self._attribute)  # type: ignore[no-any-return]


def _with_kinds(*kinds: Kind) -> Callable[[Function], bool]:
    return lambda function: any(op.kind in kinds for op in function.ops)


def _with_ops(*names: str) -> Callable[[Function], bool]:
    return lambda function: {op.name for op in function.ops}.issuperset(names)


def _with(is_concerned: Callable[[Instruction], bool]) -> Callable[[Function], bool]:
    return lambda function: any(map(is_concerned, function.body))


def _with_control(function: Function) -> bool:
    return function.has_control


def _has_float16(function: Function) -> bool:
    return FLOAT16 in function.dtypes


def _may_be_complex(function: Function) -> bool:
    return function.has_control or any(map(is_complex, function.dtypes))


def _by_lines(function: Function) -> bool:
    return any(op.kind.traits.by_lines for op in function.ops)


def _updates(function: Function) -> bool:
    return any(op.kind.traits.updates_operand for op in function.ops)


def _with_gradients_of_loops(function: Function) -> bool:
    return any(op.kind is Kind.REGION for op in function.ops) and any(
        instruction.op.name == "while_vjp" for instruction in function.instructions()
    )


def _any(function: Function) -> bool:
    return True


def _is_long(function: Function) -> bool:
    return len(function.body) >= MIN_OPS


reroll_loops: Final = OnDemand(".loops.rerolling", "reroll_loops", _is_long)
merge_scans: Final = OnDemand(".loops.loop_merging", "merge_scans", _with_control)
merge_whiles: Final = OnDemand(".loops.loop_merging", "merge_whiles", _with_control)
tape_loops: Final = OnDemand(".loops.taping", "tape_loops", _with_gradients_of_loops)
widen_float16: Final = OnDemand(".dtypes.widen_float16", "widen_float16", _has_float16)
complex_planes: Final = OnDemand(".dtypes.complex_planes", "complex_planes", _may_be_complex)
drop_choices: Final = OnDemand(".algebra.masked_choices", "drop_choices", _with_ops("where"))
drop_unread_writes: Final = OnDemand(".loops.unread_writes", "drop_unread_writes", _with_kinds(Kind.SCAN))
rotate_products: Final = OnDemand(".loops.rotated_products", "rotate_products", _with_kinds(Kind.SCAN))
free_unchanged_carries: Final = OnDemand(".loops.unchanged_carries", "free_unchanged_carries", _with_control)
reuse_stacks: Final = OnDemand(".loops.stacked_results", "reuse_stacks", _with_control)
hoist_invariants: Final = OnDemand(".loops.loop_invariant_motion", "hoist_invariants", _with_control)
multiply_before: Final = OnDemand(".array_loops.products_of_steps", "multiply_before", _with_kinds(Kind.SCAN))
defer_products: Final = OnDemand(".loops.deferred_products", "defer_products", _with_kinds(Kind.SCAN))
map_matrices: Final = OnDemand(".loops.matrix_maps", "map_matrices", _with_kinds(Kind.LINALG))
place_updates: Final = OnDemand(".layout.updates", "place_updates", _updates)
delay_repeats: Final = OnDemand(".layout.repeats", "delay_repeats", _with_ops("broadcast", "reshape"))
sink_broadcasts: Final = OnDemand(
    ".layout.broadcasts.sunk_broadcasts", "sink_broadcasts", _with(is_large_broadcast)
)
move_pads: Final = OnDemand(".layout.pads", "move_pads", _with_kinds(Kind.UPDATE))
split_narrow_axes: Final = OnDemand(
    ".algebra.narrow_axes", "split_narrow_axes", _with_kinds(Kind.REDUCTION, Kind.CONCAT, Kind.UPDATE)
)
split_exponential_sums: Final = OnDemand(
    ".algebra.exponential_sums", "split_exponential_sums", _with_ops("max", "sub", "exp", "sum")
)
fuse_gemv_pairs: Final = OnDemand(".algebra.gemv_pairs", "fuse_gemv_pairs", _with_ops("matmul"))
shorten_carry_chains: Final = OnDemand(".loops.carry_chains", "shorten_carry_chains", _with_control)
rematerialize: Final = OnDemand(
    ".fusion.rematerialization_before", "rematerialize", _with_kinds(Kind.REDUCTION)
)
read_joins: Final = OnDemand(".layout.joins", "read_joins", _with_kinds(Kind.CONCAT))
drop_fills: Final = OnDemand(".layout.fills", "drop_fills", _with(is_large_fill))
tile_transforms: Final = OnDemand(".fusion.tiling", "tile_transforms", _by_lines)
fuse_nothing: Final = OnDemand("..grouping.recovery", "fuse_nothing", _any)
interpreted: Final = OnDemand("..grouping.recovery", "interpreted", _any)
