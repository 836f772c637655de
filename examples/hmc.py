"""Sample the eight-schools posterior by Hamiltonian Monte Carlo; the whole sampler is one compiled function.

Shows: loops in loops under ``tj.jit``: a scan over draws, a loop over leapfrog steps, ``tj.grad`` within;
keys split inside; a step size that adapts while the chain warms up; ``tj.vmap`` over the chains.

Data: Rubin (1981). Model, in the non-centred form, and what it gives: Betancourt and Girolami, "Hamiltonian
Monte Carlo for Hierarchical Models", 2015; posteriordb, eight_schools_noncentered.
"""

import time

import numpy as np

import tracejit as tj

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
CHAINS, WARM_UP, DRAWS, LEAPS = 4, 1000, 10_000, 10
TARGET, LARGEST = 0.8, np.log(1.0)  # the acceptance that warm-up aims at; where log step sizes shrink to
PUBLISHED = {"mu": 4.4, "tau": 3.6}


def schools(x):
    """The mean and spread of the effects, and the effect of each school, from ten standardised unknowns."""
    mu, tau = 5 * x[0], tj.exp(x[1])
    return mu, tau, mu + tau * x[2:]


def log_posterior(x):
    """mu ~ normal(0, 5), tau ~ half-Cauchy(0, 5), effects ~ normal(mu, tau), up to a constant."""
    _, tau, effects = schools(x)
    prior = -0.5 * (x[0] ** 2 + tj.sum(x[2:] ** 2)) - tj.log1p((tau / 5) ** 2) + x[1]
    return prior - 0.5 * tj.sum(((EFFECT - effects) / ERROR) ** 2)


def transition(key, x, step_size):
    """A step of Hamiltonian Monte Carlo (Duane et al., 1987): the next x, and the chance that it moved."""
    for_momentum, for_step, for_choice = tj.random.split(key, 3)
    momentum = tj.random.normal(for_momentum, x.shape)
    h = step_size * tj.random.uniform(for_step, (), minval=0.8, maxval=1.2)  # so that no orbit closes

    def leap(_, state):
        x, p = state
        x = x + h * p
        return x, p + h * tj.grad(log_posterior)(x)

    def energy(x, p):
        return 0.5 * tj.sum(p * p) - log_posterior(x)

    # half a kick, leaps, and back what the last kick was too much
    p = momentum + h / 2 * tj.grad(log_posterior)(x)
    moved, p = tj.fori_loop(0, LEAPS, leap, (x, p))
    p = p - h / 2 * tj.grad(log_posterior)(moved)
    change = energy(x, momentum) - energy(moved, p)
    acceptance = tj.exp(tj.minimum(tj.where(tj.isnan(change), -tj.inf, change), 0.0))
    return tj.where(tj.random.uniform(for_choice) < acceptance, moved, x), acceptance


def adapt(state, key):
    """A transition while the step size adapts: dual averaging (Hoffman and Gelman, 2014, algorithm 5)."""
    x, log_step, averaged, shortfall, t = state
    x, acceptance = transition(key, x, tj.exp(log_step))
    t = t + 1
    shortfall = shortfall + (TARGET - acceptance - shortfall) / (t + 10)
    log_step = LARGEST - tj.sqrt(t) / 0.05 * shortfall
    averaged = averaged + t**-0.75 * (log_step - averaged)
    return (x, log_step, averaged, shortfall, t), None


def chain(key):
    """The draws of one chain, its step size and its mean acceptance."""
    for_start, for_warm_up, for_draws = tj.random.split(key, 3)
    x = tj.random.uniform(for_start, (10,), minval=-2.0, maxval=2.0)
    start = (x, np.log(0.1), np.log(0.1), 0.0, 0.0)
    (x, _, log_step, _, _), _ = tj.scan(adapt, start, tj.random.split(for_warm_up, WARM_UP))

    def draw(x, key):
        x, acceptance = transition(key, x, tj.exp(log_step))
        mu, tau, effects = schools(x)
        return x, (tj.concatenate([tj.stack([mu, tau]), effects]), acceptance)

    draws, acceptance = tj.scan(draw, x, tj.random.split(for_draws, DRAWS))[1]
    return draws, tj.exp(log_step), tj.mean(acceptance)


@tj.jit
def sample(key):
    """All draws of mu, tau and the effects, chains by draws by ten; step sizes; mean acceptances."""
    return tj.vmap(chain)(tj.random.split(key, CHAINS))


def effective_draws(x):
    """Number of independent draws that would tell the mean as well: the initial monotone sequence (Geyer,
    1992) of the correlations, `x` being chains by draws (Gelman et al., BDA3, 11.5)."""
    chains, n = x.shape
    spectrum = np.fft.rfft(x - x.mean(axis=1, keepdims=True), 2 * n)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[:, :n].mean(axis=0) / (n - 1)
    between = x.mean(axis=1).var(ddof=1)
    within, total = covariance[0], covariance[0] * (n - 1) / n + between
    correlation = 1 - (within - covariance) / total
    pairs = correlation[0 : n - 1 : 2] + correlation[1::2]
    kept = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    return chains * n / (2 * np.minimum.accumulate(pairs[:kept]).sum() - 1)


def main():
    start = time.perf_counter()
    sample(tj.random.key(1))
    first = time.perf_counter() - start
    start = time.perf_counter()
    draws, step_size, acceptance = (result.numpy() for result in sample(tj.random.key(0)))
    seconds = time.perf_counter() - start

    print(f"first call {first:.2f} s with compiling; then {seconds * 1e3:.0f} ms for {CHAINS} chains of")
    print(f"{WARM_UP} + {DRAWS} steps of {LEAPS} leaps; step size {step_size.mean():.2f}, ", end="")
    print(f"acceptance {acceptance.mean():.2f}\n\n          mean    sd  effective draws  a second")
    for name, series in zip(["mu", "tau"], np.moveaxis(draws, 2, 0), strict=False):
        effective = effective_draws(series)
        print(
            f"{name:6}{series.mean():8.2f}{series.std():6.2f}{effective:17,.0f}{effective / seconds:10,.0f}"
        )
        assert abs(series.mean() - PUBLISHED[name]) < 0.15, "not the published mean"
    print("effects  " + " ".join(f"{effect:.1f}" for effect in draws.mean(axis=(0, 1))[2:]))


if __name__ == "__main__":
    main()
