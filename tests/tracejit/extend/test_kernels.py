"""Kernels by (op, backend): issue items 2, 3 and the bad input of 11."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with tj.extend.isolated():
        yield


def op_with(kernel: Callable[..., Any], infer: Callable[..., Any] = lambda x: x) -> tj.extend.OpCall:
    """An op ``probe(x)`` with a NumPy kernel."""
    op = tj.register_op("probe", infer, inputs="x")
    tj.register_kernel("probe", "numpy", kernel)
    return op


def each_way(op: tj.extend.OpCall) -> list[Callable[..., Any]]:
    """Results eagerly, compiled, and compiled after another op (so that the input is an intermediate)."""
    return [op, tj.jit(lambda x: op(x)), tj.jit(lambda x: op(x + 0.0) * 1.0)]


def test_a_numpy_kernel_gets_arrays_and_is_a_visible_host_call() -> None:
    seen: list[type] = []

    def kernel(x: Any) -> Any:
        seen.append(type(x))
        return x + 1

    op = op_with(kernel)
    f = tj.jit(lambda x: op(x) * 2)
    assert op(tj.ones(2)).tolist() == [2.0, 2.0]
    assert f(tj.ones(2)).tolist() == [4.0, 4.0]
    assert seen == [np.ndarray, np.ndarray]
    assert "run by their NumPy kernels: probe" in f.explain()


def test_as_a_decorator() -> None:
    tj.register_op("probe", lambda x: x)

    @tj.register_kernel("probe", "numpy")
    def kernel(x: Any) -> Any:
        return 2 * x

    assert kernel(3) == 6
    assert tj.ops.probe(3.0).item() == 6.0
    assert tj.get_kernel("probe", "numpy").fn is kernel


@pytest.mark.parametrize("way", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x: x[:1].copy(), r"op 'probe': its numpy kernel returned f64\[1\], expected f64\[3\]"),
        (lambda x: x.astype(np.float32), r"its numpy kernel returned f32\[3\], expected f64\[3\]"),
        (lambda x: "text", r"its numpy kernel returned str, expected an array of type f64\[3\]"),
        (lambda x: None, r"its numpy kernel returned NoneType, expected an array of type f64\[3\]"),
        (lambda x: 1 / 0, r"its numpy kernel raised ZeroDivisionError: .*expected to return \(f64\[3\]\)"),
        (lambda x: x.fill(0.0), r"its numpy kernel raised ValueError: assignment destination is read-only"),
    ],
)
def test_a_kernel_that_breaks_its_promises(kernel: Any, message: str, way: int) -> None:
    run = each_way(op_with(kernel))[way]
    x = tj.tensor([1.0, 2.0, 3.0])
    for _ in range(2):
        with pytest.raises(tj.KernelError, match=message):
            run(x)
    assert x.tolist() == [1.0, 2.0, 3.0]
    tj.register_kernel("probe", "numpy", lambda x: x + 1, override=True)
    assert run(x).tolist() == [2.0, 3.0, 4.0], "the next call works"


def test_a_kernel_with_the_wrong_number_of_results() -> None:
    op = op_with(lambda x: (x,), lambda x: (x, x))
    for call in (op, tj.jit(lambda x: op(x))):
        with pytest.raises(
            tj.KernelError, match=r"returned 1 results, expected 2 results \(f64\[\], f64\[\]\)"
        ):
            call(tj.tensor(1.0))


def test_the_error_of_a_kernel_is_the_cause() -> None:
    class Mine(Exception):
        pass

    mine = Mine("text")

    def kernel(x: Any) -> Any:
        raise mine

    for call in each_way(op_with(kernel)):
        with pytest.raises(tj.KernelError) as caught:
            call(tj.ones(2))
        assert caught.value.__cause__ is mine


def test_a_kernel_that_returns_its_input_gives_a_tensor_of_its_own() -> None:
    op = op_with(lambda x: x)
    x = tj.tensor([1.0, 2.0])
    y = op(x)
    x[0] = 9.0
    assert y.tolist() == [1.0, 2.0]
    y[1] = 5.0
    assert x.tolist() == [9.0, 2.0]


def test_raising_host_calls_in_many_threads_leave_the_rest_alone() -> None:
    def kernel(x: Any) -> Any:
        if x[0] < 0:
            raise OSError(f"from {x[0]}")
        return x + 1

    op = op_with(kernel)
    f = tj.jit(lambda x: op(tj.exp(tj.log(tj.abs(x))) * tj.sign(x)).sum())
    f(tj.ones(50_000))
    failures: list[str] = []

    def work(number: int) -> None:
        for _ in range(10):
            sign = -1.0 if number % 2 else 1.0
            try:
                total = f(tj.full(50_000, sign * number)).item()
            except tj.KernelError as error:
                if sign > 0 or f"from {sign * number}" not in str(error):
                    failures.append(str(error))
            else:
                if sign < 0 or abs(total - 50_000 * (number + 1)) > 1e-3:
                    failures.append(f"{number}: {total}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert failures == []


# -- finding them -----------------------------------------------------------------------------------


def test_a_missing_kernel_names_op_backend_and_who_has_it() -> None:
    op = tj.register_op("probe", inputs="x", elementwise=True)
    message = "op 'probe' has no kernel for backend 'numpy', nor for any other; register one"
    with pytest.raises(tj.KernelError, match=message):
        op(1.0)
    with pytest.raises(
        tj.KernelError, match="op 'probe' has no kernel for backend 'llvm', nor for any other"
    ):
        tj.jit(lambda x: op(x))(1.0)
    tj.register_kernel("probe", "llvm", lambda b, x: x)
    tj.register_kernel("probe", "mine", lambda x: x)
    with pytest.raises(tj.KernelError, match="no kernel for backend 'numpy', only for llvm, mine"):
        op(1.0)
    with pytest.raises(tj.KernelError, match="no kernel for backend 'other', only for llvm, mine"):
        tj.get_kernel("probe", "other")
    assert tj.jit(lambda x: op(x))(2.0).item() == 2.0


def test_run_kernel_takes_inputs_in_order_or_by_name() -> None:
    assert tj.run_kernel("sub", 5.0, 3.0).item() == 2.0
    assert tj.run_kernel("sub", {"y": 5.0, "x": 3.0}).item() == -2.0
    assert tj.run_kernel("sum", tj.ones((2, 3)), axes=(0,)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(tj.TracejitError, match="run_kernel 'sub': expected inputs x, y, got x"):
        tj.run_kernel("sub", {"x": 3.0})
    with pytest.raises(tj.TracejitError, match="there is no op named 'nothing'"):
        tj.run_kernel("nothing", 1.0)


def test_kernels_for_a_backend_and_copies() -> None:
    assert tj.kernels_for_backend("mine") == []
    tj.register_op("probe", lambda x: x)
    tj.register_kernel("probe", "mine", np.negative)
    assert [kernel.name for kernel in tj.kernels_for_backend("mine")] == ["probe"]
    tj.copy_registered_kernels("numpy", "mine")
    names = [kernel.name for kernel in tj.kernels_for_backend("mine")]
    assert set(names) == {kernel.name for kernel in tj.kernels_for_backend("numpy")} | {"probe"}
    assert tj.get_kernel("probe", "mine").fn is np.negative, "what was there stays"
    tj.copy_registered_kernels("mine", "numpy")
    assert tj.ops.probe(2.0).item() == -2.0
    with pytest.raises(tj.TracejitError, match="kernels of 'llvm' are code"):
        tj.copy_registered_kernels("llvm", "mine")


def test_unregistering_a_kernel() -> None:
    op = op_with(lambda x: x)
    f = tj.jit(lambda x: op(x))
    f(1.0)
    tj.unregister_kernel("probe", "numpy")
    for call in (op, f):
        with pytest.raises(tj.KernelError, match="op 'probe' has no kernel"):
            call(1.0)
    with pytest.raises(tj.KernelError, match="op 'probe' has no kernel for backend 'numpy'"):
        tj.unregister_kernel("probe", "numpy")


def test_a_composite_may_have_a_kernel_for_eager_mode() -> None:
    op = tj.register_op("probe", decompose=lambda x: x + 1)
    with pytest.raises(tj.KernelError, match="op 'probe' has no kernel for backend 'numpy'"):
        tj.get_kernel("probe", "numpy")
    tj.register_kernel("probe", "numpy", lambda x: x + 2)
    assert op(1.0).item() == 3.0
    tj.unregister_kernel("probe", "numpy")
    assert op(1.0).item() == 2.0, "by its decomposition again"
    with pytest.raises(tj.KernelError, match="op 'probe' has no kernel for backend 'numpy'"):
        tj.unregister_kernel("probe", "numpy")


# -- replacing them ---------------------------------------------------------------------------------


def test_replacing_a_kernel_warns_and_compiled_functions_notice() -> None:
    op = op_with(lambda x: x + 1)
    f = tj.jit(lambda x: op(x))
    x = tj.ones(2)
    assert [f(x).tolist() for _ in range(3)][-1] == [2.0, 2.0]
    with pytest.warns(UserWarning, match="the kernel of 'probe' for backend 'numpy' is replaced"):
        tj.register_kernel("probe", "numpy", lambda x: x + 2)
    assert op(x).tolist() == f(x).tolist() == [3.0, 3.0]
    tj.register_kernel("probe", "numpy", lambda x: x + 3, override=True)
    assert op(x).tolist() == f(x).tolist() == [4.0, 4.0]
    assert "op 'probe' has another numpy kernel" in f.explain()


def test_replacing_the_kernel_of_a_built_in_reaches_native_entries_and_constants() -> None:
    folded = tj.jit(lambda x: x + tj.exp(tj.zeros(2)))
    direct = tj.jit(lambda x: tj.exp(x))
    x = tj.zeros(2)
    for _ in range(3):
        assert folded(x).tolist() == direct(x).tolist() == [1.0, 1.0]
    tj.register_kernel("exp", "numpy", lambda x: x + 5, override=True)
    tj.register_kernel("exp", "llvm", lambda b, x: b.add(x, 5.0), override=True)
    for _ in range(3):
        assert folded(x).tolist() == direct(x).tolist() == tj.exp(x).tolist() == [5.0, 5.0]


def test_setup_and_dispose_run_once() -> None:
    calls: list[str] = []
    tj.register_op("probe", lambda x: x)
    for number in (1, 2):
        tj.register_kernel(
            "probe", "numpy", lambda x: x, override=True,
            setup=lambda backend, n=number: calls.append(f"setup {n}"),
            dispose=lambda backend, n=number: calls.append(f"dispose {n}"),
        )  # fmt: skip
        tj.ops.probe(1.0)
        tj.ops.probe(1.0)
    assert calls == ["setup 1", "dispose 1", "setup 2"]
    tj.unregister_op("probe")
    assert calls == ["setup 1", "dispose 1", "setup 2", "dispose 2"]


def test_what_cannot_be_a_kernel() -> None:
    tj.register_op("probe", lambda x: x)
    with pytest.raises(tj.TracejitError, match="there is no op named 'nothing'"):
        tj.register_kernel("nothing", "numpy", np.exp)
    with pytest.raises(tj.TracejitError, match="expected a Python function of ndarrays, got 7"):
        tj.register_kernel("probe", "numpy", 7)
    with pytest.raises(tj.TracejitError, match="not elementwise, so its llvm kernel must be a C function"):
        tj.register_kernel("probe", "llvm", lambda b, x: x)
    with pytest.raises(tj.TracejitError, match="kind reduction cannot be replaced"):
        tj.register_kernel("sum", "llvm", lambda b, x: x)
