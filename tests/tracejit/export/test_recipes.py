"""Calls from other languages and libraries: CasADi, Cython, nutpie, Numba, Rust and SciPy, if installed."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import host

from ...support import library_functions, processor_seconds, ratio
from .programs import needs_compiler
from .samples import eight_schools


def log_density(x):
    """The eight schools as a function of one vector."""
    return eight_schools(x[0], x[1], x[2:])


X = np.linspace(-0.5, 0.5, 10)


# -- CasADi ---------------------------------------------------------------------------------------


def residuals(x, a):
    """A vector and a matrix by a vector and a matrix, none of which is square."""
    return tj.sin(a @ x), a * a + x


RNG = np.random.default_rng(2)
POINT = RNG.normal(size=3), RNG.normal(size=(2, 3))


class _External:
    """A function of a library as CasADi reads it, by ctypes."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.library, self.name = library, name
        sizes = [(ctypes.c_longlong * 1)() for _ in range(4)]
        assert getattr(library, f"{name}_work")(*sizes) == 0
        self.room = sizes[3][0]

    def number(self, end: str) -> int:
        function = getattr(self.library, f"{self.name}_n_{end}")
        function.restype = ctypes.c_longlong
        return function()

    def names(self, end: str) -> list[str]:
        function = getattr(self.library, f"{self.name}_name_{end}")
        function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_longlong]
        assert function(self.number(end)) is None
        return [function(number).decode() for number in range(self.number(end))]

    def sparsity(self, end: str, number: int) -> tuple[int, int, bool]:
        function = getattr(self.library, f"{self.name}_sparsity_{end}")
        function.restype = ctypes.POINTER(ctypes.c_longlong)
        function.argtypes = [ctypes.c_longlong]
        rows, columns, dense = function(number)[:3]
        return rows, columns, dense == 1

    def call(self, *matrices: np.ndarray | None) -> list[np.ndarray | None]:
        columns = [None if matrix is None else np.array(matrix).ravel("F") for matrix in matrices]
        arguments = [None if column is None else column.ctypes.data for column in columns]
        shapes = [self.sparsity("out", number) for number in range(self.number("out"))]
        results = [np.empty(shape[:2], order="F") if shape[2] else None for shape in shapes]
        places = [None if result is None else result.ctypes.data for result in results]
        room = np.empty(self.room)
        status = getattr(self.library, self.name)(
            (ctypes.c_void_p * len(arguments))(*arguments), (ctypes.c_void_p * len(places))(*places),
            None, ctypes.c_void_p(room.ctypes.data), 0,
        )  # fmt: skip
        assert status == 0
        return results


@needs_compiler
def test_names_of_casadi(tmp_path):
    exported = tj.jit(residuals).export(tmp_path / "f", *POINT, casadi=1, kind="shared")
    library = ctypes.CDLL(str(exported.code))
    f, jacobian = _External(library, "f_casadi"), _External(library, "jac_f_casadi")
    assert (f.names("in"), f.names("out")) == (["x", "a"], ["result_0", "result_1"])
    assert [f.sparsity("out", number) for number in range(2)] == [(2, 1, True), (2, 3, True)]
    x, a = POINT
    sine, matrix = f.call(x, a)
    assert np.allclose(sine[:, 0], np.sin(a @ x), rtol=1e-14)
    assert np.allclose(matrix, a * a + x, rtol=1e-14)
    assert not f.call(None, a)[0].any()  # what is absent is zero
    assert jacobian.names("in") == ["x", "a", "out_result_0", "out_result_1"]
    assert jacobian.names("out") == ["jac_result_0_x", "jac_result_0_a", "jac_result_1_x", "jac_result_1_a"]
    assert jacobian.sparsity("out", 1) == (2, 6, True)
    by_x, by_a, *_ = jacobian.call(x, a, None, None)
    expected = tj.jacrev(lambda x, a: residuals(x, a.reshape((3, 2)).T)[0], (0, 1))(x, a.T.ravel())
    assert np.allclose(by_x, expected[0])
    assert np.allclose(by_a, expected[1])


@needs_compiler
def test_second_derivatives_for_casadi_have_empty_blocks(tmp_path):
    f = tj.jit(lambda x: (x**3).sum())
    exported = f.export(tmp_path / "f", np.ones(2), casadi=2, kind="shared")
    hessian = _External(ctypes.CDLL(str(exported.code)), "jac_jac_f_casadi")
    assert hessian.names("in") == ["x", "out_result", "out_jac_result_x"]
    assert hessian.names("out") == ["jac_jac_result_x_x", "jac_jac_result_x_out_result"]
    assert [hessian.sparsity("out", number) for number in (0, 1)] == [(2, 2, True), (2, 1, False)]
    assert hessian.call(np.array([1.0, 2.0]), None, None)[0].tolist() == [[6, 0], [0, 12]]


