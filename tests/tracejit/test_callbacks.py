"""``pure_callback``: values, checks, exceptions, gradients, nesting, threads, lifetime, text."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import TraceError
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

F64 = tj.float64


def both(f: Any) -> Any:
    """The eager and the jitted function."""
    return pytest.mark.parametrize("f", [f, tj.jit(f)], ids=["eager", "jit"])


def two(x: Any) -> Any:
    def fn(pair: Any, scale: Any) -> Any:
        assert type(pair["a"]) is np.ndarray
        assert type(scale) is np.ndarray
        return {"sum": (pair["a"] + pair["b"]) * scale, "count": np.array(pair["a"].size)}

    spec = {"sum": x, "count": tj.TensorType(tj.int64, ())}
    return tj.pure_callback(fn, spec, {"a": x, "b": x * 10}, scale=3)


@both(two)
def test_pytrees_in_and_out(f: Any) -> None:
    for _ in range(2):
        out = f(tj.tensor([1.0, 2.0]))
        assert sorted(out) == ["count", "sum"]
        assert out["sum"].tolist() == [33.0, 66.0]
        assert out["count"].item() == 2
        assert out["count"].dtype == np.int64


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)], ids=str)
def test_dtypes_and_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    f = tj.jit(lambda x: tj.pure_callback(lambda a: a[::-1] if a.ndim else a, x, x))
    got = f(x)
    assert got.dtype == x.dtype
    assert np.array_equal(got.numpy(), x[::-1] if x.ndim else x)


def test_it_runs_at_each_call_and_not_while_tracing() -> None:
    calls = []

    def fn(x: Any) -> Any:
        calls.append(float(x))
        return x

    f = tj.jit(lambda x: tj.pure_callback(fn, x, x) + 1)
    f.trace(1.0)
    assert calls == []
    assert [f(1.0).item(), f(2.0).item()] == [2.0, 3.0]
    assert calls == [1.0, 2.0]
    unused = tj.jit(lambda x: (tj.pure_callback(fn, x, x), x)[1])
    unused(3.0)
    assert calls == [1.0, 2.0]


def test_the_arrays_are_the_callbacks_own() -> None:
    kept = []

    def fn(x: Any) -> Any:
        kept.append(x)
        x[:] = 7.0
        return x

    x = tj.tensor([1.0, 2.0])
    f = tj.jit(lambda x: (tj.pure_callback(fn, x, x), x * 1))
    for g in (f, lambda x: (tj.pure_callback(fn, x, x), x * 1)):
        changed, same = g(x)
        assert changed.tolist() == [7.0, 7.0]
        assert same.tolist() == x.tolist() == [1.0, 2.0]
    f(tj.tensor([3.0, 4.0]))
    assert [array.tolist() for array in kept] == [[7.0, 7.0]] * 3  # memory that nobody used again


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (np.zeros(3), tj.ShapeError, r"odd returned shape \(3,\) at result, result_spec says f64\[2\]"),
        (
            np.zeros(2, "f4"),
            tj.DTypeError,
            r"odd returned dtype float32 at result, result_spec says f64\[2\]",
        ),
        ((np.zeros(2),), tj.ShapeError, "odd returned a result of another structure"),
        (1.0, tj.ShapeError, r"odd returned shape \(\)"),
        ("text", tj.ShapeError, "odd returned shape"),
    ],
)
def test_results_are_checked(result: Any, error: Any, message: str) -> None:
    def odd(x: Any) -> Any:
        return result

    def f(x: Any) -> Any:
        return tj.pure_callback(odd, x, x)

    for g in (f, tj.jit(f)):
        for _ in range(2):
            with pytest.raises(error, match=message):
                g(tj.ones(2))


def test_numbers_adopt_the_dtype_of_the_spec() -> None:
    for spec, result in ((tj.float32, 2), (tj.float32, 2.5), (tj.int8, 3), (tj.int8, True)):
        f = tj.jit(lambda x, s=spec, r=result: tj.pure_callback(lambda x: r, tj.TensorType(s, ()), x))
        out = f(1.0)
        assert (out.dtype, out.item()) == (spec, result)
    with pytest.raises(tj.DTypeError, match="dtype float64"):
        tj.pure_callback(lambda: 2.5, tj.TensorType(tj.int32, ()))


def test_bad_arguments() -> None:
    with pytest.raises(tj.TracejitError, match="expected a function, got int"):
        tj.pure_callback(3, tj.ones(2))  # type: ignore[arg-type]
    with pytest.raises(tj.DTypeError, match=r"got str at argument \[0\]\[1\]"):
        tj.pure_callback(np.sin, tj.ones(2), tj.ones(2), "x")
    with pytest.raises(tj.DTypeError, match="must be a tj"):
        tj.pure_callback(np.sin, "x", tj.ones(2))
    with pytest.raises(tj.ShapeError, match=r"use tj\.debug\.callback"):
        tj.pure_callback(np.sin, None, tj.ones(2))


class MineError(ValueError):
    """An exception of the user's."""


