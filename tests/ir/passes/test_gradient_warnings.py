"""Programs that are exported have no warnings of derivatives, and the results that they have in Python."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes.gradient_warnings import without_warnings
from tracejit.ir.verifier import verify


def slope(x: Any) -> Any:
    return tj.grad(lambda x: tj.linalg.qr(x)[1][0].sum())(x)


def test_results_stay_and_warnings_go() -> None:
    def branch(x: Any) -> Any:
        return tj.cond(x.sum() > 0, slope, lambda x: slope(2 * x), x)

    independent, dependent = np.array([[3.0, 1.0], [1.0, 2.0]]), np.ones((2, 2))
    for function in (slope, branch):
        traced = tj.trace(function, independent)
        silent = without_warnings(traced)
        verify(silent)
        for at in (independent, dependent):
            results, told = warned_of(silent, at)
            expected, expected_told = warned_of(traced, at)
            assert not told
            assert bool(expected_told) == (at is dependent)
            assert np.array_equal(results, expected, equal_nan=True)


def warned_of(function: Function, at: Any) -> tuple[Any, list[Any]]:
    """The result of `function`, and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return interpret(function, [at])[0], told


def test_functions_without_warnings_are_the_same_objects() -> None:
    traced = tj.trace(lambda x: tj.linalg.qr(x)[1], np.eye(2))
    assert without_warnings(traced) is traced


def test_gradients_of_factors_are_exported(tmp_path: Path) -> None:
    assert tj.jit(slope).export(tmp_path / "f", np.eye(2)).functions
