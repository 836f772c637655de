"""``autograd.Function``: as in PyTorch, with its numbers."""

from __future__ import annotations

import tracejit as tj

from ..autograd.functions import Cube
from .common import leaf, refuses, values


def function(forward, backward):
    """A Function of two static methods."""
    return type(
        "Custom",
        (tj.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


def test_function():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x)
    assert values(y) == [1, 8]
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert values(x.grad) == [3, 12]


def test_function_forward_is_not_recorded():
    seen = []

    def forward(ctx, x):
        y = x * 2
        seen.append((tj.is_grad_enabled(), y.requires_grad))
        return y

    function(forward, lambda ctx, g: g * 5).apply(leaf(1.0)).sum().backward()
    assert seen == [(False, False)]


def test_function_backward_is_recorded_only_with_create_graph():
    seen = []

    def backward(ctx, g):
        seen.append(tj.is_grad_enabled())
        return g * 2

    double = function(lambda ctx, x: x * 2, backward)
    x = leaf(1.0)
    double.apply(x).sum().backward()
    tj.autograd.grad(double.apply(x).sum(), x, create_graph=True)
    assert seen == [False, True]


def test_function_twice_differentiated_through_saved_tensors():
    x = leaf(2.0)
    (g,) = tj.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (h,) = tj.autograd.grad(g.sum(), x, create_graph=True)
    assert values(h) == [12]
    assert values(tj.autograd.grad(h.sum(), x)[0]) == [6]


def test_function_that_saves_its_output():
    def forward(ctx, x):
        y = tj.exp(x)
        ctx.save_for_backward(y)
        return y

    exp = function(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(0.0)
    (g,) = tj.autograd.grad(exp.apply(x).sum(), x, create_graph=True)
    assert values(tj.autograd.grad(g.sum(), x)[0]) == [1]


def test_function_inside_no_grad():
    with tj.no_grad():
        y = Cube.apply(leaf(2.0))
    assert values(y) == [8]
    assert not y.requires_grad
    assert y.grad_fn is None


def test_function_of_constants():
    y = Cube.apply(tj.tensor([2.0]))
    assert not y.requires_grad


def test_function_with_several_results_gets_zeros_for_unused_ones():
    seen = []

    def backward(ctx, g, h):
        seen.append((values(g), values(h)))
        return g * 2 + h * 3

    both = function(lambda ctx, x: (x * 2, x * 3), backward)
    x = leaf(1.0, 1.0)
    first, _ = both.apply(x)
    first.sum().backward()
    assert seen == [([1, 1], [0, 0])]
    assert values(x.grad) == [2, 2]


def test_function_without_materialized_gradients():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, g, h):
        seen.append((g is None, h is None))
        return h * 3

    x = leaf(1.0)
    function(forward, backward).apply(x)[1].sum().backward()
    assert seen == [(True, False)]
    assert values(x.grad) == [3]


def test_function_needs_input_grad():
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    function(lambda ctx, x, y, k: x * k, backward).apply(leaf(1.0), tj.ones(1), 3).sum().backward()
    assert seen == [(True, False, False)]


def test_function_with_other_arguments_and_attributes():
    def forward(ctx, x, factor, name=None):
        ctx.factor = factor
        ctx.name = name
        return x * factor

    def backward(ctx, g):
        assert ctx.name == "name"
        return g * ctx.factor, None, None

    x = leaf(1.0)
    function(forward, backward).apply(x, 5, "name").sum().backward()
    assert values(x.grad) == [5]


def test_function_with_other_results():
    custom = function(lambda ctx, x: (x * 2, "text", 3), lambda ctx, g, *rest: g * 2)
    x = leaf(1.0)
    y, text, number = custom.apply(x)
    assert (text, number) == ("text", 3)
    y.sum().backward()
    assert values(x.grad) == [2]


def test_function_none_is_no_gradient():
    x, y = leaf(1.0), leaf(2.0)
    function(lambda ctx, x, y: x * y, lambda ctx, g: (g, None)).apply(x, y).sum().backward()
    assert values(x.grad) == [1]
    assert y.grad is None


def test_function_of_the_same_tensor_twice():
    x = leaf(1.0)
    function(lambda ctx, x, y: x + y, lambda ctx, g: (g * 2, g * 3)).apply(x, x).sum().backward()
    assert values(x.grad) == [5]


def test_function_with_a_wrong_number_of_gradients():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: (g, g))
    with refuses(tj.GradientError, "incorrect number of gradients", "expected 1", "got 2"):
        wrong.apply(leaf(1.0)).sum().backward()
    missing = function(lambda ctx, x, y: x * y, lambda ctx, g: g)
    with refuses(tj.GradientError, "incorrect number of gradients", "expected 2", "got 1"):
        missing.apply(leaf(1.0), leaf(1.0)).sum().backward()


def test_function_may_return_more_nones_than_inputs():
    x = leaf(1.0)
    function(lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None)).apply(x).sum().backward()
    assert values(x.grad) == [2]


def test_function_with_a_gradient_of_the_wrong_shape():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: tj.ones(3))
    with refuses((tj.GradientError, tj.ShapeError), "invalid gradient at index 0", "3", "2"):
        wrong.apply(leaf(1.0, 2.0)).sum().backward()


def test_function_whose_backward_returns_no_tensor():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: 2.0)
    with refuses((tj.GradientError, TypeError), "float"):
        wrong.apply(leaf(1.0)).sum().backward()


