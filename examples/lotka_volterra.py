"""Fit predator and prey to the Hudson's Bay Company's record of pelts, and find what the data leave open.

Shows: an ODE solver as a ``tj.scan``, its gradient under ``tj.optim.adam``, ``tj.hessian`` through it
for the posterior's width, ``tj.vmap`` of it over 4,000 weighted draws. With matplotlib: lotka_volterra.png.

Data: thousands of pelts, 1900 to 1920 (Elton and Nicholson, 1942, as given by Howard, 2009). Model, priors
and published fit: Carpenter, "Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan", 2018.
"""

import importlib.util
import time

import numpy as np

import tracejit as tj

HARE = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2,
        7.6, 14.6, 16.2, 24.7]  # fmt: skip
LYNX = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8,
        9.7, 10.1, 8.6]  # fmt: skip
LOG_PELTS = np.log(np.array([HARE, LYNX]).T)
NAMES = ["alpha", "beta", "gamma", "delta", "hares 1900", "lynxes 1900", "hare noise", "lynx noise"]
PUBLISHED = [0.55, 0.028, 0.80, 0.024, 33.96, 5.95, 0.25, 0.25]
STEPS_A_YEAR, YEARS = 10, 20


def slope(y, rates):
    """Derivatives of the logarithms: d log hare / dt = alpha - beta lynx, d log lynx / dt = -gamma + delta
    hare."""
    hare, lynx = tj.exp(y)
    return tj.stack([rates[0] - rates[1] * lynx, rates[3] * hare - rates[2]])


def solve(rates, start):
    """The logarithms of both populations, year by year, by the classical Runge-Kutta method."""
    h = 1 / STEPS_A_YEAR

    def step(y, _):
        a = slope(y, rates)
        b = slope(y + h / 2 * a, rates)
        c = slope(y + h / 2 * b, rates)
        d = slope(y + h * c, rates)
        return y + h / 6 * (a + 2 * b + 2 * c + d), y

    return tj.scan(step, start, length=STEPS_A_YEAR * YEARS + 1)[1][::STEPS_A_YEAR]


def negative_log_posterior(logs):
    """Negative log-posterior of the logarithms of the eight unknowns, up to a constant. The noise is
    lognormal."""
    rates, start, noise = tj.exp(logs[:4]), logs[4:6], logs[6:]
    z = (LOG_PELTS - solve(rates, start)) / tj.exp(noise)
    likelihood = 0.5 * tj.sum(z * z) + len(LOG_PELTS) * tj.sum(noise)
    in_priors = (rates - np.array([1, 0.05, 1, 0.05])) / np.array([0.5, 0.05, 0.5, 0.05])
    squares = tj.sum(in_priors**2) + tj.sum((start - np.log(10)) ** 2) + tj.sum((noise + 1) ** 2)
    return likelihood + 0.5 * squares - tj.sum(logs[:4])


def fit(iterations=400):
    """The mode, from a rough guess."""
    optimizer = tj.optim.adam(lr=tj.optim.cosine_decay(0.05, iterations))

    @tj.jit
    def update(logs, state):
        value, gradient = tj.value_and_grad(negative_log_posterior)(logs)
        return value, *optimizer.update(logs, gradient, state)

    logs = tj.log(tj.tensor([0.5, 0.02, 0.5, 0.02, 30.0, 4.0, 0.5, 0.5]))
    state = optimizer.init(logs)
    for done in range(1, iterations + 1):
        value, logs, state = update(logs, state)
        if done % (iterations // 20) == 0:
            bar = "#" * (20 * done // iterations)
            print(f"\r[{bar:.<20}] -log posterior {value.item():9.4f}", end="", flush=True)
    print()
    return logs


def weighted_draws(mode, count=4000, freedom=5):
    """Draws of the eight unknowns, with weights that make them draws of the posterior: importance sampling
    from Student's t around the mode, as wide as the curvature there says (Laplace, 1774)."""
    curvature = tj.jit(tj.hessian(negative_log_posterior))(mode).numpy()
    widths = np.linalg.cholesky(np.linalg.inv(curvature))
    first, second = tj.random.split(tj.random.key(0))
    chi_squared = tj.sum(tj.random.normal(first, (count, freedom)) ** 2, axis=1, keepdims=True)
    t = tj.random.normal(second, (count, 8)) / tj.sqrt(chi_squared / freedom)
    logs = mode + t @ widths.T
    log_proposal = -(freedom + 8) / 2 * tj.log1p(tj.sum(t * t, axis=1) / freedom)
    log_posterior = -tj.jit(tj.vmap(negative_log_posterior))(logs)
    return tj.exp(logs).numpy(), tj.nn.softmax(log_posterior - log_proposal, axis=0).numpy()


def plot(mode, path="lotka_volterra.png"):
    from matplotlib import pyplot

    fitted = np.exp(solve(tj.exp(mode[:4]), mode[4:6]).numpy())
    for series, points, name in zip(fitted.T, (HARE, LYNX), ("hares", "lynxes"), strict=True):
        (line,) = pyplot.plot(1900 + np.arange(YEARS + 1), series, label=name)
        pyplot.plot(1900 + np.arange(YEARS + 1), points, "o", color=line.get_color())
    pyplot.ylabel("pelts, thousands")
    pyplot.legend()
    pyplot.savefig(path)


def main():
    start = time.perf_counter()
    mode = fit()
    draws, weights = weighted_draws(mode)
    mean = weights @ draws
    deviation = np.sqrt(weights @ (draws - mean) ** 2)
    print(f"{time.perf_counter() - start:.1f} s; {len(draws)} draws, worth {1 / np.sum(weights**2):.0f}\n")
    print("                 mode    mean      sd   published")
    for name, *numbers in zip(NAMES, tj.exp(mode).numpy(), mean, deviation, PUBLISHED, strict=True):
        print(f"{name:12}" + "".join(f"{number:9.3f}" for number in numbers))
    if importlib.util.find_spec("matplotlib"):
        plot(mode)
    assert np.allclose(mean, PUBLISHED, rtol=0.02), "the posterior mean is not the published one"


if __name__ == "__main__":
    main()
