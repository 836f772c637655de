"""Files for programs in C, which ``f.export`` writes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..base.errors import ArgumentError
from ..codegen.export.casadi import casadi_text
from ..codegen.export.emission import LinkGroup
from ..codegen.export.levels import LEVELS
from ..codegen.export.targets import export_target
from ..codegen.llvm.target import Target
from ..jitted.function import JitFunction
from ..version import __version__
from .casadi import casadi_programs
from .compiling import CompiledPrograms, compiled
from .header import header_text
from .identifiers import checked_name
from .linking import library_suffix, link_shared
from .manifest import manifest_text
from .programs import Derivatives, programs_of
from .prototypes import CPrototype, Exported

#: The ends of files' names, by kind.
_SUFFIXES: Final = {"object": ".o", "shared": ".so", "llvm": ".ll", "asm": ".s"}


def export(
    function: JitFunction,
    path: str | os.PathLike[str],
    specs: Sequence[Any],
    grad: bool | int | Sequence[int],
    jacobian: bool | int | Sequence[int],
    hvp: bool | int | Sequence[int],
    casadi: int | None,
    target: str | Sequence[str],
    kind: str,
) -> Exported:
    """Write the files of `function` for arguments as `specs` describe them, see `JitFunction.export`."""
    if kind not in _SUFFIXES:
        raise ArgumentError(f'export: kind must be "object", "shared", "llvm" or "asm", got {kind!r}')
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"export: path must be text or a path, got {path!r}")
    place = Path(path)
    name = checked_name(place.name)
    machines = _machines(target)
    programs = programs_of(name, function, specs, Derivatives(grad, jacobian, hvp))
    wrapped = [] if casadi is None else casadi_programs(name, function, specs, programs[0], casadi)
    programs += [each.program for each in wrapped]

    def adapt(prototypes: Sequence[CPrototype]) -> list[LinkGroup]:
        sizes = {prototype.name: prototype.workspace_bytes for prototype in prototypes}
        functions = [each.function(sizes[each.program.name]) for each in wrapped]
        return [LinkGroup([casadi_text(each)], each.exports) for each in functions]

    code = compiled(name, programs, machines, kind, adapt)
    place.parent.mkdir(parents=True, exist_ok=True)
    suffix = library_suffix(machines[0]) if kind == "shared" else _SUFFIXES[kind]
    files = [place.with_name(name + end) for end in (suffix, ".h", ".json")]
    if kind == "shared":
        _link(code, machines[0], files[0])
    else:
        _write(files[0], code.emission.text.encode() or code.emission.image)
    version = __version__
    origin = f"written by tracejit {version} from {_origin(function)}."
    _write(
        files[1],
        header_text(name, origin, code.prototypes, code.messages, keeps_memory=code.keeps_memory).encode(),
    )
    _write(files[2], manifest_text(version, code, programs, machines).encode())
    return Exported(files[0], files[1], files[2], code.prototypes, code.messages, code.emission.undefined)


def _machines(target: str | Sequence[str]) -> list[Target]:
    """The machines that code is for: one, or levels of x86-64 from the least one on."""
    if isinstance(target, str):
        return [export_target(target)]
    names = list(target) if isinstance(target, Sequence) else [target]
    if not names or not set(names) <= set(LEVELS) or len(set(names)) < len(names):
        raise ArgumentError(
            f"export: target must be text, or several of {', '.join(LEVELS)} in a list, got {target!r}"
        )
    return [export_target(name) for name in sorted(names)]


def _link(code: CompiledPrograms, machine: Target, library: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, f"{code.name}.o")
        image.write_bytes(code.emission.image)
        new = Path(folder, library.name)
        link_shared(machine, [image], new, code.exports)
        _write(library, new.read_bytes())
        library.chmod(0o755)


def _write(path: Path, contents: bytes) -> None:
    """Write a file anew: a program may still have the old one mapped."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    path.write_bytes(contents)


def _origin(function: JitFunction) -> str:
    code = getattr(function._fn, "__code__", None)
    if code is None:
        return function._name
    return f"{function._name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
