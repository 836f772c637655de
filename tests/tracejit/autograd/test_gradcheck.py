"""``gradcheck`` and ``gradgradcheck``: right gradients pass, each way of being wrong is found and named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracejit as tj
from tracejit.autograd import gradcheck_checks, gradcheck_jacobians
from tracejit.autograd.checking import GradcheckError, gradcheck, gradgradcheck

stop = tj.stop_gradient


def leaf(*numbers):
    return tj.tensor(list(numbers), requires_grad=True)


def half(x):
    """x squared, with half of its gradient."""
    return x * stop(x)


WAYS = [{}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_forward_ad": True, "fast_mode": True}]


# -- what passes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tj.exp(x) * x,
        lambda x: (x[:, None] * x).sum(axis=0),
        lambda x: x.sum(),
        lambda x: x[::-1] / (1 + x * x),
        lambda x: (x * x, tj.sin(x)),
        lambda x: [x * x, tj.sin(x).sum()],
        lambda x: (x * 2, x.argmax(), tj.ones(3)),
        lambda x: x[:0] * 2,
        lambda x: x,
        tj.jit(lambda x: tj.exp(x) * x),
    ],
)
def test_right_gradients_pass(function, way):
    assert gradcheck(function, (leaf(0.5, -1.5, 2.0),), **way) is True
    assert gradgradcheck(lambda x: tj.sin(x) * tj.exp(x), (leaf(0.5, -1.5),)) is True


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_inputs_of_every_kind(way):
    def function(x, scale, y, name, constant):
        assert name == "name"
        return scale * x @ y + constant.sum()

    x, y = tj.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True), leaf(1.0, -1.0, 0.5)
    assert gradcheck(function, (x, 2.0, y, "name", tj.ones(2)), **way)
    assert gradcheck(lambda x: x * x, tj.tensor(3.0, requires_grad=True), **way)
    assert gradcheck(lambda x: x * x, [leaf(1.0)], **way)
    assert gradcheck(lambda x: x * x, (tj.zeros((0, 2), requires_grad=True),), **way)


def test_inputs_are_left_as_they_were():
    x = leaf(1.0, 2.0)
    gradcheck(tj.exp, (x,))
    assert x.tolist() == [1, 2]
    assert x.grad is None
    (x * x).sum().backward()
    with pytest.raises(GradcheckError):
        gradcheck(half, (x,))
    assert x.tolist() == [1, 2]


def test_inputs_may_be_read_through_a_closure():
    w = leaf(2.0, 3.0)
    assert gradcheck(lambda _: w * w, (w,))
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0"):
        gradcheck(lambda _: half(w), (w,))


def test_strided_inputs():
    base = tj.tensor(np.arange(12.0).reshape(3, 4))
    x = base.detach()[::2, ::-1].detach().requires_grad_()
    assert gradcheck(lambda x: tj.sin(x).sum(axis=1), (x,))
    assert base.tolist() == np.arange(12.0).reshape(3, 4).tolist()


def test_non_leaf_inputs():
    x = leaf(1.0, 2.0)
    assert gradcheck(tj.exp, (x * 2,))


# -- what fails -----------------------------------------------------------------------------------


def test_a_wrong_gradient_shows_both_jacobians():
    with pytest.raises(GradcheckError) as failure:
        gradcheck(half, (leaf(1.0, 2.0),))
    text = str(failure.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:\n")
    assert "numerical:\n[[2. 0.]\n [0. 4.]]" in text
    assert "analytical:\n[[1. 0.]\n [0. 2.]]" in text


def test_the_failing_output_and_input_are_named():
    def function(x, k, y):
        return x * y, x.argmax(), x * half(y)

    # numbered among those that require grad, as PyTorch does
    with pytest.raises(GradcheckError, match="mismatch for output 1 with respect to input 1"):
        gradcheck(function, (leaf(1.0, 2.0), 5, leaf(3.0, 4.0)))


def test_rows_are_inputs_and_columns_are_outputs():
    with pytest.raises(GradcheckError) as failure:
        gradcheck(lambda x: stop(x)[0] * x.sum() * tj.tensor([1.0, 2.0, 3.0]), (leaf(1.0, 2.0),))
    assert "numerical:\n[[ 4.  8. 12.]\n [ 1.  2.  3.]]" in str(failure.value)
    assert "analytical:\n[[1. 2. 3.]\n [1. 2. 3.]]" in str(failure.value)


def test_fast_mode_shows_the_slow_jacobians():
    with pytest.raises(GradcheckError) as failure:
        gradcheck(half, (leaf(1.0, 2.0),), fast_mode=True)
    text = str(failure.value)
    assert "mismatch for output 0 with respect to input 0" in text
    assert "fast_mode" in text
    assert "numerical:\n[[2. 0.]\n [0. 4.]]" in text
    assert "largest difference of an entry is 2.0" in text
    assert "would have passed" not in text


def test_a_missing_gradient():
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 1"):
        gradcheck(lambda x, y: x * stop(y), (leaf(1.0), leaf(2.0)))
    with pytest.raises(GradcheckError, match="numerical gradient is expected to be zero, but output 0"):
        gradcheck(stop, (leaf(1.0),))
    assert gradcheck(lambda x: tj.tensor([3.0]), (leaf(1.0),))


def test_a_discontinuity():
    assert gradcheck(tj.floor, (leaf(0.5, 1.5),))
    with pytest.raises(GradcheckError, match="numerical"):
        gradcheck(tj.floor, (leaf(0.5, 1.0),))
    with pytest.raises(GradcheckError, match=r"numerical:\n\[\[0\.5\]\]\nanalytical:\n\[\[0\.\]\]"):
        gradcheck(lambda x: tj.where(x > 0, x, 0.0), (leaf(0.0),))


def test_without_raise_exception():
    assert gradcheck(half, (leaf(1.0),), raise_exception=False) is False
    assert gradgradcheck(lambda x: half(half(x)), (leaf(1.0),), raise_exception=False) is False


def test_a_function_that_changes_its_result():
    with pytest.raises(
        GradcheckError, match=r"output 0 .* f64\[2\], but f64\[1\] when input 0 is moved by 1e-06"
    ):
        gradcheck(lambda x: x[: 2 if float(x[0].detach()) == 1.0 else 1] * 2, (leaf(1.0, 2.0),))
    calls = []

    def more(x):
        calls.append(1)
        return (x * 2,) * len(calls)

    with pytest.raises(GradcheckError, match="returned 1 outputs, but 2 when input 0 is moved"):
        gradcheck(more, (leaf(1.0),))


def test_a_function_that_is_not_deterministic():
    rng = np.random.default_rng(0)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(lambda x: x * float(rng.uniform()), (leaf(1.0),))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_backward_that_is_not_reentrant(monkeypatch, fast_mode):
    calls = []
    real = gradcheck_jacobians.gradients

    def drifting(*args, **kwargs):
        calls.append(1)
        return tuple(gradient + 1e-9 * len(calls) for gradient in real(*args, **kwargs))

    monkeypatch.setattr(gradcheck_jacobians, "gradients", drifting)
    with pytest.raises(GradcheckError, match=r"not reentrant.*nondet_tol=0\.0, the largest difference is"):
        gradcheck(tj.exp, (leaf(1.0),), fast_mode=fast_mode)
    assert gradcheck(tj.exp, (leaf(1.0),), nondet_tol=1e-6, fast_mode=fast_mode)


def test_a_backward_that_ignores_its_cotangent(monkeypatch):
    real = gradcheck_checks.gradients

    def shifted(*args, **kwargs):
        return tuple(gradient + 1.0 for gradient in real(*args, **kwargs))

    monkeypatch.setattr(gradcheck_checks, "gradients", shifted)
    with pytest.raises(
        GradcheckError, match=r"not multiplied by grad_output: with zeros, input 0 gets tensor"
    ):
        gradcheck(tj.exp, (leaf(1.0),))


def test_undefined_gradients_count_as_zeros(monkeypatch):
    real = gradcheck_checks.gradients

    def confused(outputs, inputs, seeds, **kwargs):
        results = real(outputs, inputs, seeds, **kwargs)
        return tuple(gradient * len(outputs) for gradient in results)

    monkeypatch.setattr(gradcheck_checks, "gradients", confused)
    with pytest.raises(
        GradcheckError, match="undefined gradients of outputs as zeros: without one for output 0"
    ):
        gradcheck(lambda x: (x * x, tj.exp(x)), (leaf(1.0),))
    assert gradcheck(lambda x: (x * x, tj.exp(x)), (leaf(1.0),), check_undefined_grad=False)


def test_dtypes_of_gradients(monkeypatch):
    x = leaf(1.0, 2.0)
    assert gradcheck(tj.exp, (x,), check_grad_dtypes=True)
    real = gradcheck_checks.gradients
    monkeypatch.setattr(
        gradcheck_checks,
        "gradients",
        lambda *args, **kwargs: tuple(gradient.astype("float32") for gradient in real(*args, **kwargs)),
    )
    with pytest.raises(GradcheckError, match="gradient of output 0 has dtype float32, and input 0 float64"):
        gradcheck(tj.exp, (x,), check_grad_dtypes=True)
    assert gradcheck(tj.exp, (x,))


def test_tolerances():
    almost = lambda x: x + 1e-4 * half(x)  # noqa: E731
    assert gradcheck(almost, (leaf(1.0),))
    with pytest.raises(GradcheckError):
        gradcheck(almost, (leaf(1.0),), rtol=1e-6)
    with pytest.raises(GradcheckError):
        gradcheck(almost, (leaf(1.0),), rtol=1e-6, fast_mode=True)
    assert gradcheck(almost, (leaf(1.0),), rtol=0.0, atol=2e-4)
    assert gradcheck(lambda x: x**3, (leaf(1.0),), eps=0.1, atol=0.02)
    with pytest.raises(GradcheckError, match=r"numerical:\n\[\[3\.01\]\]"):
        gradcheck(lambda x: x**3, (leaf(1.0),), eps=0.1)


def test_forward_mode_finds_what_only_it_sees():
    x = leaf(1.0, 2.0)
    with pytest.raises(
        GradcheckError, match=r"Jacobian \(computed with forward mode\) mismatch for output 0"
    ):
        gradcheck(half, (x,), check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(GradcheckError, match=r"forward mode.*\n(.*\n)*.*fast_mode"):
        gradcheck(half, (x,), check_forward_ad=True, check_backward_ad=False, fast_mode=True)


def test_batched_gradients(monkeypatch):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    assert gradcheck(lambda x, y: (x * y, tj.exp(x)), (x, y), check_batched_grad=True)
    assert gradgradcheck(lambda x, y: x * y * y, (x, y), check_batched_grad=True)
    real = gradcheck_checks.batched_jacobians
    monkeypatch.setattr(gradcheck_checks, "batched_jacobians", lambda *args: [row + 1 for row in real(*args)])
    with pytest.raises(GradcheckError, match=r"output 0 with respect to input 0 differ from a loop"):
        gradcheck(tj.exp, (x,), check_batched_grad=True)


# -- what is refused ------------------------------------------------------------------------------


def test_one_input_must_require_grad():
    with pytest.raises(tj.GradientError, match="at least one input tensor to require gradient"):
        gradcheck(tj.exp, (tj.ones(2),))
    with pytest.raises(tj.GradientError, match="at least one input tensor to require gradient"):
        gradcheck(tj.exp, (1.0,), raise_exception=False)


def test_single_precision_warns():
    x = tj.tensor([1.0], dtype=tj.float32, requires_grad=True)
    with pytest.warns(UserWarning, match=r"input #1 requires gradient and is not a double precision") as seen:
        gradcheck(lambda _, x: x * x, (2, x), eps=1e-2, atol=1e-2)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x, y: x * y, (leaf(1.0), x.detach()))


def test_memory_that_cannot_be_moved():
    wide = tj.broadcast_to(tj.ones(1), (3,)).detach().requires_grad_()
    with pytest.raises(tj.GradientError, match=r"input 0 has a dimension of stride 0.*x\.copy"):
        gradcheck(tj.exp, (wide,))
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.raises(tj.GradientError, match=r"memory of input 0 is read-only"):
        gradcheck(tj.exp, (tj.asarray(array).requires_grad_(),))


def test_arguments_that_exclude_each_other():
    x = leaf(1.0)
    with pytest.raises(tj.GradientError, match="check_forward_ad or check_backward_ad to be True"):
        gradcheck(tj.exp, (x,), check_backward_ad=False)
    with pytest.raises(tj.GradientError, match="check_batched_grad=True requires check_backward_ad=True"):
        gradcheck(tj.exp, (x,), check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    with pytest.raises(tj.GradientError, match="masked=True is about sparse tensors"):
        gradcheck(tj.exp, (x,), masked=True)
    with pytest.raises(tj.DomainError, match="expected eps > 0, got 0"):
        gradcheck(tj.exp, (x,), eps=0.0)
    with pytest.raises(tj.GradientError, match="check_fwd_over_rev or check_rev_over_rev to be True"):
        gradgradcheck(tj.exp, (x,), check_rev_over_rev=False)


def test_results_must_be_tensors():
    with pytest.raises(
        tj.GradientError, match="must return a Tensor or a tuple of Tensors, but output 1 is float"
    ):
        gradcheck(lambda x: (x, 3.0), (leaf(1.0),))


def test_not_inside_a_trace():
    def inner(x):
        gradcheck(tj.exp, (x,))
        return x

    with pytest.raises(tj.GradientError):
        tj.jit(inner)(leaf(1.0))


def test_the_error_is_of_both_families():
    assert issubclass(GradcheckError, tj.TracejitError)
    assert issubclass(GradcheckError, RuntimeError)


# -- second order ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "way",
    [{}, {"fast_mode": True}, {"check_fwd_over_rev": True}, {"gen_non_contig_grad_outputs": True}],
    ids=str,
)
def test_second_order(way):
    x, y = leaf(0.5, -1.5), leaf(2.0, 3.0)
    assert gradgradcheck(lambda x, y: x**3 * tj.exp(y), (x, y), **way)
    assert gradgradcheck(lambda x, k, y: (x * y * k, tj.sin(x).sum(), x.argmax()), (x, 3, y), **way)
    # the first derivative, 3 x^2, is right and the second, 3 x, is not
    wrong = lambda x: 1.5 * x**2 * stop(x) - 0.5 * stop(x) ** 3  # noqa: E731
    assert gradcheck(wrong, (x,), **({"fast_mode": True} if "fast_mode" in way else {}))
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 0"):
        gradgradcheck(wrong, (x,), **way)


def test_second_order_with_grad_outputs():
    x = leaf(0.5, -1.5)
    assert gradgradcheck(tj.exp, (x,), leaf(1.0, 2.0))
    assert gradgradcheck(lambda x: (x * x, tj.exp(x)), (x,), (leaf(1.0, 2.0), leaf(3.0, 4.0)))
    with pytest.raises(tj.GradientError, match=r"expected 2 grad_outputs, .* got 1"):
        gradgradcheck(lambda x: (x * x, tj.exp(x)), (x,), leaf(1.0, 2.0))


def test_second_order_of_a_linear_function():
    assert gradgradcheck(lambda x: x * 3, (leaf(1.0, 2.0),))


def test_second_order_numbers():
    x = leaf(2.0)
    with pytest.raises(GradcheckError) as failure:
        gradgradcheck(lambda x: 1.5 * x**2 * stop(x), (x,), tj.tensor([1.0], requires_grad=True))
    # the gradient is 3 x stop(x) g: differences see 6 x = 12, the tape 3 x = 6
    assert "numerical:\n[[12.]]" in str(failure.value)
    assert "analytical:\n[[6.]]" in str(failure.value)
