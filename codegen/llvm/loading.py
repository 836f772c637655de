"""LLVM's library, which comes with llvmlite: its C functions, and llvmlite's Python around it.

Importing `llvmlite.binding` takes 18 ms beside the 4 ms in which the library itself loads: all of its modules
load together. Code that passes none of LLVM's passes, as of the baseline tier, needs twenty functions. They
are called here, by their C interface (`library`), and the first call of a process need not wait for the rest
(`llvm_binding`), which loads with the first module that LLVM's passes, its linker or its printers are asked
for. Both talk to one library with one state. See docs/decisions/0037-llvms-library.md.

llvmlite does not promise that interface. It is the same from 0.45 to 0.50; with any other version, what
llvmlite declares for its functions is compared first (`differences`).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any, Final

from ...base.errors import CompileError
from ...base.loading import load_module
from ...base.process.forking import LLVM_LOCK, lock_of_llvmlite

#: The C functions: the type of the result, None where there is none, and those of the arguments.
FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "GetVersionInfo": (c_uint, ()),
    "InitializeNativeTarget": (None, ()),
    "InitializeNativeAsmPrinter": (None, ()),
    "InitializeNativeAsmParser": (None, ()),
    "SetCommandLine": (None, (c_char_p, c_char_p)),
    "DisposeString": (None, (c_void_p,)),
    "GetProcessTriple": (None, (c_void_p,)),
    "GetHostCPUName": (None, (c_void_p,)),
    "GetHostCPUFeatures": (c_int, (c_void_p,)),
    "GetTargetFromTriple": (c_void_p, (c_char_p, c_void_p)),
    "CreateTargetMachine": (
        c_void_p,
        (c_void_p, *[c_char_p] * 3, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "ContextCreate": (c_void_p, ()),
    "ContextDispose": (None, (c_void_p,)),
    "ParseAssembly": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "VerifyModule": (c_bool, (c_void_p, c_void_p)),
    "DisposeModule": (None, (c_void_p,)),
    "TargetMachineEmitToMemory": (c_void_p, (c_void_p, c_void_p, c_int, c_void_p)),
    "GetBufferStart": (c_void_p, (c_void_p,)),
    "GetBufferSize": (c_size_t, (c_void_p,)),
    "DisposeMemoryBuffer": (None, (c_void_p,)),
}
#: The versions of llvmlite whose functions are known to be these.
_CHECKED: Final = ("0.45", "0.46", "0.47", "0.48", "0.49", "0.50")
#: CPUs, as LLVM calls them, whose microcode keeps code with a jump across a boundary of 32 bytes, or at one,
#: out of the cache of decoded instructions (Intel's erratum SKX102): tight loops then take up to 1.3 times as
#: long.
_JUMPS_STAY_IN_BLOCKS: Final = ("skylake", "skylake-avx512", "cascadelake")


class CFunctions:
    """The C functions of `FUNCTIONS`, as attributes."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self._library, f"LLVMPY_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"LLVM's function {name} is not among those that are called")

    @property
    def handle(self) -> int:
        """The system's handle of the library."""
        return self._library._handle

    @property
    def version(self) -> int:
        """LLVM's major version."""
        number: int = self.GetVersionInfo()
        while number >= 1 << 8:
            number >>= 8
        return number

    def process_triple(self) -> str:
        """The triple of this process."""
        return self._written(self.GetProcessTriple)

    def host_cpu_name(self) -> str:
        """The CPU's name."""
        return self._written(self.GetHostCPUName)

    def host_cpu_features(self) -> dict[str, bool]:
        """Features of CPUs, and whether this one has them; empty where LLVM can not tell."""
        features = filter(None, self._written(self.GetHostCPUFeatures).split(","))
        return {feature[1:]: feature[0] == "+" for feature in features}

    def set_option(self, program: str, option: str) -> None:
        """Set an option of the process. Nobody else is in LLVM meanwhile who calls it by llvmlite."""
        with lock_of_llvmlite() or contextlib.nullcontext():
            self.SetCommandLine(program.encode(), option.encode())

    def taken(self, message: c_void_p) -> str:
        """The text that LLVM has written, which is freed; empty where there is none."""
        if not message.value:
            return ""
        try:
            return ctypes.string_at(message.value).decode(errors="replace")
        finally:
            self.DisposeString(message)

    def _written(self, write: Any) -> str:
        text = c_void_p()
        write(byref(text))
        return self.taken(text)


_LOADED: Final[list[CFunctions]] = []


