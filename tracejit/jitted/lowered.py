"""A Function at every stage of its compilation, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..base.errors import TracejitError
from ..base.loading import LazyModule
from ..base.process.locks import computed_once
from ..base.records import record
from ..codegen.instrument.listing import listing
from ..codegen.llvm.compiler import assembly, optimized_text
from ..codegen.llvm.target import Target, host
from ..codegen.module.writer import Module, generate
from ..ir.graph import Function
from ..ir.passes import OPTIMIZE, PIPELINE, run_passes
from ..provided import REPORTS

if TYPE_CHECKING:
    from ..codegen.llvm import targets
    from ..ir.text import differences
else:
    targets = LazyModule("..codegen.llvm.targets", __package__)
    differences = LazyModule("..ir.text.differences", __package__)

STAGES: Final = ("trace", "optimized", "fused", "loops", "operations", "llvm", "llvm-opt", "asm")


@record(eq=False)
class PassStep:
    """A pass that ran: its stage (``after:cse``, the second time ``after:dce:2``), result and seconds."""

    stage: str
    function: Function
    seconds: float


class Lowered:
    """The result of ``f.lower(*args)``: the stages of compiling one program.

    Example:
        >>> import tracejit as tj
        >>> print(tj.jit(lambda x: x + 1).lower(tj.ones(3)).as_text("optimized").splitlines()[0])
        func @lambda(%x: f64[3]) -> f64[3] {
    """

    def __init__(self, function: Function, target: Target | None = None) -> None:
        self.function = function
        #: The machine whose code is shown, None for this one.
        self.target = target

    @computed_once
    def steps(self) -> list[PassStep]:
        """The passes in order, the last of them fusion."""
        steps: list[PassStep] = []
        seen: dict[str, int] = {}

        def observe(name: str, function: Function, seconds: float) -> None:
            seen[name] = seen.get(name, 0) + 1
            again = f":{seen[name]}" if seen[name] > 1 else ""
            steps.append(PassStep(f"after:{name}{again}", function, seconds))

        run_passes(self.function, PIPELINE, observe, failures=[])
        return steps

    @property
    def optimized(self) -> Function:
        """The Function after the passes before fusion."""
        return self.steps[len(OPTIMIZE) - 1].function

    @property
    def fused(self) -> Function:
        """The Function after fusion."""
        return self.steps[-1].function

    @computed_once
    def module(self) -> Module:
        """The generated LLVM text and its kernels."""
        return generate(self.fused, self.target or host())

    def function_at(self, stage: str) -> Function | None:
        """The Function at `stage`, None for one that is not IR. Raises TracejitError where there is none."""
        if stage == "trace":
            return self.function
        if stage == "optimized":
            return self.optimized
        if stage == "fused":
            return self.fused
        if stage in STAGES:
            return None
        for step in self.steps:
            if stage in (step.stage, f"{step.stage}:1"):
                return step.function
        if stage.startswith("after:"):
            names = ", ".join(step.stage for step in self.steps)
            raise TracejitError(f"there is no stage {stage!r}; the passes are {names}")
        raise TracejitError(f"there is no stage {stage!r}; expected one of {', '.join(STAGES)} or after:PASS")

    def on(self, machine: str) -> Lowered:
        """Lower for another machine, to look at its code: ``x86-64-v3``, ``aarch64``, ``znver4``,
        ``arm64-apple-darwin``, and with features ``x86-64-v3,+avx512f``. Raises TracejitError for names that
        LLVM does not know.

        Example:
            >>> import tracejit as tj
            >>> f = tj.jit(lambda x: x * 2)
            >>> "ymm" in f.lower(tj.ones(100)).on("x86-64-v3").as_text("asm")
            True
        """
        return Lowered(self.function, targets.named_target(machine))

    def diff(self, before: str, after: str) -> str:
        """A unified diff of the stages `before` and `after`; values keep their names.

        Example:
            >>> import tracejit as tj
            >>> f = tj.jit(lambda x: x * 1.0)
            >>> print(f.lower(tj.ones(3)).diff("trace", "optimized").splitlines()[-2])
            +  return %x
        """
        first, second = (self.function_at(stage) or self.as_text(stage) for stage in (before, after))
        return differences.difference(first, second, before, after)

    def as_text(self, stage: str = "optimized") -> str:
        """The text of a stage: one of `STAGES`, or after:PASS."""
        function = self.function_at(stage)
        if function is not None:
            return str(function)
        if stage == "loops":
            return self.module.loops_text()
        if stage == "operations":
            descriptions = {kernel.name: kernel.description for kernel in self.module.kernels}
            return listing(self.module.functions, descriptions)
        if stage == "llvm":
            return self.module.text
        if stage == "llvm-opt":
            return optimized_text(self.module.text, self.target)
        return assembly(self.module.text, self.target)

    def _repr_html_(self) -> str:
        """The HTML for notebooks."""
        html: str = REPORTS().lowered_html(self)
        return html
