"""Random programs of views and in-place writes, against NumPy's memory and forward-mode differentiation.

Values of every live handle are compared after every statement, eagerly. Gradients of a weighted sum of all
that live at the end are compared with the tangents, and the traced program with both. Tolerance: 1e-9 of the
largest number involved, for float64 sums of some hundred terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of
from .inplace_programs import LEAVES, Maker, Meaning, Refused, Step, run_step

Array = np.ndarray[Any, Any]


def close(got: Any, want: Any, where: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, where
    scale = max(1.0, float(np.abs(want).max())) if want.size else 1.0
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * scale, err_msg=where)


class Program:
    """A random program, made while it runs eagerly beside its meaning."""

    def __init__(self, seed: int, *, detach: bool, block: bool, steps: int = 14) -> None:
        rng = np.random.default_rng(seed)
        self.values = [rng.normal(size=shape) for shape in LEAVES]
        self.tangents = [rng.normal(size=shape) for shape in LEAVES]
        self.meaning = Meaning(self.values, self.tangents)
        self.leaves = [tj.tensor(value.copy(), requires_grad=True) for value in self.values]
        self.handles: list[Any] = list(self.leaves)
        self.steps: list[Step] = []
        self.refusals: list[tuple[Step, str]] = []
        maker = Maker(rng, self.meaning, detach=detach, block=block)
        for _ in range(steps):
            self.advance(maker.step())
        self.weights = [
            None if handle is None else rng.normal(size=handle.v.shape) for handle in self.meaning.handles
        ]

    def advance(self, step: Step) -> None:
        text = "\n".join(map(str, [*self.steps, step]))
        try:
            self.meaning.step(step)
        except Refused as refused:
            with pytest.raises(tj.GradientError, match=str(refused)):
                run_step(self.handles, step)
            self.refusals.append((step, str(refused)))
        else:
            run_step(self.handles, step)
            self.steps.append(step)
        for i, (dual, tensor) in enumerate(zip(self.meaning.handles, self.handles, strict=True)):
            assert (dual is None) == (tensor is None), text
            if dual is not None:
                close(tensor.detach().numpy(), dual.v, f"{text}\nhandle {i}")
                assert tensor.requires_grad == dual.memory.needs, f"{text}\nhandle {i}"

    def total(self, handles: list[Any]) -> Any:
        """The weighted sum of all that lives."""
        result = 0.0
        for weight, handle in zip(self.weights, handles, strict=True):
            if handle is not None:
                result = result + (handle * weight).sum()
        return result

    def derivative(self) -> float:
        return sum(
            float((weight * handle.t).sum())
            for weight, handle in zip(self.weights, self.meaning.handles, strict=True)
            if handle is not None
        )

    def run(self, *leaves: Any) -> tuple[Any, list[Any]]:
        handles = list(leaves)
        for step in self.steps:
            run_step(handles, step)
        return self.total(handles), [handle for handle in handles if handle is not None]

    def along(self, gradients: Any) -> float:
        """`gradients` of the leaves, along the tangents."""
        return sum(
            float((np.asarray(g) * t).sum())
            for g, t in zip(gradients, self.tangents, strict=True)
            if g is not None
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def check_eager(program: Program) -> bool:
    """Whether the program can be differentiated: nothing that was saved has been written."""
    try:
        program.total(program.handles).backward()
    except tj.GradientError as error:
        if "modified in place" not in str(error):
            raise
        return False
    close(program.along([leaf.grad for leaf in program.leaves]), program.derivative(), str(program))
    return True


def check_traced(program: Program, differentiable: bool) -> None:
    text = str(program)
    expected = [handle.v for handle in program.meaning.handles if handle is not None]
    leaves = [tj.tensor(value.copy()) for value in program.values]

    def loss(*leaves: Any) -> Any:
        return program.run(*leaves)[0]

    numbers = tuple(range(len(LEAVES)))
    jitted = tj.jit(program.run)
    _, handles = jitted(*leaves)
    for handle, want in zip(handles, expected, strict=True):
        close(handle.numpy(), want, text)
    derivative = program.derivative()
    inside = tj.jit(tj.grad(loss, argnums=numbers))(*leaves)
    close(program.along(inside), derivative, "jit(grad)\n" + text)
    outside = tj.grad(tj.jit(loss), argnums=numbers)(*leaves)
    close(program.along(outside), derivative, "grad(jit)\n" + text)
    if differentiable:
        close(program.along(tj.grad(loss, argnums=numbers)(*leaves)), derivative, "grad\n" + text)
    for leaf in leaves:
        leaf.requires_grad_()
    tj.jit(loss)(*leaves).backward()
    close(program.along([leaf.grad for leaf in leaves]), derivative, "jit.backward\n" + text)


@pytest.mark.parametrize("seed", share_of(range(10), 2))
def test_eager_programs(seed):
    differentiable = refused = 0
    for number in range(30):
        program = Program(seed * 1000 + number, detach=True, block=True, steps=20)
        refused += len(program.refusals)
        differentiable += check_eager(program)
    assert differentiable >= 10  # most saved values are written sooner or later, but not all


@pytest.mark.parametrize("seed", share_of(range(10), 2))
def test_traced_programs(seed):
    for number in range(2):
        program = Program(1_000_000 + seed * 1000 + number, detach=False, block=True)
        check_traced(program, check_eager(program))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_more_eager_programs(seed):
    test_eager_programs(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", share_of(range(4), 2))
def test_many_programs(seed):
    for number in range(25):
        program = Program(2_000_000 + seed * 1000 + number, detach=False, block=True, steps=12)
        check_traced(program, check_eager(program))
