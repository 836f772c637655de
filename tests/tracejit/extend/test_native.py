"""Kernels of backend llvm: scalar code that fuses, and C functions that native code calls."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.compiler import compile_module
from tracejit.codegen.tiers import Effort

from ...support import processor_seconds, ratio


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with tj.extend.isolated():
        yield


def elementwise(name: str = "probe", inputs: str = "x", **more: Any) -> tj.extend.OpCall:
    return tj.register_op(name, inputs=inputs, elementwise=True, **more)


#: C functions written in LLVM, so that the tests need no C compiler: x^2 + y, x + 1 of an i32, and the row
#: sums of a matrix whose shape is read from `sizes`.
_TEXT = """
define double @square_add(double %x, double %y) {
  %p = fmul double %x, %x
  %r = fadd double %p, %y
  ret double %r
}
define i32 @next(i32 %x) {
  %r = add i32 %x, 1
  ret i32 %r
}
define void @row_sums(ptr %x, ptr %out, ptr %sizes) {
entry:
  %rows = load i64, ptr %sizes
  %s = getelementptr i64, ptr %sizes, i64 1
  %columns = load i64, ptr %s
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i2, %done ]
  br label %column
column:
  %j = phi i64 [ 0, %row ], [ %j2, %column ]
  %sum = phi double [ 0.0, %row ], [ %sum2, %column ]
  %base = mul i64 %i, %columns
  %at = add i64 %base, %j
  %p = getelementptr double, ptr %x, i64 %at
  %v = load double, ptr %p
  %sum2 = fadd double %sum, %v
  %j2 = add i64 %j, 1
  %more = icmp slt i64 %j2, %columns
  br i1 %more, label %column, label %done
done:
  %o = getelementptr double, ptr %out, i64 %i
  store double %sum2, ptr %o
  %i2 = add i64 %i, 1
  %again = icmp slt i64 %i2, %rows
  br i1 %again, label %row, label %end
