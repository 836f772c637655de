"""``tj.autograd.Function`` eagerly, under jit, and in every nesting of grad and jit: the same numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit.cli import main
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify
from tracejit.jit import JitFunction

Function = tj.autograd.Function
grad, jit = tj.grad, tj.jit
V = (0.6, 1.4)


def function(forward, backward, name="Custom", **more):
    """``apply`` of a Function of these static methods."""
    members = {"forward": forward, "backward": backward, **more}
    return type(name, (Function,), {key: staticmethod(one) for key, one in members.items()}).apply


def save_and(compute):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return compute(x)

    return forward


def times_saved(derivative):
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return derivative(x) * ct

    return backward


square = function(save_and(lambda x: x * x), times_saved(lambda x: 2 * x), "Square")


def undisturbed(f):
    """`f` without compilation."""

    def wrapped(x):
        with tj.disable_jit():
            return f(x)

    return wrapped


def second(f):
    return grad(lambda x: grad(f)(x).sum())


#: The ways to a first gradient, and to a second one, of a scalar function.
FIRST = {
    "grad": grad,
    "jit(grad)": lambda f: jit(grad(f)),
    "grad(jit)": lambda f: grad(jit(f)),
    "jit(grad(jit))": lambda f: jit(grad(jit(f))),
    "disabled": lambda f: undisturbed(jit(grad(f))),
}
SECOND = {
    "grad(grad)": second,
    "jit(grad(grad))": lambda f: jit(second(f)),
    "grad(jit(grad))": lambda f: grad(jit(lambda x: grad(f)(x).sum())),
    "grad(grad(jit))": lambda f: second(jit(f)),
    "jit all over": lambda f: jit(grad(jit(lambda x: jit(grad(jit(f)))(x).sum()))),
}


def agrees(f, value, first, second_order, x=V):
    """`f` of a vector has these values, gradients of its sum and of the gradient's sum, however it is run."""

    def total(x):
        return f(x).sum()

    given = tj.tensor(x)
    for run in (f, jit(f)):
        np.testing.assert_allclose(run(given).numpy(), value, rtol=1e-14)
        leaf = tj.tensor(x, requires_grad=True)
        run(leaf).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), first, rtol=1e-14)
        again = tj.tensor(x, requires_grad=True)
        (g,) = tj.autograd.grad(run(again).sum(), [again], create_graph=True)
        np.testing.assert_allclose(g.detach().numpy(), first, rtol=1e-14)
        if g.requires_grad:
            (gg,) = tj.autograd.grad(g.sum(), [again], allow_unused=True)
            np.testing.assert_allclose(np.zeros(2) if gg is None else gg.numpy(), second_order, atol=1e-14)
    for name, way in FIRST.items():
        np.testing.assert_allclose(way(total)(given).numpy(), first, rtol=1e-14, err_msg=name)
    for name, way in SECOND.items():
        np.testing.assert_allclose(way(total)(given).numpy(), second_order, rtol=1e-14, err_msg=name)


# -- the same numbers everywhere ------------------------------------------------------------------


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
    """As PyTorch's: forward is not recorded, so what it computed has no gradient."""

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


# -- several outputs, other values ----------------------------------------------------------------


def double_and_square(ctx, x):
    ctx.save_for_backward(x)
    return x * 2, x * x


def test_unused_outputs_get_zeros():
    def backward(ctx, a, b):
        return 2 * a + 2 * ctx.saved_tensors[0] * b

    both = function(double_and_square, backward)
    agrees(lambda x: both(x)[0], [1.2, 2.8], [2.0, 2.0], [0.0, 0.0])
    agrees(lambda x: both(x)[1], [0.36, 1.96], [1.2, 2.8], [2.0, 2.0])
    agrees(lambda x: both(x)[0] + both(x)[1], [1.56, 4.76], [3.2, 4.8], [2.0, 2.0])


def test_unused_outputs_get_none_where_asked():
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return double_and_square(ctx, x)

    def backward(ctx, a, b):
        parts = [] if a is None else [2 * a]
        parts += [] if b is None else [2 * ctx.saved_tensors[0] * b]
        return sum(parts)

    both = function(forward, backward)
    agrees(lambda x: both(x)[1], [0.36, 1.96], [1.2, 2.8], [2.0, 2.0])
    agrees(lambda x: sum(both(x)), [1.56, 4.76], [3.2, 4.8], [2.0, 2.0])


def test_mark_non_differentiable():
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx, a, b):
        assert b.shape == a.shape
        return 2 * a + 100 * b

    f = function(forward, backward)
    agrees(lambda x: f(x)[0] * x + f(x)[1] * x, [1.8, 9.8], [4.2, 9.8], [4.0, 4.0])
    a, b = f(tj.tensor(V, requires_grad=True))
    assert (a.requires_grad, b.requires_grad) == (True, False)


