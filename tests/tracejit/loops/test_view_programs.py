"""Random programs that write arrays through views: jitted and as Python."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .common import of_source, plain
from .view_programs import program


def _outcome(function: Any, arguments: Any) -> tuple[Any, list[np.ndarray]]:
    """The error, and the results with the arguments behind the call."""
    mine = copy.deepcopy(arguments)
    try:
        with np.errstate(all="ignore"):
            results = function(*mine)
    except (tj.TraceError, tj.ConcretizationError):
        return "refused", []
    except Exception as error:
        return error, []
    return None, plain(results) + plain(mine)


def check(seed: int, path: Path) -> None:
    """Assert that the program of `seed` does the same jitted, or is refused with what is not supported."""
    text, rng = program(seed), np.random.default_rng(seed)
    function = of_source(text, path)
    jitted = tj.jit(function)
    for _ in range(2):
        arguments = [rng.integers(0, 9, shape) / 4 for shape in (8, (2, 4), 30)]
        expected, values = _outcome(function, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UncompiledCallWarning)
            error, results = _outcome(jitted, arguments)
        if error == "refused":
            return
        assert isinstance(error, type(expected)), f"{seed}: {error!r} instead of {expected!r}\n{text}"
        for result, value in zip(results, values, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-9, err_msg=f"{seed}\n{text}")


@pytest.mark.parametrize("number", range(60))
def test_writes_through_views(number: int, tmp_path: Path) -> None:
    check(SEED * 1000 + number, tmp_path / "views.py")


@pytest.mark.parametrize("seed", [165])
def test_found(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path / "views.py")


def test_most_are_compiled(tmp_path: Path) -> None:
    """A view that names of variables lead to is written in the array; few are refused or run as Python."""
    refused = 0
    for seed in range(40):
        function = of_source(program(seed), tmp_path / f"views{seed}.py")
        arguments = [np.arange(8) / 4, np.ones((2, 4)), np.arange(30) % 7 / 4]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            error, _ = _outcome(tj.jit(function), arguments)
        refused += error == "refused" or any(w.category is tj.UncompiledCallWarning for w in caught)
    assert refused <= 8
