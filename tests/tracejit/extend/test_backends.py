"""Backends of eager mode: issue item 5 and the set-up rules of 11."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj


class Logging(tj.extend.Backend):
    """Notes the kernels it runs."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.disposed = 0

    def run_kernel(self, kernel: Any, inputs: Any, attrs: Any) -> Any:
        self.names.append(kernel.name)
        return super().run_kernel(kernel, inputs, attrs)

    def dispose(self) -> None:
        self.disposed += 1


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with tj.extend.isolated():
        yield
    assert tj.get_backend() == "numpy"
    for name in ("logging", "second", "broken", "third"):
        try:
            tj.remove_backend(name)
        except tj.TracejitError:
            continue


@pytest.fixture
def logging() -> Logging:
    backend = Logging()
    tj.register_backend("logging", lambda: backend)
    tj.copy_registered_kernels("numpy", "logging")
    return backend


def test_numpy_is_the_default_whatever_the_priorities(logging: Logging) -> None:
    tj.register_backend("second", Logging, priority=1000)
    assert tj.get_backend() == "numpy"
    assert tj.exp(0.0).item() == 1.0
    assert logging.names == []


def test_a_backend_gets_every_eager_kernel(logging: Logging) -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    with tj.backend("logging") as instance:
        assert instance is logging
        assert tj.get_backend() == "logging"
        y = (tj.exp(x) * 2).sum()
        assert logging.names == ["exp", "mul", "sum"]
        y.backward()
    forward = len(["exp", "mul", "sum"])
    assert "mul" in logging.names[forward:], "backward passes too"
    count = len(logging.names)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad, 2 * np.exp([1.0, 2.0]))
    tj.exp(x)
    assert tj.get_backend() == "numpy"
    assert len(logging.names) == count


def test_composites_run_by_their_parts(logging: Logging) -> None:
    op = tj.register_op("soft", decompose=lambda x: tj.log1p(tj.exp(x)))
    tj.register_backend("second", Logging)
    for name, fn in (("exp", np.exp), ("log1p", np.log1p)):
        tj.register_kernel(name, "second", fn)
    with tj.backend("second") as second:
        assert op(0.0).item() == pytest.approx(np.log(2))
    assert second.names == ["exp", "log1p"]


def test_a_missing_kernel_names_op_backend_and_who_has_it() -> None:
    tj.register_backend("second", Logging)
    tj.register_kernel("exp", "second", np.exp)
    with tj.backend("second"):
        assert tj.exp(0.0).item() == 1.0
        for _ in range(2):
            with pytest.raises(
                tj.KernelError, match="op 'log' has no kernel for backend 'second', only for numpy"
            ):
                tj.log(1.0)
        with pytest.raises(tj.KernelError, match="op 'sum' has no kernel for backend 'second'"):
            tj.tensor([1.0, 2.0]).sum()
    assert tj.log(1.0).item() == 0.0


def test_the_kernels_of_a_backend_are_checked() -> None:
    tj.register_backend("second", Logging)
    tj.register_kernel("exp", "second", lambda x: x[:1])
    with (
        tj.backend("second"),
        pytest.raises(tj.KernelError, match=r"its second kernel returned f64.1., expected f64.3."),
    ):
        tj.exp(tj.tensor([1.0, 2.0, 3.0]))


def test_setting_and_removing(logging: Logging) -> None:
    assert tj.set_backend("logging") == "logging"
    try:
        tj.exp(0.0)
        with tj.backend("numpy"):
            tj.exp(0.0)
        assert logging.names == ["exp"]
    finally:
        tj.remove_backend("logging")
    assert tj.get_backend() == "numpy"
    assert tj.exp(0.0).item() == 1.0
    assert logging.names == ["exp"]
    assert logging.disposed == 1
    with pytest.raises(tj.TracejitError, match="there is no backend named 'logging'; there are numpy"):
        tj.set_backend("logging")
    with pytest.raises(tj.TracejitError, match="there is no backend named 'logging'"):
        tj.remove_backend("logging")


