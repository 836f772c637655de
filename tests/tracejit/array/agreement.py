"""Calls that give what NumPy's function of the same name gives: eagerly, of arrays, through NumPy, jitted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit as tj

Array = np.ndarray[Any, Any]


@dataclass(eq=False)
class Case:
    """A call of the function `name`; `jitted` unless the shape of its result depends on values."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    jitted: bool = True

    def __str__(self) -> str:
        text = ", ".join([*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.kwargs.items())])
        return f"{self.name}({' '.join(text.split())})"


class Cases:
    """A list of cases: ``cases("interp", x, xp, fp)`` adds a call, ``cases.eager(...)`` without jit."""

    def __init__(self) -> None:
        self.all: list[Case] = []

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.all.append(Case(name, args, kwargs))

    def eager(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.all.append(Case(name, args, kwargs, jitted=False))

    def parameters(self) -> Any:
        """The decorator of a test that takes each `case`."""
        ids = [f"{case.name}-{number}" for number, case in enumerate(self.all)]
        return pytest.mark.parametrize("case", self.all, ids=ids)


def leaves(value: Any) -> list[Any]:
    """The arrays in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def _arrays(value: Any) -> Iterator[Array]:
    for item in leaves(value):
        if isinstance(item, np.ndarray):
            yield item


def _with(value: Any, change: Callable[[Array], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_with(item, change) for item in value)
    return change(value) if isinstance(value, np.ndarray) else value


def _as_numpy(value: Any) -> list[Array]:
    return [
        leaf.detach().numpy() if isinstance(leaf, tj.Tensor) else np.asarray(leaf) for leaf in leaves(value)
    ]


def _same(mode: str, case: Case, actual: list[Array], expected: list[Array]) -> None:
    assert len(actual) == len(expected), f"{mode}: {case}"
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.dtype, f"{mode}: {case}"
        # sums are added in another order: a few units in the last place of the largest terms
        tolerance = 1e-4 if ours.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(
            ours, theirs, rtol=tolerance, atol=tolerance, err_msg=f"{mode}: {case}", strict=True
        )


def check(case: Case) -> None:
    """The call gives NumPy's result in each way to make it."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        expected = _as_numpy(getattr(np, case.name)(*case.args, **case.kwargs))
        function = getattr(tj, case.name)
        args, kwargs = (
            _with(list(case.args), tj.asarray),
            {key: _with(value, tj.asarray) for key, value in case.kwargs.items()},
        )
        _same("eager", case, _as_numpy(function(*args, **kwargs)), expected)
        _same("of arrays", case, _as_numpy(function(*case.args, **case.kwargs)), expected)
        operands = list(_arrays(list(case.args)))
        if operands:
            _same("through NumPy", case, _as_numpy(getattr(np, case.name)(*args, **kwargs)), expected)
        if case.jitted:

            def run(*arrays: Any) -> Any:
                rest = iter(arrays)
                return leaves(function(*_with(list(case.args), lambda _: next(rest)), **case.kwargs))

            _same("jitted", case, _as_numpy(tj.jit(run)(*operands)), expected)


def gradients(function: Callable[..., Any], *arrays: Any) -> None:
    """First and second derivatives of `function` at float64 arrays agree with differences, in both modes."""
    tensors = [tj.tensor(np.array(array, np.float64), requires_grad=True) for array in arrays]
    weights: dict[int, Array] = {}

    def scalar(*operands: Any) -> Any:
        total: Any = 0.0
        for number, leaf in enumerate(leaves(function(*operands))):
            if leaf.dtype.kind == "f":
                rng = np.random.default_rng(number)
                weights.setdefault(number, rng.uniform(0.5, 1.5, leaf.shape))
                total = total + tj.sum(leaf * weights[number])
        return total

    assert tj.autograd.gradcheck(scalar, tuple(tensors))
    assert tj.autograd.gradgradcheck(scalar, tuple(tensors))
    numbers = tuple(range(len(arrays)))
    eager = tj.grad(scalar, numbers)(*[tensor.detach() for tensor in tensors])
    jitted = tj.jit(tj.grad(scalar, numbers))(*[tensor.detach() for tensor in tensors])
    for actual, other in zip(eager, jitted, strict=True):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(other), rtol=1e-9, atol=1e-12)


def batched(function: Callable[..., Any], *stacks: Any) -> None:
    """``vmap`` of `function` is a loop over the rows of `stacks`."""
    mapped = leaves(tj.vmap(function)(*stacks))
    rows = [leaves(function(*row)) for row in zip(*stacks, strict=True)]
    for place, whole in enumerate(mapped):
        np.testing.assert_allclose(
            np.asarray(whole), np.stack([np.asarray(row[place]) for row in rows]), rtol=1e-10, atol=1e-12
        )
