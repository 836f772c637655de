"""Train weights that are rounded to whole numbers, with a straight-through estimator put over rounding.

Shows: another gradient for an op that tracejit has. ``tj.round`` computes with the op ``rint``, whose
gradient is zero; registered over it, the identity lets gradients through, in compiled code, too.
"""

import numpy as np

import tracejit as tj

rng = np.random.default_rng(0)
TRUE = np.array([3.0, -2.0, 0.0, 5.0])
x = tj.tensor(rng.standard_normal((200, 4)))
y = tj.tensor(np.asarray(x) @ TRUE)


@tj.jit
@tj.value_and_grad
def loss(weights):
    """The mean squared error of predictions with rounded weights."""
    return tj.mean((x @ tj.round(weights) - y) ** 2)


def train():
    """Gradient descent from zero."""
    weights = tj.zeros(4)
    for _ in range(100):
        value, gradient = loss(weights)
        weights = weights - 0.05 * gradient
    return value.item(), tj.round(weights)


before, _ = train()
tj.register_gradient("rint", lambda ct: ct, override=True)  # compiled functions notice
after, weights = train()
print(f"loss with the gradient of round {before:.3f}, straight through {after:.3f}: {weights.tolist()}")
assert before > 30
assert after < 1e-20
assert weights.tolist() == TRUE.tolist()
