"""Tridiagonal systems in two loops, and a use of their gradient: a string's load is found from its sag.

Shows: recurrences forwards and backwards, arrays that loops fill, gradients of a solver, which are a solver.

The elimination: Thomas, 1949. Poisson's equation has a solution to compare with.
"""

import numpy as np

import tracejit as tj


def solve(below, diagonal, above, right):
    """x with ``below[i] x[i - 1] + diagonal[i] x[i] + above[i] x[i + 1] = right[i]``."""
    n = len(right)
    ratio = np.zeros(n)
    x = np.zeros(n)
    ratio[0] = above[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - below[i] * ratio[i - 1]
        ratio[i] = above[i] / pivot
        x[i] = (right[i] - below[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - ratio[i] * x[i + 1]
    return x


def sag(load):
    """u with -u'' = load between 0 and 1, and u = 0 at both ends."""
    n = len(load)
    width = 1.0 / (n + 1)
    side = np.full(n, -1.0)
    return solve(side, np.full(n, 2.0), side, load * width**2)


def main():
    rng = np.random.default_rng(0)
    below, above, right = rng.normal(size=(3, 200))
    diagonal = 4.0 + rng.random(200)
    matrix = np.diag(diagonal) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
    x = np.asarray(tj.jit(solve)(below, diagonal, above, right))
    assert np.allclose(matrix @ x, right)

    # the derivative of w.x by the right side solves the transposed system, and that by the diagonal follows
    weights = rng.normal(size=200)

    def weighted(diagonal, right):
        return (solve(below, diagonal, above, right) * weights).sum()

    by_diagonal, by_right = tj.jit(tj.grad(weighted, argnums=(0, 1)))(diagonal, right)
    adjoint = np.linalg.solve(matrix.T, weights)
    assert np.allclose(by_right, adjoint)
    assert np.allclose(by_diagonal, -adjoint * x)
    print("solution and gradients agree with dense solves")

    errors = []
    for n in (99, 199, 399):
        places = np.arange(1, n + 1) / (n + 1)
        exact = np.sin(np.pi * places)
        errors.append(np.abs(np.asarray(tj.jit(sag)(np.pi**2 * exact)) - exact).max())
    print("errors of Poisson's equation:", ", ".join(f"{error:.2e}" for error in errors))
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.01), "of second order"

    places = np.arange(1, 60) / 60
    load = 10.0 * np.exp(-50 * (places - 0.3) ** 2)
    seen = np.asarray(tj.jit(sag)(load))

    def misfit(guess):
        residual = sag(guess) - seen
        return 0.5 * (residual * residual).sum()

    # conjugate gradients: the gradient at p without data is the normal equations' matrix times p
    slope = tj.jit(tj.grad(misfit))
    guess = np.zeros(59)
    residual = direction = -np.asarray(slope(guess))
    origin = np.asarray(slope(np.zeros(59)))
    for _ in range(40):
        product = np.asarray(slope(direction)) - origin
        length = residual @ residual / (direction @ product)
        guess = guess + length * direction
        following = residual - length * product
        direction = following + following @ following / (residual @ residual) * direction
        residual = following
    print(f"load from its sag: {guess.max():.2f} at {places[guess.argmax()]:.2f}, was 10.00 at 0.30")
    assert np.abs(guess - load).max() < 0.2


if __name__ == "__main__":
    main()
