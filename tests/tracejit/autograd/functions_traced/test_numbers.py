"""``tj.autograd.Function`` eagerly, under jit, and in every nesting of grad and jit: the same numbers."""

from __future__ import annotations

import tracejit as tj

from .common import agrees, function, grad, jit, save_and, square, times_saved


def test_saved_input():
    agrees(square, [0.36, 1.96], [1.2, 2.8], [2.0, 2.0])


def test_saved_output():
    def forward(ctx, x):
        y = tj.exp(x)
        ctx.save_for_backward(y)
        return y

    e = [1.8221188003905089, 4.0551999668446745]
    agrees(function(forward, times_saved(lambda y: y)), e, e, e)


def test_saved_none_among_tensors():
    def forward(ctx, x):
        ctx.save_for_backward(None, x)
        return x * 2

    def backward(ctx, ct):
        nothing, x = ctx.saved_tensors
        assert nothing is None
        return x * ct

    agrees(function(forward, backward), [1.2, 2.8], [0.6, 1.4], [1.0, 1.0])


def test_attributes_of_ctx_are_constants_of_forward():
    """Values that forward computed have no gradient, since it is not recorded, as in PyTorch."""

    def forward(ctx, x):
        ctx.squared, ctx.factor = x * x, 3
        return ctx.squared * x

    agrees(
        function(forward, lambda ctx, ct: ctx.factor * ctx.squared * ct),
        [0.216, 2.744],
        [1.08, 5.88],
        [0.0, 0.0],
    )


def test_setup_context():
    def setup_context(ctx, inputs, output):
        x, n = inputs
        ctx.save_for_backward(x)
        ctx.n = n
        assert output.shape == x.shape

    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return ct * ctx.n * x ** (ctx.n - 1), None

    power = function(lambda x, n: x**n, backward, setup_context=setup_context)
    agrees(lambda x: power(x, 3), [0.216, 2.744], [1.08, 5.88], [3.6, 8.4])


def test_functions_that_call_functions():
    def backward(ctx, ct):
        return 3 * square(ctx.saved_tensors[0]) * ct

    cube = function(save_and(lambda x: square(x) * x), backward)
    agrees(cube, [0.216, 2.744], [1.08, 5.88], [3.6, 8.4])


def test_jitted_functions_inside():
    squared = jit(lambda x: x * x)
    cube = function(save_and(lambda x: squared(x) * x), times_saved(lambda x: 3 * squared(x)))
    agrees(cube, [0.216, 2.744], [1.08, 5.88], [3.6, 8.4])


def test_the_same_argument_twice():
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx, ct):
        x, y = ctx.saved_tensors
        return ct * y, ct * x

    product = function(forward, backward)
    agrees(lambda x: product(x, x), [0.36, 1.96], [1.2, 2.8], [2.0, 2.0])


def test_the_input_returned():
    reverse = function(lambda ctx, x: x, lambda ctx, ct: -ct)
    agrees(lambda x: reverse(x) * x, [0.36, 1.96], [0.0, 0.0], [-2.0, -2.0])


def test_gradient_of_another_function_in_backward():
    def backward(ctx, ct):
        return grad(lambda y: (y**3).sum())(ctx.saved_tensors[0]) * ct

    agrees(function(save_and(lambda x: x**3), backward), [0.216, 2.744], [1.08, 5.88], [3.6, 8.4])


# -- three-liners ---------------------------------------------------------------------------------


def test_straight_through_estimator():
    rounded = function(lambda ctx, x: tj.round(x), lambda ctx, ct: ct)
    agrees(lambda x: rounded(x) ** 2, [1.0, 1.0], [2.0, 2.0], [2.0, 2.0])


def test_gradient_reversal():
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.copy()

    reverse = function(forward, lambda ctx, ct: (-ctx.scale * ct, None))
    agrees(lambda x: reverse(x, 2.0) ** 2, [0.36, 1.96], [-2.4, -5.6], [8.0, 8.0])


def test_gradient_clipping():
    clipped = function(lambda ctx, x: x.copy(), lambda ctx, ct: tj.clip(ct, -1, 2))
    agrees(lambda x: clipped(x) ** 2, [0.36, 1.96], [1.2, 2.0], [2.0, 0.0])
