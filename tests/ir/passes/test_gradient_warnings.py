"""Programs that are exported have no warnings of derivatives, and the results that they have in Python."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes.gradient_warnings import without_warnings
from tracejit.ir.verifier import verify


def slope(x: Any) -> Any:
    return tj.grad(lambda x: tj.linalg.qr(x)[1][0].sum())(x)


def test_results_stay_and_warnings_go(recwarn: Any) -> None:
    def branch(x: Any) -> Any:
        return tj.cond(x.sum() > 0, slope, lambda x: slope(2 * x), x)

    independent, dependent = np.array([[3.0, 1.0], [1.0, 2.0]]), np.ones((2, 2))
    for function in (slope, branch):
        traced = tj.trace(function, independent)
        silent = without_warnings(traced)
        verify(silent)
        for at in (independent, dependent):
            recwarn.clear()
            results = interpret(silent, [at])
            assert not recwarn
            assert np.array_equal(results[0], interpret(traced, [at])[0], equal_nan=True)
            assert bool(recwarn) == (at is dependent)


def test_functions_without_warnings_are_the_same_objects() -> None:
    traced = tj.trace(lambda x: tj.linalg.qr(x)[1], np.eye(2))
    assert without_warnings(traced) is traced


def test_gradients_of_factors_are_exported(tmp_path: Path) -> None:
    assert tj.jit(slope).export(tmp_path / "f", np.eye(2)).functions
