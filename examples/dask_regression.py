"""Logistic regression on data larger than memory: a gradient added up over blocks by dask's workers.

Shows: `tj.dask.value_and_grad`, driven by L-BFGS of SciPy where it is installed, else by gradient descent.
``python dask_regression.py --gigabytes 10 --kill`` makes ten gigabytes of data block by block, compares one
worker with two, and kills a worker on the way. Needs ``pip install 'tracejit[dask]'``.
"""

import argparse
import os
import signal
import time

import numpy as np

import tracejit as tj

COLUMNS = 25
TRUTH = np.linspace(-1.0, 1.0, COLUMNS)


def loss(weights, x, y):
    """The negative log-likelihood of one block: 0 or 1 in y, a row of x for each."""
    logits = x @ weights
    return tj.logaddexp(0.0, logits).sum() - (y * logits).sum()


def data(gigabytes, megabytes_a_block):
    """Dask arrays of random rows and labels; nothing is computed yet."""
    import dask.array as da

    rows = int(gigabytes * 1e9 / 8 / COLUMNS)
    block = int(megabytes_a_block * 1e6 / 8 / COLUMNS)
    random = da.random.default_rng(0)
    x = random.standard_normal((rows, COLUMNS), chunks=(block, COLUMNS), dtype=np.float64)
    noise = random.logistic(size=rows, chunks=block)
    return x, (x @ TRUTH + noise > 0).astype(np.float64)


def fitted(gradient, x, y):
    """The weights of the largest likelihood."""
    rows = x.shape[0]

    def mean(weights):
        value, slope = gradient(weights, x, y)
        return float(value) / rows, np.asarray(slope) / rows

    try:
        from scipy.optimize import minimize
    except ImportError:
        weights = np.zeros(COLUMNS)
        for _ in range(40):
            weights = weights - 4.0 * mean(weights)[1]
        return weights
    return minimize(mean, np.zeros(COLUMNS), jac=True, method="L-BFGS-B", options={"maxiter": 40}).x


def timed(workers, x, y, kill=False):
    """Seconds of one gradient on so many workers, after one that compiles, the gradient, and the largest
    worker's gigabytes."""
    from distributed import Client

    peak = 0.0
    with Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as client:
        gradient = tj.dask.value_and_grad(loss)
        gradient(TRUTH, x[: x.chunks[0][0] * 2], y[: x.chunks[0][0] * 2])
        start = time.perf_counter()
        if kill:
            victim = next(iter(client.run(os.getpid).values()))
            client.loop.call_later(2.0, os.kill, victim, signal.SIGKILL)
        _, slope = gradient(TRUTH, x, y)
        seconds = time.perf_counter() - start
        for used in client.run(lambda: __import__("resource").getrusage(0).ru_maxrss).values():
            peak = max(peak, used / 1e6)
    return seconds, np.asarray(slope), peak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=0.004)
    parser.add_argument("--kill", action="store_true", help="compare workers, and kill one on the way")
    options = parser.parse_args()
    try:
        import distributed  # noqa: F401

        import tracejit.dask  # noqa: F401
    except ImportError:
        print("dask is not installed: pip install 'tracejit[dask]'")
        return
    if options.kill:
        x, y = data(options.gigabytes, 50)
        print(f"{x.nbytes / 1e9:.1f} GB in {x.numblocks[0]} blocks")
        slopes = []
        for workers, kill in ((1, False), (2, False), (2, True)):
            seconds, slope, peak = timed(workers, x, y, kill)
            slopes.append(slope)
            killed = ", one killed on the way" if kill else ""
            print(f"{workers} workers{killed}: {seconds:.1f} s, at most {peak:.2f} GB a worker")
        assert all(np.allclose(slope, slopes[0]) for slope in slopes)
        return
    x, y = data(options.gigabytes, options.gigabytes * 1000 / 4)
    weights = fitted(tj.dask.value_and_grad(loss), x, y)
    error = np.abs(weights - TRUTH).max()
    print(f"fitted to {x.shape[0]} rows in {x.numblocks[0]} blocks; the largest error is {error:.3f}")
    assert error < 0.2


if __name__ == "__main__":
    main()
