"""Eager special functions: native kernels, with the bits of jitted functions and the record's meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import CompilerWarning
from tracejit.dispatch import special_kernels
from tracejit.ir.registry import OPS

S = tj.scipy.special
OPERANDS: list[Any] = [
    np.linspace(0.1, 9.0, 37),
    np.linspace(0.1, 9.0, 37, dtype=np.float32),
    np.arange(1, 30, dtype=np.int16),
    np.linspace(0.1, 9.0, 60).reshape(6, 10).T,
    np.float64(2.5),
    2.5,
    3,
    np.zeros((0, 4)),
    np.linspace(0.5, 2.0, 8).astype(np.float16),
]


@pytest.mark.parametrize("x", OPERANDS, ids=lambda x: f"{type(x).__name__}-{np.asarray(x).dtype}")
def test_native_and_numpy_kernels_agree(x: Any) -> None:
    op = OPS["special2"]
    assert op.kernel is not op.eval
    attrs = {"function": "gammainc", "orders": (0, 0)}
    native, meaning = op.kernel(x, 2.5, **attrs), op.eval(x, 2.5, **attrs)
    assert native.dtype == meaning.dtype
    assert native.shape == meaning.shape
    tolerance = 4 * np.finfo(meaning.dtype).eps
    assert np.allclose(np.asarray(native, np.float64), meaning.astype(np.float64), rtol=tolerance)


def test_eager_and_jitted_bits_are_the_same() -> None:
    a, x = np.random.default_rng(1).uniform(0.1, 40.0, (2, 1001))
    for function in (S.gammaln, S.digamma, S.i0e, S.erf, S.erfc, S.expit):
        assert np.array_equal(function(x).numpy(), tj.jit(function)(x).numpy())
    assert np.array_equal(S.gammainc(a, x).numpy(), tj.jit(S.gammainc)(a, x).numpy())


def test_gradients_are_native_too() -> None:
    x = tj.tensor(np.linspace(0.5, 9.0, 20), requires_grad=True)
    S.gammaln(x).sum().backward()
    assert np.array_equal(x.grad.numpy(), S.digamma(x.detach()).numpy())


def test_a_registered_kernel_takes_the_place_of_the_native_one() -> None:
    op = OPS["special1"]
    before = op.eval
    try:
        OPS.change(op, eval=lambda x, function, orders: np.full(np.shape(x), 7.0))
        assert float(S.gammaln(3.0)) == 7.0
    finally:
        OPS.change(op, eval=before)
    assert float(S.gammaln(3.0)) == pytest.approx(np.log(2.0))


def test_numpy_computes_where_code_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*key: Any) -> None:
        raise tj.CompileError("no compiler here")

    monkeypatch.setattr("tracejit.runtime.native.special_ufuncs.special_ufunc", failing)
    monkeypatch.setattr(special_kernels, "_UFUNCS", {})
    with pytest.warns(CompilerWarning, match="spence: computed with NumPy.*no compiler here"):
        result = S.spence(tj.tensor([0.5, 2.0]))
    assert np.allclose(result.numpy(), [0.58224053, -0.82246703])
    assert np.allclose(S.spence(tj.tensor([0.5])).numpy(), 0.58224053)
