"""The generated module as a whole: one native function, its buffers, its errors, and that LLVM accepts it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import CompileError
from tracejit.codegen.kernels.gemm.tiles import blocking, tile_for
from tracejit.codegen.llvm.compiler import compile_module
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.writer import STACK_ARENA, generate
from tracejit.ir.passes import run_passes
from tracejit.ir.transforms.differentiation import gradient
from tracejit.runtime.executable import Executable

from ...support import function_of, interpret, native


def chain(count: int, n: int = 64) -> Any:
    """`count` products in a row, each of the one before: none can be fused with another."""
    x = np.eye(n) * 0.5

    def build(b: Any, x: Any) -> Any:
        for _ in range(count):
            x = b.matmul(x, x)
        return x

    return function_of("chain", [x], build), [x]


def test_one_main_and_no_python_inside() -> None:
    function, _ = chain(3)
    module = generate(run_passes(function), host())
    assert len(re.findall(r"define i32 @main\(", module.text)) == 1
    assert module.host_calls == []
    assert "@Py" not in module.text


def test_generation_is_deterministic() -> None:
    """Equal Functions give equal text, so that a cache keyed by text works, and so does a diff."""
    texts = {generate(run_passes(chain(3)[0]), host()).text for _ in range(3)}
    assert len(texts) == 1


def test_arena_is_reused_by_liveness() -> None:
    """A long chain has two live intermediate values at a time, however long it is."""
    short = Executable(chain(4)[0]).module.arena_bytes
    long = Executable(chain(20)[0]).module.arena_bytes
    assert 0 < long <= short + STACK_ARENA
    panels = blocking(tile_for(host(), "f64"), 64, 64, 64).workspace
    assert long <= 3 * 64 * 64 * 8 + panels + 64


def test_compile_time_is_linear_in_ops() -> None:
    """Generated text grows with the number of ops and not with its square."""
    sizes = [len(generate(run_passes(chain(count)[0]), host()).text) for count in (10, 20, 40)]
    assert sizes[2] - sizes[1] < 2.5 * (sizes[1] - sizes[0])


def test_loops_stay_loops() -> None:
    """The text does not grow with the size of the arrays."""
    sizes = []
    for n in (10_000_000, 100_000_000):  # both large enough to be written past the cache
        function = function_of("f", [np.broadcast_to(1.0, (n,))], lambda b, x: b.exp(x))
        sizes.append(len(generate(run_passes(function), host()).text))
    assert abs(sizes[1] - sizes[0]) < 50


def test_errors_name_the_op_and_leave_the_function_usable() -> None:
    x, good, bad = np.arange(3000.0), np.array([1]), np.array([3000])
    function = function_of("f", [x, good], lambda b, x, i: b.gather(b.cumsum(x, axis=0, reverse=False), i))
    executable = Executable(function)
    for _ in range(50):
        with pytest.raises(IndexError, match="gather"):
            executable([x, bad])
        assert executable([x, good])[0].tolist() == [1.0]


def test_host_calls_run_in_order_within() -> None:
    x, y = np.array([12, 18, 0]), np.array([8, 12, 5])

    def build(b: Any, x: Any, y: Any) -> Any:
        g = b.gcd(b.add(x, x), y)
        return [b.add(g, 1), b.lcm(g, x), g]

    function = function_of("f", [x, y], build)
    assert [result.tolist() for result in native(function, [x, y])] == [
        result.tolist() for result in interpret(function, [x, y])
    ]
    assert Executable(function).not_lowered == ["gcd", "lcm"]


def test_rejected_text_is_a_compile_error() -> None:
    with pytest.raises(CompileError, match="LLVM rejects"):
        compile_module("define i32 @main() { ret i64 0 }", ["main"])


def test_missing_symbols_are_a_compile_error() -> None:
    text = "declare i32 @absent()\ndefine i32 @main() {\n  %x = call i32 @absent()\n  ret i32 %x\n}"
    with pytest.raises(CompileError, match="linking failed"):
        compile_module(text, ["main"])


def test_constants_are_in_the_module() -> None:
    def build(b: Any, x: Any) -> Any:
        table = b.constant(
            data=(1.5, -0.0, float("inf"), float("nan")), shape=(4,), dtype=np.dtype(np.float64)
        )
        return [b.add(x, table), table]

    x = np.zeros(4)
    (_, table) = native(function_of("f", [x], build), [x])
    assert table.tobytes() == np.array([1.5, -0.0, np.inf, np.nan]).tobytes()


def test_no_results_and_no_parameters() -> None:
    assert native(function_of("nothing", [], lambda b: []), []) == []
    (only,) = native(
        function_of("one", [], lambda b: b.iota(shape=(5,), axis=0, dtype=np.dtype(np.int32))), []
    )
    assert only.tolist() == [0, 1, 2, 3, 4]


def test_the_gradient_of_a_deep_function_compiles_at_once() -> None:
    """200 layers and their gradient: one module, right to rounding."""
    x = np.linspace(0.1, 0.9, 7)

    def build(b: Any, x: Any) -> Any:
        y = x
        for _ in range(200):
            y = b.mul(b.sin(y), 1.01)
        return b.sum(y, axes=(0,))

    derived = gradient(function_of("deep", [x], build), [0])
    for got, want in zip(native(derived, [x]), interpret(derived, [x]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11)
