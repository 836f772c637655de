"""Programs with structured control flow: long loops over small state, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .libraries import Library

State = tuple[Any, ...]


def _lorenz(s: State) -> State:
    x, y, z = s
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z


def _moved(s: State, by: float, k: State) -> State:
    return tuple(one + by * slope for one, slope in zip(s, k, strict=True))


def _runge_kutta(s: State, dt: float) -> State:
    a = _lorenz(s)
    b = _lorenz(_moved(s, dt / 2, a))
    c = _lorenz(_moved(s, dt / 2, b))
    d = _lorenz(_moved(s, dt, c))
    slopes = zip(s, a, b, c, d, strict=True)
    return tuple(u + dt / 6 * (p + 2 * q + 2 * r + t) for u, p, q, r, t in slopes)


def lorenz(steps: int, dt: float, *, gradient: bool = False) -> Callable[[Library], Callable[..., Any]]:
    """`steps` steps of the classical Runge-Kutta method on the Lorenz system, from three scalars."""

    def program(lib: Library) -> Callable[..., Any]:
        scan = lib.control.scan

        def run(x: Any, y: Any, z: Any) -> Any:
            return scan(lambda s, _: (_runge_kutta(s, dt), None), (x, y, z), None, length=steps)[0]

        if not gradient:
            return lib.jit(run)
        assert lib.value_and_grad is not None
        return lib.jit(lib.value_and_grad(lambda x, y, z: run(x, y, z)[0], argnums=(0, 1, 2)))

    return program


def counting(steps: int) -> Callable[[Library], Callable[..., Any]]:
    """A ``while_loop`` of cheap steps."""

    def program(lib: Library) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            return lib.control.while_loop(
                lambda s: s[0] < steps, lambda s: (s[0] + 1, s[1] * 0.999999 + 0.5), (0, x)
            )

        return lib.jit(run)

    return program


def neighbours(lib: Library) -> Callable[..., Any]:
    """Value and gradient through 600 steps of 60 scalars, each coupled to its neighbours."""

    def step(c: State, _: None) -> tuple[State, None]:
        size = len(c)
        return tuple(
            c[i] + 0.01 * (lib.np.sin(c[(i + 1) % size]) - c[i - 1] * c[i]) for i in range(size)
        ), None

    def loss(c: State) -> Any:
        last = lib.control.scan(step, c, None, length=600)[0]
        return sum(last[1:], last[0])

    assert lib.value_and_grad is not None
    return lib.jit(lib.value_and_grad(loss))


def kalman(lib: Library) -> Callable[..., Any]:
    """A three-state Kalman filter's log-likelihood of 1,000 observations, and its gradient by two
    variances."""
    motion = lib.array(np.array([[1.0, 0.1, 0.005], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]]))
    identity = lib.array(np.eye(3))

    def likelihood(q: Any, r: Any, observations: Any) -> Any:
        def step(carry: State, y: Any) -> tuple[State, Any]:
            m, p = motion @ carry[0], motion @ carry[1] @ motion.T + q * identity
            s = p[0, 0] + r
            k, e = p[:, 0] / s, y - m[0]
            return (m + k * e, p - k[:, None] * p[0][None, :]), -0.5 * (lib.np.log(s) + e * e / s)

        return lib.control.scan(step, (identity[0] * 0.0, identity), observations)[1].sum()

    assert lib.value_and_grad is not None
    return lib.jit(lib.value_and_grad(likelihood, argnums=(0, 1)))


def recurrent(lib: Library) -> Callable[..., Any]:
    """Value and gradient of a recurrent network: 100 steps, batch 32, 128 hidden units, float32."""

    def loss(w: Any, u: Any, xs: Any) -> Any:
        last = lib.control.scan(lambda h, x: (lib.np.tanh(h @ w + x @ u), None), xs[0] * 0, xs)[0]
        return (last * last).sum()

    assert lib.value_and_grad is not None
    return lib.jit(lib.value_and_grad(loss, argnums=(0, 1)))


def scalars(*values: float) -> Callable[[], tuple[Any, ...]]:
    """Inputs: one scalar array per value."""
    return lambda: tuple(np.array(value) for value in values)


def sixty() -> tuple[Any, ...]:
    """Inputs of `neighbours`: one tuple of sixty scalars."""
    return (tuple(np.array(0.1 + 0.01 * i) for i in range(60)),)


def sequences() -> tuple[Any, ...]:
    """Inputs of `recurrent`."""
    rng = np.random.default_rng(0)
    shapes = ((128, 128), (128, 128), (100, 32, 128))
    w, u, xs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    return w / 12, u / 12, xs


def observations() -> tuple[Any, ...]:
    """Inputs of `kalman`."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=1000))
    return np.array(0.1), np.array(1.0), walk
