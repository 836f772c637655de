"""Track a target that manoeuvres: a Kalman filter with six states, whose noise is fitted by gradient descent.

Shows: a filter as a ``tj.scan`` with ``tj.linalg.solve`` and ``slogdet`` in each step, compiled to one loop;
its likelihood's gradient under ``tj.optim.adam``; the Rauch-Tung-Striebel smoother as a scan in reverse;
``tj.vmap`` of the likelihood over a grid of parameters. With matplotlib: kalman.png.

The state is position, velocity and acceleration in the plane; accelerations wander, and fade as velocities do
(Singer, 1970). Positions are measured with noise. The track is simulated here, so that the fitted parameters
can be compared with those it was made by.
"""

import numpy as np

import tracejit as tj

STEP, STEPS = 0.5, 300
#: Standard deviations of the jerk (change of acceleration a second) and of measurements.
JERK, NOISE = 1.0, 6.0
#: Shares of a velocity and of an acceleration that are left after a step.
DRAG, FADING = 0.97, 0.85
AXIS = np.array([[1, STEP, STEP**2 / 2], [0, DRAG, STEP], [0, 0, FADING]])
#: Matrices of a step: the movement of the state, its spread by the jerk, and the part that is measured.
MOTION = np.kron(np.eye(2), AXIS)
_PUSH = np.array([STEP**3 / 6, STEP**2 / 2, STEP])
SPREAD = np.kron(np.eye(2), np.outer(_PUSH, _PUSH) / STEP)
MEASURED = np.kron(np.eye(2), np.array([[1.0, 0.0, 0.0]]))
START, DOUBT = np.zeros(6), np.diag([25.0, 100.0, 10.0] * 2)


def simulate(seed=5):
    """True states, and measured positions."""
    rng = np.random.default_rng(seed)
    state = np.array([0.0, 5.0, 0.0, 0.0, 5.0, 0.0])
    states = []
    for push in rng.normal(0, JERK / np.sqrt(STEP), (STEPS, 2)):
        state = MOTION @ state + np.kron(push, _PUSH)
        states.append(state)
    states = np.array(states)
    return states, states @ MEASURED.T + rng.normal(0, NOISE, (STEPS, 2))


def run_filter(logarithms, positions):
    """Run the Kalman filter with the `logarithms` of jerk and noise. Returns the log-likelihood, and for each
    step the mean and covariance of the state before and after the measurement."""
    process, noise = tj.exp(2 * logarithms[0]) * SPREAD, tj.exp(2 * logarithms[1]) * np.eye(2)

    def step(carry, measured):
        mean, covariance = MOTION @ carry[0], MOTION @ carry[1] @ MOTION.T + process
        cross = MEASURED @ covariance
        innovation, doubt = measured - MEASURED @ mean, cross @ MEASURED.T + noise
        gain = tj.linalg.solve(doubt, cross).T
        after = mean + gain @ innovation, covariance - gain @ cross
        misfit = innovation @ tj.linalg.solve(doubt, innovation) + tj.linalg.slogdet(doubt)[1]
        return after, (-0.5 * (misfit + 2 * np.log(2 * np.pi)), mean, covariance, *after)

    terms, *moments = tj.scan(step, (tj.asarray(START), tj.asarray(DOUBT)), positions)[1]
    return terms.sum(), moments


def loss(logarithms, positions):
    """The negative logarithm of the likelihood of measured positions."""
    return -run_filter(logarithms, positions)[0]


@tj.jit
def smooth(logarithms, positions):
    """Means and covariances of the states, given all measurements, earlier and later ones."""
    means_before, before, means, covariances = run_filter(logarithms, positions)[1]

    def step(later, moments):
        mean, covariance, mean_before_next, before_next = moments
        gain = tj.linalg.solve(before_next, MOTION @ covariance).T
        smoothed = mean + gain @ (later[0] - mean_before_next)
        spread = covariance + gain @ (later[1] - before_next) @ gain.T
        return (smoothed, spread), (smoothed, spread)

    last = means[-1], covariances[-1]
    rest = means[:-1], covariances[:-1], means_before[1:], before[1:]
    smoothed, spreads = tj.scan(step, last, rest, reverse=True)[1]
    return tj.concat([smoothed, last[0][None]]), tj.concat([spreads, last[1][None]])


