"""Train a neural network whose whole update step is one compiled function.

Shows: parameters and optimiser state as dictionaries, ``tj.value_and_grad`` inside ``tj.jit``, integer labels
picked out with ``take_along_axis``. ``tracejit demo`` is the long form, with the eager loop beside it.
"""

import numpy as np

import tracejit as tj
from tracejit.tools.demo import load_digits

EPOCHS, BATCH, RATE, MOMENTUM = 20, 32, 0.1, 0.9


def logits(weights, images):
    hidden = tj.maximum(images @ weights["w1"] + weights["b1"], 0)
    return hidden @ weights["w2"] + weights["b2"]


def cross_entropy(weights, images, labels):
    scores = logits(weights, images)
    right = tj.take_along_axis(scores, labels[:, None], axis=1)
    return tj.mean(tj.logsumexp(scores, axis=1, keepdims=True) - right)


@tj.jit
def update(weights, velocity, images, labels):
    """Stochastic gradient descent with momentum."""
    loss, gradient = tj.value_and_grad(cross_entropy)(weights, images, labels)
    velocity = tj.tree_map(lambda v, g: MOMENTUM * v - RATE * g, velocity, gradient)
    return loss, tj.tree_map(lambda w, v: w + v, weights, velocity), velocity


def main():
    training, held_out = load_digits()
    rng = np.random.default_rng(0)
    weights = {
        "w1": tj.tensor(rng.normal(scale=np.sqrt(2 / 64), size=(64, 64))),
        "b1": tj.zeros(64),
        "w2": tj.tensor(rng.normal(scale=np.sqrt(2 / 64), size=(64, 10))),
        "b2": tj.zeros(10),
    }
    velocity = tj.tree_map(tj.zeros_like, weights)

    for epoch in range(EPOCHS):
        order = rng.permutation(len(training))
        total, steps = 0.0, len(order) // BATCH
        for rows in order[: steps * BATCH].reshape(steps, BATCH):
            loss, weights, velocity = update(weights, velocity, training.images[rows], training.labels[rows])
            total += loss.item()
        print(f"epoch {epoch + 1:2}  loss {total / steps:.4f}")

    predicted = tj.argmax(logits(weights, held_out.images), axis=1)
    accuracy = float(tj.mean(predicted == held_out.labels))
    print(f"accuracy on {len(held_out)} held-out digits: {accuracy:.1%}")
    assert accuracy >= 0.95


if __name__ == "__main__":
    main()