@pytest.mark.parametrize("kind", [MineError, ValueError, KeyError, KeyboardInterrupt, tj.ShapeError])
def test_exceptions_arrive_as_they_are(kind: Any) -> None:
    thrown = kind("mine")
    fail = [True]
    calls = []

    def fails(x: Any) -> Any:
        calls.append(1)
        if fail[0]:
            raise thrown
        return x

    f = tj.jit(lambda x: tj.pure_callback(fails, x, x) * 2)
    for expected in range(1, 3):
        with pytest.raises(kind) as caught:
            f(tj.ones(2))
        assert caught.value is thrown
        assert caught.value.__cause__ is None
        assert len(calls) == expected  # not tried again in some slower way
        frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert "fails" in frames
    fail[0] = False
    assert f(tj.ones(2)).tolist() == [2.0, 2.0]


def test_a_failed_call_holds_nothing_alive() -> None:
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)

    def fails(x: Any) -> Any:
        raise MineError("mine")

    f = tj.jit(lambda x: tj.pure_callback(fails, x, x))

    def attempt(held: Big) -> None:
        with pytest.raises(MineError):
            f(tj.ones(2))

    attempt(big)
    del big
    gc.collect()
    assert gone() is None


def test_a_callback_may_call_jitted_functions() -> None:
    inner = tj.jit(lambda x: x * 3)

    def other(x: Any) -> Any:
        return inner(x)

    f = tj.jit(lambda x: tj.pure_callback(other, x, x) + 1)
    assert f(tj.ones(2)).tolist() == [4.0, 4.0]

    @tj.jit
    def factorial(n: Any) -> Any:
        scratch = tj.cumsum(n * tj.ones(600))  # keeps an arena busy while it calls itself

        def step(n: Any) -> Any:
            return n * factorial(n - 1) if n > 1 else n

        return tj.pure_callback(step, n, n) + 0 * scratch[3]

    assert factorial(tj.tensor(5.0)).item() == 120.0

    def differentiates(x: Any) -> Any:
        return tj.grad(tj.jit(lambda y: (y**3).sum()))(x)

    g = tj.jit(lambda x: tj.pure_callback(differentiates, x, x))
    with tj.no_grad():
        assert g(tj.tensor([1.0, 2.0])).tolist() == [3.0, 12.0]


def test_compiling_inside_a_callback() -> None:
    def fn(x: Any) -> Any:
        return f(x[:-1]) if x.size > 1 else x.sum()

    f = tj.jit(lambda x: tj.pure_callback(fn, tj.TensorType(F64, ()), x) + 1)
    assert f(tj.zeros(4)).item() == 4.0
    assert f.explain().startswith("<lambda>: 4 signatures compiled")
    assert "not compiled, run by their NumPy kernels: pure_callback" in f.explain()


def test_threads() -> None:
    def fn(x: Any) -> Any:
        if x[0] < 0:
            raise MineError(float(x[0]))
        return x * 2

    f = tj.jit(lambda x: tj.pure_callback(fn, x, x * 1) + tj.sum(x))
    problems: list[Any] = []

    def work(k: int) -> None:
        x = tj.full(50, float(k))
        for _ in range(30):
            try:
                if f(x)[0].item() != 52.0 * k:
                    problems.append(k)
            except MineError as error:
                if error.args != (float(k),):
                    problems.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(-3, 4)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert problems == []