def test_what_casadi_has_no_matrices_for(tmp_path):
    with pytest.raises(tj.ArgumentError, match=r"CasADi has float64 matrices alone, and n is i64\[\]"):
        tj.jit(lambda x, n: x * n).export(tmp_path / "f", 1.0, 2, casadi=1)
    with pytest.raises(tj.ArgumentError, match="casadi must be the order of derivatives, 0, 1 or 2, got 3"):
        tj.jit(lambda x: x).export(tmp_path / "f", 1.0, casadi=3)


@needs_compiler
def test_casadi_finds_derivatives(tmp_path):
    casadi = pytest.importorskip("casadi")
    exported = tj.jit(residuals).export(tmp_path / "f", *POINT, casadi=1, kind="shared")
    f = casadi.external("f_casadi", str(exported.code))
    x, a = casadi.MX.sym("x", 3), casadi.MX.sym("a", 2, 3)
    sine, matrix = f(x, a)
    total = casadi.sumsqr(sine) + casadi.sumsqr(matrix)
    outer = casadi.Function("outer", [x, a], [casadi.gradient(total, a)])
    expected = tj.grad(lambda x, a: sum((y * y).sum() for y in residuals(x, a)), 1)(*POINT)
    assert np.allclose(outer(*POINT).full(), expected, rtol=1e-12)


@needs_compiler
def test_casadi_minimizes_with_second_derivatives(tmp_path):
    casadi = pytest.importorskip("casadi")

    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    exported = tj.jit(rosenbrock).export(tmp_path / "f", np.ones(4), casadi=2, kind="shared")
    f = casadi.external("f_casadi", str(exported.code))
    x = casadi.MX.sym("x", 4)
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": f(x)}, options)
    solution = solver(x0=[-0.2, 0.4, 0.3, 0.8])
    assert np.allclose(solution["x"].full(), 1.0, atol=1e-6)
    assert solver.stats()["iter_count"] < 60  # by Newton's steps


# -- samplers, loops and integrals ------------------------------------------------------------------


