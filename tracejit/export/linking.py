"""Shared libraries of exported objects, by a linker of this machine or zig's."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..base.errors import TracejitError
from ..codegen.llvm.target import Target, host

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
