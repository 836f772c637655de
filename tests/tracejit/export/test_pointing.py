"""Function pointers: the same bits as calls from Python, by every way to call them."""

from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import pytest

import tracejit as tj
from tracejit.export import pointing

from .programs import assert_same_bits, call_pointer

RNG = np.random.default_rng(0)


def same(f, *args):
    """`f` by pointer gives what a call of it gives."""
    pointer = f.cfunc(*args)
    status, results = call_pointer(pointer, *args)
    assert pointer.status_message(status) == "success"
    assert_same_bits(results, f(*args))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"]
)
def test_dtypes(dtype):
    x = RNG.integers(0, 2, (5, 7)).astype(dtype)
    same(tj.jit(lambda x, y: (x + y, x * y, (x == y).any())), x, x[::-1].copy())


def test_numbers_are_arrays_of_one_element():
    same(tj.jit(lambda x, n, flag: tj.where(flag, x * n, x)), 2.5, 3, True)


def test_containers_and_results_that_are_arguments():
    same(
        tj.jit(lambda p: {"sum": p["a"] + p["b"][0], "a": p["a"], "again": p["a"]}),
        {"a": np.ones(3), "b": [2.0]},
    )


def test_no_elements():
    same(tj.jit(lambda x: (x * 2, x.sum())), np.zeros((0, 3)))


def test_a_product_that_is_packed():
    same(
        tj.jit(lambda x, y: (x @ y, (x.astype("float32") @ y.astype("float32")).sum())),
        *RNG.normal(size=(2, 200, 200)),
    )


def test_scans_and_sorts():
    same(tj.jit(lambda x: (tj.cumsum(x, 0), tj.sort(x, 1))), RNG.normal(size=(12, 10)))


def test_long_scans_that_threads_would_share():
    same(tj.jit(lambda x: tj.cumsum(tj.exp(x))), RNG.normal(size=300_000))


