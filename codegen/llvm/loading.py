"""Lazy loading of llvmlite: with the first function that is compiled, not with tracejit."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, Final

from ...base.loading import load_module

#: CPUs, as LLVM calls them, whose microcode keeps code with a jump across a boundary of 32 bytes, or at one,
#: out of the cache of decoded instructions (Intel's erratum SKX102): tight loops then take up to 1.3 times as
#: long.
_JUMPS_STAY_IN_BLOCKS: Final = ("skylake", "skylake-avx512", "cascadelake")


@functools.lru_cache(maxsize=1)
def llvm_binding() -> Any:
    """``llvmlite.binding`` with the native target initialised."""
    binding = load_module("llvmlite.binding")

    binding.ffi.OutputString.close = _close_once(binding.ffi.lib)
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    if binding.get_host_cpu_name() in _JUMPS_STAY_IN_BLOCKS:
        # read where machine code is made, by all that use this LLVM; without effect where it is set already
        binding.set_option("", "-x86-branches-within-32B-boundaries")
    return binding


def _close_once(library: Any) -> Callable[[Any], None]:
    """`close` of llvmlite's strings, which `library` frees. Its own frees a string a second time in
    ``__del__`` where the handler of a signal raises right after the first."""

    def close(message: Any) -> None:
        pointer, message._ptr = message._ptr, None
        if pointer is not None and message._owned:
            del message._as_parameter_
            library.LLVMPY_DisposeString(pointer)

    return close


@functools.lru_cache(maxsize=1)
def mistakes_magnitudes() -> bool:
    """Whether LLVM makes ``x > 0`` of ``|x| > 0`` where that chooses and NaN is asked for as well.

    LLVM 20 does, in llvmlite 0.45 to 0.47, and 22 does not; no llvmlite has 21.
    """
    return bool(llvm_binding().llvm_version_info[0] < 22)


@functools.lru_cache(maxsize=1)
def all_targets() -> Any:
    """``llvmlite.binding`` with every target initialised that LLVM was built with, to look at their code."""
    binding = llvm_binding()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def emitted_without_lock(machine: Any, module: Any) -> bytes:
    """``machine.emit_object(module)`` without llvmlite's lock, which it needs only for what others share: the
    two must be the caller's alone, and so must the module's context. Raises RuntimeError."""
    binding = llvm_binding()
    library = binding.ffi.lib
    emit = library.LLVMPY_TargetMachineEmitToMemory
    with binding.ffi.OutputString() as message:
        buffer = getattr(emit, "_cfn", emit)(machine, module, 1, message)
        if not buffer:
            raise RuntimeError(str(message))
    try:
        start = library.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, library.LLVMPY_GetBufferSize(buffer))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)
