"""Compiles the parts of the runtime that are machine code themselves, each at its first use.

Loaded where the disk cache does not have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...codegen.kernels.gemm.library import driver_text, kernels_text
from ...codegen.llvm.compiler import Effort, emit_object
from ...codegen.llvm.target import compact_host, host
from ...codegen.module.single_gemm import single_gemm_text
from ...codegen.native.allocator import results_text
from ...codegen.native.eager.code import eager_code
from ...codegen.native.entry.code import entry_code
from ...codegen.native.interrupts import interrupts_text
from ...codegen.native.pool import pool_text

#: The LLVM text of each part.
TEXTS: Final[dict[str, Callable[..., str]]] = {
    "eager": eager_code,
    "entry": entry_code,
    "interrupts": lambda: interrupts_text(host().triple),
    "single gemm": single_gemm_text,
    "pool": lambda: pool_text(host().triple),
    "product": lambda dtype: driver_text(host(), dtype),
    "product kernels": lambda dtype: kernels_text(host(), dtype),
    "results": results_text,
}
#: Parts that are too slow in plain code: their baseline tier is a shorter text, with the same bits, that is
#: compiled well, save for the addresses in its loops.
COMPACT: Final[dict[str, Callable[..., str]]] = {
    "product kernels": lambda dtype: kernels_text(compact_host(), dtype),
}
#: Parts that are no faster for being optimised.
_PLAIN: Final = ("interrupts", "single gemm", "pool", "product", "results")
#: Parts whose text keeps variables in memory.
_VARIABLES: Final = ("eager", "entry")


def support_object(name: str, *arguments: Any, baseline: bool = False) -> tuple[bytes, dict[str, float]]:
    """The part `name` as an object file, and milliseconds by phase; `baseline` for what is soon replaced."""
    if baseline and name in COMPACT:
        return emit_object(COMPACT[name](*arguments), reduce_loops=False)
    plain = baseline or name in _PLAIN
    effort = Effort.PLAIN if plain else Effort.FULL
    return emit_object(TEXTS[name](*arguments), effort, variables=name in _VARIABLES)
