"""Gaussian process regression: three hyperparameters fitted by SciPy with the gradient of the likelihood.

Shows: ``tj.linalg.cholesky`` and ``tj.scipy.linalg.cho_solve`` in one compiled function with its gradient,
handed to ``scipy.optimize.minimize``; predictions with their errors. The data are made here: temperatures of
72 months, with a yearly wave, a slow rise and noise. Without SciPy, steps of gradient descent are taken.
"""

import numpy as np

import tracejit as tj

RNG = np.random.default_rng(0)
MONTHS = np.arange(72.0)
TEMPERATURE = 8 * np.sin(2 * np.pi * MONTHS / 12) + 0.03 * MONTHS + RNG.normal(0, 1, 72)


def covariance(log_scales, x, y):
    """The periodic covariance of the values at x and at y; the scales are a size and a smoothness."""
    size, smoothness = tj.exp(log_scales[0]), tj.exp(log_scales[1])
    distance = x[:, None] - y[None, :]
    return size**2 * tj.exp(-2 * tj.sin(np.pi * distance / 12) ** 2 / smoothness**2)


def factor(log_scales, x):
    """The Cholesky factor of the covariance of measurements, which have noise."""
    noise = tj.exp(log_scales[2])
    return tj.scipy.linalg.cho_factor(covariance(log_scales, x, x) + noise**2 * tj.eye(len(x)), lower=True)


def loss(log_scales, x, y):
    """The negative logarithm of the likelihood of the measurements y."""
    triangle, lower = factor(log_scales, x)
    weights = tj.scipy.linalg.cho_solve((triangle, lower), y)
    log_det = 2 * tj.log(tj.linalg.diagonal(triangle)).sum()
    return 0.5 * (y @ weights + log_det + len(x) * np.log(2 * np.pi))


def predict(log_scales, x, y, at):
    """The mean and the standard deviation of the values at other places."""
    cross = covariance(log_scales, at, x)
    both = factor(log_scales, x)
    mean = cross @ tj.scipy.linalg.cho_solve(both, y)
    white = tj.scipy.linalg.solve_triangular(both[0], cross.T, lower=True)
    variance = tj.exp(2 * log_scales[0]) - (white * white).sum(axis=0)
    return mean, tj.sqrt(tj.maximum(variance, 0.0))


value_and_grad = tj.jit(tj.value_and_grad(loss))


def fit(x, y, start=(0.0, 0.0, 0.0)):
    """The logarithms of size, smoothness and noise that make the likelihood the largest."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        scales = np.array(start)
        for _ in range(500):
            scales = scales - 0.003 * value_and_grad(scales, x, y)[1].numpy()
        return scales

    def numbers(scales):
        value, gradient = value_and_grad(scales, x, y)
        return value.item(), gradient.numpy()

    return minimize(numbers, np.array(start), jac=True, method="L-BFGS-B").x


def main():
    """Fit, print, and draw where matplotlib is installed."""
    scales = fit(MONTHS, TEMPERATURE)
    before, after = (value_and_grad(x, MONTHS, TEMPERATURE)[0].item() for x in (np.zeros(3), scales))
    size, smoothness, noise = np.exp(scales)
    print(f"negative log likelihood: {before:.1f} at first, {after:.1f} fitted")
    print(f"size {size:.2f}, smoothness {smoothness:.2f}, noise {noise:.2f} (1 was added)")
    later = np.arange(60.0, 96.0)
    mean, deviation = (x.numpy() for x in tj.jit(predict)(scales, MONTHS, TEMPERATURE, later))
    print(f"in month 78: {mean[18]:.1f} +- {deviation[18]:.1f}")
    assert after < before - 50
    assert abs(mean[:12] - TEMPERATURE[60:]).max() < 4 * noise
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    plt.plot(MONTHS, TEMPERATURE, ".")
    plt.plot(later, mean)
    plt.fill_between(later, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3)
    plt.savefig("gaussian_process.png")


if __name__ == "__main__":
    main()
