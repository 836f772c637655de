"""Loads llvmlite when the first function is compiled, so that importing tracejit does not."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

from ..ir.forking import FORKS


@functools.lru_cache(maxsize=1)
def llvm_binding() -> Any:
    """``llvmlite.binding`` with the native target initialised."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    return binding


@functools.lru_cache(maxsize=1)
def all_targets() -> Any:
    """``llvmlite.binding`` with every target initialised that LLVM was built with, to look at their code."""
    binding = llvm_binding()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def _lock_of_llvmlite() -> contextlib.AbstractContextManager[Any]:
    """What llvmlite takes for each call, also where threads drop code; nothing where it is not loaded."""
    module: Any = sys.modules.get("llvmlite.binding.ffi")
    return contextlib.nullcontext() if module is None else module.lib._lock  # type: ignore[no-any-return]


FORKS.hold(_lock_of_llvmlite)
