"""Jitted functions and leaves that the tests of hooks and modes share."""

from __future__ import annotations

import tracejit as tj

grad, jit = tj.grad, tj.jit
graph = tj.autograd.graph

cubes = jit(lambda x: x * x * x)
total = jit(lambda x: (x * x * x).sum())
pair = jit(lambda x: (x * 2, x * 3))


def leaf(*numbers):
    return tj.tensor(list(numbers), requires_grad=True)


def tolist(gradients):
    return [None if gradient is None else gradient.tolist() for gradient in gradients]
