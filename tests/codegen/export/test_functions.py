"""Modules of exported functions, before LLVM sees them."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit.codegen.export.functions import ExportedFunction, exported_module
from tracejit.codegen.llvm.target import host
from tracejit.ir.passes import run_passes


def module_of(*functions, release="release"):
    """The module of jitted functions with their arguments, named f0, f1, ...; they capture nothing."""
    exported = [
        ExportedFunction(f"f{number}", run_passes(function.trace(*arguments)), ())
        for number, (function, arguments) in enumerate(functions)
    ]
    return exported_module(exported, host(), release)


X = np.ones((20, 30))


def test_small_values_lie_on_the_stack_and_large_ones_in_the_workspace():
    f = tj.jit(lambda x: tj.sort(x, 0).sum())
    module = module_of((f, (np.ones((2, 3)),)), (f, (X,)))
    assert module.workspaces["f0"] == 0
    assert X.nbytes <= module.workspaces["f1"] <= 3 * X.nbytes
    assert "alloc(" not in module.text


def test_equal_kernels_are_written_once():
    f = tj.jit(lambda x: tj.sin(x))
    alone, both = module_of((f, (X,))), module_of((f, (X,)), (f, (X,)))
    assert len(both.text) < 1.2 * len(alone.text)
    assert both.text.count("define ") == alone.text.count("define ") + 1


def test_what_is_captured_is_written_once():
    array = np.arange(5.0)
    traced = run_passes(tj.jit(lambda x: x * array).trace(np.ones(5)))
    functions = [ExportedFunction(name, traced, (array,)) for name in ("f", "g")]
    text = exported_module(functions, host(), "release").text
    assert text.count('c"' + "".join(f"\\{byte:02X}" for byte in array.tobytes())) == 1


def test_errors_are_shared():
    f = tj.jit(lambda x, i: x[i])
    module = module_of((f, (np.ones(3), 1)), (f, (np.ones(4), 1)))
    assert [message.partition(" (")[0] for message in module.errors] == [
        "gather: an index is out of bounds for axis 0 with size 3",
        "gather: an index is out of bounds for axis 0 with size 4",
    ]


def test_memory_is_kept_by_loops_of_unknown_length_alone():
    def halved(x):
        return tj.while_loop(lambda x: (x * x).sum() > 1.0, lambda x: tj.sin(x) * 0.9, x).sum()

    assert not module_of((tj.jit(halved), (X,))).keeps_memory
    module = module_of((tj.jit(tj.grad(halved)), (X,)), release="f_release")
    assert module.keeps_memory
    assert "define void @f_release()" in module.text


def test_products_are_named_and_what_needs_the_process_is_refused():
    large = np.ones((300, 300))
    assert module_of((tj.jit(lambda x: x @ x), (large,))).products == ["f64"]
    ((instruction, reason),) = module_of((tj.jit(tj.linalg.eigvalsh), (large,))).refused
    assert (instruction.op.name, reason) == ("eigvalsh", "calls LAPACK")
    factors = module_of((tj.jit(tj.linalg.cholesky), (large,)))
    assert (factors.lapack, factors.refused) == ([], [])
    reflections = module_of((tj.jit(tj.linalg.qr), (large,)))
    assert (reflections.lapack, reflections.refused) == (["lapack64_dgeqrf"], [])
