"""Fit a regularised logistic regression by Newton's method: who pays back a loan?

Shows: a NumPy-style objective over 20,000 rows, its value and gradient in one compiled call, and the data
handed over as plain ndarrays. The fit is checked against the closed form of optimality: at the minimum,
``X.T @ (p - y) + ridge * w`` is zero, where ``p`` are the predicted probabilities.
"""

import numpy as np

import tracejit as tj

ROWS, RIDGE = 20_000, 1.0
NAMES = ["intercept", "log income", "debt / income", "late payments", "age"]


def applicants(rng):
    """Correlated features in natural units, standardised, and whether each applicant defaulted."""
    age = rng.uniform(21, 70, ROWS)
    log_income = 9.5 + 0.02 * age + rng.normal(scale=0.5, size=ROWS)
    debt = rng.gamma(2.0, 0.15, ROWS) * np.exp(10.4 - log_income)
    late = rng.poisson(0.3 + 0.8 * debt).astype(float)
    features = np.stack([log_income, debt, late, age], axis=1)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    x = np.column_stack([np.ones(ROWS), features])
    truth = np.array([-2.0, -0.6, 0.8, 1.1, -0.2])
    y = (rng.uniform(size=ROWS) < 1 / (1 + np.exp(-x @ truth))).astype(float)
    return x, y, truth


def objective(w, x, y):
    """Negative log-likelihood and ridge penalty; log(1 + exp(z)) is logaddexp(0, z), without overflow."""
    z = x @ w
    return tj.sum(tj.logaddexp(0.0, z) - y * z) + 0.5 * RIDGE * tj.sum(w * w)


value_and_gradient = tj.jit(tj.value_and_grad(objective))


@tj.jit
def hessian(w, x):
    """X.T @ diag(p * (1 - p)) @ X + ridge * I"""
    p = 1 / (1 + tj.exp(-(x @ w)))
    return (x * (p * (1 - p))[:, None]).T @ x + RIDGE * tj.eye(x.shape[1])


def fit(x, y, tolerance=1e-8):
    """Newton's method; the objective is strictly convex, so a step that fails to descend is halved."""
    w = np.zeros(x.shape[1])
    for iteration in range(50):
        value, gradient = value_and_gradient(w, x, y)
        gradient = gradient.numpy()
        size = np.linalg.norm(gradient)
        print(f"iteration {iteration}  objective {value.item():12.6f}  |gradient| {size:.1e}")
        if size < tolerance * ROWS:
            return w
        step = np.linalg.solve(hessian(w, x).numpy(), gradient)
        while value_and_gradient(w - step, x, y)[0] > value:
            step = step / 2
        w = w - step
    raise RuntimeError("no convergence in 50 iterations")


def main():
    x, y, truth = applicants(np.random.default_rng(0))
    w = fit(x, y)

    p = 1 / (1 + np.exp(-x @ w))
    deviation = np.sqrt(np.diag(np.linalg.inv(hessian(w, x).numpy())))
    print(f"\n{'':14}    truth      fit  std. error")
    for name, true, estimate, error in zip(NAMES, truth, w, deviation, strict=True):
        print(f"{name:14} {true:8.3f} {estimate:8.3f} {error:11.3f}")

    optimality = x.T @ (p - y) + RIDGE * w
    print(f"\nlargest entry of X.T @ (p - y) + ridge * w: {np.abs(optimality).max():.1e}")
    assert np.abs(optimality).max() < 1e-8 * ROWS
    assert np.all(np.abs(w - truth) < 4 * deviation), "the truth is outside of four standard errors"


if __name__ == "__main__":
    main()
