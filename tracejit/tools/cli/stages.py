"""The stages that the command line shows: those of `Lowered`, the transforms of a target, and pictures."""

from __future__ import annotations

from typing import Final

from ...base.errors import TracejitError
from ...codegen.llvm.target import Target
from ...codegen.llvm.targets import named_target
from ...ir.graph import Function
from ...ir.text.differences import difference
from ...ir.text.printer import print_functions
from ...jitted.lowered import Lowered
from ..dumping import PICTURES, all_stages, stage_text
from ..dumping import STAGES as COMPILED
from .errors import UsageError
from .target_options import BATCH
from .targets import CommandSubject

#: Traces of what transforms make of the target.
TRANSFORMED: Final = ("grad", "jvp", "vmap")
#: Every stage, in the order of compilation; ``after:PASS`` stands for as many as there are passes.
STAGES: Final = (COMPILED[0], *TRANSFORMED, *COMPILED[1:])


class Stages:
    """A target at its stages: `plain` as the user wrote it, `subject` transformed as the options say."""

    def __init__(
        self,
        plain: CommandSubject,
        subject: CommandSubject,
        argnums: tuple[int, ...] | None = None,
        size: int | None = None,
        target: Target | None = None,
    ) -> None:
        self.plain, self.subject, self.target = plain, subject, target
        self.argnums, self.size = argnums, size
        self._lowered: Lowered | None = None

    @property
    def lowered(self) -> Lowered:
        """The stages of compilation."""
        if self._lowered is None:
            self._lowered = Lowered(self.subject.trace(), self.target)
        return self._lowered

    def names(self) -> list[str]:
        """Every stage, the passes by name."""
        first, *others = all_stages(self.lowered)
        return [first, *TRANSFORMED, *others]

    def function(self, stage: str) -> Function | None:
        """The Function at `stage`, None for one that is not IR. Raises UsageError where there is none."""
        if stage == "grad":
            return self.plain.gradient(self.argnums or (0,)).trace()
        if stage == "jvp":
            return self.plain.pushed_forward().trace()
        if stage == "vmap":
            base = self.plain if self.argnums is None else self.plain.gradient(self.argnums)
            return base.mapped(self.size or BATCH).trace()
        if stage in PICTURES:
            return None
        if stage.startswith("after:"):
            passes = [step.stage for step in self.lowered.steps]
            if stage.removesuffix(":1") not in passes:
                raise UsageError(f"there is no stage {stage!r}; the passes are {', '.join(passes)}")
        elif stage not in STAGES:
            raise UsageError(f"there is no stage {stage!r}; expected one of {', '.join(STAGES)}")
        return self.lowered.function_at(stage)

    def text(self, stage: str) -> str:
        """The text of `stage`, with a line break at its end."""
        function = self.function(stage)
        return stage_text(self.lowered, stage) if function is None else print_functions([function])

    def difference(self, before: str, after: str) -> str:
        """A unified diff of the stages `before` and `after`. Values keep their names."""
        return difference(
            self.function(before) or self.text(before),
            self.function(after) or self.text(after),
            before,
            after,
        )


def machine(name: str | None) -> Target | None:
    """The machine that ``--target`` names, None for this one. Raises UsageError."""
    if name in (None, "native"):
        return None
    try:
        return named_target(str(name))
    except TracejitError as error:
        raise UsageError(f"--target: {error}") from None
