"""Graphs after nested transforms: results are in a graph only where something outside can differentiate
them, and steps of a loop cost the same."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.backward import backward
from tracejit.tensors.tensor import Tensor

from ...rotation import share_of

Function = Callable[[Any, Any], Any]


def mapped(f: Function) -> Function:
    return lambda x, y: tj.vmap(f, (0, None))(tj.stack([x, x * 0.5]), y).sum(0)


def carried(f: Function) -> Function:
    return lambda x, y: tj.scan(lambda c, _: (f(c, y), None), x, None, 2)[0]


#: Transforms from a function of two arrays of 2 to an array, or scalar, to a function of the same kind.
TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "grad x": lambda f: tj.grad(lambda x, y: f(x, y).sum()),
    "grad y": lambda f: tj.grad(lambda x, y: f(x, y).sum(), 1),
    "value": lambda f: (
        lambda x, y: tj.value_and_grad(lambda x, y: (f(x, y).sum(), f(x, y)), has_aux=True)(x, y)[0][1]
    ),
    "vjp x": lambda f: lambda x, y: tj.vjp(lambda x: f(x, y), x)[1](f(x, y))[0],
    "jvp y": lambda f: lambda x, y: tj.jvp(lambda y: f(x, y), (y,), (x,))[1],
    "linearize x": lambda f: lambda x, y: tj.linearize(lambda x: f(x, y), x)[1](y),
    "jacrev y": lambda f: lambda x, y: tj.jacrev(f, 1)(x, y).sum(-1),
    "jacfwd x": lambda f: lambda x, y: tj.jacfwd(f)(x, y).sum(-1),
    "hvp y": lambda f: lambda x, y: tj.hvp(lambda y: f(x, y).sum(), (y,), (x,)),
    "hessian x": lambda f: lambda x, y: tj.hessian(lambda x: f(x, y).sum())(x) @ y,
    "vmap": mapped,
    "checkpoint": lambda f: lambda x, y: tj.checkpoint(f, x, y),
    "jit": tj.jit,
    "scan": carried,
}
PAIRS = [
    f"{outer}, {inner}"
    for outer, inner in itertools.product(TRANSFORMS, repeat=2)
    if (outer, inner) != ("jit",) * 2
]
X, Y = np.array([0.3, -0.8]), np.array([0.7, 1.1])


def product(x: Any, y: Any) -> Any:
    return tj.sin(x * y) * x + y * y


def nested(pair: str, f: Function = product) -> Function:
    outer, inner = pair.split(", ")
    return TRANSFORMS[outer](TRANSFORMS[inner](f))


@pytest.mark.parametrize("pair", PAIRS)
def test_results_are_outside_any_graph(pair: str) -> None:
    for f in (product, lambda x, y: x * x + y, lambda x, y: x * 1.0):
        result = nested(pair, f)(tj.tensor(X), tj.tensor(Y))
        assert not result.requires_grad
        assert result.grad_fn is None


@pytest.mark.parametrize("pair", share_of(PAIRS, 2))
def test_the_outer_tape_goes_on(pair: str) -> None:
    """A parameter of the user's that the function closes over has its gradient, and so has an argument."""
    direction = 1e-6

    def total(w: Any, x: Any) -> Any:
        scaled: Function = lambda x, y: tj.cos(w) * product(x * w, y)  # noqa: E731
        return nested(pair, scaled)(x, tj.tensor(Y)).sum()

    w = tj.tensor(0.9, requires_grad=True)
    x = tj.tensor(X, requires_grad=True)
    total(w, x).backward()
    plain = tj.tensor(X)
    slope = (
        float(total(tj.tensor(0.9 + direction), plain)) - float(total(tj.tensor(0.9 - direction), plain))
    ) / (2 * direction)
    np.testing.assert_allclose(w.grad.numpy(), slope, rtol=1e-6, atol=1e-7)
    for i in range(2):
        unit = np.eye(2)[i] * direction
        difference = float(total(tj.tensor(0.9), tj.tensor(X + unit))) - float(
            total(tj.tensor(0.9), tj.tensor(X - unit))
        )
        np.testing.assert_allclose(x.grad.numpy()[i], difference / (2 * direction), rtol=1e-5, atol=1e-6)
    by_transform = tj.grad(lambda w: total(w, plain))(0.9)
    np.testing.assert_allclose(by_transform.numpy(), slope, rtol=1e-6, atol=1e-7)
    assert not by_transform.requires_grad


