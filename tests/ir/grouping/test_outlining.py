"""Groups as fusions: the quick way into a map is the general one, and regions are functions of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes import OPTIMIZE, run_passes
from tracejit.ir.passes.fusion.fuse import fuse
from tracejit.ir.passes.fusion.legality import Legality
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify


def chain(x: Any) -> Any:
    """Maps, of which some values are read outside."""
    y = tj.sin(x) * 2.0 + x
    return y, tj.exp(y) - 1.0


def rows(x: Any) -> Any:
    """A group that folds, and maps over its rows and its elements."""
    y = tj.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True), y.sum(axis=0)


def views(x: Any) -> Any:
    """Values read through views, and views that are results."""
    y = tj.tanh(x)
    return y.T + y.T * 0.5, y[1:, ::-1] * 2.0, y[0]


def kernels(x: Any) -> Any:
    """Groups around kernels of their own, that read views."""
    y = tj.sin(x) @ tj.cos(x).T
    return tj.concatenate([y * y, y - 1.0]).sum(axis=0) + y.T @ x[:, 0]


def parted(x: Any) -> Any:
    """Two maps that meet where a path leads around."""
    y, z = tj.sin(x), tj.cos(x[:, :1])
    w = (z @ tj.ones((1, 4))) + y
    return w * y + tj.sqrt(tj.abs(w - z))


PROGRAMS = (chain, rows, views, kernels, parted)


def optimized(program: Callable[..., Any]) -> Function:
    return run_passes(tj.trace(program, tj.ones((5, 4))), OPTIMIZE)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_maps_grow_as_by_the_general_rules(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = optimized(program)
    short = str(fuse(function))
    monkeypatch.setattr(Legality, "extended", lambda legality, instruction: None)
    assert short == str(fuse(function))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_no_value_is_in_two_functions(program: Callable[..., Any]) -> None:
    function = optimized(program)
    fused = fuse(function)
    verify(fused)
    values = [*fused.params, *(result for each in fused.body for result in each.results)]
    for instruction in fused.body:
        for region in instruction.regions:
            values += [*region.params, *(result for each in region.body for result in each.results)]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_results_are_those_of_the_ops(program: Callable[..., Any]) -> None:
    function = optimized(program)
    x = np.random.default_rng(0).standard_normal((5, 4))
    for before, after in zip(interpret(function, [x]), interpret(fuse(function), [x]), strict=True):
        np.testing.assert_array_equal(before, after)


def test_what_stays_in_a_group_is_not_copied() -> None:
    function = optimized(lambda x: tj.exp(tj.sin(tj.cos(x))))
    (fusion,) = fuse(function).body
    first, second, last = fusion.regions[0].body
    assert second is function.body[1]
    assert first is not function.body[0]  # it reads the parameter of the region
    assert last.result is not fusion.result


def test_a_long_chain_of_views_is_followed() -> None:
    """A kernel that reads a view of a view, thousands deep."""
    lines = ["  %v0: f64[4,4] = transpose(%x) {perm=[1, 0]}"]
    lines += [f"  %v{i + 1}: f64[4,4] = transpose(%v{i}) {{perm=[1, 0]}}" for i in range(2000)]
    body = "\n".join([*lines, "  %m: f64[4,4] = matmul(%v2000, %x)"])
    function = parse_function(f"func @f(%x: f64[4,4]) -> f64[4,4] {{\n{body}\n  return %m\n}}")
    x = np.arange(16.0).reshape(4, 4)
    (result,) = interpret(fuse(function), [x])
    np.testing.assert_array_equal(result, x.T @ x)