def fit(positions, iterations=300):
    """The logarithms of jerk and noise of the largest likelihood, from a rough guess."""
    optimizer = tj.optim.adam(lr=tj.optim.cosine_decay(0.1, iterations))

    @tj.jit
    def update(logarithms, state):
        value, gradient = tj.value_and_grad(loss)(logarithms, positions)
        return value, *optimizer.update(logarithms, gradient, state)

    logarithms = tj.log(tj.tensor([1.0, 1.0]))
    state, value = optimizer.init(logarithms), None
    for _ in range(iterations):
        value, logarithms, state = update(logarithms, state)
    print(f"negative log likelihood of {len(positions)} measurements: {value.item():.2f}")
    return logarithms.numpy()


def main():
    """Simulate, fit, smooth, print, and draw where matplotlib is installed."""
    states, positions = simulate()
    logarithms = fit(positions)
    jerk, noise = np.exp(logarithms)
    curvature = tj.jit(tj.hessian(loss))(logarithms, positions).numpy()
    widths = np.sqrt(np.diag(np.linalg.inv(curvature)))
    print(f"jerk {jerk:.3f} (true {JERK}), noise {noise:.2f} (true {NOISE}); their logarithms")
    print(f"have standard errors {widths[0]:.2f} and {widths[1]:.2f}")
    filtered = tj.jit(run_filter)(logarithms, positions)[1][2].numpy()
    smoothed = smooth(logarithms, positions)[0].numpy()
    truth = states @ MEASURED.T
    estimates = {
        "measured": positions,
        "filtered": filtered @ MEASURED.T,
        "smoothed": smoothed @ MEASURED.T,
    }
    errors = {name: np.sqrt(np.mean((estimate - truth) ** 2)) for name, estimate in estimates.items()}
    print("root mean square error of a position:", end=" ")
    print(", ".join(f"{name} {error:.2f}" for name, error in errors.items()))
    assert errors["smoothed"] < errors["filtered"] < errors["measured"]
    assert np.all(np.abs(logarithms - np.log([JERK, NOISE])) < 4 * widths)
    draw(states, positions, logarithms)


def draw(states, positions, logarithms):
    """The track, and the likelihood over both parameters, to kalman.png."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        return
    smoothed = smooth(logarithms, positions)[0].numpy()
    jerks, noises = np.linspace(-0.6, 0.6, 60), np.linspace(-0.25, 0.25, 60)
    grid = np.stack(np.meshgrid(jerks + logarithms[0], noises + logarithms[1]), axis=-1).reshape(-1, 2)
    heights = tj.jit(tj.vmap(loss, in_axes=(0, None)))(grid, positions).numpy().reshape(60, 60)
    figure, (track, likelihood) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    track.plot(*positions.T, ".", color="0.7", markersize=4, label="measured")
    track.plot(states[:, 0], states[:, 3], "k", linewidth=1, label="true")
    track.plot(smoothed[:, 0], smoothed[:, 3], label="smoothed")
    track.set(xlabel="x", ylabel="y", aspect="equal")
    track.legend()
    levels = heights.min() + np.array([0, 0.5, 2, 4.5, 8, 16, 32])
    likelihood.contour(np.exp(grid[:60, 0]), np.exp(grid[::60, 1]), heights, levels)
    likelihood.plot(*np.exp(logarithms), "o", label="fitted")
    likelihood.plot(JERK, NOISE, "k+", label="true")
    likelihood.set(xlabel="jerk", ylabel="noise", xscale="log", title="negative log likelihood")
    likelihood.legend()
    figure.savefig("kalman.png", dpi=120)


if __name__ == "__main__":
    main()
