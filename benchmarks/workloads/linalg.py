"""Linear algebra and its gradients: many small matrices, single large ones, and models made of them.

A group of its own, `python -m benchmarks --group linalg`. `linalg-solve-3` is of 10,000 matrices of 3 rows,
`linalg-solve-16` of 1,000 of 16, `linalg-solve-500` of one of 500.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import UNROLLED, Function, Workload
from .inputs import generator

#: Rows of matrices, by the number of matrices in a batch.
_SIZES: Final = {10_000: (2, 3, 4, 6, 8), 1_000: (12, 16, 32), 1: (100, 500, 1000, 2000)}
#: Least ratio of the best peer's time to tracejit's, by the number of matrices.
_GOALS: Final = {10_000: 3.0, 1_000: 2.0, 1: 0.95}
#: Goals beside JAX alone, by the number of matrices.
_JAX_GOALS: Final = {10_000: (("jax", 10.0),)}

Computation = Callable[[Any, Any, Any], Any]

#: Functions of a matrix and a right side, by name, with multiply-adds for n rows.
_OPERATIONS: Final[dict[str, tuple[Computation, Callable[[int], float]]]] = {
    "solve": (lambda linalg, a, b: linalg.solve(a, b), lambda n: n**3 / 3 + n**2),
    "cholesky": (lambda linalg, a, b: linalg.cholesky(a), lambda n: n**3 / 6),
    "inv": (lambda linalg, a, b: linalg.inv(a), lambda n: n**3),
    "qr": (lambda linalg, a, b: sum(linalg.qr(a)), lambda n: 4 * n**3 / 3),
    "det": (lambda linalg, a, b: linalg.det(a), lambda n: n**3 / 3),
}


def _program(lib: Library, name: str, count: int, rows: int) -> Function:
    compute = _OPERATIONS[name][0]
    return lambda a, b: compute(lib.np.linalg, a, b)


def _loss(lib: Library, name: str, count: int, rows: int) -> Function:
    compute = _OPERATIONS[name][0]
    return lambda a, b: (compute(lib.np.linalg, a, b) ** 2).sum()


def _inputs(name: str, count: int, rows: int) -> tuple[Any, ...]:
    rng = generator()
    a = rng.standard_normal((count, rows, rows)) / math.sqrt(rows)
    if name == "cholesky":
        a = a @ a.swapaxes(1, 2) + np.eye(rows)
    else:  # regular, with pivots all over
        order = np.argsort(rng.random((count, rows)), axis=1)
        a = np.take_along_axis(a + 2 * np.eye(rows), order[..., None], axis=1)
    if name == "det":  # which would be infinite
        a /= np.exp(np.linalg.slogdet(a)[1] / rows)[:, None, None]
    return a, rng.standard_normal((count, rows, 1))


def _workload(name: str, count: int, rows: int, *, gradient: bool) -> Workload:
    return Workload(
        f"linalg-{name}-{rows}{'-grad' * gradient}",
        f"{'value and gradient of ' * gradient}{name} of {count:,} matrices {rows}x{rows} f64",
        _loss if gradient else _program,
        _inputs,
        sizes=(name, count, rows),
        tiny=(name, 5, min(rows, 5)),
        gradient=((0, 1) if name == "solve" else (0,)) if gradient else None,
        tolerance=1e-9,
        work=lambda name, count, rows: 2 * count * _OPERATIONS[name][1](rows) * (1 + 2 * gradient),
        unit="f64",
        goal=_GOALS[count],
        goals=_JAX_GOALS.get(count, ()),
    )


def _is_measured(name: str, rows: int) -> bool:
    """Inverses and determinants of the largest matrices are LU factorizations, which `solve` measures."""
    return rows <= 1000 if name in ("inv", "det") else name != "qr" or rows >= 100


# -- eigenvalues and singular values ----------------------------------------------------------------


def _spectrum(lib: Library, name: str, rows: int) -> Function:
    if name == "eigh":  # vectors are determined but for their signs
        return lambda a: [abs(part) for part in lib.np.linalg.eigh(a)]
    return lambda a: [abs(part) for part in lib.np.linalg.svd(a)]


def _spectrum_inputs(name: str, rows: int) -> tuple[Any, ...]:
    a = generator().standard_normal((rows, rows))
    return (a + a.T if name == "eigh" else a,)


def _spectra() -> list[Workload]:
    return [
        Workload(
            f"linalg-{name}-{rows}",
            f"{name} with vectors of one matrix {rows}x{rows} f64",
            _spectrum,
            _spectrum_inputs,
            sizes=(name, rows),
            tiny=(name, 4),
            tolerance=1e-7,
            against="numpy",
        )
        for name in ("eigh", "svd")
        for rows in (100, 500)
    ]


# -- the exponential -------------------------------------------------------------------------------


def _exponential(lib: Library, count: int, rows: int) -> Function:
    return lambda a: (lib.np.expm(a) ** 2).sum()


def _exponentials() -> list[Workload]:
    return [
        Workload(
            f"linalg-expm-{rows}-grad",
            f"value and gradient of expm of {count:,} matrices {rows}x{rows} f64",
            _exponential,
            lambda count, rows: (generator().standard_normal((count, rows, rows)) / math.sqrt(rows),),
            sizes=(count, rows),
            tiny=(2, 3),
            gradient=(0,),
            tolerance=1e-9,
            goal=3.0,
            against="jax",
        )
        for count, rows in ((10_000, 4), (1, 100))
    ]


# -- models ----------------------------------------------------------------------------------------


def _gaussian_process(lib: Library, count: int) -> Function:
    """The log-likelihood of a squared exponential covariance by the logarithms of size, scale and noise."""
    np_, linalg, identity = lib.np, lib.np.linalg, lib.array(np.eye(count))

    def log_likelihood(logarithms: Any, x: Any, y: Any) -> Any:
        size, scale, noise = [np_.exp(logarithms[place]) for place in range(3)]
        distance = (x[:, None] - x[None, :]) / scale
        covariance = size**2 * np_.exp(-0.5 * distance**2) + noise**2 * identity
        factor = linalg.cholesky(covariance)
        white = np_.solve_triangular(factor, y[:, None])
        return -0.5 * (white**2).sum() - np_.log(np_.diagonal(factor)).sum()

    return log_likelihood


def _gaussian_process_inputs(count: int) -> tuple[Any, ...]:
    rng = generator()
    x = np.sort(rng.uniform(0, 10, count))
    return np.log([1.0, 0.5, 0.2]), x, np.sin(3 * x) + 0.2 * rng.standard_normal(count)


def _kalman(lib: Library, states: int, observed: int, steps: int) -> Function:
    """A Kalman filter's log-likelihood, but for a constant, by motion and covariances of noise."""
    linalg, log = lib.np.linalg, lib.np.log
    identity = lib.array(np.eye(states))
    measure = lib.array(np.eye(observed, states))

    def log_likelihood(motion: Any, process: Any, noise: Any, observations: Any) -> Any:
        def step(carry: tuple[Any, Any], y: Any) -> tuple[tuple[Any, Any], Any]:
            mean, spread = motion @ carry[0], motion @ carry[1] @ motion.T + process
            cross = measure @ spread
            innovation, covariance = y - measure @ mean, cross @ measure.T + noise
            gain = linalg.solve(covariance, cross).T
            weighted = linalg.solve(covariance, innovation)
            term = -0.5 * (innovation @ weighted + log(linalg.det(covariance)))
            return (mean + gain @ innovation, spread - gain @ cross), term

        return lib.control.scan(step, (identity[0] * 0.0, identity), observations)[1].sum()

    return log_likelihood