def _in_child(f: Any, queue: Any) -> None:
    queue.put(f(tj.ones(2)).tolist())


def test_fork() -> None:
    f = tj.jit(lambda x: tj.pure_callback(np.negative, x, x) + 1)
    f(tj.ones(2))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(f, queue))
    child.start()
    assert queue.get(timeout=120) == [0.0, 0.0]
    child.join(20)


# -- gradients --------------------------------------------------------------------------------------


def cube_by_python(x: Any) -> Any:
    return tj.pure_callback(lambda a: a**3, x, x)


@pytest.mark.parametrize(
    "f",
    [tj.grad(cube_by_python), tj.jit(tj.grad(cube_by_python)), tj.grad(tj.jit(cube_by_python))],
    ids=["grad", "jit grad", "grad jit"],
)
def test_a_gradient_is_an_error_that_says_what_to_do(f: Any) -> None:
    for _ in range(2):
        with pytest.raises(tj.GradientError, match=r"pure_callback: lambda is a Python.*tj\.custom_vjp"):
            f(2.0)


def test_no_error_where_no_gradient_passes() -> None:
    def constant(x: Any) -> Any:
        return x * cube_by_python(tj.stop_gradient(x))

    def stopped(x: Any) -> Any:
        return x * tj.stop_gradient(cube_by_python(x))

    def integer(x: Any) -> Any:
        picked = tj.pure_callback(lambda a: a.astype(np.int64), tj.TensorType(tj.int64, ()), x)
        return x * 8 + picked * 0

    for f in (constant, stopped, integer):
        for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
            assert g(2.0).item() == 8.0
    pair = tj.tensor(2.0, requires_grad=True)
    assert cube_by_python(pair).requires_grad
    value, count = tj.jit(lambda x: tj.pure_callback(lambda a: (a, 1), (x, tj.TensorType(tj.int8, ())), x))(
        pair
    )
    assert (value.requires_grad, count.requires_grad) == (True, False)
    with pytest.raises(tj.GradientError, match="pure_callback"):
        value.backward()


def test_two_results_and_a_gradient_beside_them() -> None:
    def f(x: Any) -> Any:
        a, b = tj.pure_callback(lambda v: (v, v * 2), (x, x), tj.stop_gradient(x))
        return x * a + b

    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f)), tj.grad(lambda x: tj.checkpoint(f, x))):
        assert g(3.0).item() == 3.0
    both = tj.jit(tj.grad(lambda x: tj.checkpoint(f, x)))
    assert both(3.0).item() == 3.0


# -- the IR -----------------------------------------------------------------------------------------


def test_text_names_the_callable_and_reads_back_while_it_lives() -> None:
    def twice(x: Any) -> Any:
        return x * 2

    f = tj.jit(lambda x: tj.pure_callback(twice, x, x))
    function = f.trace(tj.ones(2))
    text = print_function(function, locations=False)
    assert 'pure_callback(%x) {callback="twice#' in text
    parsed = parse_function(text)
    verify(parsed)
    assert print_function(parsed, locations=False) == text
    assert interpret(parsed, [np.ones(2)])[0].tolist() == [2.0, 2.0]
    assert Executable(parsed)([np.ones(2)])[0].tolist() == [2.0, 2.0]
    del function
    gc.collect()
    compiled = Executable(parsed)
    for run in (lambda: interpret(parsed, [np.ones(2)]), lambda: compiled([np.ones(2)])):
        with pytest.raises(TraceError, match=r"no callback 'twice#\d+' in this process.*Trace the function"):
            run()


def test_a_callable_lives_as_long_as_what_calls_it() -> None:
    class Callable:
        def __call__(self, x: Any) -> Any:
            return x

    fn = Callable()
    gone = weakref.ref(fn)
    f = tj.jit(lambda x, fn=fn: tj.pure_callback(fn, x, x))
    f(1.0, fn=fn) if False else f(1.0)
    del fn
    gc.collect()
    assert gone() is not None
    f.clear_cache()
    del f
    gc.collect()
    assert gone() is None


def test_equal_calls_are_not_merged_across_functions() -> None:
    f = tj.jit(lambda x: tj.pure_callback(np.sin, x, x) - tj.pure_callback(np.cos, x, x))
    assert f(0.0).item() == -1.0
