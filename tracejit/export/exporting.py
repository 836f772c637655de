"""Files for programs in C, which ``f.export`` writes: headers, objects, libraries, and what is to be known of
them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ..codegen.export.adapters import casadi_text
from ..codegen.export.emission import LEVELS, LinkGroup, export_target
from ..codegen.llvm.target import Target, host
from ..ir.errors import ArgumentError, TracejitError
from ..jitted.function import JitFunction
from .casadi import casadi_programs
from .compiling import CompiledPrograms, compiled, locations_of
from .programs import Derivatives, ExportedProgram, programs_of
from .prototypes import CParameter, CPrototype, Exported, checked_name

#: The system's drivers, by preference.
_DRIVERS = ("cc", "gcc", "clang")


def link_shared(target: Target, objects: Sequence[Path], library: Path, exports: Sequence[str]) -> None:
    """Make the shared `library` of `objects`, whose functions `exports` are called from outside.

    Raises TracejitError where there is no linker for the `target`, and with what it said where it failed.
    """
    command = [*linker_for(target, exports), "-o", str(library), *map(str, objects)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        said = (run.stderr or run.stdout).strip()
        raise TracejitError(f"export: the linker failed: {' '.join(command)}\n{said}")


def linker_for(target: Target, exports: Sequence[str]) -> list[str]:
    """The command that links for `target`, but for files. Raises TracejitError where there is none."""
    native = _is_like_host(target)
    for driver in _DRIVERS if native else ():
        path = shutil.which(driver)
        if path is not None:
            return [path, "-shared"]
    if _has_zig():
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", _zig_target(target.triple), "-s"]
        if _is_wasm(target):  # with what it needs of a C library: it is loaded by itself
            return [
                *zig,
                "-mexec-model=reactor",
                *[f"-Wl,--export={name}" for name in (*exports, "malloc", "free")],
            ]
        return [*zig, "-shared", "-nostdlib"]  # what is undefined is there where the library is loaded
    ld = shutil.which("ld") if native else None
    if ld is not None:
        return [ld, "-shared"]
    tried = ", ".join((*_DRIVERS, "ld")) if native else "the system's is for this machine"
    raise TracejitError(
        f'export: there is no linker for {target.triple} ({tried}); install "tracejit[export]", which has '
        'one, or use kind="object" and link the file yourself'
    )


def library_suffix(target: Target) -> str:
    """The end of the name of a shared library."""
    if _is_wasm(target):
        return ".wasm"
    if "windows" in target.triple:
        return ".dll"
    return ".dylib" if "darwin" in target.triple or "macos" in target.triple else ".so"


@functools.cache
def _has_zig() -> bool:
    return importlib.util.find_spec("ziglang") is not None


def _is_wasm(target: Target) -> bool:
    return target.triple.startswith("wasm")


def _is_like_host(target: Target) -> bool:
    own, other = host().triple.split("-"), target.triple.split("-")
    return own[0] == other[0] and ("linux" in own) == ("linux" in other)


def _zig_target(triple: str) -> str:
    """Zig's name of the target `triple`."""
    architecture, *rest = triple.split("-")
    if architecture == "wasm32":
        return "wasm32-wasi"
    names = [part for part in rest if part not in ("unknown", "pc", "apple", "none")]
    if "darwin" in triple:
        return f"{architecture.replace('arm64', 'aarch64')}-macos"
    return "-".join([architecture, *(names or ["freestanding"])])


_CONVENTIONS = """\
Every function takes pointers to arguments, then to results, then to a workspace. It returns 0, or a status
whose message {name}_status_message gives; results are not to be read then.

Arrays are contiguous, in row-major order (C order), aligned to their elements. Numbers are arrays of one
element. A result may overlap neither an argument nor another result nor the workspace.

A function with a workspace size of 0 takes NULL. A workspace may begin at any address, and need not be
cleared; each call has one of its own while it runs. Functions begin no threads, write nowhere else{memory},
and may be called by several threads at a time.
"""


