"""Compiles the parts of the runtime that are machine code themselves, each at its first use.

Loaded where the disk cache does not have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...base.loading import load_module
from ...codegen.llvm.compiler import emit_object
from ...codegen.llvm.target import host
from ...codegen.tiers import BASELINE, OPTIMIZED, Effort, Tier


def _text(module: str, function: str, *first: Callable[[], Any]) -> Callable[..., str]:
    """Wrap `function` of a module of `codegen`, which is imported at the first call. The results of the
    functions `first` are passed before its arguments."""

    def text(*arguments: Any) -> str:
        write: Callable[..., str] = getattr(load_module(f"...codegen.{module}", __package__), function)
        return write(*[value() for value in first], *arguments)

    return text


def _triple() -> str:
    return host().triple


_kernels_text: Final = _text("kernels.gemm.library", "kernels_text", host)

#: The LLVM text of each part.
TEXTS: Final[dict[str, Callable[..., str]]] = {
    "buffers": _text("native.buffers", "buffers_code"),
    "eager": _text("native.eager", "eager_code"),
    "entry": _text("native.entry.code", "entry_code"),
    "float mode": _text("native.float_mode", "float_mode_text", _triple),
    "flushing main": _text("native.float_mode", "flushing_main_text", _triple),
    "interrupts": _text("native.interrupts", "interrupts_text", _triple),
    "single gemm": _text("module.single_gemm", "single_gemm_text"),
    "pool": _text("native.pool", "pool_text", _triple),
    "product": _text("kernels.gemm.library", "driver_text", host),
    "product kernels": lambda dtype: _kernels_text(dtype, OPTIMIZED.parameters),
    "results": _text("native.allocator", "results_text"),
    "special": _text("native.eager.special_loops", "special_loop", host),
}
#: Parts that are too slow in plain code: their baseline tier is written in smaller sizes, with the same bits,
#: and compiled well, save for the addresses in its loops.
SMALL: Final[dict[str, Callable[..., str]]] = {
    "product kernels": lambda dtype: _kernels_text(dtype, BASELINE.parameters),
}
#: Parts that are no faster for being optimised.
_PLAIN: Final = (
    "buffers",
    "float mode",
    "flushing main",
    "interrupts",
    "single gemm",
    "pool",
    "product",
    "results",
)
#: Parts whose text keeps variables in memory.
_VARIABLES: Final = ("eager", "entry")


def support_object(name: str, tier: Tier, *arguments: Any) -> tuple[bytes, dict[str, float]]:
    """The part `name` as an object file of a `tier`, and milliseconds by phase."""
    if tier is BASELINE and name in SMALL:
        return emit_object(SMALL[name](*arguments), reduce_loops=tier.reduces_loops)
    effort = Effort.PLAIN if name in _PLAIN else tier.effort
    return emit_object(TEXTS[name](*arguments), effort, variables=name in _VARIABLES)
