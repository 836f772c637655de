"""Keys of the compile cache: what machine code depends on, as a digest.

That is the traced Function (by its content: ops, attributes, types and constants), and the `environment`: the
versions and sources of tracejit, LLVM and NumPy, and the CPU. A Function that depends on more has no key: see
`ir.content`.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from ...ir.content import content
from ...ir.graph import Function, Instruction
from .store import blake2b

#: What ``/proc/cpuinfo`` says of a CPU that LLVM looks at too.
_CPU_FIELDS: Final = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU implementer",
    "CPU architecture", "CPU variant", "CPU part",
)  # fmt: skip


def key_of(*parts: str) -> str:
    """A key from texts."""
    return blake2b("\0".join(parts).encode(), digest_size=24).hexdigest()


@functools.lru_cache(maxsize=1)
def environment() -> str:
    """What all machine code of this process depends on."""
    return key_of(
        *_sources(Path(__file__).parents[2]),
        *_llvm(),
        np.__version__,
        sys.platform,
        platform.machine(),
        _cpu(),
    )


def _sources(root: Path) -> Iterator[str]:
    """Names, sizes and times of the sources that make code: a version alone does not tell one checkout from
    the next."""
    for folder in ("ir", "codegen", "runtime"):
        stack = [os.path.realpath(root / folder)]
        while stack:
            for entry in sorted(os.scandir(stack.pop()), key=lambda entry: entry.name):
                if entry.is_dir():
                    stack.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    yield f"{entry.name} {status.st_size} {status.st_mtime_ns}"


def _llvm() -> Iterator[str]:
    """llvmlite's version, and which library it has; LLVM itself is not loaded for that."""
    spec = importlib.util.find_spec("llvmlite")
    root = Path(spec.origin or "").parent if spec is not None else Path()
    version = root / "_version.py"
    yield version.read_text() if version.exists() else ""
    for library in sorted((root / "binding").glob("*llvmlite.*")):
        status = library.stat()
        yield f"{library.name} {status.st_size} {status.st_mtime_ns}"


def _cpu() -> str:
    """The CPU and its features; from Linux, where that does not need LLVM."""
    changed = os.environ.get("TRACEJIT_CPU_FEATURES", "")
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read(8192).split("\n\n")[0]
    except OSError:
        from ...codegen.llvm.target import host

        return repr(host())
    fields = [line for line in text.splitlines() if line.split(":")[0].strip() in _CPU_FIELDS]
    return "\n".join(fields) + changed


def function_key(function: Function, *parts: str) -> str:
    """The key of `function`'s machine code, which depends on `parts` too. Raises NoContent."""
    return key_of(content(function, _line), *parts, environment())


def _line(instruction: Instruction) -> str:
    """The source line of what can fail: its message names it."""
    if not instruction.op.kind.traits.can_fail:
        return ""
    return str(instruction.location and (instruction.location.file, instruction.location.line))
