"""Fit a negative binomial distribution to counts by maximum likelihood, with a log-gamma of one's own.

Shows: an op that tracejit lacks, made from outside: a NumPy kernel for eager mode, scalar code that jitted
functions fuse, and a gradient, which is another op: the digamma function, composed of existing ops. Newton's
method then takes compiled first and second derivatives of a likelihood.
"""

import math

import numpy as np

import tracejit as tj

#: Stirling's series is used from here on; the recurrence Gamma(x + 1) = x Gamma(x) leads up to it.
SHIFT = 8
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30)

log_gamma = tj.register_op("log_gamma", inputs="x", elementwise=True, cycles=60.0, doc="log Gamma(x), x > 0")


@tj.register_kernel("log_gamma", "numpy")
def log_gamma_of_arrays(x):
    """Logarithm of gamma by the C library, one element after the other."""
    return np.vectorize(math.lgamma, otypes=[x.dtype])(x)


@tj.register_kernel("log_gamma", "llvm")
def log_gamma_code(b, x):
    """(z - 1/2) log z - z + log(2 pi)/2 + sum B_2k / (2k (2k - 1) z^(2k-1)) at z = x + SHIFT."""
    product = x
    for step in range(1, SHIFT):
        product = b.mul(product, b.add(x, float(step)))
    z = b.add(x, float(SHIFT))
    inverse = b.div(1.0, z)
    series = b.const(0.0, x)
    for k in range(len(BERNOULLI), 0, -1):
        series = b.fma(b.mul(inverse, inverse), series, BERNOULLI[k - 1] / (2 * k * (2 * k - 1)))
    stirling = b.sub(b.mul(b.sub(z, 0.5), b.log(z)), z)
    return b.sub(b.add(stirling, b.fma(series, inverse, 0.5 * math.log(2 * math.pi))), b.log(product))


def digamma_of_tensors(x):
    """The derivative of the same formula, so it needs neither a kernel nor a gradient of its own."""
    z = x + SHIFT
    series = sum(BERNOULLI[k - 1] / (2 * k) * z ** (-2.0 * k) for k in range(1, len(BERNOULLI) + 1))
    return tj.log(z) - 0.5 / z - series - sum(1.0 / (x + step) for step in range(SHIFT))


digamma = tj.register_op("digamma", decompose=digamma_of_tensors, doc="the derivative of log Gamma(x), x > 0")
tj.register_gradient("log_gamma", lambda ct, x: ct * digamma(x), inputs_to_save=["x"])


def negative_log_likelihood(parameters, counts):
    """Negative log-likelihood, per count, of a negative binomial with mean m and size r; `parameters` are
    their logarithms."""
    mean, size = tj.exp(parameters[0]), tj.exp(parameters[1])
    terms = log_gamma(counts + size) - log_gamma(size) - log_gamma(counts + 1.0)
    return -tj.mean(terms + size * tj.log(size / (size + mean)) + counts * tj.log(mean / (size + mean)))


gradient = tj.jit(tj.grad(negative_log_likelihood))


@tj.jit
def hessian(parameters, counts):
    """The second derivatives: the gradient of each part of the gradient."""
    first = tj.grad(negative_log_likelihood)
    return tj.stack([tj.grad(lambda p, i=i: first(p, counts)[i])(parameters) for i in range(2)])


def fit(counts):
    """Newton's method from the moments of the data."""
    parameters = np.log([counts.mean(), 1.0])
    for iteration in range(30):
        slope = np.asarray(gradient(parameters, counts))
        if np.abs(slope).max() < 1e-10:
            return np.exp(parameters), iteration
        step = np.linalg.solve(np.asarray(hessian(parameters, counts)), slope)
        parameters = parameters - step * min(1.0, 1.0 / np.abs(step).max())
    raise RuntimeError("Newton's method did not converge")


if __name__ == "__main__":
    points = tj.tensor([0.5, 3.0, 50.0])
    compiled = tj.jit(lambda x: log_gamma(x))(points)
    assert np.allclose(compiled, log_gamma(points), rtol=1e-13)
    assert abs(digamma(1.0).item() + 0.5772156649015329) < 1e-10  # -Euler's constant

    counts = np.random.default_rng(3).negative_binomial(3.0, 3.0 / (3.0 + 5.0), size=20_000).astype(float)
    (mean, size), iterations = fit(counts)
    print(f"mean {mean:.3f} (true 5), size {size:.3f} (true 3), after {iterations} steps of Newton's method")
    print(gradient.explain().splitlines()[-1].strip())
    assert abs(mean - counts.mean()) < 1e-6  # the likelihood equation for the mean
    assert abs(size - 3.0) < 0.15
    assert "everything is native code" in gradient.explain()