def nodes_behind(*tensors: Tensor) -> int:
    seen: set[Any] = set()
    stack = [tensor.grad_fn for tensor in tensors]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [parent for parent, _ in node.next_functions]
    return len(seen)


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of nodes that each backward pass looks at."""
    counts: list[int] = []
    reach = backward._Pass._reach

    def counted(self: Any, roots: Any) -> Any:
        order = reach(self, roots)
        counts.append(len(order))
        return order

    monkeypatch.setattr(backward._Pass, "_reach", counted)
    return counts


STEPS: dict[str, Callable[[Any], Any]] = {
    pair: lambda b, pair=pair: nested(pair)(b, tj.tensor(Y))  # type: ignore[misc]
    for pair in ("grad y, grad x", "jvp y, grad x", "vjp x, jvp y", "hessian x, grad y", "jacfwd x, jacrev y")
}


@pytest.mark.parametrize("step", STEPS)
def test_steps_of_a_loop_cost_the_same(step: str, visited: list[int]) -> None:
    b = tj.tensor(X)
    per_step = []
    for _ in range(5):
        visited.clear()
        b = b - 0.001 * STEPS[step](b)
        per_step.append(sum(visited))
    assert per_step[0] > 0
    assert len(set(per_step)) == 1


@pytest.mark.parametrize("leaf", [False, True])
def test_unrolled_steps_look_at_their_own_graph_only(leaf: bool, visited: list[int]) -> None:
    """An outer gradient through steps of an inner one: the graph grows, what each step walks does not."""
    per_step = []

    def unrolled(w: Any, rate: Any) -> Any:
        for _ in range(6):
            visited.clear()
            w = w - rate * tj.grad(lambda w: (tj.sin(w) * w).sum())(w)
            per_step.append(sum(visited))
        return w.sum()

    if leaf:
        w, rate = tj.tensor(X, requires_grad=True), tj.tensor(0.1, requires_grad=True)
        unrolled(w, rate).backward()
        gradients = [w.grad, rate.grad]
    else:
        gradients = list(tj.grad(unrolled, (0, 1))(X, 0.1))
    assert per_step[0] > 0
    assert len(set(per_step[1:])) == 1
    expected = tj.jit(tj.grad(unrolled, (0, 1)))(X, 0.1)
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient.numpy(), other.numpy(), rtol=1e-12)


def test_results_that_depend_on_no_outer_leaf_are_constants_inside_too() -> None:
    seen = []

    def outer(w: Any) -> Any:
        constant = tj.grad(lambda x: (x * x).sum())(tj.tensor(X))
        seen.append(constant.requires_grad)
        dependent = tj.grad(lambda x: (w * x * x).sum())(tj.tensor(X))
        seen.append(dependent.requires_grad)
        # the value depends on w, the gradient does not
        seen.append(tj.grad(lambda x: (x * x + w).sum())(tj.tensor(X)).requires_grad)
        seen.append(tj.jacrev(lambda x: x * x + w)(tj.tensor(X)).requires_grad)
        return (constant * dependent).sum()

    tj.grad(outer)(2.0)
    assert seen == [False, True, False, False]
    seen.clear()
    outer(tj.tensor(2.0, requires_grad=True))
    assert seen == [False, True, False, False]


def test_gradients_pass_through_aux_alone() -> None:
    def through_aux(w: Any) -> Any:
        (_, aux), _ = tj.value_and_grad(lambda x: (x * x, w * x), has_aux=True)(3.0)
        return aux

    assert float(tj.grad(through_aux)(2.0)) == 3.0
    assert float(tj.grad(lambda w: tj.vjp(lambda x: (x * x, w * x), 3.0, has_aux=True)[2])(2.0)) == 3.0
    assert float(tj.grad(lambda w: tj.jvp(lambda x: (x, w * x), (3.0,), (1.0,), has_aux=True)[2])(2.0)) == 3.0


def test_a_pullback_of_a_transform_that_is_over_goes_on_working() -> None:
    """The pullback is called after an outer gradient is done, and in another thread."""
    kept = []

    def outer(w: Any) -> Any:
        kept.append(tj.vjp(lambda x: w * x**3, 2.0)[1])
        kept.append(tj.linearize(lambda x: w * x**3, 2.0)[1])
        return kept[0](1.0)[0] + kept[1](1.0)

    assert float(tj.grad(outer)(3.0)) == 24.0
    results = []

    def later() -> None:
        results.extend([kept[0](1.0)[0], kept[1](1.0)])

    thread = threading.Thread(target=later)
    thread.start()
    thread.join()
    assert [float(result) for result in results] == [36.0, 36.0]
    assert not any(result.requires_grad for result in results)


def test_threads_have_transforms_of_their_own() -> None:
    """Transforms that end in one thread leave those that run in another alone."""
    barrier = threading.Barrier(4)
    failures = []

    def work(k: float) -> None:
        def outer(y: Any) -> Any:
            barrier.wait()
            inner = tj.grad(lambda x: tj.sin(x * y) * k)(0.3)
            barrier.wait()
            return inner * y

        for _ in range(20):
            result = tj.grad(outer)(0.7)
            x, y = 0.3, 0.7
            expected = k * (2 * y * np.cos(x * y) - y * y * x * np.sin(x * y))
            if result.requires_grad or abs(float(result) - expected) > 1e-12:
                failures.append((k, result))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_leaked_inputs_lead_nowhere() -> None:
    """An argument that a function stores is a constant to those who compute with it afterwards."""
    leaked: list[Any] = []

    def leaky(x: Any) -> Any:
        leaked.append(x)
        return x * x

    tj.grad(leaky)(3.0)
    assert float(tj.grad(lambda w: w * leaked[0])(2.0)) == 3.0
    assert not tj.grad(lambda w: w * leaked[0])(2.0).requires_grad


def test_checkpoints_record_the_same_again() -> None:
    """Transforms inside, whose outer leaf is over when the function runs again."""

    def outer(y: Any) -> Any:
        return tj.checkpoint(lambda y: tj.grad(lambda x: tj.sin(x * y) * y)(0.3) * tj.jacrev(tj.sin)(y), y)

    pullback = tj.vjp(outer, 0.7)[1]
    expected = tj.grad(tj.jit(outer))(0.7)
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0].numpy(), expected.numpy(), rtol=1e-12)
    assert nodes_behind(pullback(1.0)[0]) == 0


def test_the_graph_inside_a_transform_can_be_looked_at() -> None:
    seen = []

    def f(x: Any) -> Any:
        y = (x * x).sum()
        graph = tj.graph_of(y)
        seen.append((str(graph), float(graph.run([3.0, 4.0]))))
        return y

    assert tj.grad(f)(tj.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert tj.grad(lambda x: f(x * 1.0))(tj.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert seen[0][1] == seen[1][1] == 25.0
    assert "leaf0" in seen[0][0]
