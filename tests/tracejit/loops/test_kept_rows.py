"""Rows of the array that a loop iterates over, kept by variables and lists under conditions: they are views,
and what is written behind the loop through one name is read by the others."""

from __future__ import annotations

import itertools
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED

#: Heads of loops whose items are called ``r``.
HEADS = (
    "for r in X:", "for i, r in enumerate(X):", "for r in X.T:", "for a, r in zip(X, X[::-1]):",
    "for r in X[1:]:", "for r in Y:", "for r, a in itertools.pairwise(X):",
    "for i in range(len(X)):\n        r = X[i]",
)  # fmt: skip
#: Ways to keep an item, with the name by which the array that is kept last is read behind the loop.
KEEPS = (
    ("if r[0] > 0: q = r", "q"), ("if r[0] > 0: q = r[1:]", "q"), ("q = r if r[0] > 0 else q", "q"),
    ("if r[0] > 0: out.append(r)", "out[-1]"), ("if r[0] > 0: out.append((q, r))", "out[-1][1]"),
    ("if r[0] > 0:\n            if r[1] > 0: q = r", "q"), ("if q is None or r[0] > q[0]: q = r", "q"),
    ("if r[0] > 0:\n            q = r\n            break", "q"),
    ("for s in X:\n            if s[0] > r[0]: q = s", "q"),
)  # fmt: skip
#: Writes behind the loop, through the array or what was kept.
WRITES = (
    "X[:] = 7.0",
    "Y[:] = 7.0",
    "{q}[1] = 9.0",
    "{q}[:] = X[0, 0] + 1.0",
    "X += 1.0",
    "X[-1, -1] = 3.0",
    "Y *= 2.0",
)


def text(head: str, keep: tuple[str, str], write: str) -> str:
    """A function that keeps items of a loop, and writes behind it."""
    statement, name = keep
    first = "None" if "None" in statement else "X[0]"
    item = "(q, X[0])" if "(q, r)" in statement else "X[0]"
    return (
        f"def f(X):\n    Y = X * 2\n    q = {first}\n    out = [{item}]\n    {head}\n        {statement}\n"
        f"    {write.format(q=name)}\n    return {name} * 1.0, X.sum(), Y.sum()\n"
    )


COMBINATIONS = list(itertools.product(HEADS, KEEPS, WRITES))


@pytest.mark.parametrize("number", range(24))
def test_kept_rows_are_views(number: int, tmp_path: Path) -> None:
    source = text(*random.Random(SEED * 1000 + number).choice(COMBINATIONS))
    path = tmp_path / "rows.py"
    path.write_text(source)
    names: dict[str, Any] = {"np": np, "itertools": itertools}
    exec(compile(source, str(path), "exec"), names)
    rng = np.random.default_rng(number)
    for X in (np.ones((7, 7)), rng.normal(size=(7, 7))):
        ours, theirs = X.copy(), X.copy()
        expected = names["f"](theirs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UncompiledCallWarning)
            results = tj.jit(names["f"])(ours)
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_allclose(np.asarray(result), value, err_msg=source)
        np.testing.assert_allclose(ours, theirs, err_msg=source)
