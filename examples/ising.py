"""The Ising model by Metropolis' method, as the loops that everybody writes first, beside Onsager's solution.

Shows: loops over a lattice that write their argument in place, ``if`` on values, negative indices.

Exact energy and magnetisation of the infinite lattice: Onsager, 1944, and Yang, 1952.
"""

import math
import time

import numpy as np

import tracejit as tj

SIZE, SWEEPS, SETTLING = 48, 600, 200
TEMPERATURE = 2.0


@tj.jit
def run(spins, uniforms, temperature):
    """Sweep over `spins` once for each of `uniforms`; energy and magnetisation per site after each sweep."""
    n = len(spins)
    sweeps = len(uniforms)
    energies = np.zeros(sweeps)
    magnetisations = np.zeros(sweeps)
    for t in range(sweeps):
        for i in range(n):
            for j in range(n):
                around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % n]
                cost = 2 * spins[i, j] * around
                if cost <= 0 or uniforms[t, i, j] < math.exp(-cost / temperature):
                    spins[i, j] = -spins[i, j]
        energy = 0
        for i in range(n):
            for j in range(n):
                energy -= spins[i, j] * (spins[i - 1, j] + spins[i, j - 1])
        energies[t] = energy / n**2
        magnetisations[t] = spins.sum() / n**2
    return energies, magnetisations


def exact(temperature):
    """Energy and magnetisation per site of the infinite lattice."""
    k = 1 / temperature
    modulus = 2 * math.sinh(2 * k) / math.cosh(2 * k) ** 2
    angles = (np.arange(100_000) + 0.5) / 100_000 * math.pi / 2
    elliptic = np.mean(1 / np.sqrt(1 - (modulus * np.sin(angles)) ** 2)) * math.pi / 2
    energy = -1 / math.tanh(2 * k) * (1 + 2 / math.pi * (2 * math.tanh(2 * k) ** 2 - 1) * elliptic)
    return energy, (1 - math.sinh(2 * k) ** -4) ** 0.125


def main():
    rng = np.random.default_rng(0)
    spins = np.ones((SIZE, SIZE), np.int64)
    uniforms = rng.random((SWEEPS, SIZE, SIZE))
    run(spins.copy(), uniforms, TEMPERATURE)
    start = time.perf_counter()
    energies, magnetisations = run(spins, uniforms, TEMPERATURE)
    seconds = time.perf_counter() - start
    assert set(np.unique(spins)) == {-1, 1}, "the lattice itself was written"
    energy, magnetisation = exact(TEMPERATURE)
    for name, values, expected in (
        ("energy", energies, energy),
        ("magnetisation", magnetisations, magnetisation),
    ):
        settled = np.asarray(values)[SETTLING:]
        error = settled.std() / math.sqrt(len(settled) / 10)  # ten sweeps or so are correlated
        print(f"{name:13}  {settled.mean():8.4f} +- {error:.4f}   exact {expected:8.4f}")
        assert abs(settled.mean() - expected) < 5 * error
    print(f"{SWEEPS * SIZE * SIZE / seconds / 1e6:.0f} million updates a second")


if __name__ == "__main__":
    main()
