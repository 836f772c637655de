"""Exported files: programs in C compute the same bits as Python, by headers that describe what is there."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import ArgumentError, TraceError, TracejitError
from tracejit.codegen.export.levels import LEVELS
from tracejit.codegen.llvm.target import host
from tracejit.export import linking

from ...rotation import share_of
from ...support import library_functions
from .programs import COMPILER, assert_same_bits, compiled_program, needs_compiler, run_program
from .samples import SAMPLES


@needs_compiler
@pytest.mark.parametrize("name", ["eight_schools", *share_of(["network", "lorenz", "kalman"], 5)])
def test_programs_in_c_compute_the_same_bits(name, tmp_path):
    function, arguments, argnums = SAMPLES[name]
    exported = tj.jit(function).export(tmp_path / name, *arguments, grad=argnums)
    assert exported.code.stat().st_size < 80_000  # the larger without FMA
    assert set(exported.undefined) <= library_functions(host())
    expected = tj.jit(tj.value_and_grad(function, argnums))(*arguments)
    for number, values in enumerate((expected[0], expected)):
        program = compiled_program(exported, number, tmp_path)
        message, results = run_program(exported, number, [str(program)], arguments)
        assert message == "success"
        assert_same_bits(results, values)


@needs_compiler
def test_derivatives_of_all_kinds_in_a_library(tmp_path):
    def f(x, y):
        return tj.sin(x * y.sum()).sum() + (x**3).sum()

    x, y = np.linspace(0.1, 0.4, 4), np.ones(2)
    exported = tj.jit(f).export(tmp_path / "f", x, y, grad=1, jacobian=(0, 1), hvp=True, kind="shared")
    assert exported.code.name == "f.so"
    names = [prototype.name for prototype in exported.functions]
    assert names == ["f", "f_value_and_grad", "f_jacobian", "f_hvp"]
    library = ctypes.CDLL(str(exported.code))
    expected = [
        f,
        tj.value_and_grad(f, 1),
        tj.jacrev(f, (0, 1)),
        lambda x, y, v: tj.jvp(lambda z: tj.grad(f)(z, y), (x,), (v,))[1],
    ]
    for prototype, function in zip(exported.functions, expected, strict=True):
        arguments = [x, y, np.arange(4.0)][: len(prototype.arguments)]
        results = [np.empty(parameter.shape) for parameter in prototype.results]
        places = [ctypes.c_void_p(array.ctypes.data) for array in (*arguments, *results)]
        assert prototype.workspace_bytes == getattr(library, f"{prototype.name}_workspace_size")() == 0
        assert getattr(library, prototype.name)(*places, None) == 0
        assert_same_bits(results, tj.jit(function)(*arguments))


@needs_compiler
@pytest.mark.parametrize("size", share_of([25], 5))
def test_memory_is_used_as_the_header_says(size, tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("there is no valgrind")

    def f(x):
        return (tj.while_loop(lambda x: (x * x).sum() > 1.0, lambda x: tj.sin(x) * 0.7, x) @ x).sum()

    x = np.random.default_rng(0).normal(size=(size, size))
    exported = tj.jit(f).export(tmp_path / "f", x, grad=True, target=LEVELS)
    assert exported.functions[1].workspace_bytes > 0
    program = compiled_program(exported, 1, tmp_path, "-lm")
    # which has no AVX-512, so that the level below it runs
    message, results = run_program(exported, 1, ["valgrind", "-q", "--error-exitcode=9", str(program)], x)
    assert message == "success"
    expected = tj.value_and_grad(f)(x)
    assert all(np.allclose(a, b, rtol=1e-10) for a, b in zip(results, expected, strict=True))
    third = tj.jit(f).export(tmp_path / "f", x, grad=True, target="x86-64-v3")
    _, results_of_third = run_program(third, 1, [str(compiled_program(third, 1, tmp_path))], x)
    assert_same_bits(results, results_of_third)


def factored(a, b):
    """All kinds of factorizations."""
    q, r = tj.linalg.qr(b)
    return tj.linalg.cholesky(a @ a.T) @ tj.linalg.solve(a, b), tj.linalg.det(a), q, r


@needs_compiler
@pytest.mark.parametrize("size", share_of([35, 99], 10))
def test_factorizations_stay_within_their_memory(size, tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("there is no valgrind")
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(size, size)) + 2 * np.eye(size), rng.normal(size=(size, 3))
    exported = tj.jit(factored).export(tmp_path / "f", a, b, target="x86-64-v3")
    assert set(exported.undefined) <= {"memcpy", "memset"}
    program = compiled_program(exported, 0, tmp_path)
    message, results = run_program(
        exported, 0, ["valgrind", "-q", "--error-exitcode=9", str(program)], (a, b)
    )
    assert message == "success"
    for result, expected in zip(results, factored(a, b), strict=True):
        assert np.allclose(result, expected, rtol=1e-8)


@needs_compiler
def test_programs_run_with_sanitizers(tmp_path, monkeypatch):
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # the program frees nothing
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    check = [COMPILER, *flags, "-x", "c", "-", "-o", str(tmp_path / "check")]
    if subprocess.run(check, input=b"int main(void) { return 0; }", capture_output=True).returncode:
        pytest.skip("the compiler has no sanitizers")
    exported = tj.jit(lambda x: tj.sort(x @ x, 1)).export(tmp_path / "f", np.ones((33, 33)))
    assert exported.functions[0].workspace_bytes > 0
    x = np.random.default_rng(0).normal(size=(33, 33))
    message, (result,) = run_program(exported, 0, [str(compiled_program(exported, 0, tmp_path, *flags))], x)
    assert message == "success"
    assert_same_bits([result], tj.jit(lambda x: tj.sort(x @ x, 1))(x))


@needs_compiler
def test_failures_are_messages_in_c(tmp_path):
    f = tj.jit(lambda x, i: x[i])
    exported = f.export(tmp_path / "f", np.ones(3), 0)
    program = compiled_program(exported, 0, tmp_path)
    message, _ = run_program(exported, 0, [str(program)], (np.ones(3), 5))
    assert message in exported.messages
    assert "out of bounds for axis 0 with size 3 (test_exporting.py:" in message


@needs_compiler
def test_headers_are_for_c_and_cpp(tmp_path):
    exported = tj.jit(lambda double, x: double + x).export(tmp_path / "f", np.ones(3), 2)
    text = exported.header.read_text()
    assert "int f(const double *double_, const int64_t *x, double *result, void *workspace);" in text
    assert "in  double_: float64[3]\n" in text
    source = tmp_path / "main.c"
    source.write_text('#include "f.h"\n#include "f.h"\nint main(void) { return F_WORKSPACE_SIZE; }\n')
    for language in ("c", "c++") if shutil.which("c++") else ("c",):
        command = [COMPILER, "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(source)]
        subprocess.run(command, check=True)


def test_the_manifest_describes_the_functions(tmp_path):
    weights = np.ones((2, 3), "float32")
    f = tj.jit(lambda p, n: p["a"] @ weights * n)
    exported = f.export(tmp_path / "f", {"a": tj.TensorType(tj.float32, (4, 2))}, tj.TensorType(tj.int8, ()))
    document = json.loads(exported.manifest.read_text())
    (function,) = document["functions"]
    assert function["arguments"][0] == {
        "name": "p_a", "dtype": "float32", "c_type": "float", "shape": [4, 2], "path": "args[0]['a']",
    }  # fmt: skip
    assert function["results"] == [{"name": "result", "dtype": "float32", "c_type": "float", "shape": [4, 3]}]
    assert function["captured"] == [{"dtype": "float32", "shape": [2, 3], "source": "weights"}]
    assert all(line.startswith("test_exporting.py:") for line in function["lines"])
    assert document["statuses"] == list(exported.messages)
    assert "f_status_message" in document["exports"]


def test_the_same_function_gives_the_same_file(tmp_path):
    files = [
        tj.jit(lambda x: tj.tanh(x @ x).sum()).export(tmp_path / folder / "f", np.ones((9, 9)), grad=True)
        for folder in ("first", "second")
    ]
    assert files[0].code.read_bytes() == files[1].code.read_bytes()


def test_text_of_llvm_and_assembly(tmp_path):
    f = tj.jit(lambda x: x * 2)
    assert re.search(
        r"^define .*i32 @f\(", f.export(tmp_path / "f", np.ones(3), kind="llvm").code.read_text(), re.M
    )
    assert ".globl\tf\n" in f.export(tmp_path / "f", np.ones(3), kind="asm").code.read_text()


# -- refused --------------------------------------------------------------------------------------


def test_what_needs_this_process_is_refused_with_lines(tmp_path):
    def f(x):
        values = tj.linalg.eigvalsh(x @ x.T)
        return tj.pure_callback(lambda v: np.asarray(v) * 2, tj.TensorType(tj.float64, (3,)), values)

    with pytest.raises(TraceError) as caught:
        tj.jit(f).export(tmp_path / "f", np.ones((3, 3)))
    first, *lines = str(caught.value).splitlines()
    assert first == "export: f cannot run outside of this process:"
    line = f.__code__.co_firstlineno
    assert lines == [
        f"  test_exporting.py:{line + 1}: eigvalsh calls LAPACK",
        f"  test_exporting.py:{line + 2}: pure_callback runs in Python",
    ]
    assert not list(tmp_path.iterdir())


def test_functions_of_libraries_are_refused(tmp_path):
    with tj.extend.isolated():
        cube_root = ctypes.CDLL(None).cbrt
        cube_root.argtypes, cube_root.restype = [ctypes.c_double], ctypes.c_double
        root = tj.register_op("root_of_test", inputs="x", elementwise=True)
        tj.register_kernel("root_of_test", "llvm", cube_root)
        f = tj.jit(lambda x: tj.exp(root(x)) + 1)
        message = r"\n  test_exporting.py:\d+: root_of_test calls a C function of this process$"
        with pytest.raises(TraceError, match=message):
            f.export(tmp_path / "f", np.ones(3))
        loop = tj.jit(lambda x: tj.while_loop(lambda y: y > 2.0, root, x))
        with pytest.raises(TraceError, match=message):
            loop.export(tmp_path / "f", 3.0)
        square = tj.register_op("square_of_test", inputs="x", elementwise=True)
        tj.register_kernel("square_of_test", "llvm", lambda b, x: b.mul(x, x))
        assert tj.jit(lambda x: square(x)).cfunc(float, signature="double (double)").ctypes(3.0) == 9.0


def test_draws_from_the_default_generator_are_refused(tmp_path):
    with pytest.raises(TraceError, match=r"draws from the default generator.* pass a key as an argument"):
        tj.jit(lambda x: x + tj.random.normal(tj.random.next_key(), (3,))).export(tmp_path / "f", np.ones(3))


def test_a_mode_of_the_thread_is_refused(tmp_path):
    with pytest.raises(TraceError, match="flushes denormals, which is a mode of the thread"):
        tj.jit(lambda x: x * x, flush_denormals=True).export(tmp_path / "f", 1.0)


def test_branches_on_values_are_refused(tmp_path):
    with pytest.raises(tj.base.errors.ConcretizationError):
        tj.jit(lambda x: x if x > 0 else -x).export(tmp_path / "f", 2.0)


@pytest.mark.parametrize("name", ["2f", "f-g", "double", "main", "_f", ""])
def test_names_that_c_has_not(name, tmp_path):
    with pytest.raises(ArgumentError, match="export: the name must be an identifier of C"):
        tj.jit(lambda x: x).export(f"{tmp_path}/x/../{name}", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "exe"}, 'kind must be "object", "shared", "llvm" or "asm", got \'exe\''),
        ({"target": "z80"}, "there is no target 'z80'"),
        ({"target": None}, "export: target must be text, or several of"),
        ({"target": ["x86-64-v3", "aarch64"]}, "several of x86-64-v2, x86-64-v3, x86-64-v4 in a list, got"),
        ({"target": ["x86-64-v3", "x86-64-v3"]}, "several of x86-64-v2, x86-64-v3, x86-64-v4 in a list, got"),
        ({"grad": 3}, "grad is 3, but the function has 1 arguments"),
        ({"hvp": "x"}, "argnums must be an integer"),
    ],
)
def test_options_that_mean_nothing(options, message, tmp_path):
    with pytest.raises(TracejitError, match=message):
        tj.jit(lambda x: x * x).export(tmp_path / "f", 1.0, **options)


def test_without_a_linker_there_is_a_message(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(linking, "_has_zig", lambda: False)
    with pytest.raises(TracejitError, match=r'there is no linker for .*"tracejit\[export\]".*kind="object"'):
        tj.jit(lambda x: x).export(tmp_path / "f", 1.0, kind="shared")


@needs_compiler
def test_what_the_linker_says_is_in_the_error(tmp_path, monkeypatch):
    (tmp_path / "cc").write_text("#!/bin/sh\necho no room on this disk >&2\nexit 1\n")
    os.chmod(tmp_path / "cc", 0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(TracejitError, match=r"the linker failed: .*cc -shared .*\nno room on this disk"):
        tj.jit(lambda x: x).export(tmp_path / "f", 1.0, kind="shared")


# -- other machines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "magic", "undefined"),
    share_of(
        [
            ("x86-64-v3", b"\x7fELF", set()),
            ("x86-64-v2", b"\x7fELF", {"fma", "memset"}),
            ("aarch64", b"\x7fELF", {"memset", "memcpy"}),
            ("riscv64", b"\x7fELF", {"memset", "memcpy"}),
            ("wasm32", b"\0asm", {"fma", "__multi3"}),
            ("thumbv7em", b"\x7fELF", {"memset", "__udivdi3", "__floatdidf", "__floatundidf"}),
        ],
        2,
    ),
)
def test_object_files_of_other_machines(target, magic, undefined, tmp_path):
    f = tj.jit(lambda x, y: (tj.sin(x @ y) * tj.exp(x)).sum())
    exported = f.export(tmp_path / "f", np.ones((3, 3)), np.ones((3, 3)), grad=True, target=target)
    assert exported.code.read_bytes().startswith(magic)
    assert set(exported.undefined) <= undefined


@pytest.mark.slow  # the linker builds its C library at the first run
@pytest.mark.parametrize("name", ["eight_schools", "factored"])
def test_a_module_of_web_assembly_runs(name, tmp_path):
    wasmtime = pytest.importorskip("wasmtime")
    pytest.importorskip("ziglang")
    rng = np.random.default_rng(1)
    matrices = rng.normal(size=(35, 35)) + 2 * np.eye(35), rng.normal(size=(35, 3))
    function, arguments, _ = SAMPLES.get(name) or (factored, matrices, 0)
    argnums = tuple(range(len(arguments))) if name == "eight_schools" else False
    exported = tj.jit(function).export(
        tmp_path / "f", *arguments, grad=argnums, target="wasm32", kind="shared"
    )
    store = wasmtime.Store()
    exports = wasmtime.Instance(
        store, wasmtime.Module.from_file(store.engine, str(exported.code)), []
    ).exports(store)
    memory, places = exports["memory"], []
    prototype = exported.functions[-1]
    room = np.zeros(prototype.workspace_bytes + 1, np.uint8)
    results = [np.zeros(result.shape) for result in prototype.results]
    for array in (*map(np.asarray, arguments), *results, room):
        places.append(exports["malloc"](store, array.nbytes))
        memory.write(store, array.tobytes(), places[-1])
    assert exports[prototype.name](store, *places) == 0
    outcome = (tj.value_and_grad(function, argnums) if argnums else function)(*arguments)
    leaves = tj.tree_leaves(outcome)
    for place, expected in zip(places[len(arguments) : -1], leaves, strict=True):
        got = np.frombuffer(memory.read(store, place, place + 8 * expected.size)).reshape(expected.shape)
        assert np.allclose(got, expected, rtol=1e-10)


def test_importing_tracejit_does_not_load_the_exporter():
    program = "import sys, tracejit; print([n for n in sys.modules if 'export' in n.split('.')])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
