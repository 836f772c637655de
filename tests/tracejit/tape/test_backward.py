"""The backward pass: gradients that are spread over an axis, and what a pass leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.backward.engine import NUMPY_OPS
from tracejit.dispatch import native_ops
from tracejit.ir.registry import OPS
from tracejit.state import STATE


@pytest.mark.parametrize("value", [0.1, -0.0, np.nan])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (1024,), (1025,), (0,), (2, 3), (0, 3), (1, 2, 1)])
def test_a_spread_number_is_numpys_broadcast(value: float, dtype: str, shape: tuple[int, ...]) -> None:
    for x in (np.array(value, dtype), np.full((1,) * len(shape), value, dtype), np.dtype(dtype).type(value)):
        spread, expected = NUMPY_OPS.broadcast(x, shape=shape), np.broadcast_to(x, shape)
        assert (spread.dtype, spread.shape) == (expected.dtype, expected.shape)
        assert spread.tobytes() == expected.tobytes()
        assert not spread.flags.writeable, "a gradient may be that of two operands"


def test_arrays_are_broadcast_by_numpy() -> None:
    column = np.arange(3.0)[:, None]
    np.testing.assert_array_equal(
        NUMPY_OPS.broadcast(column, shape=(2, 3, 4)), np.broadcast_to(column, (2, 3, 4))
    )


def test_a_kernel_of_the_users_spreads_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OPS, "foreign", set(OPS.foreign))
    shapes: list[Any] = []

    def kernel(x: Any, shape: Any) -> Any:
        shapes.append(shape)
        return np.broadcast_to(x, shape)

    with tj.extend.isolated():
        tj.register_kernel("broadcast", fn=kernel, override=True)
        x = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
        x.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert shapes == [(3,)]


def test_gradients_are_the_same_natively_and_not() -> None:
    """Bits, too: what is spread natively is what NumPy's view gives."""

    def program() -> list[bytes]:
        x = tj.tensor(np.linspace(0.1, 1.7, 12).reshape(3, 4), requires_grad=True)
        w = tj.tensor(np.linspace(-1.0, 2.0, 4), requires_grad=True)
        loss = (tj.exp(x * w) / 3.0).mean(axis=1).sum() + (w * 0.3).sum() + x[1].sum() * tj.sin(w[2])
        loss.backward()
        assert x.grad is not None
        assert w.grad is not None
        return [x.grad.numpy().tobytes(), w.grad.numpy().tobytes()]

    assert native_ops.load() == ""
    fast = program()
    own = vars(NUMPY_OPS).copy()
    try:
        for name in ("broadcast", "mul", "add", "div", "exp", "cos", "neg"):
            setattr(NUMPY_OPS, name, OPS[name].eval)
        assert program() == fast
    finally:
        vars(NUMPY_OPS).clear()
        vars(NUMPY_OPS).update(own)


def test_a_pass_that_fails_leaves_no_state() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()

    def hook(gradient: Any) -> None:
        raise RuntimeError("no")

    handle = x.register_hook(hook)
    with pytest.raises(RuntimeError, match="no"):
        y.backward(retain_graph=True)
    assert (STATE.walk, STATE.recording) == (None, True)
    handle.remove()
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]
