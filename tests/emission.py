"""LLVM's effort for tests of values: no optimization for nine of ten, and each text compiled once.

Importing this replaces `compiler.emit_object`. Tests import it in ``conftest.py``, which sets `CODE` for each
of them, and programs that they run in processes of their own import it first
(`tests.runtime.programs.python`).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracejit.runtime.loading.support  # noqa: F401, has LLVM's own `emit_object`: parts are optimized as ever
from tracejit.codegen.llvm import compiler
from tracejit.codegen.llvm.target import host
from tracejit.codegen.tiers import OPTIMIZED, Effort, Tier
from tracejit.runtime.loading import objects

#: The environment variable that says how code is compiled: ``anew`` as for users, ``shared`` so and once for
#: all, ``plain`` without optimization and once for all.
CODE = "TRACEJIT_TEST_CODE"
#: The folder of object files that the processes of a test run share, by hash of what they were compiled from.
OBJECTS = "TRACEJIT_TEST_OBJECTS"
_EMIT: Callable[..., Any] = compiler.emit_object
_PART: Callable[..., tuple[bytes, dict[str, float]]] = objects._made


def _emit_object(text: str, effort: Effort = Effort.FULL, **options: Any) -> Any:
    """`compiler.emit_object` with the effort of the test that runs."""
    return _EMIT(text, Effort.PLAIN if os.environ.get(CODE) == "plain" else effort, **options)


def _shares() -> bool:
    return os.environ.get(CODE) in ("plain", "shared")


def _kept(source: str, emit: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The object of `source`, emitted before by any process or now; and whether it was emitted before."""
    path = Path(os.environ[OBJECTS]) / hashlib.sha256(source.encode()).hexdigest()
    try:
        return path.read_bytes(), True
    except FileNotFoundError:
        image = emit()
        partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        partial.write_bytes(image)
        partial.replace(path)
        return image, False


def _shared(emit: Callable[..., bytes]) -> Callable[..., bytes]:
    """`emit`, which compiles a module or a piece of one, with what was emitted before kept on disk."""

    def emitted(text: str, effort: Effort, *options: Any) -> bytes:
        if not _shares():
            return emit(text, effort, *options)
        *settings, clock = options
        source = repr((emit.__name__, text, effort, settings, host()))
        image, was_there = _kept(source, lambda: emit(text, effort, *options))
        if was_there:
            for phase in ("parse", "optimize", "codegen"):
                clock.lap(phase)
        return image

    return emitted


def _part(key: str, name: str, arguments: tuple[Any, ...], tier: Tier = OPTIMIZED) -> tuple[bytes, Any]:
    """`objects._made`, with the runtime's parts kept on disk, too, by what they are planned for."""
    if not _shares():
        return _PART(key, name, arguments, tier)
    milliseconds: dict[str, float] = {}

    def emit() -> bytes:
        image, phases = _PART(key, name, arguments, tier)
        milliseconds.update(phases)
        return image

    return _kept(repr((key, tier, host())), emit)[0], milliseconds


compiler.emit_object = _emit_object
objects._made = _part
compiler._emit = _shared(compiler._emit)
compiler._emit_apart = _shared(compiler._emit_apart)