def test_loops_and_branches():
    @tj.jit
    def collatz(n):
        steps = 0
        while n != 1:
            n = tj.where(n % 2 == 0, n // 2, 3 * n + 1)
            steps += 1
        return steps

    same(collatz, 27)


def test_a_gradient_of_a_while_loop_keeps_memory(monkeypatch):
    def halvings(x):
        return tj.while_loop(lambda x: (x * x).sum() > 1.0, lambda x: tj.sin(x) * 0.9, x).sum()

    function, released = tj.jit(tj.value_and_grad(halvings)), []
    same(function, RNG.normal(size=100) * 100)
    finalize = pointing.finalize

    def noted(owner, release, keeping):
        finalize(owner, release, keeping=keeping)
        released.append(ctypes.cast(release, ctypes.c_void_p).value == keeping.addresses["halvings_release"])

    monkeypatch.setattr(pointing, "finalize", noted)
    pointer = function.cfunc(np.ones(100))
    assert released == [True]
    del pointer
    gc.collect()


def test_fourier_transforms():
    same(tj.jit(lambda x: tj.fft.rfft(x)), RNG.normal(size=(4, 240)))


def test_what_is_captured_is_constant():
    weights = RNG.normal(size=4)
    f = tj.jit(lambda x: x @ weights)
    expected = f(np.ones(4)).item()
    pointer = f.cfunc(np.ones(4))
    weights[0] += 1
    assert call_pointer(pointer, np.ones(4))[1][0] == expected
    assert f(np.ones(4)).item() != expected


def test_what_is_written_to_an_argument_is_a_result():
    def f(x, y):
        x[1] = y
        return x.sum()

    pointer = tj.jit(f).cfunc(np.zeros(3), float)
    assert [parameter.name for parameter in pointer.prototype.results] == ["x_written", "result"]
    _, (written, total) = call_pointer(pointer, np.ones(3), 5.0)
    assert written.tolist() == [1, 5, 1]
    assert total == 7


def test_methods_and_static_arguments():
    class Model:
        def __init__(self):
            self.scale = np.array(3.0)

        @tj.jit
        def apply(self, x):
            return x * self.scale

    same(Model().apply, np.ones(2))
    power = tj.jit(lambda x, n: x**n, static_argnums=1)
    status, results = call_pointer(power.cfunc(np.full(2, 3.0), 2), np.full(2, 3.0))
    assert (status, results[0].tolist()) == (0, [9, 9])


def test_failures_are_statuses_with_lines():
    f = tj.jit(lambda x, i: x[i])
    pointer = f.cfunc(np.ones(3), np.zeros(2, np.int64))
    status, _ = call_pointer(pointer, np.ones(3), np.array([0, 3]))
    message = pointer.status_message(status)
    assert "out of bounds for axis 0 with size 3" in message
    assert "(test_pointing.py:" in message
    assert pointer.status_message(99) == pointer.status_message(-1) == "unknown status"
    solve = tj.jit(tj.linalg.solve).cfunc(np.eye(3), np.ones(3))
    assert "singular matrix" in solve.status_message(call_pointer(solve, np.zeros((3, 3)), np.ones(3))[0])


def test_a_workspace_that_is_not_there():
    pointer = tj.jit(lambda x: tj.sort(tj.exp(x), 0)[::-1].copy() @ x).cfunc(np.ones((40, 40)))
    assert pointer.workspace_bytes > 0
    x = np.ones((40, 40))
    status = pointer.ctypes(x.ctypes.data, x.copy().ctypes.data, None)
    assert pointer.status_message(status) == "the workspace is NULL"


# -- numbers by value -----------------------------------------------------------------------------


def test_numbers_by_value():
    f = tj.jit(lambda x, y: tj.sin(x) * y)
    pointer = f.cfunc(float, float, signature="double (double, double)")
    assert pointer.ctypes(0.5, 2.0) == f(0.5, 2.0).item()
    assert pointer.workspace_bytes == 0
    assert repr(pointer).startswith("<C function double (double, double) at 0x")
    with_data = f.cfunc(float, float, signature="double (double, double, void *)").ctypes
    assert with_data(0.5, 2.0, None) == f(0.5, 2.0).item()


def test_numbers_behind_a_pointer():
    numbers = (ctypes.c_double * 2)(0.5, 2.0)
    f = tj.jit(lambda x, y: tj.sin(x) * y)
    packed = f.cfunc(float, float, signature="double (int, double *)").ctypes
    assert packed(2, numbers) == f(0.5, 2.0).item()
    array = tj.jit(lambda x: tj.sin(x[0]) * x[1]).cfunc(
        np.ones(2), signature="double (int, double *, void *)"
    )
    assert array.ctypes(2, numbers, None) == f(0.5, 2.0).item()


def test_other_numbers_by_value():
    single = tj.jit(lambda x, n: x * n).cfunc(tj.TensorType(tj.float32, ()), tj.TensorType(tj.int32, ()))
    assert "const float *x, const int32_t *n" in single.declaration
    f = tj.jit(lambda x, n: x * n.astype("float32"))
    pointer = f.cfunc(
        tj.TensorType(tj.float32, ()), tj.TensorType(tj.int32, ()), signature="float (float, int)"
    )
    assert pointer.ctypes(1.5, 3) == 4.5


def test_arrays_with_their_sizes():
    f = tj.jit(lambda x, y: (x + y[0], (x @ x).sum()))
    x, y = np.array([1.0, 2.0]), np.array([3.0, 0.0, 0.0])
    total, square = np.empty(2), np.empty(1)
    places = [array.ctypes.data for array in (x, y, total, square)]
    pointer = f.cfunc(
        x, y, signature="int64_t (uint64_t, const double *, const double *, double *, double *, void *)"
    )
    assert pointer.ctypes(2, *places, None) == 0
    assert (total.tolist(), square.tolist()) == ([4, 5], [5])
    assert pointer.ctypes(3, *places, None) == -1
    two = f.cfunc(x, y, signature="int (size_t, int, double *, double *, double *, double *)").ctypes
    assert (two(2, 3, *places), two(2, 2, *places)) == (0, -1)
    x[1] = 3
    failing = tj.jit(lambda x: tj.ones(3)[x.astype(int)]).cfunc(x, signature="int (double *, double *)")
    assert "out of bounds" in failing.status_message(failing.ctypes(x.ctypes.data, total.ctypes.data))


def test_failure_of_numbers_is_nan():
    pointer = tj.jit(lambda x: tj.ones(3)[x.astype(int)]).cfunc(float, signature="double (double)")
    assert pointer.ctypes(2.0) == 1.0
    assert np.isnan(pointer.ctypes(3.0))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("double x", "signature must be a C signature"),
        (3, "signature must be a C signature"),
        ("int (double)", "signature must be a C signature"),
        ("int (double *)", "does not fit"),
        ("int (int, int, int, double *, double *)", "does not fit"),
        ("double (double *)", "signature must be a C signature"),
        ("double (double, double)", r"does not fit a function of \(x: f64\[\]\) with results \(f64\[\]\)"),
        ("float (double)", "does not fit"),
        ("double (float)", "does not fit"),
    ],
)
def test_signatures_that_do_not_fit(signature, message):
    with pytest.raises(tj.base.errors.ArgumentError, match=message):
        tj.jit(lambda x: x * 2).cfunc(float, signature=signature)


