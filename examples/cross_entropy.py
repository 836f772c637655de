"""Softmax cross-entropy and its gradient: the function that docs/tour.md follows to machine code.

Shows: `tj.stop_gradient`, `tj.value_and_grad` under `tj.jit`, and `tracejit dump` on the function.
"""

import math

import tracejit as tj


def cross_entropy(logits, labels):
    """The mean over the rows of -log(softmax(logits)[label])."""
    highest = tj.stop_gradient(logits.max(axis=1, keepdims=True))
    shifted = logits - highest  # the same softmax, and exp does not overflow
    log_total = tj.log(tj.exp(shifted).sum(axis=1))
    is_label = labels[:, None] == tj.arange(logits.shape[1], dtype=labels.dtype)
    return (log_total - tj.where(is_label, shifted, 0.0).sum(axis=1)).mean()


if __name__ == "__main__":
    step = tj.jit(tj.value_and_grad(cross_entropy))
    value, gradient = step(tj.zeros((64, 16)), tj.arange(64) % 16)
    assert math.isclose(float(value), math.log(16), rel_tol=1e-6)  # every class is as likely
    assert float(abs(gradient.sum(axis=1)).max()) < 1e-7  # probabilities minus the truth
    print(f"loss {float(value):.4f}, gradient of shape {gradient.shape}")
