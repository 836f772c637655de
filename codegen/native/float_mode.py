"""The floating-point mode of a thread: whether it flushes denormal numbers.

A *denormal* number is smaller than the smallest normal one of its dtype (1.2e-38 in float32). Most CPUs take
some hundred cycles for an instruction that meets one. A thread that *flushes* them reads them as zero and
gives zero where a result would be one. The mode is a word of the thread's: MXCSR on x86, FPCR on Arm.
"""

from __future__ import annotations

from typing import Final

from ..interface import FLUSHED_MAIN, SET_FLUSHING
from ..llvm.emitter import Reg
from .functions import Bytes, ImportedFunction, Int, native
from .module import NativeModule
from .structs import BYTES
from .writer import NativeWriter

#: The bits that flush: of results and of operands (FTZ and DAZ) on x86, of both (FZ) on Arm.
_X86_BITS: Final = 0x8040
_ARM_BITS: Final = 1 << 24

_store_mxcsr = ImportedFunction("llvm.x86.sse.stmxcsr", None, BYTES)
_load_mxcsr = ImportedFunction("llvm.x86.sse.ldmxcsr", None, BYTES)
_get_fpcr = ImportedFunction("llvm.aarch64.get.fpcr", "i64")
_set_fpcr = ImportedFunction("llvm.aarch64.set.fpcr", None, "i64")
#: The function whose calls flush. What a variant with an instrument takes besides comes last.
_main = ImportedFunction(FLUSHED_MAIN, "i32", BYTES, BYTES, BYTES)


def float_mode_numbers(triple: str) -> dict[str, int]:
    """Values of `NativeModule.numbers` that the functions of this module ask for."""
    x86, arm = triple.startswith(("x86_64", "i686")), triple.startswith(("aarch64", "arm64"))
    return {"x86": int(x86), "arm": int(arm), "flushing": _X86_BITS if x86 else _ARM_BITS if arm else 0}


def read_mode(f: NativeWriter) -> Reg:
    """Floating-point mode of this thread, 0 on machines whose mode is not known."""
    if f.module.numbers["x86"]:
        place = f.array("i64", 1)
        place[0] = 0
        _store_mxcsr(f, place)
        word: Reg = place[0]
        return word
    if f.module.numbers["arm"]:
        register: Reg = _get_fpcr(f)
        return register
    return f.coerced(0, "i64")


def write_mode(f: NativeWriter, mode: Reg) -> None:
    """Give this thread a mode that `read_mode` gave."""
    if f.module.numbers["x86"]:
        place = f.array("i64", 1)
        place[0] = mode
        _load_mxcsr(f, place)
    elif f.module.numbers["arm"]:
        _set_fpcr(f, mode)


@native("i64", export=SET_FLUSHING)
def set_flushing(f: NativeWriter, flushes: Int) -> None:
    """Have this thread flush denormals (1), not flush them (0), or as it does (-1); whether it did."""
    bits, before = f.module.numbers["flushing"], read_mode(f)
    did = f.ne(f.and_(before, bits), 0)
    with f.if_(f.ge(flushes, 0)):
        without = f.and_(before, ~bits)
        write_mode(f, f.select(f.ne(flushes, 0), f.or_(before, bits), without))
    f.ret(f.select(did, f.coerced(1, "i64"), f.coerced(0, "i64")))


@native("i32", export="main")
def flushing_main(f: NativeWriter, inputs: Bytes, outputs: Bytes, more: Bytes) -> None:
    """Run a compiled function while this thread flushes denormals."""
    before = read_mode(f)
    write_mode(f, f.or_(before, f.module.numbers["flushing"]))
    status = _main(f, inputs, outputs, more)
    write_mode(f, before)
    f.ret(status)


def float_mode_text(triple: str) -> str:
    """The module with `set_flushing`."""
    return NativeModule(numbers=float_mode_numbers(triple)).text(set_flushing)


def flushing_main_text(triple: str) -> str:
    """The module with `flushing_main`, linked anew with each function."""
    return NativeModule(numbers=float_mode_numbers(triple)).text(flushing_main)
