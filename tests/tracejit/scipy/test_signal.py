"""Convolutions of any rank, by sums and by transforms, against sums over all elements."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tracejit as tj
from tracejit.scipy import signal

SHAPES = [
    ((7,), (3,)),
    ((3,), (7,)),
    ((5, 6), (3, 2)),
    ((6, 6), (7, 7)),
    ((4, 5, 6), (2, 3, 4)),
    ((1,), (1,)),
]


def full(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """All sums of products."""
    result = np.zeros([a + b - 1 for a, b in zip(x.shape, y.shape, strict=True)], np.result_type(x, y))
    for place in np.ndindex(*y.shape):
        window = tuple(slice(at, at + size) for at, size in zip(place, x.shape, strict=True))
        result[window] += x * y[place]
    return result


def cut(whole: NDArray[Any], x: NDArray[Any], y: NDArray[Any], mode: str) -> NDArray[Any]:
    """The part of a full convolution that `mode` names."""
    if mode == "full":
        return whole
    if mode == "same":
        sizes = list(x.shape)
    else:
        sizes = [abs(a - b) + 1 for a, b in zip(x.shape, y.shape, strict=True)]
    starts = [(have - size) // 2 for have, size in zip(whole.shape, sizes, strict=True)]
    return whole[tuple(slice(at, at + size) for at, size in zip(starts, sizes, strict=True))]


def operands(shapes: Any, dtype: str) -> list[NDArray[Any]]:
    rng = np.random.default_rng(0)
    arrays = []
    for shape in shapes:
        real = rng.normal(size=shape) * 4
        arrays.append((real + 1j * rng.normal(size=shape) if dtype[0] == "c" else real).astype(dtype))
    return arrays


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_convolutions(shapes: Any, dtype: str) -> None:
    x, y = operands(shapes, dtype)
    atol = 1e-4 if dtype == "f4" else 1e-12
    for mode in ("full", "same", "valid"):
        expected = cut(full(x, y), x, y, mode)
        np.testing.assert_allclose(signal.fftconvolve(x, y, mode), expected, atol=atol)
        turned = np.conj(y)[(slice(None, None, -1),) * y.ndim]
        correlated = cut(full(x, turned), x, y, mode)
        for method in ("auto", "direct", "fft"):
            result = signal.convolve(x, y, mode, method)
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, atol=atol)
            np.testing.assert_allclose(signal.correlate(x, y, mode, method), correlated, atol=atol)


def test_convolutions_along_some_axes() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 5)), rng.normal(size=(1, 3))
    expected = np.stack([np.convolve(line, y[0]) for line in x])
    np.testing.assert_allclose(signal.fftconvolve(x, y, axes=1), expected, atol=1e-13)
    np.testing.assert_allclose(
        tj.jit(lambda a, b: signal.fftconvolve(a, b, axes=[-1]))(x, y), expected, atol=1e-13
    )


def test_methods_are_chosen_by_cost() -> None:
    assert signal.choose_conv_method(tj.ones(1000), tj.ones(3)) == "direct"
    assert signal.choose_conv_method(tj.ones(100_000), tj.ones(50_000)) == "fft"
    assert signal.choose_conv_method(tj.ones((512, 512)), tj.ones((64, 64))) == "fft"
    assert signal.choose_conv_method(tj.ones((512, 512)), tj.ones((3, 3))) == "direct"
    assert signal.choose_conv_method(tj.ones(100_000, dtype=int), tj.ones(50_000, dtype=int)) == "direct"
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 6000))
    np.testing.assert_allclose(signal.convolve(x, y), np.convolve(x, y), atol=1e-10)


def test_gradients() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(5, 4)), rng.normal(size=(2, 3))
    for mode, method in itertools.product(("full", "same", "valid"), ("fft", "direct")):

        def value(x: Any, y: Any, mode: str = mode, method: str = method) -> Any:
            return tj.sum(tj.sin(signal.convolve(x, y, mode, method)))

        gradients = tj.jit(tj.grad(value, (0, 1)))(x, y)
        for number, operand in enumerate((x, y)):
            for place in np.ndindex(*operand.shape):
                step = np.zeros_like(operand)
                step[place] = 1e-6
                ends = [
                    float(value(*[a + sign * step if a is operand else a for a in (x, y)]))
                    for sign in (1, -1)
                ]
                slope = (ends[0] - ends[1]) / 2e-6
                assert abs(slope - gradients[number][place]) < 1e-7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: signal.convolve(x, x[0]), r"scipy\.signal\.convolve: in1 and in2 must have the same rank"),
        (lambda x: signal.convolve(x, x, "all"), r"scipy\.signal\.convolve: mode must be .*, got 'all'"),
        (
            lambda x: signal.correlate(x, x, method="no"),
            r"scipy\.signal\.correlate: method must be .*, got 'no'",
        ),
        (
            lambda x: signal.fftconvolve(x, x[:0]),
            r"scipy\.signal\.fftconvolve: in1 and in2 must have elements",
        ),
        (lambda x: signal.fftconvolve(x, x[:2], axes=1), "differ along axis 0"),
        (lambda x: signal.fftconvolve(x, x.T, "valid"), "with mode 'valid' one array must be as large"),
        (lambda x: signal.fftconvolve(x, x, axes=()), r"scipy\.signal\.fftconvolve: axes must not be empty"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(tj.ones((3, 4)))
