"""Loads llvmlite when the first function is compiled, so that importing tracejit does not."""

from __future__ import annotations

import functools
from typing import Any


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