def library() -> CFunctions:
    """The library, with the native target initialized. Raises ImportError where there is no llvmlite, or one
    with other functions."""
    if not _LOADED:
        path = library_path()
        with LLVM_LOCK:  # no process forks meanwhile
            if not _LOADED:
                _LOADED.append(initialized(CFunctions(path)))
    return _LOADED[0]


def library_path() -> str:
    """The file of the library. Raises ImportError."""
    llvmlite, utils = load_module("llvmlite"), load_module("llvmlite.utils")
    if ".".join(llvmlite.__version__.split(".")[:2]) not in _CHECKED:
        check(llvmlite.__version__, load_module("llvmlite.binding").ffi.lib)
    return os.path.join(os.path.dirname(llvmlite.__file__), "binding", utils.get_library_name())


def initialized(loaded: CFunctions) -> CFunctions:
    """The library, with all that code for this machine needs."""
    loaded.InitializeNativeTarget()
    loaded.InitializeNativeAsmPrinter()
    loaded.InitializeNativeAsmParser()
    if loaded.host_cpu_name() in _JUMPS_STAY_IN_BLOCKS:
        # read where machine code is made, by all that use this LLVM; without effect where it is set already
        loaded.set_option("", "-x86-branches-within-32B-boundaries")
    return loaded


def check(version: str, declared: Any) -> None:
    """Raise ImportError unless llvmlite has `declared` its functions as they are called here."""
    others = differences(declared)
    if others:
        raise ImportError(
            f"llvmlite {version} has changed {', '.join(others)}, which tracejit calls: install"
            f" llvmlite {_CHECKED[-1]} or an earlier one"
        )


def differences(declared: Any) -> list[str]:
    """Names of functions that llvmlite has `declared` in another way than they are called here."""
    wrong = []
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(declared, f"LLVMPY_{name}", None)
        if function is None:
            wrong.append(name)
            continue
        given = function.argtypes  # None where llvmlite leaves it to ctypes
        same = given is None or list(map(_layout, given)) == list(map(_layout, arguments))
        if not same or (result is not None and _layout(function.restype) != _layout(result)):
            wrong.append(name)
    return wrong


def _layout(kind: Any) -> tuple[bool, int]:
    """Whether a type of ctypes' is a pointer, and its bytes."""
    is_pointer = kind in (c_char_p, c_void_p) or issubclass(kind, ctypes._Pointer)
    return is_pointer, ctypes.sizeof(kind)


@functools.cache
def machine_for(triple: str, cpu: str, features: str, opt: int) -> int:
    """LLVM's machine for position-independent code, which lives as long as the process. One thread may use it
    at a time."""
    loaded, message = library(), c_void_p()
    target = loaded.GetTargetFromTriple(triple.encode(), byref(message))
    if not target:
        raise CompileError(f"LLVM knows no target {triple}: {loaded.taken(message)}")
    names = [text.encode() for text in (triple, cpu, features)]
    made: int | None = loaded.CreateTargetMachine(target, *names, opt, b"pic", b"small", 0, 0, b"")
    if not made:
        raise CompileError(f"LLVM has no machine for {triple} {cpu}")
    return made


@contextlib.contextmanager
def parsed(text: str) -> Iterator[int]:
    """The module of a text, in a context of its own, within the ``with`` block. Raises CompileError for text
    that LLVM does not take."""
    loaded, message = library(), c_void_p()
    context = loaded.ContextCreate()
    try:
        module = loaded.ParseAssembly(context, text.encode(), byref(message))
        if not module:
            raise CompileError(f"LLVM rejects the generated code: {loaded.taken(message)}")
        try:
            if loaded.VerifyModule(module, byref(message)):
                raise CompileError(f"LLVM rejects the generated code: {loaded.taken(message)}")
            loaded.taken(message)
            yield module
        finally:
            loaded.DisposeModule(module)
    finally:
        loaded.ContextDispose(context)


def emitted(machine: int, module: int) -> bytes:
    """The object code of `module`, which the caller alone has, as it has `machine`. Raises RuntimeError."""
    loaded, message = library(), c_void_p()
    buffer = loaded.TargetMachineEmitToMemory(machine, module, 1, byref(message))
    if not buffer:
        raise RuntimeError(loaded.taken(message))
    try:
        return ctypes.string_at(loaded.GetBufferStart(buffer), loaded.GetBufferSize(buffer))
    finally:
        loaded.DisposeMemoryBuffer(buffer)


@functools.lru_cache(maxsize=1)
def llvm_binding() -> Any:
    """``llvmlite.binding`` with the native target initialised."""
    library()
    binding = load_module("llvmlite.binding")
    binding.ffi.OutputString.close = _close_once(binding.ffi.lib)
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
    return library().version < 22


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