def test_integer_inputs_and_outputs():
    """Backward gets zeros for the integer output, of its dtype."""
    seen = []

    def forward(ctx, x, i):
        ctx.save_for_backward(i)
        return x[i], i + 1

    def backward(ctx, ct, of_integers):
        seen.append((of_integers.dtype, of_integers.shape))
        (i,) = ctx.saved_tensors
        return (tj.arange(2)[:, None] == i[None, :]).astype(tj.float64) @ ct, None

    take, which = function(forward, backward), tj.tensor([1, 1, 0])
    x = tj.tensor(V)
    assert jit(take)(x, which)[1].tolist() == take(x, which)[1].tolist() == [2, 2, 1]
    agrees(lambda x: take(x, which)[0] ** 2, [1.96, 1.96, 0.36], [1.2, 5.6], [2.0, 4.0])
    assert set(seen) == {(np.dtype(np.int64), (3,))}


def test_arguments_and_results_of_other_kinds():
    def forward(ctx, x, name, flag, n=2):
        assert name == "sum"
        assert flag is True
        ctx.n = n
        return x * n, name, None, 3

    f = function(forward, lambda ctx, ct, *others: (ct * ctx.n, None, None, None))

    def used(x):
        y, name, nothing, three = f(x, "sum", True, 5)
        assert (name, nothing, three) == ("sum", None, 3)
        return y

    agrees(used, [3.0, 7.0], [5.0, 5.0], [0.0, 0.0])


def test_python_numbers_of_a_jitted_function():
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    scale = function(forward, lambda ctx, ct: (ct * ctx.k, None))
    f = jit(grad(lambda x, k: scale(x, k).sum()))
    assert f(tj.ones(2), 3).tolist() == [3.0, 3.0]
    assert f(tj.ones(2), 3.5).tolist() == [3.5, 3.5]


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda *args: tj.checkpoint(f, *args)])
def test_python_numbers_adopt_the_dtype_of_what_they_meet(wrap):
    scale = wrap(function(lambda ctx, x, k: x * k, lambda ctx, ct: (ct, None)))
    x = tj.ones(2, dtype=tj.float32)
    for run in (scale, jit(scale)):
        assert run(x, 2.5).dtype == np.float32
        assert run(tj.ones(2, dtype=tj.int8), 3).dtype == np.int8
        with pytest.raises(tj.TracejitError, match=r"300.*int8|int8.*300|-128"):
            run(tj.ones(2, dtype=tj.int8), 300)


def test_value_and_grad_of_pytrees_with_aux():
    def loss(p):
        y = square(p["a"]) * p["b"][0]
        return y.sum(), {"y": y, "at": tj.argmax(y)}

    p = {"a": tj.tensor([1.0, 2.0]), "b": [tj.tensor(3.0)]}
    for way in (tj.value_and_grad(loss, has_aux=True), jit(tj.value_and_grad(loss, has_aux=True))):
        (value, aux), g = way(p)
        assert (value.item(), aux["y"].tolist(), aux["at"].item()) == (15.0, [3.0, 12.0], 1)
        assert (g["a"].tolist(), g["b"][0].item()) == ([6.0, 12.0], 5.0)


def test_gradients_are_summed_and_cast_to_their_argument():
    def backward(ctx, ct):
        return ct.astype(tj.float64), ct.astype(tj.float64)

    add = function(lambda ctx, x, y: x + y, backward)
    x, y = tj.ones(3, dtype=tj.float32), tj.ones((2, 3), dtype=tj.float32)
    for way in (grad, FIRST["jit(grad)"]):
        f = way(lambda x: add(x, y).sum())
        assert (f(x).tolist(), f(x).dtype) == ([2.0, 2.0, 2.0], np.float32)


def test_needs_input_grad():
    """Eagerly it is what backward needs; under a trace each floating argument may be differentiated later."""
    seen = []

    def backward(ctx, ct):
        seen.append(ctx.needs_input_grad)
        return ct, ct, None

    f = function(lambda ctx, x, y, k: x + y * k, backward)
    x, y = tj.tensor(1.0, requires_grad=True), tj.tensor(2.0)
    f(x, y, 3).backward()
    jit(lambda x, y: f(x, y, 3))(x, y).backward()
    assert seen == [(True, False, False), (True, True, False)]
    assert x.grad.item() == 2.0
    assert y.grad is None