end:
  ret void
}
"""


@pytest.fixture(scope="module")
def c_code() -> Any:
    return compile_module(_TEXT, ["square_add", "next", "row_sums"], effort=Effort.PLAIN)


# -- scalar code ------------------------------------------------------------------------------------


def test_scalar_code_is_fused_with_its_neighbours() -> None:
    op = elementwise()
    tj.register_kernel("probe", "llvm", lambda b, x: b.add(b.mul(x, x), 1.0))
    f = tj.jit(lambda x: (op(tj.exp(x)) * 2.0).sum())
    x = np.linspace(-1, 1, 1001)
    np.testing.assert_allclose(f(tj.tensor(x)), (2 * (np.exp(x) ** 2 + 1)).sum(), rtol=1e-13)
    assert "kernels: 1," in f.explain()
    assert "everything is native code" in f.explain()
    assert "x double>" in f.lower(tj.tensor(x)).as_text("llvm"), "it is vectorised"


@pytest.mark.parametrize("size", [1, 7, 8, 9, 33])
@pytest.mark.parametrize("dtype", [tj.float32, tj.float64])
def test_scalar_code_gets_its_attributes_and_the_promoted_dtype(size: int, dtype: Any) -> None:
    op = elementwise(inputs="x y", attrs={"scale": (float, 3.0)})
    tj.register_kernel("probe", "llvm", lambda b, x, y, scale: b.fma(x, scale, y))
    x = tj.arange(size, dtype=dtype)
    result = tj.jit(lambda x: op(x, 1, scale=2.0))(x)
    assert result.dtype == dtype
    assert result.tolist() == [2.0 * i + 1 for i in range(size)]


def test_a_user_op_costs_what_a_built_in_costs() -> None:
    op = elementwise(cycles=1.0)
    tj.register_kernel("probe", "llvm", lambda b, x: b.sqrt(b.abs(x)))
    x = tj.tensor(np.random.default_rng(0).standard_normal(200_000))
    mine, built_in = tj.jit(lambda x: op(x).sum()), tj.jit(lambda x: tj.sqrt(tj.abs(x)).sum())
    # estimates of their costs differ, and with them how the sums are cut
    assert mine(x).item() == pytest.approx(built_in(x).item(), rel=1e-13)

    def seconds(f: Any) -> float:
        return min(processor_seconds(lambda: f(x)) for _ in range(10))

    # the machine code is the same, so the bound is for noise alone
    with tj.threads(1):
        assert ratio(lambda: seconds(mine), lambda: seconds(built_in), 1.5, turns=40) < 1.5


@pytest.mark.parametrize(
    ("emit", "message"),
    [
        (lambda b, x: b.cast(x, "f32"), r"its llvm kernel returned f32 x \d+, expected a register of f64 x"),
        (lambda b, x: 3.0, "its llvm kernel returned float, expected a register of f64"),
        (lambda b, x: b.nothing(x), "its llvm kernel raised AttributeError"),
    ],
)
def test_scalar_code_that_is_wrong(emit: Any, message: str) -> None:
    op = elementwise()
    tj.register_kernel("probe", "llvm", emit)
    f = tj.jit(lambda x: op(x))
    for _ in range(2):
        with pytest.raises(tj.KernelError, match="op 'probe': " + message):
            f(tj.ones(3))
    tj.register_kernel("probe", "llvm", lambda b, x: b.const(3.0, x), override=True)
    assert f(tj.ones(3)).tolist() == [3.0, 3.0, 3.0]


# -- C functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3, 8, 1000])
def test_a_c_function_of_elements(c_code: Any, size: int) -> None:
    op = elementwise(inputs="x y")
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    tj.register_kernel("probe", "llvm", kind(c_code.addresses["square_add"]))
    f = tj.jit(lambda x: op(x, 2 * x) + 1.0)
    x = np.arange(size, dtype=float)
    assert f(tj.tensor(x)).tolist() == (x * x + 2 * x + 1).tolist()
    assert "everything is native code" in f.explain()
    assert f(tj.tensor(x.astype(np.float32))).dtype == np.float32, "it is cast to and fro"


def test_a_c_function_is_called_by_every_thread_of_the_pool(c_code: Any) -> None:
    op = elementwise(inputs="x y", cycles=50.0)
    tj.register_kernel("probe", "llvm", c_code.addresses["square_add"])
    f = tj.jit(lambda x: op(x, 1.0))
    x = np.arange(1_000_003, dtype=float)
    with tj.threads(4):
        assert np.array_equal(f(tj.tensor(x)), x * x + 1)


def test_a_bare_address_is_a_function_of_doubles(c_code: Any) -> None:
    op = elementwise(inputs="x y")
    tj.register_kernel("probe", "llvm", c_code.addresses["square_add"])
    f = tj.jit(lambda x: op(x, 1.0))
    assert f(tj.tensor([2.0, 3.0])).tolist() == [5.0, 10.0]
    text = f.lower(tj.tensor([2.0, 3.0])).as_text("llvm")
    assert f"declare double @c_function_{c_code.addresses['square_add']:x}(double, double)" in text


def test_a_c_function_of_integers(c_code: Any) -> None:
    op = elementwise(floating=False)
    tj.register_kernel(
        "probe", "llvm", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(c_code.addresses["next"])
    )
    assert tj.jit(lambda x: op(x))(tj.tensor([1, -5], dtype=tj.int32)).tolist() == [2, -4]


def test_what_has_an_address_and_a_ctypes_function_like_numba_cfunc(c_code: Any) -> None:
    class Compiled:
        """``numba.cfunc`` objects have these two attributes."""

        address = c_code.addresses["square_add"]
        ctypes = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(address)

    op = elementwise(inputs="x y")
    tj.register_kernel("probe", "llvm", Compiled())
    assert tj.jit(lambda x: op(x, 1.0))(tj.tensor([2.0, 3.0])).tolist() == [5.0, 10.0]


def test_a_c_function_of_arrays(c_code: Any) -> None:
    op = tj.register_op("row_sums", lambda x: x.with_shape(x.shape[:1]))
    tj.register_kernel("row_sums", "llvm", c_code.addresses["row_sums"])
    f = tj.jit(lambda x: op(x.T * 2.0) + 1.0)
    x = np.arange(12.0).reshape(3, 4)
    assert f(tj.tensor(x)).tolist() == ((2 * x.T).sum(1) + 1).tolist()
    assert "everything is native code" in f.explain()
    assert "C function of row_sums" in f.lower(tj.tensor(x)).as_text("loops")
    with pytest.raises(tj.KernelError, match="no kernel for backend 'numpy', only for llvm"):
        op(tj.tensor(x))


def test_a_c_function_is_called_without_a_python_frame(c_code: Any) -> None:
    op = elementwise(inputs="x y")
    tj.register_kernel("probe", "llvm", c_code.addresses["square_add"])
    f = tj.jit(lambda x: op(x, x).sum())
    x = tj.ones(1000)
    f(x)
    frames: list[str] = []
    sys.setprofile(lambda frame, event, arg: frames.append(frame.f_code.co_name) if event == "call" else None)
    try:
        f(x)
    finally:
        sys.setprofile(None)
    assert [frame for frame in frames if frame not in ("__call__", "<lambda>")] == []


def test_c_functions_that_do_not_fit(c_code: Any) -> None:
    elementwise(inputs="x y")
    address = c_code.addresses["square_add"]
    undeclared = ctypes.CDLL(None)["labs"]
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)
    python = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(lambda x, y: x)
    small = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_double, ctypes.c_double)(address)
    for fn, message in [
        (undeclared, "set argtypes and restype"),
        (function, r"takes 1 arguments, the op has 2 inputs \(x, y\)"),
        (python, "calls back into Python"),
        (small, "takes and returns 32- or 64-bit numbers, got i8"),
        (0, "0 is not the address of a function"),
    ]:
        with pytest.raises(tj.TracejitError, match=message):
            tj.register_kernel("probe", "llvm", fn)
    elementwise("scaled", attrs={"k": (float, 1.0)})
    with pytest.raises(tj.TracejitError, match="gets no attributes, but the op has k"):
        tj.register_kernel("scaled", "llvm", address)


def test_a_shared_library(tmp_path: Path) -> None:
    """The C library's own lgamma, by ctypes, beside the same by NumPy."""
    library = ctypes.CDLL(None)
    try:
        lgamma = library.lgamma
    except AttributeError:
        lgamma = ctypes.CDLL("libm.so.6").lgamma
    lgamma.argtypes, lgamma.restype = [ctypes.c_double], ctypes.c_double
    op = elementwise()
    tj.register_kernel("probe", "llvm", lgamma)
    x = tj.tensor([0.5, 1.0, 5.0])
    # lgamma(1/2) = log(pi) / 2, lgamma(5) = log 24
    expected = [0.5723649429247001, 0.0, 3.1780538303479458]
    np.testing.assert_allclose(tj.jit(lambda x: op(x))(x), expected, rtol=1e-15, atol=1e-16)


def test_a_process_with_c_kernels_ends_well() -> None:
    program = (
        "import ctypes, tracejit as tj\n"
        "f = ctypes.CDLL('libm.so.6').tgamma; f.argtypes = [ctypes.c_double]; f.restype = ctypes.c_double\n"
        "op = tj.register_op('gamma', inputs='x', elementwise=True)\n"
        "tj.register_kernel('gamma', 'llvm', f)\n"
        "print(tj.jit(lambda x: op(x).sum())(tj.full(20000, 5.0)).item())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "480000.0\n"
