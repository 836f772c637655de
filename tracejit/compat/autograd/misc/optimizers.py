"""``autograd.misc.optimizers``: stochastic gradient descent, RMSprop and Adam over containers of arrays.

``grad(x, i)`` gives the gradient at step `i`; ``callback(x, i, gradient)`` is called at each step. A step is
a few operations on one vector. For optimizers inside a jitted function see `tj.optim`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.process.progress import with_progress
from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any]
#: Gives the change of the vector for the gradient of a step.
Step = Callable[[Any, int], Any]


def _descend(grad: Gradient, x0: Any, callback: Callback | None, num_iters: int, step: Step) -> Any:
    x, unflatten = flatten(x0)
    for i in with_progress(range(num_iters), "fit"):
        g = flatten(grad(unflatten(x), i))[0]
        if callback:
            callback(unflatten(x), i, unflatten(g))
        x = x - step(g, i)
    return unflatten(x)


def sgd(
    grad: Gradient,
    x0: Any,
    callback: Callback | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """`num_iters` steps of stochastic gradient descent with momentum.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.misc.optimizers import sgd
        >>> sgd(lambda x, i: 2 * x, np.array([1.0]), num_iters=1)
        array([0.98])

    Semantics: ``autograd.misc.optimizers.sgd``.
    """
    velocity: Any = 0.0

    def step(g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return -step_size * velocity

    return _descend(grad, x0, callback, num_iters, step)


def rmsprop(
    grad: Gradient,
    x0: Any,
    callback: Callback | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """`num_iters` steps of RMSprop (Hinton, Coursera lecture 6e).

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.misc.optimizers import rmsprop
        >>> rmsprop(lambda x, i: 2 * x, np.array([1.0]), num_iters=1).round(4)
        array([0.8246])

    Semantics: ``autograd.misc.optimizers.rmsprop``.
    """
    mean_square: Any = 1.0

    def step(g: Any, i: int) -> Any:
        nonlocal mean_square
        mean_square = mean_square * gamma + g**2 * (1 - gamma)
        return step_size * g / (np.sqrt(mean_square) + eps)

    return _descend(grad, x0, callback, num_iters, step)


def adam(
    grad: Gradient,
    x0: Any,
    callback: Callback | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """`num_iters` steps of Adam (Kingma and Ba, arXiv:1412.6980).

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.misc.optimizers import adam
        >>> adam(lambda x, i: 2 * x, np.array([1.0]), num_iters=10, step_size=0.1).round(4)
        array([0.0762])

    Semantics: ``autograd.misc.optimizers.adam``.
    """
    mean: Any = 0.0
    mean_square: Any = 0.0

    def step(g: Any, i: int) -> Any:
        nonlocal mean, mean_square
        mean = (1 - b1) * g + b1 * mean
        mean_square = (1 - b2) * g**2 + b2 * mean_square
        unbiased = mean_square / (1 - b2 ** (i + 1))
        return step_size * (mean / (1 - b1 ** (i + 1))) / (np.sqrt(unbiased) + eps)

    return _descend(grad, x0, callback, num_iters, step)
