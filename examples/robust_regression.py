"""Fit a line through data with outliers by maximum likelihood: Student-t noise instead of Gaussian.

Shows: a log-likelihood as any statistics text writes it, compiled together with its gradient, and driven by
an optimiser in plain NumPy. ``scipy.optimize.minimize(fun, start, jac=True)`` would take the same ``fun``.
"""

import numpy as np

import tracejit as tj

FREEDOM = 4.0


@tj.jit
@tj.value_and_grad
def negative_log_likelihood(parameters, x, y):
    """The mean over the points of -log t((y - intercept - slope x) / scale), up to a constant."""
    intercept, slope, log_scale = parameters
    z = (y - intercept - slope * x) * tj.exp(-log_scale)
    return tj.mean(0.5 * (FREEDOM + 1) * tj.log1p(z * z / FREEDOM)) + log_scale


def bfgs(fun, x, tolerance=1e-7):
    """Minimise by BFGS with backtracking (Nocedal and Wright, Numerical Optimization, algorithm 6.1)."""
    inverse_hessian = np.eye(len(x))
    value, gradient = fun(x)
    for iteration in range(200):
        if np.abs(gradient).max() < tolerance:
            return x, value, iteration
        direction = -inverse_hessian @ gradient
        step = 1.0
        while True:
            moved = x + step * direction
            new_value, new_gradient = fun(moved)
            if new_value <= value + 1e-4 * step * (gradient @ direction) or step < 1e-10:
                break
            step /= 2
        s, y = moved - x, new_gradient - gradient
        if s @ y > 1e-12:
            left = np.eye(len(x)) - np.outer(s, y) / (s @ y)
            inverse_hessian = left @ inverse_hessian @ left.T + np.outer(s, s) / (s @ y)
        x, value, gradient = moved, new_value, new_gradient
    raise RuntimeError("no convergence in 200 iterations")


def main():
    rng = np.random.default_rng(0)
    true_intercept, true_slope, noise = 1.0, 2.0, 0.3
    x = rng.uniform(0, 5, 400)
    y = true_intercept + true_slope * x + noise * rng.standard_normal(400)
    broken = (x > 3.5) & (rng.uniform(size=400) < 0.35)  # a sensor that saturates
    y[broken] = 4.0 + rng.standard_normal(broken.sum())

    def fun(parameters):
        value, gradient = negative_log_likelihood(parameters, x, y)
        return value.item(), gradient.numpy()

    slope, intercept = np.polyfit(x, y, 1)
    start = np.array([intercept, slope, np.log(np.std(y - intercept - slope * x))])
    solution, value, iterations = bfgs(fun, start)

    print(f"{broken.sum()} of {len(x)} points are outliers")
    print("                 intercept   slope")
    print(f"truth            {true_intercept:9.3f} {true_slope:7.3f}")
    print(f"least squares    {intercept:9.3f} {slope:7.3f}")
    print(f"Student t        {solution[0]:9.3f} {solution[1]:7.3f}   after {iterations} iterations")

    nudges = 1e-6 * np.eye(3)
    differences = [(fun(start + h)[0] - fun(start - h)[0]) / 2e-6 for h in nudges]
    assert np.allclose(fun(start)[1], differences, rtol=1e-6, atol=1e-8), "the gradient is wrong"
    assert abs(solution[1] - true_slope) < 0.1 < abs(slope - true_slope)
    assert value < fun(start)[0]


if __name__ == "__main__":
    main()
