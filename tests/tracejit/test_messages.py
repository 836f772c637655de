"""Mistakes of eager training code, and that the message of each says what to do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tj
from tracejit.missing_names import ADVICE, PLACES


def leaf(*numbers: float) -> tj.Tensor:
    return tj.tensor(list(numbers), requires_grad=True)


def backward_of_a_vector() -> None:
    (leaf(1.0, 2.0) * 2).backward()


def backward_with_a_list() -> None:
    (leaf(1.0, 2.0) * 2).backward([1.0, 2.0])


def backward_twice() -> None:
    loss = (leaf(1.0, 2.0) ** 2).sum()
    loss.backward()
    loss.backward()


def backward_after_detach() -> None:
    (leaf(1.0).detach() * 2).sum().backward()


def backward_after_no_grad() -> None:
    x = leaf(1.0)
    with tj.no_grad():
        loss = x.sum()
    loss.backward()


def backward_of_a_count() -> None:
    leaf(1.0, 2.0).argmax().backward()


def backward_inside_jit() -> None:
    w = leaf(1.0, 2.0)

    @tj.jit
    def step(x: tj.Tensor) -> tj.Tensor:
        loss = (w * x).sum()
        loss.backward()
        return loss

    step(tj.ones(2))


def update_without_no_grad() -> None:
    w = leaf(1.0)
    w -= 0.1


def update_before_backward() -> None:
    w = leaf(1.0)
    loss = (w * w).sum()
    with tj.no_grad():
        w -= 0.1
    loss.backward()


def array_of_parameters() -> None:
    np.array([leaf(1.0), leaf(2.0)])


def value_kept_from_a_trace() -> None:
    kept: list[tj.Tensor] = []

    @tj.jit
    def step(x: tj.Tensor) -> tj.Tensor:
        kept.append(x.sum())
        return x

    step(tj.ones(2))
    kept[0].item()


def value_inside_a_trace() -> None:
    tj.jit(lambda x: x.tobytes())(tj.ones(2))


def index_of_an_array() -> None:
    names = {"fori_loop": tj.fori_loop, "table": np.ones(4)}  # a function without source
    tj.jit(eval("lambda: fori_loop(0, 3, lambda i, total: total + table[i], 0.0)", names))()


def known_mask_of_an_array() -> None:
    tj.jit(lambda x, mask: x[mask].reshape(1, -1))(tj.ones(2), np.array([True, False]))


def range_of_a_traced_number() -> None:
    tj.jit(lambda n: tj.arange(n))(3.5)


def missing_function_of_numpy() -> None:
    tj.jit(lambda x: np.isnat(x))(tj.eye(2))


scores = tj.zeros((4, 3))


@pytest.mark.parametrize(
    ("mistake", "error", "advice"),
    [
        (backward_of_a_vector, tj.GradientError, r"got shape \(2,\); reduce it first, as in loss.mean\(\)"),
        (backward_with_a_list, tj.GradientError, "expected 1 gradients, .*, got 2; .* is a tensor"),
        (backward_twice, tj.GradientError, "compute the result again, or pass retain_graph=True"),
        (backward_after_detach, tj.GradientError, r"requires_grad_\(\) on an input .* without .* detach"),
        (backward_after_no_grad, tj.GradientError, r"requires_grad_\(\) on an input .* without no_grad"),
        (backward_of_a_count, tj.GradientError, "dtype int64, does not require grad .* without .* integers"),
        (backward_inside_jit, tj.TraceError, "from outside the traced function .* Return gradients instead"),
        (update_without_no_grad, tj.GradientError, r"a leaf .* under tj.no_grad\(\)"),
        (update_before_backward, tj.GradientError, "mul saved .* write it after backward"),
        (lambda: leaf(1.0).numpy(), tj.GradientError, r"use x.detach\(\).numpy\(\)"),
        (array_of_parameters, tj.GradientError, r"in place of np.array\(\[x, y\]\) np.stack"),
        (
            lambda: tj.tensor([1, 2], requires_grad=True),
            tj.DTypeError,
            r"not of dtype int64: astype\(float\)",
        ),
        (lambda: tj.ones(3).item(), tj.ShapeError, r"got shape \(3,\); use tolist\(\)"),
        (lambda: float(tj.ones(3)), tj.ShapeError, r"got shape \(3,\); reduce it first"),
        (lambda: bool(tj.ones(3)), tj.ShapeError, r"use .any\(\) or .all\(\)"),
        (value_kept_from_a_trace, tj.ConcretizationError, "stored outside the function .* Return it instead"),
        (value_inside_a_trace, tj.ConcretizationError, "types but no values. Use"),
        (lambda: tj.ones(2).register_hook(print), tj.GradientError, r"call requires_grad_\(\) on it first"),
        (lambda: tj.ones(2).retain_grad(), tj.GradientError, r"call requires_grad_\(\) on it first"),
        (
            lambda: tj.ones(2).register_post_accumulate_grad_hook(print),
            tj.GradientError,
            r"call requires_grad_\(\) on it first",
        ),
        (
            lambda: tj.nn.linear(tj.ones((4, 3)), tj.ones((3, 5))),
            tj.ShapeError,
            r"got shapes \(4, 3\) and \(3, 5\); the weight is transposed here",
        ),
        (
            lambda: tj.nn.cross_entropy(scores, tj.zeros((4, 1), dtype=int)),
            tj.ShapeError,
            r"need targets of shape \(4,\), got \(4, 1\); use target.reshape\(\(4,\)\)",
        ),
        (lambda: tj.nn.cross_entropy(scores, tj.zeros(4)), tj.DTypeError, r"target.astype\(tj.int64\)"),
        (lambda: tj.optim.SGD([]), tj.DomainError, "empty parameter list; a generator is empty once"),
        (lambda: tj.optim.SGD([leaf(1.0) * 2]), tj.DomainError, r"x.detach\(\).requires_grad_\(\)"),
        (lambda: tj.optim.SGD([leaf(1.0)], lr=-1.0), tj.DomainError, "lr must be at least 0, got -1.0"),
        (
            lambda: tj.optim.SGD([leaf(1.0)]).load_state_dict({}),
            tj.DomainError,
            r"expected what state_dict\(\) gave",
        ),
        (lambda: tj.ones(2, 3), tj.DTypeError, r"a shape is one argument, as in zeros\(\(2, 3\)\)"),
        (lambda: tj.randn(3), AttributeError, "use tj.random.randn"),
        (
            lambda: tj.polynomial.Polynomial([1.0, 2.0]),
            AttributeError,
            r"nothing of np.polynomial: .* x.numpy\(\) .* by tj.pure_callback",
        ),
        (lambda: tj.poly1d([1.0, 2.0]), AttributeError, "no np.poly1d: .* tj.pure_callback"),
        (lambda: tj.nonsense, AttributeError, "has no attribute 'nonsense'$"),
        (lambda: tj.ones((2, 3, 4)).transpose(1, 2), tj.AxisError, r"two axes is swapaxes\(1, 2\)$"),
        (index_of_an_array, tj.ConcretizationError, r"tj.asarray\(a\)\[i\] for a NumPy array a"),
        (range_of_a_traced_number, tj.ConcretizationError, r"Use arange\(int\(n\)\)"),
        (missing_function_of_numpy, tj.ArgumentError, r"np\.isnat: .* by tj\.pure_callback"),
        (known_mask_of_an_array, tj.ConcretizationError, r"x\[np.nonzero\(mask\)\]"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_it_says_what_to_do(mistake: Callable[[], object], error: type[Exception], advice: str) -> None:
    with pytest.raises(error, match=advice):
        mistake()


def test_a_hint_to_another_module_leads_somewhere() -> None:
    for name, place in PLACES.items():
        assert not hasattr(tj, name)
        value = tj
        for part in place.split("."):
            value = getattr(value, part)


def test_advice_is_about_what_is_missing() -> None:
    assert not any(hasattr(tj, name) for name in ADVICE)


def test_a_leaf_of_the_trace_has_its_grad_inside() -> None:
    @tj.jit
    def slope(x: tj.Tensor) -> tj.Tensor:
        own = x.detach().requires_grad_()
        (own * own).sum().backward()
        return own.grad

    assert slope(tj.tensor([1.0, 3.0])).tolist() == [2, 6]


@pytest.mark.parametrize("run", [tj.jit, tj.grad, tj.vmap])
def test_a_list_of_tensors_where_a_tensor_is_expected(run):
    x = tj.ones(2) if run is tj.vmap else tj.tensor(1.0)
    with pytest.raises(
        tj.TracejitError, match=r"got a list of tensors that are traced or require grad.*tj\.stack"
    ):
        run(lambda x: tj.exp([x, x]) + tj.tensor(1.0))(x)


def test_python_branches_and_prints_inside_a_loop():
    with pytest.raises(tj.ConcretizationError, match=r"Use tj\.where\(\.\.\.\) or tj\.cond"):
        tj.jit(tj.scan, static_argnums=0)(lambda c, x: (c if x > 0 else -c, None), 0.0, tj.ones(3))
    with pytest.raises(tj.ConcretizationError, match=r"tj\.debug\.print"):
        tj.vmap(lambda x: x * float(x))(tj.ones(3))
