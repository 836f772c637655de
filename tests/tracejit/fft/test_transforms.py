"""``tj.fft`` against ``numpy.fft``: values, dtypes, arguments, errors; eager, jitted and by NumPy's names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tracejit as tj

from ...rotation import share_of

LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")
OF_REAL = ("rfft", "ihfft", "rfft2", "rfftn")
TOLERANCE = {2: 1e-3, 4: 2e-6, 8: 1e-14}


def operand(name: str, shape: tuple[int, ...], dtype: str = "f8") -> NDArray[Any]:
    """Random numbers that the function `name` takes, of `dtype` or of the complex one with such parts."""
    rng = np.random.default_rng(list(shape))
    real = rng.normal(size=shape).astype(dtype)
    if name in OF_REAL:
        return real
    return real + 1j * rng.normal(size=shape).astype(dtype)


def agrees(result: Any, expected: NDArray[Any]) -> bool:
    """Whether dtype and shape are equal, and elements near relative to the largest one."""
    values = np.asarray(result)
    assert values.dtype == expected.dtype
    assert values.shape == expected.shape
    width = expected.real.dtype.itemsize
    return bool(
        np.all(np.abs(values - expected) <= TOLERANCE[width] * max(1.0, np.abs(expected).max(initial=0.0)))
    )


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", LINES)
def test_lines(name: str, dtype: str) -> None:
    norms = (None, "backward", "ortho", "forward")
    cases = [*itertools.product((6, 7), (0, 1, -1), (None, 4, 9), norms)]
    jitted = share_of(cases, 5)
    for case in cases:
        size, axis, n, norm = case
        x = operand(name, (4, size, 5), dtype)
        expected = getattr(np.fft, name)(x, n, axis, norm)
        own = getattr(tj.fft, name)
        assert agrees(own(x, n, axis, norm), expected), case
        if case in jitted:
            assert agrees(tj.jit(lambda v: own(v, n, axis, norm))(x), expected), case  # noqa: B023


@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name: str) -> None:
    x = operand(name, (3, 4, 5))
    for s, axes in itertools.product((None, (4, 6)), ((-2, -1), (0, 2), (1, 0), (1, 1))):
        expected = getattr(np.fft, name)(x, s, axes)
        own = getattr(tj.fft, name)
        assert agrees(own(x, s, axes), expected), (s, axes)
        assert agrees(tj.jit(lambda v: own(v, s, axes))(x), expected), (s, axes)  # noqa: B023
    if name.endswith("n"):
        assert agrees(own(x), getattr(np.fft, name)(x))
        assert agrees(own(x, axes=1), getattr(np.fft, name)(x, axes=(1,)))
        assert agrees(own(x, s=(-1, 3), axes=(0, 1)), getattr(np.fft, name)(x, s=(-1, 3), axes=(0, 1)))


def test_transforms_of_no_axes() -> None:
    x = operand("fftn", (2, 3))
    assert agrees(tj.fft.fftn(x, axes=()), x)
    with pytest.raises(ValueError, match=r"fft\.rfftn: expected at least one axis"):
        tj.fft.rfftn(x.real, axes=())


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_dtypes(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    assert agrees(tj.fft.fft(x), np.fft.fft(x))
    assert agrees(tj.fft.irfft(x), np.fft.irfft(x))
    if dtype[0] != "c":
        assert agrees(tj.fft.rfft(x), np.fft.rfft(x))


def test_empty_batches_and_strides() -> None:
    assert agrees(tj.fft.fft(np.zeros((0, 4))), np.fft.fft(np.zeros((0, 4))))
    assert agrees(tj.jit(tj.fft.rfft)(np.zeros((0, 4))), np.fft.rfft(np.zeros((0, 4))))
    x = operand("fft", (6, 8))
    for view in (x.T, x[::2, ::-1], x[:, ::3], np.asfortranarray(x)):
        assert agrees(tj.fft.fft(view), np.fft.fft(view))
        assert agrees(tj.fft.rfft(tj.asarray(view).real, axis=0), np.fft.rfft(view.real, axis=0))
        assert agrees(tj.jit(lambda v: tj.fft.fft(v.T))(view), np.fft.fft(view.T))


def test_long_transforms_along_other_axes() -> None:
    x = operand("fft", (10_000, 2))
    for name in ("fft", "ifft", "irfft"):
        own, theirs = getattr(tj.fft, name), getattr(np.fft, name)
        assert agrees(tj.jit(lambda v: own(v, axis=0))(x), theirs(x, axis=0))  # noqa: B023
    assert agrees(tj.jit(lambda v: tj.fft.rfft(v, axis=0))(x.real), np.fft.rfft(x.real, axis=0))


@pytest.mark.parametrize("n", [1, 2, 5, 8, 17, 36, 100, 1009])
def test_round_trips_and_parsevals_theorem(n: int) -> None:
    x = operand("fft", (3, n))
    for norm in ("backward", "ortho", "forward"):
        assert agrees(tj.fft.ifft(tj.fft.fft(x, norm=norm), norm=norm), x)
        assert agrees(tj.fft.irfft(tj.fft.rfft(x.real, norm=norm), n, norm=norm), x.real)
        assert agrees(tj.fft.hfft(tj.fft.ihfft(x.real, norm=norm), n, norm=norm), x.real)
    energy = np.sum(np.abs(np.asarray(tj.jit(lambda v: tj.fft.fft(v, norm="ortho"))(x))) ** 2)
    assert np.isclose(energy, np.sum(np.abs(x) ** 2), rtol=1e-14)


def test_numpys_names_of_tensors() -> None:
    x = tj.tensor(operand("fft", (4, 6)))
    for name in (*LINES, *SEVERAL, "fftshift", "ifftshift"):
        argument = x.real if name in OF_REAL else x
        result = getattr(np.fft, name)(argument)
        assert isinstance(result, tj.Tensor)
        assert agrees(result, getattr(np.fft, name)(argument.numpy()))
    assert agrees(np.fft.fft(x, axis=0, norm="ortho"), np.fft.fft(x.numpy(), axis=0, norm="ortho"))
    gradient = tj.grad(lambda v: tj.sum(tj.abs(np.fft.rfft(v)) ** 2))(x.real)
    assert gradient.shape == x.shape


def test_results_in_an_array() -> None:
    x, out = operand("fft", (2, 4)), np.empty((2, 4), complex)
    assert tj.fft.fft(x, out=out) is out
    assert agrees(out, np.fft.fft(x))
    assert np.fft.ifftn(tj.tensor(x), out=out) is out
    assert agrees(out, np.fft.ifftn(x))


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tj.fft.fft(x, 0), ValueError, "fft.fft: n must be at least 1, got 0"),
        (lambda x: tj.fft.fft(x[:, :0]), ValueError, "fft.fft: n must be at least 1, got 0"),
        (lambda x: tj.fft.irfft(x[:, :1]), ValueError, "fft.irfft: n must be at least 1, got 0"),
        (lambda x: tj.fft.fft(x, 2.5), TypeError, "fft.fft: n must be an integer, got 2.5"),
        (lambda x: tj.fft.fft(x, axis=2), IndexError, "fft.fft: axis 2 is out of bounds"),
        (lambda x: tj.fft.fft(x[0, 0]), IndexError, "fft.fft: axis -1 is out of bounds"),
        (lambda x: tj.fft.rfft(x, norm="none"), ValueError, "fft.rfft: norm must be .*, got 'none'"),
        (lambda x: tj.fft.fftn(x, norm=1), ValueError, "fft.fftn: norm must be .*, got 1"),
        (lambda x: tj.fft.rfft(x * 1j), TypeError, "fft.rfft: a must be real, got complex128"),
        (lambda x: tj.fft.fftn(x, (1, 2), (0,)), ValueError, "fft.fftn: s and axes must have the same"),
        (lambda x: tj.fft.fftn(x, (0, 2)), ValueError, "fft.fftn: s must be at least 1, got 0"),
        (lambda x: tj.fft.fft2(x[0]), IndexError, "fft.fft2: axis -2 is out of bounds"),
        (lambda x: tj.fft.fftfreq(0), ValueError, "fft.fftfreq: n must be at least 1, got 0"),
        (lambda x: tj.fft.rfftfreq(2.5), ValueError, "fft.rfftfreq: n must be an integer"),
        (lambda x: tj.fft.fftfreq(3, dtype=int), TypeError, "fft.fftfreq: dtype must be float32 or"),
        (lambda x: tj.fft.fftfreq(3, []), TypeError, r"fft.fftfreq: d must be a number, got \[\]"),
        (lambda x: tj.fft.irfft(x, 10**30), ValueError, r"fft.irfft: an array of shape .* is too large"),
        (lambda x: tj.fft.fftshift(x, 3), IndexError, "fft.fftshift: axis 3 is out of bounds"),
    ],
)
def test_errors_name_function_and_argument(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        call(tj.ones((2, 4)))
    with pytest.raises(error, match=message):
        tj.jit(call)(np.ones((2, 4)))


# -- frequencies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    for d in (1.0, 0.3, 2):
        np.testing.assert_array_equal(tj.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        np.testing.assert_array_equal(tj.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    assert tj.fft.fftfreq(n, dtype=tj.float32).dtype == np.float32
    np.testing.assert_array_equal(tj.jit(lambda d: tj.fft.fftfreq(n, d))(0.5), np.fft.fftfreq(n, 0.5))


def test_shifts() -> None:
    x = np.arange(30.0).reshape(2, 3, 5)
    for name, axes in itertools.product(("fftshift", "ifftshift"), (None, 0, -1, (0, 2), (1,))):
        np.testing.assert_array_equal(getattr(tj.fft, name)(x, axes), getattr(np.fft, name)(x, axes))
