"""Run an example, and draw what it computed: ``python -m docs.site.draw NAME`` writes ``NAME.png`` here.

Some examples write their picture themselves where matplotlib is installed; for others there is a function in
`PICTURES`.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Names = dict[str, Any]


def gravity(names: Names, axes: Any) -> None:
    x, v = tj.tensor(names["START"]), tj.tensor(names["VELOCITY"])
    places = [x.numpy()]
    for _ in range(1650):
        for _ in range(20):
            x, v = names["leapfrog"](x, v, 0.005)
        places.append(x.numpy())
    track = np.array(places)
    for number, body in enumerate(names["BODIES"]):
        axes.plot(*track[:, number, :2].T, lw=1, label=body)
    axes.set(aspect="equal", xlabel="au", ylabel="au", title="165 years")
    axes.legend(fontsize=7)


def hmc(names: Names, axes: Any) -> None:
    draws = names["sample"](tj.random.key(0))[0].numpy()
    mu, tau = draws[..., 0].ravel(), draws[..., 1].ravel()
    axes.hexbin(mu, tau, gridsize=60, bins="log", extent=(-10, 20, 0, 20), cmap="viridis")
    axes.set(xlabel="mean of the schools", ylabel="their spread", title="Draws of the posterior")


def ising(names: Names, axes: Any) -> None:
    rng, size = np.random.default_rng(0), names["SIZE"]
    temperatures = np.linspace(1.6, 3.0, 12)
    means = []
    for temperature in temperatures:
        spins = np.ones((size, size), np.int64)
        _, values = names["run"](spins, rng.random((400, size, size)), temperature)
        means.append(np.abs(np.asarray(values)[200:]).mean())
    axes.plot(temperatures, means, "o", label="simulated")
    below = np.linspace(1.6, 2.2691, 200)
    axes.plot(below, [names["exact"](t)[1] for t in below], label="Onsager")
    axes.set(xlabel="temperature", ylabel="magnetisation")
    axes.legend()


def option_price(names: Names, axes: Any) -> None:
    spots = np.linspace(26.0, 54.0, 57)
    for american, label in ((False, "European"), (True, "American")):
        values = tj.jit(tj.vmap(lambda s, a=american: names["price"](s, 0.2, 0.06, 1.0, a)))(spots)
        axes.plot(spots, values, label=label)
    axes.plot(spots, np.maximum(40.0 - spots, 0), "k--", lw=0.8, label="at exercise")
    axes.set(xlabel="price of the stock", ylabel="price of the put", title="A put option, strike 40")
    axes.legend()


def time_warping(names: Names, axes: Any) -> None:
    rng, times = np.random.default_rng(0), np.linspace(0.0, 1.0, 60)
    shape = np.sin(4 * np.pi * times) * np.exp(-times)
    series = tuple(
        np.interp(times ** rng.uniform(0.6, 1.7), times, shape) + 0.03 * rng.normal(size=60) for _ in range(5)
    )
    descend, mean = tj.jit(tj.value_and_grad(names["spread"])), np.mean(series, axis=0)
    axes.plot(times, np.transpose(series), color="0.6", lw=0.8)
    axes.plot(times, mean, label="mean, point by point")
    for _ in range(100):
        mean = mean - 0.05 * np.asarray(descend(mean, series)[1])
    axes.plot(times, mean, label="mean by warping")
    axes.legend()


def robust_regression(names: Names, axes: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 5, 400)
    y = 1.0 + 2.0 * x + 0.3 * rng.standard_normal(400)
    broken = (x > 3.5) & (rng.uniform(size=400) < 0.35)
    y[broken] = 4.0 + rng.standard_normal(broken.sum())

    def fun(parameters: Any) -> tuple[float, Any]:
        value, gradient = names["negative_log_likelihood"](parameters, x, y)
        return value.item(), gradient.numpy()

    slope, intercept = np.polyfit(x, y, 1)
    solution = names["bfgs"](fun, np.array([intercept, slope, 0.0]))[0]
    ends = np.array([0.0, 5.0])
    axes.scatter(x, y, s=4, color="0.5")
    axes.plot(ends, intercept + slope * ends, label="least squares")
    axes.plot(ends, solution[0] + solution[1] * ends, label="Student t")
    axes.legend()


def implicit_layer(names: Names, axes: Any) -> None:
    dose, killed, beetles = (names[name].numpy() for name in ("DOSE", "KILLED", "BEETLES"))
    line = names["Fit"].apply(names["KILLED"]).numpy()
    fine = np.linspace(dose.min(), dose.max(), 200)
    axes.plot(dose, killed / beetles, "o", label="beetles that died")
    axes.plot(fine, 1 / (1 + np.exp(-line[0] - line[1] * (fine - names["CENTRE"]))), label="fitted")
    axes.set(xlabel="log10 of the dose")
    axes.legend()


def tridiagonal(names: Names, axes: Any) -> None:
    places = np.arange(1, 60) / 60
    load = 10.0 * np.exp(-50 * (places - 0.3) ** 2)
    axes.plot(places, load, label="load")
    axes.plot(places, 10 * np.asarray(tj.jit(names["sag"])(load)), label="sag of the string, times 10")
    axes.legend()


PICTURES: dict[str, Callable[[Names, Any], None]] = {
    function.__name__: function
    for function in (
        gravity,
        hmc,
        ising,
        option_price,
        time_warping,
        robust_regression,
        implicit_layer,
        tridiagonal,
    )
}


def main(name: str) -> None:
    """Run the example and draw."""
    mpl.rcParams.update({"figure.constrained_layout.use": True, "font.size": 8})
    sys.path.insert(0, str(EXAMPLES))
    sys.argv = [str(EXAMPLES / f"{name}.py")]  # examples read their own arguments
    names = runpy.run_path(sys.argv[0], run_name="__main__")
    if name in PICTURES:
        figure, axes = plt.subplots(figsize=(5.2, 3.4))
        PICTURES[name](names, axes)
        figure.savefig(f"{name}.png", dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
