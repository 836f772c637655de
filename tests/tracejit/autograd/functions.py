"""Functions with a backward of their own, for tests of what they go through."""

from __future__ import annotations

import tracejit as tj


class Cube(tj.autograd.Function):
    """``x * x * x``; it saves `x`, and its backward can be differentiated."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return 3 * x * x * ct
