"""Code that is planned for arm64 and runs here: ``python -m pytest -p tests.arm64_plans tests/...``.

What is written depends on the target's vectors (16 bytes) and registers (32 of them), on instructions that it
has and on what casts give there. The text itself is any machine's. So this gives code generation the target
arm64, and LLVM compiles what comes out for this machine. Importing it is enough; it comes before anything
else of the package.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from tracejit.codegen.llvm import compiler, target

#: A machine without SVE, and without features that are not in every arm64.
ARM64: Final = target.Target("aarch64-unknown-linux-gnu", "generic", "", 128)


_TIMES = itertools.count()


def _planned_for() -> target.Target:
    next(_TIMES)
    return ARM64


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say that it was so."""
    terminalreporter.write_line(f"the target arm64 was asked for {next(_TIMES)} times")


target.host = _planned_for

from tracejit.runtime.loading import support  # noqa: E402, it and what it imports take `target.host` by name

# the pool waits and reads its floating-point mode by instructions of the machine that it runs on
support.host = compiler.host
