"""Masks inside loops: programs as NumPy's users write them, against NumPy."""

from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.random.default_rng(0).normal(size=12)
POINTS = np.random.default_rng(1).normal(size=(30, 3))
PLANE = np.linspace(-2, 0.5, 15)[None, :] + 1j * np.linspace(-1.2, 1.2, 12)[:, None]


def mandelbrot(c: Any) -> Any:
    z = np.zeros_like(c)
    times = np.zeros(c.shape, int)
    inside = np.ones(c.shape, bool)
    for _ in range(40):
        z[inside] = z[inside] ** 2 + c[inside]
        inside = np.abs(z) <= 2
        times[inside] += 1
    return z, times


def mandelbrot_while(c: Any) -> Any:
    z, times = np.zeros(c.shape, complex), np.zeros(c.shape, int)
    alive = np.ones(c.shape, bool)
    step = 0
    while step < 40 and alive.any():
        z[alive] = z[alive] ** 2 + c[alive]
        alive[np.abs(z) > 2] = False
        times[alive] = step
        step += 1
    return times, step


def clusters(points: Any) -> Any:
    centres = points[:3].copy()
    for _ in range(10):
        labels = ((points[:, None, :] - centres[None]) ** 2).sum(-1).argmin(1)
        for j in range(3):
            if np.any(labels == j):
                centres[j] = points[labels == j].mean(0)
    return centres, labels


def clusters_until_they_stay(points: Any) -> Any:
    centres = points[:3].copy()
    for _ in range(10):
        labels = np.argmin(np.linalg.norm(points[:, None, :] - centres[None], axis=2), axis=1)
        for j in range(3):
            members = points[labels == j]
            if len(members) > 0:
                centres[j] = members.mean(axis=0)
    return centres


def newton(x: Any) -> Any:
    target = np.abs(x) + 1
    y, active, steps = target.copy(), np.ones(x.shape, bool), 0
    while active.any() and steps < 50:
        y[active] -= (y[active] ** 2 - target[active]) / (2 * y[active])
        active = np.abs(y * y - target) > 1e-10
        steps += 1
    return y, steps


def reflected(x: Any) -> Any:
    place, speed = x.copy(), np.ones_like(x)
    for _ in range(30):
        place += speed * 0.2
        out = place > 1
        place[out] = 2 - place[out]
        speed[out] *= -1
        out = place < -1
        place[out] = -2 - place[out]
        speed[out] = -speed[out]
    return place, speed


def mask_from_outside(x: Any) -> Any:
    mask, z = x > 0, x.copy()
    weights = np.exp(x)[mask]
    for _ in range(20):
        z[mask] = np.cos(z[mask]) * weights * 0.3
        z[x > 0] += weights
        z[~mask] *= 0.9
    return z


def lengths(x: Any) -> Any:
    total, best = 0.0, 0.0
    for k in range(10):
        part = x[x > k * 0.1]
        part *= 2
        total += len(part) * part.sum()
        best = max(best, part.sum())
    return total, best


def first_index(x: Any) -> Any:
    total = 0.0
    for k in range(8):
        total += x[np.where(x > k * 0.1)[0][0]] + np.flatnonzero(x < 0)[-1]
    return total


PROGRAMS = [
    (mandelbrot, PLANE),
    (mandelbrot_while, PLANE),
    (clusters, POINTS),
    (clusters_until_they_stay, POINTS),
    (newton, X),
    (reflected, X),
    (mask_from_outside, X),
    (lengths, X),
    (first_index, X),
]


@pytest.mark.parametrize(("program", "x"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_programs(program: Any, x: Any) -> None:
    expected = program(x.copy())
    jitted = tj.jit(program)
    for _ in range(2):
        results = jitted(x.copy())
        several = isinstance(expected, tuple)
        pairs = zip(results, expected, strict=True) if several else [(results, expected)]
        for result, value in pairs:
            np.testing.assert_allclose(result, value, rtol=1e-9)
            assert np.asarray(result).dtype == np.asarray(value).dtype


def test_loops_with_masks_are_compiled() -> None:
    for program, x in [*PROGRAMS[:2], *PROGRAMS[4:8]]:
        jitted = tj.jit(loops="compiled")(program)
        jitted(x.copy())
        assert "compiled" in str(jitted.explain())


def test_masks_cost_what_where_costs() -> None:
    """Places that a mask leaves out have no value of their own in compiled code."""

    def by_where(z: Any, c: Any) -> Any:
        for _ in range(40):
            inside = np.abs(z) <= 2
            z = np.where(inside, z * z + c, z)
        return z

    def by_mask(z: Any, c: Any) -> Any:
        z = z.copy()
        for _ in range(40):
            inside = np.abs(z) <= 2
            z[inside] = z[inside] * z[inside] + c[inside]
        return z

    counts = [tj.jit(f).lower(PLANE, PLANE).as_text("optimized").count("where(") for f in (by_where, by_mask)]
    assert 0 < counts[1] <= counts[0]


def test_gradients_through_a_loop() -> None:
    def loss(x: Any) -> Any:
        z = x * 1.0
        for _ in range(6):
            small = z < 1.0
            z[small] = np.log(z[small] + 3.0) * 1.1
            z[z > 1.2] -= 0.3
        return (z * z).sum()

    expected = np.asarray(tj.grad(loss)(X))
    np.testing.assert_allclose(tj.jit(tj.grad(loss))(X), expected, rtol=1e-9)
    np.testing.assert_allclose(tj.grad(tj.jit(loss))(X), expected, rtol=1e-9)
    batched = tj.jit(tj.vmap(tj.grad(loss)))(np.stack([X, X[::-1]]))
    np.testing.assert_allclose(
        batched, np.stack([expected, np.asarray(tj.grad(loss)(X[::-1].copy()))]), rtol=1e-9
    )


def reversed_elements(x):
    total = 0.0
    for v in reversed(x[x > 0]):
        total = 0.5 * total + v
    for k, v in enumerate(reversed(x[x > 0])):
        total = total + k * v
    return total


def test_selected_elements_from_the_last_to_the_first():
    x = np.random.default_rng(0).normal(size=40)
    for data in (x, -x, np.abs(x), -np.abs(x)):
        np.testing.assert_allclose(tj.jit(reversed_elements)(data), reversed_elements(data), rtol=1e-12)
