"""Running functions with loops in every way, and comparing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj


def of_source(source: str, path: Path) -> Any:
    """The function ``f`` of the module `source`, which is written to `path`: loops are read from files."""
    path.write_text(source)
    names: dict[str, Any] = {"np": np}
    exec(compile(source, str(path), "exec"), names)
    return names["f"]


def plain(tree: Any) -> list[np.ndarray]:
    """The leaves of `tree` as arrays."""
    return [np.asarray(leaf) for leaf in tj.tree_leaves(tree)]


def agree(function: Callable[..., Any], *arguments: Any, mode: str = "compiled") -> Any:
    """Assert that `function` gives the same compiled as loops, unrolled, and as Python on NumPy arrays, and
    does the same to its arguments; the jitted function."""
    jitted = tj.jit(function, loops=mode)
    outcomes = []
    for run in (function, jitted, tj.jit(function, loops="unrolled")):
        mine = copy.deepcopy(arguments)
        outcomes.append((plain(run(*mine)), plain(mine)))
    expected, written = outcomes[0]
    for results, after in outcomes[1:]:
        assert len(results) == len(expected)
        for result, value in zip(results + after, expected + written, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-6 if result.dtype.itemsize < 8 else 1e-12)
    for rolled, unrolled in zip(outcomes[1][0], outcomes[2][0], strict=True):
        assert rolled.dtype == unrolled.dtype
    return jitted


def reports(jitted: Any) -> list[tuple[str, str]]:
    """The outcome and the reason for each loop of a jitted function."""
    return [
        (loop.outcome, loop.reason) for signature in jitted.explain().signatures for loop in signature.loops
    ]


class Cases(list[Any]):
    """Functions with loops and the arguments to call them with; `cases(*arguments)` decorates one."""

    def __call__(self, *arguments: Any, mode: str = "compiled") -> Callable[[Any], Any]:
        def decorate(function: Any) -> Any:
            self.append((function, arguments, mode))
            return function

        return decorate
