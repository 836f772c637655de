"""Programs as one module of machine code: what all ways out of Python share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import CompileError, TraceError, checked_error
from ..base.records import record
from ..codegen.export.emission import Emission, LinkGroup, emit
from ..codegen.export.factorizations import routine_texts
from ..codegen.export.functions import (
    RUNTIME_EXPORTS,
    RUNTIME_TEXT,
    ExportedFunction,
    ExportedModule,
    exported_module,
    product_texts,
    queries_text,
)
from ..codegen.export.levels import Level, dispatch_text, for_cpu, release_text
from ..codegen.export.targets import size_type
from ..codegen.interface import pack_symbol, product_symbol
from ..codegen.llvm.target import Target
from ..codegen.plan.recovery import KernelFailure
from ..ir.failures import failure_text
from ..ir.graph import Function, Instruction
from ..ir.passes import run_passes
from ..ir.passes.gradient_warnings import without_warnings
from .programs import ExportedProgram
from .prototypes import CPrototype, parameter_of

#: The message of status 0.
SUCCESS = "success"


@record(eq=False)
class CompiledPrograms:
    """Programs as machine code.

    Attributes:
        name: what their common functions' names begin with.
        emission: the object file, and the text that was asked for.
        messages: by status, from 0 on.
        prototypes: of the programs, in C.
        keeps_memory: whether ``<name>_release`` gives memory back that is kept between calls.
        exports: the names of all functions.
    """

    name: str
    emission: Emission
    messages: tuple[str, ...]
    prototypes: tuple[CPrototype, ...]
    keeps_memory: bool
    exports: tuple[str, ...]


def compiled(
    name: str,
    programs: Sequence[ExportedProgram],
    targets: Sequence[Target],
    form: str = "",
    adapt: Callable[[Sequence[CPrototype]], Sequence[LinkGroup]] = lambda prototypes: (),
) -> CompiledPrograms:
    """`programs` for one target, or for levels of x86-64, of which the best that a machine has runs there.

    They have text in a `form`, see `codegen.export.emission.emit`. What `adapt` makes for their prototypes
    calls them, and is exported too.

    Raises TraceError for what needs Python or a library of this process, with the user's lines.
    """
    suffixes = [""] if len(targets) == 1 else [f".{target.cpu}" for target in targets]
    written = [
        _written(name, programs, target, suffix) for target, suffix in zip(targets, suffixes, strict=True)
    ]
    errors, offsets = _all_errors(written)
    messages = (SUCCESS, *[_short(message, programs) for message in errors])
    prototypes = tuple(
        [
            _prototype(program, max([[*module.workspaces.values()][position] for module in written]))
            for position, program in enumerate(programs)
        ]
    )
    workspaces = {prototype.name: prototype.workspace_bytes for prototype in prototypes}
    release = [f"{name}_release"] * any(module.keeps_memory for module in written)
    if len(targets) == 1:
        code = [_code(written[0], targets[0])]
    else:
        code = _levels(written, targets, offsets, prototypes, release)
    queries = [f"{program.name}_workspace_size" for program in programs] + [f"{name}_status_message"]
    answers = queries_text(name, workspaces, messages, size_type(targets[0]))
    adapters = adapt(prototypes)
    exports = (
        *workspaces,
        *release,
        *queries,
        *[export for adapter in adapters for export in adapter.exports],
    )
    runtime = LinkGroup([RUNTIME_TEXT], RUNTIME_EXPORTS)
    emission = emit([*code, runtime, LinkGroup([answers], queries), *adapters], exports, targets[0], form)
    return CompiledPrograms(name, emission, messages, prototypes, bool(release), exports)


def _written(name: str, programs: Sequence[ExportedProgram], target: Target, suffix: str) -> ExportedModule:
    """The text of `programs` for one target, with a `suffix` to the names of all functions."""
    functions = [
        ExportedFunction(
            program.name + suffix,
            run_passes(without_warnings(program.function), failures=[]),
            program.captured,
        )
        for program in programs
    ]
    try:
        module = exported_module(functions, target, f"{name}_release{suffix}")
    except KernelFailure as failure:
        raise CompileError(
            failure_text(failure.instruction.op.name, failure.__cause__ or failure)
        ) from failure
    if module.refused:
        raise TraceError(_refusal(name, module.refused))
    return module


def _all_errors(written: Sequence[ExportedModule]) -> tuple[list[str], list[int]]:
    """The messages of all modules, and by module what is added to its statuses."""
    errors, offsets = list(written[0].errors), [0]
    for module in written[1:]:
        same = module.errors == written[0].errors
        offsets.append(0 if same else len(errors))
        errors += [] if same else module.errors
    return errors, offsets


def _code(module: ExportedModule, target: Target, *, level: bool = False) -> LinkGroup:
    """A module with the products and factorizations that it calls; of a `level` each function says what it
    is for."""

    def text(plain: str) -> str:
        return for_cpu(plain, target) if level else plain

    products = [
        LinkGroup(
            [text(part) for part in product_texts(target, dtype)], [product_symbol(dtype), pack_symbol(dtype)]
        )
        for dtype in module.products
    ]
    routines = [text(part) for part in routine_texts(module.lapack, target)]
    return LinkGroup([text(module.text), *products, *routines], module.exports)


def _levels(
    written: Sequence[ExportedModule],
    targets: Sequence[Target],
    offsets: Sequence[int],
    prototypes: Sequence[CPrototype],
    release: Sequence[str],
) -> list[LinkGroup]:
    """The modules of all targets, and the functions that choose among them."""
    levels = [
        Level(target.cpu, f".{target.cpu}", offset) for target, offset in zip(targets, offsets, strict=True)
    ]
    pointers = {
        prototype.name: len(prototype.arguments) + len(prototype.results) + 1 for prototype in prototypes
    }
    kept = [name for module in written for name in module.exports if name not in module.workspaces]
    choice = dispatch_text(pointers, levels) + "".join([release_text(name, kept) for name in release])
    code = [_code(module, target, level=True) for module, target in zip(written, targets, strict=True)]
    return [*code, LinkGroup([choice], [*pointers, *release])]


def _prototype(program: ExportedProgram, workspace: int) -> CPrototype:
    function = program.function
    named = zip(program.arguments, function.params, program.paths, strict=False)  # captures come after them
    arguments = [
        parameter_of(name, param, path, program.ranges.get(position))
        for position, (name, param, path) in enumerate(named)
    ]
    results = [
        parameter_of(name, value) for name, value in zip(program.results, function.results, strict=True)
    ]
    return CPrototype(program.name, program.summary, tuple(arguments), tuple(results), workspace)


def _refusal(name: str, refused: Sequence[tuple[Instruction, str]]) -> str:
    lines = []
    for instruction, reason in refused:
        where = f"{instruction.location}: " if instruction.location else ""
        lines.append(f"  {where}{instruction.op.name} {reason}")
    listed = "\n".join(dict.fromkeys(lines))
    return f"export: {name} cannot run outside of this process:\n{listed}"


def _short(message: str, programs: Sequence[ExportedProgram]) -> str:
    """`message` with the names of files without their folders, which are this machine's."""
    message = str(checked_error(message))
    for file in sorted(files_of([program.function for program in programs]), key=len, reverse=True):
        message = message.replace(file, os.path.basename(file))
    return message


def files_of(functions: Sequence[Function]) -> set[str]:
    """The files whose lines `functions` are made of."""
    return {location.file for location in locations_of(functions)}


def locations_of(functions: Sequence[Function]) -> list[Any]:
    """The lines that `functions` are made of."""
    return [
        instruction.location
        for function in functions
        for instruction in function.instructions()
        if instruction.location is not None
    ]
