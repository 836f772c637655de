"""Recovery from failures of the compiler on a valid program: a part of it is compiled in a simpler way.

A fusion on which it fails is taken apart, each of its ops a kernel of its own; what fails alone is a host
call of its op's NumPy kernel. Where the part cannot be told, all fusions are taken apart, then the
whole program is a host call. Each step warns and is noted; such code is not kept on disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...base.errors import CompileError
from ...base.loading import LazyModule
from ...ir.failures import failure_text, not_ours, warn_of_failure
from ...ir.graph import Function, Instruction
from ...ir.registry import Kind

if TYPE_CHECKING:
    from ...ir.grouping import recovery
    from .generated import Module
else:
    recovery = LazyModule("...ir.grouping.recovery", __package__)


class KernelFailure(Exception):
    """The compiler failed on `instruction`; the cause says how."""

    def __init__(self, instruction: Instruction) -> None:
        super().__init__(instruction.op.name)
        self.instruction = instruction


@contextlib.contextmanager
def attributed(instruction: Instruction) -> Iterator[None]:
    """Turn failures within into failures on `instruction`, the innermost of several."""
    try:
        yield
    except not_ours(KernelFailure):
        raise
    except Exception as error:
        raise KernelFailure(instruction) from error


class Recovery:
    """A fused Function in which more and more is simple.

    Attributes:
        function: what to compile.
        notes: the texts of the warnings so far.
    """

    def __init__(self, function: Function, notes: list[str] | None = None) -> None:
        self.function, self.notes = function, [] if notes is None else notes

    def attempt(self, make: Callable[[Function], Module]) -> Module:
        """Result of `make` for the function, or for simpler forms of it as long as it fails."""
        while True:
            try:
                return make(self.function)
            except KernelFailure as failure:
                self.give_way(failure.__cause__ or failure, [failure.instruction])
            except not_ours():
                raise
            except Exception as error:
                self.give_way(error)

    def give_way(self, error: BaseException, failing: Sequence[Instruction] = ()) -> None:
        """Put something simpler in place of the instructions `failing`, on which the compiler failed with
        `error`; in place of everything where they are not known. Raises CompileError where nothing is."""
        changed = False
        for instruction in failing:
            simpler = recovery.without(self.function, instruction)
            if simpler is not None:
                changed = True
                self._change(
                    simpler, _name(instruction), _instead(self.function, simpler), error, instruction
                )
        if changed:
            return
        simpler = recovery.without_fusions(self.function)
        if simpler is not self.function:
            self._change(simpler, f"@{self.function.name}", _OP_BY_OP, error)
        elif not recovery.is_interpreted(self.function):
            self._change(recovery.interpreted(self.function), f"@{self.function.name}", _BY_NUMPY, error)
        else:
            raise CompileError(failure_text(f"@{self.function.name}", error)) from error

    def _change(
        self,
        simpler: Function,
        what: str,
        instead: str,
        error: BaseException,
        instruction: Instruction | None = None,
    ) -> None:
        location = instruction.location if instruction is not None else None
        self.notes.append(warn_of_failure(what, instead, error, location))
        self.function = simpler


_OP_BY_OP = "Its ops are compiled one by one"
_BY_NUMPY = "NumPy computes it"


def _instead(before: Function, after: Function) -> str:
    """Description of the code in place of an instruction."""
    fewer = sum(instruction.op.kind is Kind.HOST for instruction in after.instructions()) == sum(
        instruction.op.kind is Kind.HOST for instruction in before.instructions()
    )
    return _OP_BY_OP if fewer else _BY_NUMPY


def _name(instruction: Instruction) -> str:
    """Description of what an instruction computes, in the names of its ops."""
    if not instruction.op.kind.traits.grouped:
        return instruction.op.name
    ops = dict.fromkeys(inner.op.name for inner in instruction.regions[0].body)
    names = list(ops)
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"the fusion of {', '.join(names[:4])}{more}"
