"""Dynamic time warping: how far two series are apart when time may run differently, and in which direction.

Shows: a dynamic program as two loops, ``min`` of traced numbers, and its gradient, by which a mean of warped
series is found: the series from which they are least far apart.

The recursion: Sakoe and Chiba, 1978. The mean by gradients: after Cuturi and Blondel, 2017, not smoothed.
"""

import numpy as np

import tracejit as tj


def distance(x, y):
    """The least sum of squared differences over all ways to walk through `x` and `y` together."""
    n, m = len(x), len(y)
    costs = np.full((n + 1, m + 1), np.inf)
    costs[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            best = min(costs[i, j + 1], costs[i + 1, j], costs[i, j])
            costs[i + 1, j + 1] = (x[i] - y[j]) ** 2 + best
    return costs[n, m]


def by_enumeration(x, y):
    """Distance of `x` and `y` found by trying all ways."""
    if len(x) == 1 and len(y) == 1:
        return (x[0] - y[0]) ** 2
    ways = []
    if len(x) > 1:
        ways.append(by_enumeration(x[:-1], y))
    if len(y) > 1:
        ways.append(by_enumeration(x, y[:-1]))
    if len(x) > 1 and len(y) > 1:
        ways.append(by_enumeration(x[:-1], y[:-1]))
    return (x[-1] - y[-1]) ** 2 + min(ways)


def spread(mean, series):
    """Mean distance of `series`, a tuple of arrays, from `mean`."""
    total = 0.0
    for warped in series:
        total += distance(mean, warped)
    return total / len(series)


def main():
    rng = np.random.default_rng(0)
    warped = tj.jit(distance)
    short = rng.normal(size=6), rng.normal(size=5)
    assert np.isclose(float(warped(*short)), by_enumeration(*short))
    assert float(warped(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0, 3.0, 3.0]))) == 0.0

    gradient = tj.jit(tj.grad(distance))
    step = 1e-6
    differences = [
        (by_enumeration(short[0] + nudge, short[1]) - by_enumeration(short[0] - nudge, short[1])) / (2 * step)
        for nudge in step * np.eye(6)
    ]
    assert np.allclose(gradient(*short), differences, atol=1e-6)
    print(f"distance {float(warped(*short)):.4f}, and its gradient is that of finite differences")

    times = np.linspace(0.0, 1.0, 60)
    shape = np.sin(4 * np.pi * times) * np.exp(-times)
    series = tuple(
        np.interp(times ** rng.uniform(0.6, 1.7), times, shape) + 0.03 * rng.normal(size=60) for _ in range(5)
    )
    descend = tj.jit(tj.value_and_grad(spread))
    mean = np.mean(series, axis=0)
    first = float(descend(mean, series)[0])
    for _ in range(100):
        value, slope = descend(mean, series)
        mean = mean - 0.05 * np.asarray(slope)
    print(f"spread around the mean, point by point {first:.3f}, and by warping {float(value):.3f}")
    assert float(value) < first / 3
    assert float(warped(mean, shape)) < float(warped(np.mean(series, axis=0), shape))


if __name__ == "__main__":
    main()
