"""Gaussian process regression of the carbon dioxide at Mauna Loa: seven parameters fitted by SciPy.

Shows: ``tj.linalg.cholesky`` and ``tj.scipy.linalg`` in one compiled likelihood, whose gradient is handed to
``scipy.optimize.minimize``; without SciPy, ``tj.optim.adam`` takes its place. With matplotlib:
gaussian_process.png.

Data: ``data/mauna_loa_co2.txt``, monthly means of Keeling and Whorf's weekly values, in the public domain, as
statsmodels ships them. Model: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, 5.4.3,
with the covariance of a cubic spline (6.3.1) for the trend, which goes on as a line.
"""

from pathlib import Path

import numpy as np

import tracejit as tj

TABLE = np.loadtxt(Path(__file__).parent / "data" / "mauna_loa_co2.txt")
_TIMES = (TABLE[:, :1] + (np.arange(12) + 0.5) / 12).reshape(-1)
_LEVELS = TABLE[:, 1:].reshape(-1)
#: Years, and parts per million, of the months that have a value.
YEARS, LEVELS = _TIMES[~np.isnan(_LEVELS)], _LEVELS[~np.isnan(_LEVELS)]
#: Year before which levels are fitted.
SPLIT = 1997.0
MEAN = LEVELS[YEARS < SPLIT].mean()

NAMES = ["bend", "season", "its decay", "its shape", "weather", "its years", "noise"]
#: A guess: sizes in parts per million, lengths in years.
START = np.log([0.1, 3.0, 90.0, 1.0, 0.5, 1.0, 0.3])


def covariance(logarithms, x, y):
    """The covariance of the levels in the years x and y, without the noise of measurements."""
    bend, season, decay, shape, weather, short, _ = tj.exp(logarithms)
    apart = x[:, None] - y[None, :]
    squares = apart**2
    since = [years - YEARS[0] for years in (x[:, None], y[None, :])]
    least = tj.minimum(*since)
    line = 100.0 * (1 + since[0] * since[1])  # level and slope are hardly known
    rise = line + bend**2 * (least**3 / 3 + tj.abs(apart) * least**2 / 2)
    wave = season**2 * tj.exp(-squares / (2 * decay**2) - 2 * tj.sin(np.pi * apart) ** 2 / shape**2)
    return rise + wave + weather**2 / (1 + squares / (2 * short**2))


def factor(logarithms, x):
    """The Cholesky factor of the covariance of measurements in the years x."""
    return tj.linalg.cholesky(covariance(logarithms, x, x) + tj.exp(2 * logarithms[6]) * tj.eye(len(x)))


def loss(logarithms, x, y):
    """The negative logarithm of the likelihood of the levels y in the years x."""
    triangle = factor(logarithms, x)
    white = tj.scipy.linalg.solve_triangular(triangle, y - MEAN, lower=True)
    return 0.5 * (white @ white + len(x) * np.log(2 * np.pi)) + tj.log(tj.linalg.diagonal(triangle)).sum()


@tj.jit
def predict(logarithms, x, y, at):
    """Mean and standard deviation of measurements in the years `at`, from those in the years x."""
    triangle, cross = factor(logarithms, x), covariance(logarithms, x, at)
    white = tj.scipy.linalg.solve_triangular(triangle, cross, lower=True)
    mean = MEAN + white.T @ tj.scipy.linalg.solve_triangular(triangle, y - MEAN, lower=True)
    alone = tj.linalg.diagonal(covariance(logarithms, at, at)) + tj.exp(2 * logarithms[6])
    return mean, tj.sqrt(alone - (white * white).sum(axis=0))


value_and_grad = tj.jit(tj.value_and_grad(loss))


def fit(x, y, start=START, iterations=200):
    """The logarithms of the parameters by which the levels y in the years x are likeliest."""
    try:
        from scipy.optimize import minimize
    except ModuleNotFoundError:
        print("SciPy is not installed: steps of Adam instead")
        optimizer, logarithms = tj.optim.adam(lr=0.05), tj.tensor(start)
        state = optimizer.init(logarithms)
        for _ in range(iterations):
            _, gradient = value_and_grad(logarithms, x, y)
            logarithms, state = optimizer.update(logarithms, gradient, state)
        return logarithms.numpy()

    def numbers(logarithms):
        value, gradient = value_and_grad(logarithms, x, y)
        return value.item(), gradient.numpy()

    return minimize(numbers, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations}).x


def main():
    """Fit, print, and draw where matplotlib is installed."""
    past = YEARS < SPLIT
    x, y = YEARS[past], LEVELS[past]
    logarithms = fit(x, y)
    before, after = [value_and_grad(point, x, y)[0].item() for point in (START, logarithms)]
    print(f"negative log likelihood of {len(x)} months: {before:.1f} at first, {after:.1f} fitted")
    print("  ".join(f"{name} {value:.3g}" for name, value in zip(NAMES, np.exp(logarithms), strict=True)))
    mean, deviation = [array.numpy() for array in predict(logarithms, x, y, YEARS[~past])]
    errors = LEVELS[~past] - mean
    within = np.mean(np.abs(errors) < 2 * deviation)
    print(f"{len(errors)} months from {SPLIT:.0f} on: {within:.0%} within two standard deviations,", end=" ")
    print(f"root mean square error {np.sqrt(np.mean(errors**2)):.2f} ppm")
    assert after < before
    assert within > 0.8
    draw(logarithms, x, y)


def draw(logarithms, x, y):
    """The record, and its forecast, to gaussian_process.png."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        return
    later = np.arange(SPLIT, 2006, 1 / 24)
    mean, deviation = [array.numpy() for array in predict(logarithms, x, y, later)]
    figure, (whole, end) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axes, first in ((whole, YEARS[0]), (end, SPLIT - 3)):
        shown = first <= YEARS
        axes.plot(YEARS[shown], LEVELS[shown], "k.", markersize=3, label="measured")
        axes.plot(later, mean, label=f"forecast from {SPLIT:.0f} on")
        axes.fill_between(
            later, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3, label="two deviations"
        )
        axes.set(xlabel="year", ylabel="CO2, parts per million")
    whole.legend()
    figure.suptitle("Carbon dioxide at Mauna Loa")
    figure.savefig("gaussian_process.png", dpi=120)


if __name__ == "__main__":
    main()
