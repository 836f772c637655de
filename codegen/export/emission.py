"""Object files, assembly and LLVM text of exported modules, for any machine that LLVM knows.

A file may hold code for several levels of x86-64 (`levels`), and functions that run the best one.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from ...base.errors import CompileError
from ...base.process.forking import LLVM_LOCK, free_lock_of_llvmlite
from ...base.records import record
from ..llvm.compiler import interruptibly
from ..llvm.loading import all_targets
from ..llvm.target import Target, target_machine
from .symbols import undefined_symbols


@record
class LinkGroup:
    """Modules, as texts and as groups, that are linked with each other first: names that they do not export
    are internal."""

    parts: Sequence[str | LinkGroup]
    exports: Sequence[str]


@record(eq=False)
class Emission:
    """Result of compiling a module.

    Attributes:
        image: the object file.
        text: its LLVM text or assembly, where that was asked for; empty otherwise.
        undefined: the functions that must be there where it is linked; those that LLVM adds itself are seen
            in ELF files alone.
    """

    image: bytes
    text: str
    undefined: tuple[str, ...]


def emit(groups: Sequence[LinkGroup], exports: Sequence[str], target: Target, form: str = "") -> Emission:
    """Emit the modules of `groups` as one object file and, where `form` is "llvm" or "asm", as text. Only
    `exports` are visible from outside.

    Raises CompileError for text that LLVM does not take.
    """
    free_lock_of_llvmlite()
    return interruptibly(functools.partial(_emit, groups, exports, target, form))


def _emit(groups: Sequence[LinkGroup], exports: Sequence[str], target: Target, form: str) -> Emission:
    with LLVM_LOCK, contextlib.ExitStack() as opened:
        linking = _Linking(target, opened)
        module = linking.linked([linking.group(group) for group in groups])
        _hide(module, exports)
        linking.optimize(module)
        text = str(module) if form == "llvm" else ""
        if form == "asm":
            text = str(linking.machine.emit_assembly(module))
        image: bytes = linking.machine.emit_object(module)
        undefined = undefined_symbols(image)
        if undefined is None:
            undefined = sorted(
                function.name
                for function in module.functions
                if function.is_declaration and not function.name.startswith("llvm.")
            )
        return Emission(image, text, tuple(undefined))


class _Linking:
    """Modules of a context of their own. What LLVM allocates is on the stack `opened`, and is disposed of
    with it: modules before their context, also where an exception keeps references to them."""

    def __init__(self, target: Target, opened: contextlib.ExitStack) -> None:
        self._binding, self._opened = all_targets(), opened
        self._context: Any = opened.enter_context(contextlib.closing(self._binding.create_context()))
        self.machine: Any = opened.enter_context(contextlib.closing(target_machine(target)))
        layout = self.machine.target_data
        self._head = f'target datalayout = "{layout}"\ntarget triple = "{target.triple}"\n'

    def group(self, group: LinkGroup) -> Any:
        """The module of a group."""
        parts = [
            self.group(part) if isinstance(part, LinkGroup) else self._parsed(part) for part in group.parts
        ]
        module = self.linked(parts)
        _hide(module, group.exports)
        return module

    def linked(self, modules: Sequence[Any]) -> Any:
        """The first of `modules`, to which the others are linked."""
        first, *others = modules
        for module in others:
            first.link_in(module)
        return first

    def optimize(self, module: Any) -> None:
        """Pass LLVM's pipeline. Loops have vectors already."""
        options = self._binding.create_pipeline_tuning_options(2)
        options.loop_vectorization = options.slp_vectorization = False
        builder = self._binding.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)

    def _parsed(self, text: str) -> Any:
        try:
            module = self._binding.parse_assembly(self._head + text, self._context)
            self._opened.enter_context(contextlib.closing(module))
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM rejects the generated code: {error}") from error
        return module


def _hide(module: Any, exports: Sequence[str]) -> None:
    """Make definitions internal that are not exported."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in exports:
            value.linkage = "internal"
