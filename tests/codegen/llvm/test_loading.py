"""LLVM's library by its C interface, which is the one that llvmlite's Python sees."""

from __future__ import annotations

import contextlib
import threading
from ctypes import c_bool, c_char_p, c_int, c_int64, c_void_p
from types import SimpleNamespace
from typing import Any

import pytest

from tracejit.base.errors import CompileError
from tracejit.base.process import forking
from tracejit.codegen.llvm import loading as llvm
from tracejit.codegen.llvm.loading import llvm_binding
from tracejit.codegen.llvm.target import host, target_machine

from ...runtime.programs import python

TEXT = """
define double @f(ptr %x, i64 %n) {
entry:
  %p = getelementptr double, ptr %x, i64 %n
  %v = load double, ptr %p
  %c = fcmp olt double %v, 0.0
  %r = select i1 %c, double %v, double 0x4000000000000000
  ret double %r
}
"""
FIRST_CALL = """
import sys, numpy as np, tracejit as tj
from tracejit.runtime import tiers
tiers._QUIET_SECONDS = 300.0  # the optimized tier passes LLVM's passes
result = tj.jit(lambda x: x * 2 + 1)(np.ones(3)).tolist()
print(result, "llvmlite" in sys.modules, "llvmlite.binding" in sys.modules)
"""


def declared(**changes: Any) -> Any:
    """Functions as llvmlite declares them, but for `changes`; None leaves one out."""
    functions = {
        name: SimpleNamespace(restype=result or c_int, argtypes=list(arguments) or None)
        for name, (result, arguments) in llvm.FUNCTIONS.items()
    }
    functions |= changes
    return SimpleNamespace(**{f"LLVMPY_{name}": f for name, f in functions.items() if f is not None})


def test_llvmlite_declares_the_functions_as_they_are_called() -> None:
    assert llvm.differences(llvm_binding().ffi.lib) == []
    assert llvm.differences(declared()) == []


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("VerifyModule", None),
        ("VerifyModule", SimpleNamespace(restype=c_bool, argtypes=[c_void_p])),
        ("VerifyModule", SimpleNamespace(restype=c_int, argtypes=[c_void_p, c_char_p])),
        ("ParseAssembly", SimpleNamespace(restype=c_void_p, argtypes=[c_void_p, c_int64, c_void_p])),
        ("InitializeNativeTarget", SimpleNamespace(restype=c_int, argtypes=[c_int])),
    ],
)
def test_a_function_that_llvmlite_has_changed_is_not_called(name: str, function: Any) -> None:
    changed = declared(**{name: function})
    assert llvm.differences(changed) == [name]
    with pytest.raises(ImportError, match=f"llvmlite 9.9.9 has changed {name}, .*install llvmlite"):
        llvm.check("9.9.9", changed)
    llvm.check("9.9.9", declared())


@pytest.mark.parametrize("version", ["0.51.0", "1.0.0"])
def test_an_unknown_version_is_compared_first(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    checked: list[str] = []
    monkeypatch.setattr("llvmlite.__version__", version)
    monkeypatch.setattr(llvm, "check", lambda version, declared: checked.append(version))
    llvm.library_path()
    assert checked == [version]


@pytest.mark.parametrize(("cpu", "pads"), [("cascadelake", True), ("skylake", True), ("znver4", False)])
def test_jumps_stay_in_blocks_where_cpus_need_it(
    monkeypatch: pytest.MonkeyPatch, cpu: str, pads: bool
) -> None:
    options: list[tuple[str, str]] = []
    loaded = llvm.library()
    monkeypatch.setattr(llvm.CFunctions, "host_cpu_name", lambda self: cpu)
    monkeypatch.setattr(llvm.CFunctions, "set_option", lambda self, *option: options.append(option))
    llvm.initialized(loaded)
    assert options == ([("", "-x86-branches-within-32B-boundaries")] if pads else [])


def test_both_ways_lead_to_one_library() -> None:
    assert llvm.library().handle == llvm_binding().ffi.lib._handle
    binding = llvm_binding()
    assert llvm.library().version == binding.llvm_version_info[0]
    assert llvm.library().process_triple() == binding.get_process_triple()
    assert llvm.library().host_cpu_name() == binding.get_host_cpu_name()
    assert llvm.library().host_cpu_features() == dict(binding.get_host_cpu_features())


@pytest.mark.parametrize("opt", [0, 1])
def test_code_is_that_of_llvmlite(opt: int) -> None:
    target = host()
    text = f'target triple = "{target.triple}"\n{TEXT}'
    machine = llvm.machine_for(target.triple, target.cpu, target.features, opt)
    assert llvm.machine_for(target.triple, target.cpu, target.features, opt) == machine
    with llvm.parsed(text) as module:
        image = llvm.emitted(machine, module)
    assert image == target_machine(target, opt=opt).emit_object(llvm_binding().parse_assembly(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i32 @f() { ret i64 0 }", "does(n't| not) match"),
        ("define i32 @f( {", "expected"),
        # parses, and is not valid
        ("define void @f() {\nentry:\n  call void @f()\n  br label %entry\n}", "predecessors"),
    ],
)
def test_text_that_llvm_does_not_take(text: str, message: str) -> None:
    rejected = f"LLVM rejects the generated code: .*({message})"
    with pytest.raises(CompileError, match=rejected), llvm.parsed(text):
        pass


def test_unknown_targets_and_functions() -> None:
    with pytest.raises(CompileError, match="knows no target nothing"):
        llvm.machine_for("nothing-at-all", "", "", 0)
    with pytest.raises(AttributeError, match="DumpModule is not among those"):
        llvm.library().DumpModule  # noqa: B018


def test_options_are_set_while_nobody_is_in_llvmlite() -> None:
    llvm_binding()
    lock, inside, go_on, order = forking.lock_of_llvmlite(), threading.Event(), threading.Event(), []

    def hold() -> None:
        with lock:
            inside.set()
            go_on.wait(60)
            order.append("llvmlite")

    def change() -> None:
        llvm.library().set_option("tracejit", "-disable-lsr=false")
        order.append("option")

    threads = [threading.Thread(target=work) for work in (hold, change)]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert order == ["llvmlite", "option"]


def test_the_first_call_does_without_llvmlites_python() -> None:
    printed = python(FIRST_CALL, TRACEJIT_TIERS="1", TRACEJIT_CACHE="0")
    assert printed == "[3.0, 3.0, 3.0] True False\n"


def test_strings_are_freed_once() -> None:
    """A signal's handler may raise right behind that: see `loading._close_once`."""
    freed: list[object] = []

    class Library:
        def LLVMPY_DisposeString(self, pointer: object) -> None:
            freed.append(pointer)
            raise KeyboardInterrupt

    close = llvm._close_once(Library())
    pointer = c_char_p(b"text")
    message = llvm_binding().ffi.OutputString(init=pointer)
    with contextlib.suppress(KeyboardInterrupt):
        close(message)
    close(message)
    assert freed == [pointer]
