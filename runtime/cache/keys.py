"""Keys of the compile cache: digests of everything that machine code depends on.

It depends on the traced Function (its ops, attributes, types and constants) and on the `environment`: the
versions and sources of tracejit, LLVM and NumPy, and the CPU. A Function that depends on more has no key: see
`ir.content`. Machines that installed the same packages have the same keys (`_Installed`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from ...base.loading import LazyModule
from ...ir.content import content
from ...ir.graph import Function, Instruction
from .store import blake2b

if TYPE_CHECKING:
    from ...codegen.llvm import target
else:
    target = LazyModule("...codegen.llvm.target", __package__)

#: Endings of the names of files that machine code depends on: code, and tables of numbers.
_SOURCES: Final = (".py", ".txt")
#: The fields of ``/proc/cpuinfo`` that LLVM reads too.
_CPU_FIELDS: Final = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU implementer",
    "CPU architecture", "CPU variant", "CPU part",
)  # fmt: skip


def key_of(*parts: str) -> str:
    """A key from texts."""
    return blake2b("\0".join(parts).encode(), digest_size=24).hexdigest()


@functools.lru_cache(maxsize=1)
def environment() -> str:
    """A digest of everything that all machine code of this process depends on."""
    return key_of(
        *_sources(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))),
        *_llvm(),
        np.__version__,
        sys.platform,
        platform.machine(),
        _cpu(),
    )


class _Installed:
    """The files of a package as its installer recorded them (the RECORD of PyPA's specification of installed
    projects): their digests are the same on every machine, while times are those of the installation.

    A file that was changed since RECORD was written, or is not in it, is known by its size and time: a
    version does not tell one checkout from the next. Its ``st_ctime``, which the system sets and no program
    can, tells whether it was changed.
    """

    def __init__(self, package: str) -> None:
        root, name = os.path.split(os.path.realpath(package))
        self._begin = len(root) + 1
        self._digests: dict[str, str] = {}
        self._written = -1
        for entry in os.scandir(root):
            if entry.name.startswith(f"{name}-") and entry.name.endswith(".dist-info"):
                self._read(os.path.join(entry.path, "RECORD"))

    def _read(self, record: str) -> None:
        """Take the digests of sources and libraries from a RECORD, whose lines are ``path,digest,size``."""
        with contextlib.suppress(OSError), open(record, encoding="utf-8") as file:
            self._written = os.fstat(file.fileno()).st_ctime_ns
            lines = [line.rsplit(",", 2) for line in file if ",sha" in line]
            self._digests.update({path: digest for path, digest, _ in lines})

    def identity(self, path: str, status: os.stat_result) -> str:
        """Identify the content of the file at `path`, by its digest when it was installed or by `status`."""
        digest = self._digests.get(path[self._begin :].replace(os.sep, "/"))
        if digest and status.st_ctime_ns <= self._written:
            return digest
        return f"{status.st_size} {status.st_mtime_ns}"


def _sources(root: str | os.PathLike[str]) -> Iterator[str]:
    """Names and identities of the sources that make code."""
    installed = _Installed(str(root))
    for folder in ("base", "ir", "codegen", "runtime"):
        stack = [os.path.realpath(os.path.join(root, folder))]
        while stack:
            for entry in sorted(os.scandir(stack.pop()), key=_name):
                if entry.is_dir():
                    stack.append(entry.path)
                elif entry.name.endswith(_SOURCES):
                    yield f"{entry.name} {installed.identity(entry.path, entry.stat())}"


def _llvm() -> Iterator[str]:
    """llvmlite's version, and which library it has; LLVM itself is not loaded for that."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None:
        return
    root = os.path.dirname(spec.origin or "")
    version = os.path.join(root, "_version.py")
    if os.path.exists(version):
        with open(version, encoding="utf-8") as file:
            yield file.read()
    else:
        yield ""
    installed = _Installed(root)
    for library in sorted(os.scandir(os.path.join(os.path.realpath(root), "binding")), key=_name):
        if "llvmlite." in library.name:
            yield f"{library.name} {installed.identity(library.path, library.stat())}"


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _cpu() -> str:
    """The CPU and its features; from Linux, where that does not need LLVM."""
    changed = os.environ.get("TRACEJIT_CPU_FEATURES", "")
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read(8192).split("\n\n")[0]
    except OSError:
        return repr(target.host())
    fields = [line for line in text.splitlines() if line.split(":")[0].strip() in _CPU_FIELDS]
    return "\n".join(fields) + changed


def function_key(function: Function, *parts: str) -> str:
    """The key of `function`'s machine code, which depends on `parts` too. Raises NoContent."""
    return key_of(content(function, _line), *parts, environment())


def _line(instruction: Instruction) -> str:
    """The source line of an instruction that can fail, which its message names; empty for other
    instructions."""
    if not instruction.op.kind.traits.can_fail:
        return ""
    return str(instruction.location and (instruction.location.file, instruction.location.line))