# -- who may call ---------------------------------------------------------------------------------


def test_the_function_of_ctypes_keeps_the_code():
    call = tj.jit(lambda x: x + 1).cfunc(float, signature="double (double)").ctypes
    gc.collect()
    assert call(1.0) == 2.0


def test_threads_call_at_a_time():
    f = tj.jit(lambda x: tj.sort(tj.exp(x) @ x, 1))
    arguments = list(RNG.normal(size=(4, 60, 60)))
    pointer, failures = f.cfunc(arguments[0]), []
    expected = [f(x) for x in arguments]

    def work(number):
        for _ in range(20):
            status, results = call_pointer(pointer, arguments[number])
            if status or results[0].tobytes() != np.asarray(expected[number]).tobytes():
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_cffi():
    ffi = pytest.importorskip("cffi").FFI()
    pointer = tj.jit(lambda x: x * 2).cfunc(np.ones(3))
    x, y = ffi.new("double[3]", [1, 2, 3]), ffi.new("double[3]")
    assert pointer.cffi(x, y, ffi.NULL) == 0
    assert list(y) == [2, 4, 6]
    assert tj.jit(lambda x: x * 2).cfunc(float, signature="double (double)").cffi is not None


def test_quad_of_scipy():
    scipy = pytest.importorskip("scipy")
    from scipy.integrate import quad

    f = tj.jit(lambda x, a: tj.exp(-x * x) * tj.cos(a * x))
    pointer = f.cfunc(float, float, signature="double (int, double *)")
    value, _ = quad(scipy.LowLevelCallable(pointer.ctypes), 0, 10, args=(3.0,))
    assert abs(value - np.sqrt(np.pi) / 2 * np.exp(-9 / 4)) < 1e-9


def test_loops_of_numba():
    numba = pytest.importorskip("numba")
    gradient = tj.jit(tj.grad(lambda x: (x**4).sum())).cfunc(np.ones(3)).ctypes

    @numba.njit
    def descend(steps):
        x, g = np.full(3, 2.0), np.empty(3)
        for _ in range(steps):
            gradient(x.ctypes.data, g.ctypes.data, x.ctypes.data)
            x -= 0.01 * g
        return x

    x = np.full(3, 2.0)
    for _ in range(10):
        x = x - 0.01 * np.asarray(tj.grad(lambda x: (x**4).sum())(x))
    assert np.allclose(descend(10), x, rtol=1e-13)
