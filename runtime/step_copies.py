"""What an executable copies at each step of its loops."""

from __future__ import annotations

from ..codegen.module.step_copies import StepCopy, step_copies
from .executable import Executable


def copies_at_steps(executable: Executable) -> list[StepCopy]:
    """The copies that lines make at each step, each once. Without loops the module is not asked for, which
    would have to be made again where the machine code was found on disk."""
    if not any(instruction.op.kind.traits.control for instruction in executable.fused.body):
        return []
    plan = executable.module.plan  # that of what the code was generated from
    return list(dict.fromkeys(step_copies(executable.fused, plan)))
