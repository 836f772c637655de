"""Simulations: gravity, nearest points, heat, Mandelbrot's set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import UNROLLED, Function, Workload
from .inputs import generator


def _gravity(lib: Library, bodies: int) -> Function:
    """Accelerations between all pairs, softened."""

    def accelerations(x: Any, m: Any) -> Any:
        apart = x[None, :, :] - x[:, None, :]
        square = lib.np.sum(apart * apart, axis=2) + 0.01
        pull = m / (square * lib.np.sqrt(square))
        return lib.np.sum(pull[:, :, None] * apart, axis=1)

    return accelerations


def _gravity_numba(nb: Any, bodies: int) -> Function:
    @nb.njit(parallel=True)
    def accelerations(x: Any, m: Any) -> Any:
        out = np.zeros_like(x)
        for i in nb.prange(x.shape[0]):
            a, b, c = 0.0, 0.0, 0.0
            for j in range(x.shape[0]):
                dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                square = dx * dx + dy * dy + dz * dz + 0.01
                pull = m[j] / (square * np.sqrt(square))
                a += pull * dx
                b += pull * dy
                c += pull * dz
            out[i, 0], out[i, 1], out[i, 2] = a, b, c
        return out

    compiled: Function = accelerations
    return compiled


def _energy(lib: Library, bodies: int) -> Function:
    def energy(x: Any, m: Any) -> Any:
        apart = x[None, :, :] - x[:, None, :]
        square = lib.np.sum(apart * apart, axis=2) + 0.01
        return -0.5 * lib.np.sum(m[:, None] * m / lib.np.sqrt(square))

    return energy


def _bodies(count: int) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal((count, 3)), rng.uniform(0.5, 1.5, count)


def _nearest(lib: Library, points: int, centres: int) -> Function:
    """Objective of k-means: the sum of squared distances to the nearest centres."""

    def distance(x: Any, c: Any) -> Any:
        apart = x[:, None, :] - c[None, :, :]
        return lib.np.sum(lib.np.min(lib.np.sum(apart * apart, axis=2), axis=1))

    return distance


def _points(count: int, centres: int) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal((count, 2)), rng.standard_normal((centres, 2))


def _heat(lib: Library, size: int, steps: int) -> Function:
    """Explicit steps of the heat equation with cold borders."""

    def step(_: Any, u: Any) -> Any:
        inside = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return lib.np.pad(inside + 0.2 * (around - 4.0 * inside), 1)

    return lambda u: lib.control.fori_loop(0, steps, step, u)


def _heat_numba(nb: Any, size: int, steps: int) -> Function:
    @nb.njit(parallel=True)
    def run(u: Any) -> Any:
        u, v = u.copy(), np.zeros_like(u)
        for _ in range(steps):
            for i in nb.prange(1, size - 1):
                for j in range(1, size - 1):
                    around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                    v[i, j] = u[i, j] + 0.2 * (around - 4.0 * u[i, j])
            if _ == 0:
                u[0, :] = u[-1, :] = u[:, 0] = u[:, -1] = 0.0
            u, v = v, u
        return u

    compiled: Function = run
    return compiled


def _heat_loss(lib: Library, size: int, steps: int) -> Function:
    run = _heat(lib, size, steps)
    return lambda u: (run(u) ** 2).sum()


def _mandelbrot(lib: Library, size: int, iterations: int) -> Function:
    """Number of the iterations in which each point stays within radius 2."""

    def count(x: Any, y: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            a, b, number = state
            aa, bb = a * a, b * b
            inside = aa + bb <= 4.0
            more = lib.np.where(inside, aa - bb + x, a), lib.np.where(inside, 2.0 * a * b + y, b)
            return (*more, number + lib.np.where(inside, 1.0, 0.0))

        return lib.control.fori_loop(0, iterations, step, (x * 0.0, x * 0.0, x * 0.0))[2]

    return count


def _mandelbrot_numba(nb: Any, size: int, iterations: int) -> Function:
    @nb.njit(parallel=True)
    def count(x: Any, y: Any) -> Any:
        out = np.zeros_like(x)
        for i in nb.prange(x.shape[0]):
            for j in range(x.shape[1]):
                a = b = 0.0
                for _ in range(iterations):
                    aa, bb = a * a, b * b
                    if aa + bb > 4.0:
                        break
                    a, b = aa - bb + x[i, j], 2.0 * a * b + y[i, j]
                    out[i, j] += 1.0
        return out

    compiled: Function = count
    return compiled


def _plane(size: int, _: int) -> tuple[Any, ...]:
    x, y = np.meshgrid(np.linspace(-2.0, 0.6, size), np.linspace(-1.3, 1.3, size))
    return np.ascontiguousarray(x), np.ascontiguousarray(y)


def _grid(size: int, _: int) -> tuple[Any, ...]:
    return (generator().standard_normal((size, size)),)


def _pairs(name: str, what: str, program: Callable[..., Function], **more: Any) -> Workload:
    """A workload on all pairs of bodies."""
    return Workload(
        name,
        what,
        program,
        _bodies,
        sizes=(1_000,),
        tiny=(7,),
        tolerance=1e-11,
        work=lambda n: 20 * n * n,
        unit="f64",
        **more,
    )


def _diffusion(name: str, what: str, program: Callable[..., Function], steps: int, **more: Any) -> Workload:
    """A workload that steps the heat equation on a grid."""
    return Workload(
        name, what, program, _grid, sizes=(256, steps), tiny=(7, 4), skip=UNROLLED, unit="f64", **more
    )


WORKLOADS: Final = (
    _pairs("gravity", "accelerations of 1,000 bodies, f64", _gravity, numba=_gravity_numba),
    _pairs(
        "gravity-grad",
        "potential energy of 1,000 bodies and its gradient, f64",
        _energy,
        gradient=(0,),
    ),
    Workload(
        "nearest-grad",
        "squared distance of 100,000 points in the plane to the nearest of 4 centres, and its gradient, f64",
        _nearest,
        _points,
        sizes=(100_000, 4),
        tiny=(9, 4),
        gradient=(1,),
        tolerance=1e-11,
        work=lambda n, centres: 20 * n * centres,
        unit="f64",
    ),
    _diffusion(
        "heat",
        "200 steps of the heat equation on 256x256 f64",
        _heat,
        200,
        numba=_heat_numba,
        tolerance=1e-12,
        work=lambda n, steps: 7 * n * n * steps,
    ),
    _diffusion(
        "heat-grad",
        "a loss after 50 steps of the heat equation on 256x256 f64, and its gradient",
        _heat_loss,
        50,
        gradient=(0,),
        tolerance=1e-11,
        work=lambda n, steps: 14 * n * n * steps,
    ),
    Workload(
        "mandelbrot",
        "Mandelbrot's set, 512x512 points, 100 iterations, f64",
        _mandelbrot,
        _plane,
        sizes=(512, 100),
        tiny=(9, 8),
        numba=_mandelbrot_numba,
        skip=UNROLLED,
        # a point whose path rounds to the other side of the circle counts one iteration more or less
        tolerance=0.02,
        work=lambda n, iterations: 8 * n * n * iterations,
        unit="f64",
    ),
)