def header_text(
    name: str, origin: str, prototypes: Sequence[CPrototype], messages: Sequence[str], *, keeps_memory: bool
) -> str:
    """The text of ``name.h``; `origin` says by which program and from which function it was written."""
    guard = f"{name.upper()}_H"
    memory = (
        ",\nbut for a block of memory that is kept between calls until {name}_release" if keeps_memory else ""
    )
    conventions = _CONVENTIONS.format(name=name, memory=memory.format(name=name))
    parts = [_comment(f"{name}.h: {origin}\n\n{conventions}".strip())]
    parts.append(
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif'
    )
    parts += [_declaration_of(prototype) for prototype in prototypes]
    listed = "\n".join(f"{status}: {message}" for status, message in enumerate(messages))
    parts.append(
        f"{_comment(f'The message of a status, which lives as long as the code.{chr(10)}{listed}')}\n"
        f"const char *{name}_status_message(int status);"
    )
    if keeps_memory:
        what = _comment("Gives back the memory that is kept between calls, while no call runs.")
        parts.append(f"{what}\nvoid {name}_release(void);")
    parts.append(f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n")
    return "\n\n".join(parts)


def _declaration_of(prototype: CPrototype) -> str:
    lines = [f"Computes {prototype.summary}.", ""]
    lines += [_described(parameter, "in ") for parameter in prototype.arguments]
    lines += [_described(parameter, "out") for parameter in prototype.results]
    macro = f"{prototype.name.upper()}_WORKSPACE_SIZE"
    lines.append(f"workspace: {macro} bytes")
    declaration = textwrap.fill(
        f"{prototype.declaration};",
        100,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (
        f"{_comment(chr(10).join(lines))}\n{declaration}\n\n"
        f"#define {macro} {prototype.workspace_bytes}\nsize_t {prototype.name}_workspace_size(void);"
    )


def _described(parameter: CParameter, direction: str) -> str:
    note = f", {parameter.note}" if parameter.note else ""
    return f"{direction} {parameter.name}: {parameter.described}{note}"


def _comment(text: str) -> str:
    """`text` as a comment of C."""
    lines = text.replace("*/", "* /").replace("/*", "/ *").splitlines()
    body = "\n".join(f" * {line}".rstrip() for line in lines[1:])
    return f"/* {lines[0]}\n{body}\n */" if body else f"/* {lines[0]} */"


def manifest_text(
    version: str,
    compiled: CompiledPrograms,
    programs: Sequence[ExportedProgram],
    targets: Sequence[Target],
) -> str:
    """The text of ``name.json``."""
    document = {
        "name": compiled.name,
        "tracejit": version,
        "targets": [
            {"triple": target.triple, "cpu": target.cpu, "features": target.features} for target in targets
        ],
        "functions": [
            _function_entry(program, prototype)
            for program, prototype in zip(programs, compiled.prototypes, strict=True)
        ],
        "statuses": list(compiled.messages),
        "exports": list(compiled.exports),
        "undefined": list(compiled.emission.undefined),
    }
    return json.dumps(document, indent=2) + "\n"


def _function_entry(program: ExportedProgram, prototype: CPrototype) -> dict[str, Any]:
    lines = {(os.path.basename(place.file), place.line) for place in locations_of([program.function])}
    return {
        "name": prototype.name,
        "computes": prototype.summary,
        "declaration": prototype.declaration,
        "arguments": [_parameter_entry(parameter) for parameter in prototype.arguments],
        "results": [_parameter_entry(parameter) for parameter in prototype.results],
        "workspace_bytes": prototype.workspace_bytes,
        "captured": [
            {"dtype": array.dtype.name, "shape": list(array.shape), "source": source}
            for array, source in zip(program.captured, program.sources, strict=True)
        ],
        "lines": [f"{file}:{line}" for file, line in sorted(lines)],
    }


def _parameter_entry(parameter: CParameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "dtype": parameter.dtype,
        "c_type": parameter.c_type,
        "shape": list(parameter.shape),
    }
    if parameter.path:
        described["path"] = parameter.path
    if parameter.note:
        described["note"] = parameter.note
    return described


#: The ends of files' names, by kind.
_SUFFIXES: Final = {"object": ".o", "shared": ".so", "llvm": ".ll", "asm": ".s"}


def export(
    function: JitFunction,
    path: str | os.PathLike[str],
    specs: Sequence[Any],
    derivatives: Derivatives,
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
    programs = programs_of(name, function, specs, derivatives)
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
    version = import_module("tracejit").__version__
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
