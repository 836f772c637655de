"""Complex numbers in loops."""

import cmath

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree

X = np.linspace(-1.0, 1.0, 12)
Z = X + 1j * X[::-1] ** 2
case = Cases()


def escape(x, y, most):
    c = complex(x, y)
    z = 0.0j
    for i in range(most):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return most


@case(-2.0, 1.0, -1.0, 1.0, np.zeros((5, 6), np.uint8), 12)
def mandelbrot_of_the_manual(left, right, low, high, image, most):
    rows, columns = image.shape
    for x in range(columns):
        for y in range(rows):
            image[y, x] = escape(left + x * (right - left) / columns, low + y * (high - low) / rows, most)
    return image


@case(X, 20)
def mandelbrot_with_while(x, most):
    out = np.zeros(12, np.int32)
    for i in range(12):
        c, z, k = complex(x[i], -0.5), 0j, 0
        while abs(z) < 2 and k < most:
            z = z * z + c
            k += 1
        out[i] = k
    return out


@case(X)
def functions_of_cmath(x):
    s = 0j
    for i in range(12):
        z = complex(x[i], 0.5)
        s = s * 0.5 + cmath.exp(z) + cmath.sqrt(z) * cmath.log(z) - cmath.sin(z) * cmath.tanh(z)
        s += cmath.phase(z) + abs(z) + z.conjugate()
    return s, s.real, s.imag


@case(Z)
def written(z):
    s, out = 1j, np.zeros(12, np.complex128)
    for i in range(12):
        s = s * 0.5 + z[i]
        out[i] = s * (1 + 2j)
    return out, s


@case(Z.astype(np.complex64))
def narrow(z):
    s = z[0]
    for i in range(12):
        s = s * 0.5j + z[i]
    return s


@case(X)
def becoming_complex(x):
    z = 0.0
    for i in range(12):
        z = z * 0.5 + x[i] * 1j
        if i == 3:
            w = z
    return z, w


@case(np.exp(X))
def transform(x):
    n = len(x)
    out = np.zeros(n, dtype=np.complex128)
    for k in range(n):
        s = 0j
        for t in range(n):
            s += x[t] * cmath.exp(-2j * cmath.pi * k * t / n)
        out[k] = s
    return out


def test_gradients():
    def power(a):
        z = 0j
        for i in range(6):
            z = z * z * 0.5 + complex(a, 0.25 * i)
        return abs(z)

    exact = (power(0.3 + 1e-6) - power(0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(float(tj.jit(tj.grad(power), loops="compiled")(0.3)), exact, rtol=1e-6)


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