def test_the_raw_callback_of_nutpie():
    if importlib.util.find_spec("nutpie") is None:
        pytest.skip("there is no nutpie")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it imports is on its way to a new version
        import nutpie
        from nutpie.compile_pymc import CompiledPyMCModel

    def gradient_and_value(x):
        value, slope = tj.value_and_grad(log_density)(x)
        return slope, value

    signature = "int64_t (uint64_t, double *, double *, double *, void *)"
    callback = tj.jit(gradient_and_value).cfunc(X, signature=signature)

    def expanded(x):
        return tj.concatenate([x, tj.exp(x[1:2])])

    expand = tj.jit(expanded).cfunc(X, signature="int64_t (uint64_t, uint64_t, double *, double *, void *)")
    model = CompiledPyMCModel(
        dims={}, compiled_logp_func=callback, compiled_expand_func=expand,
        initial_point_func=lambda seed: np.random.default_rng(seed).normal(size=10), shared_data={},
        user_data=np.zeros(0), n_expanded=11,
        shape_info=(["x", "tau"], [slice(0, 10), slice(10, 11)], [[10], [1]]),
        logp_func=None, expand_func=None, _n_dim=10, _shapes={"x": (10,), "tau": (1,)}, _coords={},
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = nutpie.sample(model, draws=2000, tune=500, chains=2, cores=2, seed=1, progress_bar=False)
    draws = np.asarray(trace.posterior["x"]).reshape(-1, 10)
    assert np.allclose(np.exp(draws[:, 1]), np.asarray(trace.posterior["tau"]).reshape(-1))
    # Gelman et al., Bayesian Data Analysis, 5.5, with half-Cauchy and normal priors of scale 5: 4.4 and 3.6
    assert abs(draws[:, 0].mean() - 4.4) < 0.6
    assert abs(np.exp(draws[:, 1]).mean() - 3.6) < 0.8


def test_a_loop_of_numba_calls_a_gradient_a_million_times():
    numba = pytest.importorskip("numba")
    gradient = tj.jit(tj.grad(log_density)).cfunc(X).ctypes

    @numba.njit
    def ascend(steps):
        x, g, workspace = np.zeros(10), np.empty(10), np.empty(1)
        for _ in range(steps):
            gradient(x.ctypes.data, g.ctypes.data, workspace.ctypes.data)
            x += 0.01 * g
        return x

    x = ascend(1_000_000)  # in Python it would take minutes
    assert np.abs(np.asarray(tj.grad(log_density)(x))).max() < 1e-10


def test_integrals_of_scipy_are_ten_times_as_fast():
    scipy = pytest.importorskip("scipy")
    from scipy.integrate import quad

    def integrand(exp, x):
        """A logistic curve under a mixture of two normal densities."""
        narrow = 0.7 * exp(-0.5 * ((x - 5.1) / 0.02) ** 2) / 0.02
        wide = 0.3 * exp(-0.5 * ((x - 2.1) / 0.5) ** 2) / 0.5
        return (narrow + wide) / (1 + exp(-(1.7 * x - 8.3)))

    f = tj.jit(lambda x: integrand(tj.exp, x))
    pointer = scipy.LowLevelCallable(f.cfunc(float, signature="double (double)").ctypes)

    def in_python(x):
        narrow = 0.7 * math.exp(-0.5 * ((x - 5.1) / 0.02) ** 2) / 0.02
        wide = 0.3 * math.exp(-0.5 * ((x - 2.1) / 0.5) ** 2) / 0.5
        return (narrow + wide) / (1 + math.exp(-(1.7 * x - 8.3)))

    def seconds(function):
        return processor_seconds(lambda: [quad(function, 0, 10) for _ in range(20)])

    assert abs(quad(pointer, 0, 10)[0] - quad(in_python, 0, 10)[0]) < 1e-12
    # without multiply-adds the exponentials' are functions of the C library
    bound = 0.25 if "fma" in library_functions(host()) else 0.1
    assert ratio(lambda: seconds(pointer), lambda: seconds(in_python), bound, turns=300) < bound


# -- other languages --------------------------------------------------------------------------------

_RUST = """
use std::os::raw::{c_int, c_void};

extern "C" {
    fn density_value_and_grad(
        x: *const f64, value: *mut f64, grad: *mut f64, workspace: *mut c_void,
    ) -> c_int;
}

fn main() {
    let x: Vec<f64> = (0..10).map(|i| i as f64 / 10.0).collect();
    let (mut value, mut grad) = (0.0, vec![0.0; 10]);
    let status = unsafe {
        density_value_and_grad(x.as_ptr(), &mut value, grad.as_mut_ptr(), std::ptr::null_mut())
    };
    println!("{} {:x}", status, value.to_bits());
    for g in grad { println!("{:x}", g.to_bits()); }
}
"""


def test_rust_calls_the_object_file(tmp_path):
    if shutil.which("rustc") is None:
        pytest.skip("there is no rustc")
    exported = tj.jit(log_density).export(tmp_path / "density", X, grad=True)
    assert exported.functions[1].workspace_bytes == 0
    (tmp_path / "main.rs").write_text(_RUST)
    command = ["rustc", "-o", "main", "-C", f"link-arg={exported.code}", "main.rs"]
    subprocess.run(command, check=True, cwd=tmp_path)
    run = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    value, gradient = tj.jit(tj.value_and_grad(log_density))(np.arange(10) / 10.0)
    bits = np.append(np.asarray(value), np.asarray(gradient)).view(np.uint64)
    assert run.stdout.split() == ["0", *[f"{number:x}" for number in bits]]


_CYTHON = """
# cython: language_level=3
from libc.stdint cimport uintptr_t

cdef extern from "density.h" nogil:
    int density_value_and_grad(const double *x, double *value, double *grad_x, void *workspace)

ctypedef int (*Density)(const double *, double *, double *, void *) noexcept nogil

def ascend(double[::1] x, int steps, uintptr_t address=0):
    cdef double value = 0
    cdef double gradient[10]
    cdef Density function = <Density> address if address else density_value_and_grad
    cdef int i, step
    with nogil:
        for step in range(steps):
            if function(&x[0], &value, gradient, NULL):
                break
            for i in range(10):
                x[i] += 0.01 * gradient[i]
    return value
"""


@needs_compiler
def test_cython_calls_the_object_file_and_the_pointer(tmp_path):
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    exported = tj.jit(log_density).export(tmp_path / "density", X, grad=True)
    (tmp_path / "ascent.pyx").write_text(_CYTHON)
    (tmp_path / "setup.py").write_text(
        "from Cython.Build import cythonize\nfrom setuptools import Extension, setup\n"
        "setup(ext_modules=cythonize([Extension('ascent', ['ascent.pyx'], extra_compile_args=['-O1'],"
        f" extra_objects=[{str(exported.code)!r}])]))\n"
    )
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, check=True, cwd=tmp_path, capture_output=True)
    (library,) = Path(tmp_path).glob("ascent.*.so")
    spec = importlib.util.spec_from_file_location("ascent", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pointer = tj.jit(tj.value_and_grad(log_density)).cfunc(X)
    values, places = [], []
    for address in (0, pointer.address):
        places.append(np.zeros(10))
        values.append(module.ascend(places[-1], 1000, address))
    assert values[0] == values[1] == pytest.approx(float(log_density(places[0])), abs=1e-3)
    assert places[0].tolist() == places[1].tolist()
