"""Compiles the parts of the runtime that are machine code themselves, each at its first use.

Loaded where the disk cache does not have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...codegen.kernels.gemm.library import driver_text, kernels_text
from ...codegen.llvm.compiler import emit_object
from ...codegen.llvm.target import host
from ...codegen.module.single_gemm import single_gemm_text
from ...codegen.native.allocator import results_text
from ...codegen.native.eager.code import eager_code
from ...codegen.native.eager.special_loops import special_loop
from ...codegen.native.entry.code import entry_code
from ...codegen.native.float_mode import float_mode_text, flushing_main_text
from ...codegen.native.interrupts import interrupts_text
from ...codegen.native.pool import pool_text
from ...codegen.tiers import BASELINE, OPTIMIZED, Effort, Tier

#: The LLVM text of each part.
TEXTS: Final[dict[str, Callable[..., str]]] = {
    "eager": eager_code,
    "entry": entry_code,
    "float mode": lambda: float_mode_text(host().triple),
    "flushing main": lambda: flushing_main_text(host().triple),
    "interrupts": lambda: interrupts_text(host().triple),
    "single gemm": single_gemm_text,
    "pool": lambda: pool_text(host().triple),
    "product": lambda dtype: driver_text(host(), dtype),
    "product kernels": lambda dtype: kernels_text(host(), dtype, OPTIMIZED.parameters),
    "results": results_text,
    "special": lambda *arguments: special_loop(host(), *arguments),
}
#: Parts that are too slow in plain code: their baseline tier is written in smaller sizes, with the same bits,
#: and compiled well, save for the addresses in its loops.
SMALL: Final[dict[str, Callable[..., str]]] = {
    "product kernels": lambda dtype: kernels_text(host(), dtype, BASELINE.parameters),
}
#: Parts that are no faster for being optimised.
_PLAIN: Final = ("float mode", "flushing main", "interrupts", "single gemm", "pool", "product", "results")
#: Parts whose text keeps variables in memory.
_VARIABLES: Final = ("eager", "entry")


def support_object(name: str, tier: Tier, *arguments: Any) -> tuple[bytes, dict[str, float]]:
    """The part `name` as an object file of a `tier`, and milliseconds by phase."""
    if tier is BASELINE and name in SMALL:
        return emit_object(SMALL[name](*arguments), reduce_loops=tier.reduces_loops)
    effort = Effort.PLAIN if name in _PLAIN else tier.effort
    return emit_object(TEXTS[name](*arguments), effort, variables=name in _VARIABLES)
