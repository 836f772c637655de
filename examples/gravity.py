"""Move the sun and the outer planets for 165 years, with forces that are the gradient of the energy.

Shows: a physical model written down once, as its energy; ``tj.grad`` of it inside a jitted time step; small
arrays and many calls, where the cost of a call is what counts. Initial values: the n-body benchmark of the
Computer Language Benchmarks Game (JPL; au, years of 365.24 days, solar masses), whose reference output has
the energy -0.169075164.
"""

import time

import numpy as np

import tracejit as tj

BODIES = ["sun", "Jupiter", "Saturn", "Uranus", "Neptune"]
#: Times the gravitational constant, which is 4 pi^2 in these units.
MASS = (
    4
    * np.pi**2
    * np.array(
        [1, 9.54791938424326609e-4, 2.85885980666130812e-4, 4.36624404335156298e-5, 5.15138902046611451e-5]
    )
)
START = np.array([
    [0, 0, 0],
    [4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
    [8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
    [12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
    [15.3796971148509165, -25.9193146099879641, 0.179258772950371181],
])  # fmt: skip
VELOCITY = 365.24 * np.array([
    [0, 0, 0],
    [0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023],
    [-0.00276742510726411022, 0.00499852801234917238, 0.0000230417297573763929],
    [0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556],
    [0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870],
])  # fmt: skip


def potential(x):
    """The sum over pairs of -m_i m_j / distance. Ones on the diagonal keep its square root differentiable."""
    n = x.shape[0]
    apart = x[:, None, :] - x[None, :, :]
    distance = tj.sqrt(tj.sum(apart * apart, axis=2) + tj.eye(n))
    return -0.5 * tj.sum(MASS[:, None] * MASS * (1 - tj.eye(n)) / distance)


def energy(x, v):
    return 0.5 * tj.sum(MASS[:, None] * v * v) + potential(x)


def acceleration(x):
    return -tj.grad(potential)(x) / MASS[:, None]


@tj.jit
def leapfrog(x, v, dt):
    """Half a kick, a drift, half a kick: second order, symplectic, so the energy does not drift away."""
    v = v + 0.5 * dt * acceleration(x)
    x = x + dt * v
    return x, v + 0.5 * dt * acceleration(x)


def newton(x):
    """Acceleration by Newton's formula in NumPy, to compare with."""
    apart = x[None, :, :] - x[:, None, :]
    distance = np.sqrt((apart**2).sum(axis=2)) + np.eye(len(x))
    return (MASS[None, :, None] * apart / distance[:, :, None] ** 3).sum(axis=1)


def main():
    momentum = (MASS[:, None] * VELOCITY).sum(axis=0)
    velocity = VELOCITY - (momentum / MASS[0]) * (np.arange(5) == 0)[:, None]
    x, v = tj.tensor(START), tj.tensor(velocity)
    before = energy(x, v).item()

    dt, steps = 0.005, 33_000
    start = time.perf_counter()
    for _ in range(steps):
        x, v = leapfrog(x, v, dt)
    seconds = time.perf_counter() - start

    after = energy(x, v).item()
    print(f"{steps:,} steps, {dt * steps:.0f} years: {seconds:.2f} s, {seconds / steps * 1e6:.1f} us a step")
    for name, place in zip(BODIES, x.numpy(), strict=True):
        print(f"{name:8}" + "".join(f"{coordinate:9.3f}" for coordinate in place))
    print(f"energy {before:.9f} -> {after:.9f}, relative change {abs(after / before - 1):.1e}")

    assert np.allclose(acceleration(tj.tensor(START)), newton(START), rtol=1e-12)
    assert abs(before - -0.169075164) < 1e-9, "the reference output of the benchmark"
    assert abs(after / before - 1) < 1e-6
    assert np.allclose((MASS[:, None] * v.numpy()).sum(axis=0), 0, atol=1e-12), "momentum is conserved"


if __name__ == "__main__":
    main()