def test_random_numbers_in_forward_and_backward():
    def forward(ctx, x):
        ctx.mask = (tj.random.rand(6) > 0.5) * 1.0
        return x * ctx.mask

    f = function(forward, lambda ctx, ct: ctx.mask * ct * (1 + tj.random.rand(6)))
    found = []
    for way in FIRST.values():
        tj.random.seed(3)
        found.append(way(lambda x: f(x).sum())(tj.ones(6)).tolist())
    assert all(one == found[0] for one in found)
    assert 0 < np.count_nonzero(found[0]) < 6
    assert max(found[0]) < 2


# -- closed-over tensors --------------------------------------------------------------------------

RATE = tj.tensor(2.0)


class Rated(Function):
    """x times a global, which it also saves."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(RATE)
        return x * RATE

    @staticmethod
    def backward(ctx, ct):
        (rate,) = ctx.saved_tensors
        return rate * ct


@pytest.mark.parametrize("f", [Rated.apply, lambda x: Rated.apply(x)], ids=["apply", "lambda"])
@pytest.mark.parametrize("way", FIRST)
def test_closed_over_tensors_are_read_afresh(f, way, monkeypatch):
    f, compiled = FIRST[way](f), jit(f)
    x = tj.tensor(3.0)
    assert (f(x).item(), compiled(x).item()) == (2.0, 6.0)
    monkeypatch.setattr(sys.modules[__name__], "RATE", tj.tensor(5.0))
    assert (f(x).item(), compiled(x).item()) == (5.0, 15.0)


def test_what_is_captured_while_it_is_traced_is_not_packed(monkeypatch):
    f = jit(grad(lambda x: Rated.apply(x)))
    with tj.autograd.graph.save_on_cpu():
        assert f(tj.tensor(3.0)).item() == 2.0
    monkeypatch.setattr(sys.modules[__name__], "RATE", tj.tensor(5.0))
    assert f(tj.tensor(3.0)).item() == 5.0


class Model:
    """No Function: a class method of the user's own."""

    @classmethod
    def run(cls, x):
        return x * RATE


def test_class_methods_read_globals_afresh(monkeypatch):
    f = jit(Model.run)
    assert f(tj.tensor(3.0)).item() == 6.0
    monkeypatch.setattr(sys.modules[__name__], "RATE", tj.tensor(5.0))
    assert f(tj.tensor(3.0)).item() == 15.0


def test_closed_over_tensors_that_require_grad():
    """Nothing of forward is recorded, so only backward's use of them can be differentiated."""
    w = tj.tensor(2.0, requires_grad=True)
    scaled = function(lambda ctx, x: x * w, lambda ctx, ct: w * w * ct)
    for f in (scaled, jit(scaled)):
        x = tj.tensor(3.0, requires_grad=True)
        y = f(x)
        assert y.item() == 6.0
        (g,) = tj.autograd.grad(y, [x], create_graph=True)
        assert g.item() == 4.0
        assert tj.autograd.grad(g, [w])[0].item() == 4.0


# -- in place -------------------------------------------------------------------------------------


def test_mark_dirty():
    def forward(ctx, x):
        x *= 3
        ctx.mark_dirty(x)
        return x

    triple = function(forward, lambda ctx, ct: 3 * ct)

    def f(x):
        y = x * 1.0
        z = triple(y)
        assert z is y
        return y * z

    agrees(f, [3.24, 17.64], [10.8, 25.2], [18.0, 18.0])


def test_a_write_that_is_not_declared_is_an_error_under_jit():
    def forward(ctx, x, y):
        y *= 3
        return x * y

    f = function(forward, lambda ctx, ct: (ct, ct), "Sly")
    with pytest.raises(tj.GradientError, match=r"Sly: forward writes argument 1 in place.*mark_dirty"):
        jit(lambda x: f(x, x * 1.0))(tj.ones(2))


# -- errors ---------------------------------------------------------------------------------------


def test_a_backward_of_numpy_is_an_error_only_where_it_is_differentiated_under_jit():
    f = function(lambda ctx, x: x * 2, lambda ctx, ct: tj.tensor(np.multiply(ct.numpy(), 2.0)), "Host")
    x = tj.tensor(3.0)
    assert (grad(f)(x).item(), jit(f)(x).item()) == (2.0, 6.0)
    for way in ("jit(grad)", "grad(jit)"):
        with pytest.raises(tj.GradientError, match=r"backward of Host cannot be traced.*numpy\(\)"):
            FIRST[way](f)(x)


def test_a_backward_that_raises_is_an_error_only_where_it_is_differentiated():
    def backward(ctx, ct):
        raise NotImplementedError("some day")

    f = function(lambda ctx, x: x * 2, backward, "Unfinished")
    x = tj.tensor(3.0)
    assert (f(x).item(), jit(f)(x).item()) == (6.0, 6.0)
    with pytest.raises(NotImplementedError, match="some day"):
        grad(f)(x)
    for way in ("jit(grad)", "grad(jit)"):
        with pytest.raises(tj.GradientError, match=r"Unfinished raised NotImplementedError.*some day"):
            FIRST[way](f)(x)