def test_the_choice_of_a_with_block_is_of_its_thread(logging: Logging) -> None:
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with tj.backend("logging"):
            inside.set()
            done.wait(10)
            tj.exp(0.0)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    tj.log(1.0)
    assert tj.get_backend() == "numpy"
    done.set()
    thread.join()
    assert logging.names == ["exp"]


def test_a_failed_start_falls_to_the_next_by_priority() -> None:
    def fails() -> Any:
        raise OSError("no device")

    tj.register_backend("broken", fails, priority=9)
    tj.register_backend("second", Logging, priority=2)
    tj.register_backend("third", Logging, priority=5)
    with pytest.warns(RuntimeWarning, match="'broken' failed to start: OSError: no device; using 'third'"):
        assert tj.set_backend("broken") == "third"
    assert tj.get_backend() == "third"
    tj.set_backend("numpy")
    tj.remove_backend("second")
    tj.remove_backend("third")
    with pytest.warns(RuntimeWarning, match="'broken' failed to start: OSError: no device; using 'numpy'"):
        assert tj.set_backend("broken") == "numpy"
    assert tj.exp(0.0).item() == 1.0


def test_set_up_once_and_disposed_once() -> None:
    calls: list[Any] = []
    tj.register_op("probe", lambda x: x)

    def register(name: str, kernel: str) -> None:
        tj.register_kernel(
            name, "second", lambda x: x,
            setup=lambda backend: calls.append((kernel, "setup", type(backend))),
            dispose=lambda backend: calls.append((kernel, "dispose", type(backend))),
        )  # fmt: skip

    starts: list[Logging] = []

    def factory() -> Logging:
        starts.append(Logging())
        return starts[-1]

    register("probe", "first")
    tj.register_backend("second", factory)
    assert calls == [], "not before the backend is active"
    assert starts == []
    for _ in range(2):
        with tj.backend("second"):
            tj.ops.probe(1.0)
    assert calls == [("first", "setup", Logging)]
    register("exp", "late")
    assert calls[1:] == [("late", "setup", Logging)], "at once where the backend is active already"
    tj.unregister_kernel("exp", "second")
    assert calls[2:] == [("late", "dispose", Logging)]
    tj.remove_backend("second")
    assert calls[3:] == [("first", "dispose", Logging)]
    assert len(starts) == starts[0].disposed == 1


def test_a_kernel_whose_setup_fails_is_a_failed_start() -> None:
    def fails(backend: Any) -> None:
        raise OSError("no memory")

    tj.register_op("probe", lambda x: x)
    tj.register_kernel("probe", "second", lambda x: x, setup=fails)
    tj.register_backend("second", Logging)
    with pytest.warns(RuntimeWarning, match="'second' failed to start: OSError: no memory; using 'numpy'"):
        tj.set_backend("second")
    assert tj.get_backend() == "numpy"


def test_an_error_inside_leaves_the_choice_as_it_was(logging: Logging) -> None:
    with pytest.raises(ValueError, match="text"), tj.backend("logging"):
        raise ValueError("text")
    assert tj.get_backend() == "numpy"
    tj.exp(0.0)
    assert logging.names == []


def test_compiled_code_is_not_affected(logging: Logging) -> None:
    f = tj.jit(lambda x: tj.exp(x).sum())
    with tj.backend("logging"):
        assert f(tj.zeros(3)).item() == 3.0
    assert "exp" not in logging.names


def test_names() -> None:
    with pytest.raises(tj.TracejitError, match="backend 'numpy' is registered already"):
        tj.register_backend("numpy", Logging)
    with pytest.raises(tj.TracejitError, match="'llvm' is the backend of compiled functions"):
        tj.set_backend("llvm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tj.TracejitError, match="there is no backend named 'gpu'"), tj.backend("gpu"):
            pass


def test_eager_kernels_are_numpys_own_where_nobody_looks(logging: Logging) -> None:
    from tracejit.ir.registry import OPS

    # special functions may have native ones by now
    own = {op: op.kernel for op in OPS}
    assert all(kernel is op.eval for op, kernel in own.items() if not op.name.startswith("special"))
    with tj.backend("logging"):
        assert OPS["exp"].kernel is not OPS["exp"].eval
    assert all(op.kernel is kernel for op, kernel in own.items())