def _kalman_inputs(states: int, observed: int, steps: int) -> tuple[Any, ...]:
    motion = np.eye(states) + 0.1 * np.eye(states, k=observed) - 0.02 * np.eye(states)
    observations = np.cumsum(generator().standard_normal((steps, observed)), axis=0)
    return motion, 0.1 * np.eye(states), np.eye(observed), observations


def _kalman_filter(observed: int) -> Workload:
    return Workload(
        f"linalg-kalman-{observed}-grad",
        f"value and gradient of a Kalman filter: 6 states, {observed} observations, 1,000 steps, f64",
        _kalman,
        _kalman_inputs,
        sizes=(6, observed, 1_000),
        tiny=(3, min(observed, 2), 4),
        gradient=(0, 1, 2),
        skip=UNROLLED,
        tolerance=1e-8,
        goal=5.0,
        against="jax",
    )


def _gaussian_process_of(count: int) -> Workload:
    return Workload(
        f"linalg-gp-{count}-grad",
        f"value and gradient of a Gaussian process's likelihood of {count:,} points, 3 parameters, f64",
        _gaussian_process,
        _gaussian_process_inputs,
        sizes=(count,),
        tiny=(6,),
        gradient=(0,),
        tolerance=1e-8,
        goal=1.5,
        against="jax",
    )


WORKLOADS: Final = (
    *[
        _workload(name, count, rows, gradient=gradient)
        for gradient in (False, True)
        for name in _OPERATIONS
        for count, sizes in _SIZES.items()
        for rows in sizes
        if _is_measured(name, rows)
    ],
    *_spectra(),
    *_exponentials(),
    _gaussian_process_of(500),
    _gaussian_process_of(2000),
    _kalman_filter(2),
    _kalman_filter(6),
)