def test_a_missing_backward():
    class Only(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    assert jit(Only.apply)(tj.tensor(3.0)).item() == 6.0
    for way in FIRST.values():
        with pytest.raises(tj.GradientError, match="backward"):
            way(Only.apply)(tj.tensor(3.0))


WRONG = [
    (lambda ctx, ct: (ct, ct, ct), tj.GradientError, "expected 2, one per argument of forward, got 3"),
    (lambda ctx, ct: ct, tj.GradientError, "expected 2, one per argument of forward, got 1"),
    (lambda ctx, ct: (tj.ones(4), None), tj.ShapeError, r"index 0: got shape \(4,\).*\(3,\)"),
    (lambda ctx, ct: (2.0, None), tj.GradientError, "expected a tensor or None as gradient 0, got float"),
    (lambda ctx, ct: (ct, ct), tj.GradientError, "position 1, but that argument of forward was no tensor"),
]


@pytest.mark.parametrize("way", FIRST)
@pytest.mark.parametrize(("backward", "error", "message"), WRONG)
def test_wrong_gradients(way, backward, error, message):
    f = function(lambda ctx, x, k: x * k, backward, "Wrong")
    with pytest.raises(error, match=f"function WrongBackward.*{message}"):
        FIRST[way](lambda x: f(x, 2).sum())(tj.ones(3))


@pytest.mark.parametrize("way", SECOND)
def test_once_differentiable(way):
    once = function(
        save_and(lambda x: x * x),
        tj.autograd.once_differentiable(times_saved(lambda x: 2 * x)),
        "Once",
    )
    for first in FIRST.values():
        assert first(once)(tj.tensor(3.0)).item() == 6.0
    with pytest.raises(tj.GradientError, match=r"twice.*once_differentiable"):
        SECOND[way](once)(tj.tensor(3.0))


def test_tensors_in_a_list_are_an_error():
    f = function(lambda ctx, x: [x * 2], lambda ctx, ct: ct, "Listed")
    for way in (f, jit(lambda x: f(x)[0])):
        with pytest.raises(tj.GradientError, match=r"Listed: forward must return.*got a list"):
            way(tj.tensor(1.0, requires_grad=True))


def test_numpy_in_forward_is_an_error_under_jit():
    f = function(lambda ctx, x: tj.tensor(np.sin(x.numpy())), lambda ctx, ct: ct)
    assert f(tj.tensor(0.0)).item() == 0.0
    with pytest.raises(tj.ConcretizationError, match=r"numpy\(\)"):
        jit(f)(tj.tensor(0.0))


# -- looking inside -------------------------------------------------------------------------------

TRACED = """\
func @squared(%x: f64[2]) -> f64[2] {
  %0: f64[2] = custom_vjp(%x) {name="Square", outputs=1, wrt=[0]} @Square(%x0: f64[2]) -> f64[2] {
    %0: f64[2] = mul(%x0, %x0)
    return %0
  } @Square_backward(%x0: f64[2], %y0: f64[2], %ct0: f64[2]) -> f64[2] {
    %0: f64[]  = full() {value=2.0, shape=[], dtype=f64}
    %1: f64[2] = broadcast(%0) {shape=[2]}
    %2: f64[2] = mul(%1, %x0)
    %3: f64[2] = mul(%2, %ct0)
    return %3
  }
  return %0
}"""


def squared(x):
    return square(x)


def test_printing_parsing_and_verifying():
    traced = tj.trace(squared, tj.ones(2))
    verify(traced)
    text = "\n".join(line.split("#")[0].rstrip() for line in str(traced).splitlines())
    assert text == TRACED
    parsed = parse_function(text)
    verify(parsed)
    assert str(parsed) == TRACED


def test_dump(tmp_path, capsys):
    (tmp_path / "user.py").write_text(
        "import tracejit as tj\n"
        "class Twice(tj.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, ct):\n"
        "        return ct * 2\n"
        "def f(x):\n"
        "    return Twice.apply(x)\n"
    )
    for stage, words in (
        ("trace", ["custom_vjp", "@Twice_backward", "user.py:5", "user.py:8"]),
        ("llvm", ["fmul"]),
    ):
        assert main(["dump", f"{tmp_path / 'user.py'}:f", "--arg", "f64[3]", "--stage", stage]) == 0
        text = capsys.readouterr().out
        assert [word for word in words if word not in text] == []


def test_explain():
    f = jit(squared)
    f(tj.ones(2))
    assert isinstance(f, JitFunction)
    assert "everything is native code" in f.explain()
    assert "mul" in f.lower(tj.ones(2)).as_text("loops")
