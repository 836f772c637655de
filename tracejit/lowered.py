"""A Function at every stage of its compilation, as text."""

from __future__ import annotations

import functools
from typing import Final

from .codegen.llvm import assembly, optimized_text
from .codegen.module import Module, generate
from .codegen.target import host
from .ir.errors import TracejitError
from .ir.graph import Function
from .ir.passes import OPTIMIZE, PIPELINE, run_passes

STAGES: Final = ("trace", "optimized", "fused", "loops", "llvm", "llvm-opt", "asm")


class Lowered:
    """What ``f.lower(*args)`` returns.

    Example:
        >>> import tracejit as tj
        >>> print(tj.jit(lambda x: x + 1).lower(tj.ones(3)).as_text("optimized").splitlines()[0])
        func @lambda(%x: f64[3]) -> f64[3] {
    """

    def __init__(self, function: Function) -> None:
        self.function = function

    @functools.cached_property
    def optimized(self) -> Function:
        """After the passes before fusion."""
        return run_passes(self.function, OPTIMIZE)

    @functools.cached_property
    def fused(self) -> Function:
        """After fusion."""
        return run_passes(self.optimized, PIPELINE[len(OPTIMIZE) :])

    @functools.cached_property
    def module(self) -> Module:
        """The generated LLVM text and its kernels."""
        return generate(self.fused, host())

    def as_text(self, stage: str = "optimized") -> str:
        """The text of a stage: trace, optimized, fused, loops, llvm, llvm-opt or asm."""
        if stage == "trace":
            return str(self.function)
        if stage == "optimized":
            return str(self.optimized)
        if stage == "fused":
            return str(self.fused)
        if stage == "loops":
            return self.module.loops_text()
        if stage == "llvm":
            return self.module.text
        if stage == "llvm-opt":
            return optimized_text(self.module.text)
        if stage == "asm":
            return assembly(self.module.text)
        raise TracejitError(f"there is no stage {stage!r}; expected one of {', '.join(STAGES)}")
