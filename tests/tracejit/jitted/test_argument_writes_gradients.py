"""Gradients, and other transforms, of functions that write their arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .written import KINDS, PROGRAMS, adds, arrays, fills_out, fresh, in_no_grad, same


def loss_of(value: Any) -> Any:
    leaves = [leaf for leaf in tj.tree_leaves(value) if isinstance(leaf, tj.Tensor)]
    return sum(((leaf * leaf).sum() for leaf in leaves), tj.tensor(0.0))


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program != "random"])
def test_gradients_pass_through_written_arguments(program: str) -> None:
    """Tensors of a graph, written by the function and read afterwards, have the gradients of eager code."""
    function, arguments = PROGRAMS[program]

    def gradients(call: Callable[..., Any]) -> tuple[Any, ...]:
        leaves: list[Any] = []

        def make(k: int = 0) -> Any:
            leaves.append(tj.tensor(fresh(k), requires_grad=True))
            return leaves[-1] * 1.5

        args = arguments(make)
        result = call(*args)
        loss = loss_of(result) + loss_of(tj.tree_map(lambda leaf: leaf, args)) * 0.3
        loss.backward()
        # a jitted call reaches all its arguments, with zeros where nothing depends on them
        return loss, [tj.zeros(4) if leaf.grad is None else leaf.grad for leaf in leaves], args

    expected = gradients(function)
    compiled = tj.jit(function)
    for _ in range(2):
        same(gradients(compiled), expected, program)


@pytest.mark.parametrize(
    "program", [program for program in PROGRAMS if program not in ("random", "fills out", "nothing returned")]
)
def test_transforms_leave_the_arguments_that_they_differentiate_alone(program: str) -> None:
    function, arguments = PROGRAMS[program]
    args = tj.tree_map(lambda leaf: leaf, arguments(KINDS["tensor"]))
    before = arrays(args)
    argnums = tuple(range(len(args)))

    def loss(*args: Any) -> Any:
        return loss_of(function(*args))

    def slope(args: Any, place: int, index: int) -> float:
        values = []
        for sign in (1, -1):
            leaves = tj.tree_leaves(copy.deepcopy(args))
            if not isinstance(leaves[place], tj.Tensor):
                leaves[place] = leaves[place] + sign * 1e-6
            else:
                leaves[place][index] += sign * 1e-6
            rest = iter(leaves)
            values.append(float(loss(*tj.tree_map(lambda _, rest=rest: next(rest), args))))
        return (values[0] - values[1]) / 2e-6

    gradient = tj.grad(loss, argnums)(*args)
    same(args, before, "grad does not write them")
    leaves = tj.tree_leaves(gradient) if program != "no_grad" else []  # whose slope is not its gradient
    for place, leaf in enumerate(leaves):
        for index in range(leaf.size):
            np.testing.assert_allclose(
                leaf.numpy().ravel()[index], slope(args, place, index), rtol=1e-5, atol=1e-6
            )
    same(tj.jit(tj.grad(loss, argnums))(*args), gradient, "jit(grad)")
    same(tj.grad(tj.jit(loss), argnums)(*args), gradient, "grad(jit)")
    same(tj.vjp(loss, *args)[1](1.0), gradient, "vjp")
    same(tj.jit(lambda *a: tj.vjp(loss, *a)[1](1.0))(*args), gradient, "jit(vjp)")
    same(args, before, "and nobody else does")


def test_value_semantics_of_transforms() -> None:
    """The function owns the arguments that a transform differentiates by; the caller owns the other ones."""

    def f(x: Any, y: Any) -> Any:
        x += 1.0
        y += 1.0
        return (x * y).sum()

    for run in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        for make in (fresh, KINDS["tensor"]):
            x, y = make(), make()
            gradient = run(x, y)
            same(gradient, fresh() + 1.0, "gradient")
            same(x, fresh(), "x belongs to the function")
            same(y, fresh() + 1.0, "y does not")


def test_vmap_gives_examples_of_its_own() -> None:
    x = tj.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = [[2.0, 3.0], [4.0, 5.0]]
    for run in (tj.vmap(adds), tj.jit(tj.vmap(adds)), tj.vmap(tj.jit(adds))):
        assert (run(x) / 2).tolist() == expected
        assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_leaves_that_require_grad() -> None:
    w = tj.tensor(fresh(), requires_grad=True)
    with pytest.raises(tj.GradientError, match="adds: argument x: a leaf tensor that requires grad"):
        tj.jit(adds)(w)
    with tj.no_grad():
        tj.jit(adds)(w)
    assert w.tolist() == (fresh() + 1).tolist()
    assert w.is_leaf
    loss = tj.jit(in_no_grad)(w)
    assert w.tolist() == ((fresh() + 1) / 2).tolist()
    loss.backward()
    assert w.grad.tolist() == (fresh() + 1).tolist()


def test_an_array_cannot_take_a_gradient() -> None:
    w = tj.tensor(fresh(), requires_grad=True)
    out = np.zeros(4)
    with pytest.raises(
        tj.GradientError, match="argument out is an array, and what is written to it requires"
    ):
        tj.jit(fills_out)(w, out)
    assert out.tolist() == [0.0] * 4
    with tj.no_grad():
        tj.jit(fills_out)(w, out)
    assert out.tolist() == (fresh() * 2).tolist()
