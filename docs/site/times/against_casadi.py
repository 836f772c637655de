"""Processor times beside CasADi, by turns in one process: ``python -m docs.site.times.against_casadi``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

import tracejit as tj

Call = Callable[[], Any]
N = 16
#: CasADi's own C, compiled by the system's compiler.
JIT = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3", "-march=native"], "verbose": False}}


def both(inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """A function of CasADi's virtual machine, and the same compiled from C."""
    return [ca.Function("f", inputs, outputs, options) for options in ({}, JIT)]


def calls(functions: list[Any], ours: Any, *arguments: Any) -> list[Call]:
    """Calls with the same arguments."""
    return [lambda f=f: f(*arguments) for f in (*functions, ours)]


def rosenbrock() -> list[Call]:
    """Value and gradient in 16 variables."""
    x = ca.SX.sym("x", N)
    value = ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    theirs = both([x], [value, ca.gradient(value, x)])

    @tj.jit
    def ours(x: Any) -> Any:
        return tj.value_and_grad(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())(x)

    start = np.linspace(-1.0, 1.0, N)
    assert np.allclose(np.asarray(theirs[0](start)[1]).ravel(), ours(start)[1])
    return calls(theirs, ours, start)


def oscillate(x: Any, u: Any) -> tuple[Any, Any]:
    """The derivative of Van der Pol's oscillator with a control."""
    return (1 - x[1] * x[1]) * x[0] - x[1] + u, x[0]


def step(x: tuple[Any, Any], u: Any) -> tuple[Any, Any]:
    """A Runge-Kutta step of 0.1."""
    h = 0.1
    a = oscillate(x, u)
    b = oscillate((x[0] + h / 2 * a[0], x[1] + h / 2 * a[1]), u)
    c = oscillate((x[0] + h / 2 * b[0], x[1] + h / 2 * b[1]), u)
    d = oscillate((x[0] + h * c[0], x[1] + h * c[1]), u)
    return tuple(x[i] + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]) for i in (0, 1))  # type: ignore[return-value]


def control() -> list[Call]:
    """The cost of 100 steps of Van der Pol's oscillator, and its gradient by the 100 controls."""
    controls = ca.SX.sym("u", 100)
    x, cost = (ca.SX(0.0), ca.SX(1.0)), ca.SX(0.0)
    for i in range(100):
        x = step(x, controls[i])
        cost += x[0] ** 2 + x[1] ** 2 + controls[i] ** 2
    theirs = both([controls], [cost, ca.gradient(cost, controls)])

    def total(controls: Any) -> Any:
        x, cost = (0.0, 1.0), 0.0
        for i in range(len(controls)):
            x = step(x, controls[i])
            cost += x[0] ** 2 + x[1] ** 2 + controls[i] ** 2
        return cost

    ours = tj.jit(tj.value_and_grad(total))
    start = 0.1 * np.sin(np.arange(100.0))
    assert np.allclose(np.asarray(theirs[0](start)[1]).ravel(), ours(start)[1])
    return calls(theirs, ours, start)


def hessian() -> list[Call]:
    """The Hessian of Rosenbrock's function."""
    x = ca.SX.sym("x", N)
    value = ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    theirs = both([x], [ca.hessian(value, x)[0]])
    ours = tj.jit(tj.hessian(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()))
    start = np.linspace(-1.0, 1.0, N)
    assert np.allclose(theirs[0](start).full(), ours(start))
    return calls(theirs, ours, start)


def many() -> list[Call]:
    """A step of 10,000 oscillators: ``map`` of CasADi, an array here."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    theirs = [f.map(10_000) for f in both([x, u], [ca.vertcat(*step((x[0], x[1]), u))])]
    ours = tj.jit(lambda x, u: tj.stack(step((x[0], x[1]), u)))
    states, controls = np.random.default_rng(0).normal(size=(2, 10_000)), np.linspace(-1, 1, 10_000)
    assert np.allclose(theirs[0](states, controls).full(), ours(states, controls))
    return calls(theirs, ours, states, controls)


def seconds(call: Call, repeats: int) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def main() -> None:
    """Print a row for each program."""
    with tj.threads(1):
        for prepare in (rosenbrock, hessian, control, many):
            turns = prepare()
            repeats = [max(1, int(0.02 / max(seconds(call, 3), 1e-9))) for call in turns]
            rounds = [[seconds(call, n) for call, n in zip(turns, repeats, strict=True)] for _ in range(15)]
            times = [f"{min(column) * 1e6:.3g}" for column in zip(*rounds, strict=True)]
            ratios = [f"{statistics.median(row[i] / row[2] for row in rounds):.2f}" for i in (0, 1)]
            print(f"| {prepare.__doc__} | {' | '.join(times)} | {' | '.join(ratios)} |")


if __name__ == "__main__":
    main()