def test_function_without_backward():
    class Half(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    y = Half.apply(leaf(1.0)).sum()
    with refuses(tj.GradientError, "must define backward"):
        y.backward()


def test_function_that_returns_its_input():
    same = function(lambda ctx, x: x, lambda ctx, g: g * 7)
    x = leaf(1.0)
    y = same.apply(x)
    assert y is not x
    assert y.grad_fn.name() == "CustomBackward"
    assert x.is_leaf
    y.sum().backward()
    assert values(x.grad) == [7]


def test_function_that_writes_to_its_input():
    def forward(ctx, x):
        x.mul_(3.0)
        ctx.mark_dirty(x)
        return x

    triple = function(forward, lambda ctx, g: g * 3)
    x = leaf(1.0)
    y = x * 2
    z = triple.apply(y)
    assert z is y
    assert y.grad_fn.name() == "CustomBackward"
    y.sum().backward()
    assert values(x.grad) == [6]


def test_function_that_writes_to_a_view():
    def forward(ctx, x):
        x.mul_(3.0)
        ctx.mark_dirty(x)
        return x

    x = leaf(1.0, 2.0)
    y = x * 1
    function(forward, lambda ctx, g: g * 3).apply(y[0:1])
    assert values(y) == [3, 2]
    y.sum().backward()
    assert values(x.grad) == [3, 1]


def test_function_that_writes_to_a_leaf():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3.0)

    with refuses(tj.GradientError, "leaf"):
        function(forward, lambda ctx, g: g).apply(leaf(1.0))


def test_function_marks_results_as_non_differentiable():
    seen = []

    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    def backward(ctx, g, h):
        seen.append(values(h))
        return g * 2

    x = leaf(1.0)
    y, z = function(forward, backward).apply(x)
    assert y.requires_grad
    assert not z.requires_grad
    y.sum().backward()
    assert seen == [[0]]


def test_function_integer_results_do_not_require_grad():
    custom = function(lambda ctx, x: (x * 2, tj.tensor([1, 2])), lambda ctx, g, h: g)
    y, z = custom.apply(leaf(1.0))
    assert y.requires_grad
    assert not z.requires_grad


def test_function_once_differentiable():
    class Once(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @tj.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    Once.apply(x).sum().backward()
    assert values(x.grad) == [6]
    (g,) = tj.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    with refuses(tj.GradientError, "once_differentiable"):
        g.sum().backward()


def test_function_with_setup_context():
    class Scale(tj.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, factor = inputs
            ctx.save_for_backward(x, output)
            ctx.factor = factor

        @staticmethod
        def backward(ctx, g):
            _, output = ctx.saved_tensors
            assert values(output) == [10]
            return g * ctx.factor, None

    x = leaf(2.0)
    Scale.apply(x, 5.0).sum().backward()
    assert values(x.grad) == [5]


def test_function_saved_tensor_that_was_modified():
    x = leaf(1.0) * 1
    y = Cube.apply(x)
    x.add_(1.0)
    with refuses(tj.GradientError, "version 1", "expected version 0"):
        y.sum().backward()


def test_function_saved_tensors_are_freed():
    y = Cube.apply(leaf(1.0)).sum()
    y.backward()
    with refuses(tj.GradientError, "second time", "retain_graph=True"):
        y.backward()


def test_function_saves_tensors_and_none_only():
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 1

    def backward(ctx, g):
        assert ctx.saved_tensors[1] is None
        return g

    function(forward, backward).apply(leaf(1.0)).sum().backward()

    def wrong(ctx, x):
        ctx.save_for_backward(3.0)
        return x * 1

    with refuses((tj.GradientError, TypeError), "save_for_backward", "float"):
        function(wrong, backward).apply(leaf(1.0)).sum().backward()


def test_function_forward_may_differentiate_inside():
    def forward(ctx, x):
        with tj.enable_grad():
            own = x.detach().requires_grad_()
            (ctx.slope,) = tj.autograd.grad((own**3).sum(), own)
        return x * 1

    x = leaf(2.0)
    function(forward, lambda ctx, g: g * ctx.slope).apply(x).sum().backward()
    assert values(x.grad) == [12]


def test_function_with_saved_tensors_hooks():
    seen = []
    with tj.autograd.graph.saved_tensors_hooks(lambda t: seen.append("pack") or t, lambda t: t):
        y = Cube.apply(leaf(1.0))
    assert seen == ["pack"]
    y.sum().backward()


def test_function_is_checked_by_gradcheck():
    x = leaf(1.0, 2.0)
    assert tj.autograd.gradcheck(Cube.apply, (x,))
    assert tj.autograd.gradgradcheck(Cube.apply, (x,))
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: g * 3)
    with refuses(tj.autograd.GradcheckError, "Jacobian mismatch for output 0 with respect to input 0"):
        tj.autograd.gradcheck(wrong.apply, (x,))


def test_gradcheck_finds_a_backward_that_is_not_reentrant():
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return g * (2 + 1e-8 * len(calls))

    drifting = function(lambda ctx, x: x * 2, backward)
    with refuses(tj.autograd.GradcheckError, "not reentrant"):
        tj.autograd.gradcheck(drifting.apply, (leaf(1.0),))


def test_gradcheck_finds_a_backward_that_ignores_its_cotangent():
    wrong = function(lambda ctx, x: x.sum() * 2, lambda ctx, g: tj.ones(2) * 2)
    with refuses(tj.autograd.GradcheckError, "grad_output"):
        tj.autograd.gradcheck(wrong.apply, (leaf(1.0, 2.0),))
