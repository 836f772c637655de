"""Hidden Markov models: the most probable states (Viterbi), and the probability of what was seen (forward).

Shows: loops with ``if`` on values, integer arrays that are written and read back to front, and a use of the
gradient: the derivatives of the log likelihood by log probabilities are the expected numbers of visits, which
the backward algorithm of Baum and Welch computes.

The example of two states, its path and its probability: Wikipedia, "Viterbi algorithm".
"""

import math

import numpy as np

import tracejit as tj

START = np.array([0.6, 0.4])
MOVES = np.array([[0.7, 0.3], [0.4, 0.6]])
EMITS = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
SEEN = np.array([0, 1, 2])  # normal, cold, dizzy


@tj.jit
def viterbi(start, moves, emits, seen):
    """The most probable states behind `seen`, and the logarithm of their probability with it; all
    probabilities are logarithms."""
    steps, states = len(seen), len(start)
    best = np.zeros((steps, states))
    origin = np.zeros((steps, states), np.int64)
    for s in range(states):
        best[0, s] = start[s] + emits[s, seen[0]]
    for t in range(1, steps):
        for s in range(states):
            most, where = -math.inf, 0
            for r in range(states):
                value = best[t - 1, r] + moves[r, s]
                if value > most:
                    most, where = value, r
            best[t, s] = most + emits[s, seen[t]]
            origin[t, s] = where
    path = np.zeros(steps, np.int64)
    for s in range(states):
        if best[steps - 1, s] > best[steps - 1, path[steps - 1]]:
            path[steps - 1] = s
    for t in range(steps - 1, 0, -1):
        path[t - 1] = origin[t, path[t]]
    return path, best[steps - 1, path[steps - 1]]


def log_likelihood(start, moves, emits, seen):
    """The logarithm of the probability of `seen`, by the forward algorithm with scaling."""
    states = len(start)
    forward = np.exp(start + emits[:, seen[0]])
    total = 0.0
    for t in range(1, len(seen)):
        scale = forward.sum()
        total += math.log(scale)
        following = np.zeros(states)
        for s in range(states):
            reached = 0.0
            for r in range(states):
                reached += forward[r] / scale * math.exp(moves[r, s])
            following[s] = reached * math.exp(emits[s, seen[t]])
        forward = following
    return total + math.log(forward.sum())


def main():
    logs = np.log(START), np.log(MOVES), np.log(EMITS)
    path, value = viterbi(*logs, SEEN)
    print(f"most probable: {[['healthy', 'fever'][s] for s in np.asarray(path)]}, {math.exp(value):.5f}")
    assert np.asarray(path).tolist() == [0, 0, 1]
    assert math.isclose(math.exp(value), 0.01512)
    assert math.isclose(math.exp(tj.jit(log_likelihood)(*logs, SEEN)), 0.03628)

    rng = np.random.default_rng(0)
    states, kinds, steps = 12, 30, 400
    start = np.full(states, 1 / states)
    moves, emits = rng.dirichlet(np.full(states, 0.2), states), rng.dirichlet(np.full(kinds, 0.1), states)
    hidden, seen = np.zeros(steps, int), np.zeros(steps, int)
    hidden[0] = rng.choice(states, p=start)
    for t in range(steps):
        if t:
            hidden[t] = rng.choice(states, p=moves[hidden[t - 1]])
        seen[t] = rng.choice(kinds, p=emits[hidden[t]])
    logs = [np.log(array + 1e-12) for array in (start, moves, emits)]
    path, _ = viterbi(*logs, seen)
    right = np.mean(np.asarray(path) == hidden)
    print(f"of {steps} states {right:.0%} are found")
    assert right > 0.6

    gradient = tj.jit(tj.grad(log_likelihood, argnums=(0, 1, 2)))
    at_start, moved, emitted = map(np.asarray, gradient(*logs, seen))
    assert math.isclose(at_start.sum(), 1.0, rel_tol=1e-9)
    assert math.isclose(moved.sum(), steps - 1, rel_tol=1e-9)
    assert np.allclose(emitted.sum(0), np.bincount(seen, minlength=kinds)), "each symbol as often as seen"
    expected = emitted.sum(1)
    actual = np.bincount(hidden, minlength=states)
    print(f"expected visits of states, by the gradient: {expected[:4].round(1)}, true: {actual[:4]}")
    assert np.corrcoef(expected, actual)[0, 1] > 0.9


if __name__ == "__main__":
    main()
