"""docs/differences.md says what is: each row of its table is run, in NumPy, eagerly and jitted."""

from __future__ import annotations

import copy
import operator
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .allowed import ALLOWED, ZERO_SIGNS_DIFFER

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"


def _rows() -> list[tuple[str, ...]]:
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


ROWS = _rows()


def _text(value: Any) -> str:
    """A result as the document writes it."""
    if isinstance(value, tj.Tensor):
        value = value.detach().numpy()
    return str(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)


def _shown(run: Callable[[], Any]) -> set[str]:
    """The result as text, or the names of the exception's classes."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return {_text(run())}
    except Exception as error:
        return {kind.__name__ for kind in type(error).__mro__[:-2]}


def _evaluated(expression: str, xp: Any, x: Any) -> Any:
    return eval(expression, {"xp": xp, "x": x, "np": np, "tj": tj, "operator": operator})


def _jitted(expression: str, x: Any) -> Any:
    """The result of the jitted `expression`; a result that is not a tensor is taken from the trace."""
    others: list[Any] = []

    def traced(x: Any) -> Any:
        result = _evaluated(expression, tj, x)
        if isinstance(result, tj.Tensor) or hasattr(result, "apply_selected"):  # of a mask, not known before
            return result
        others.append(result)
        return x

    result = tj.jit(traced)(x)
    return others[0] if others else result


def _promised(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


@pytest.mark.parametrize("row", ROWS, ids=[row[1] for row in ROWS])
def test_each_row_shows_its_difference(row: tuple[str, ...]) -> None:
    source, code, numpy, eager, jitted, why = row
    (expression,) = _promised(code)
    written = eval(source.strip("`"), {"np": np})
    x = written if isinstance(written, int) else np.asarray(written)
    tensor = x if isinstance(x, int) else tj.asarray(x)
    results = {
        "eager": (_shown(lambda: _evaluated(expression, tj, tensor)), _promised(eager)),
        "jitted": (_shown(lambda: _jitted(expression, x)), _promised(eager if jitted == "same" else jitted)),
    }
    if numpy != "nothing":
        results["NumPy"] = _shown(lambda: _evaluated(expression, np, copy.copy(x))), _promised(numpy)
    for name, (actual, promised) in results.items():
        assert actual & promised, f"{name} gives {actual}, the document says {promised}"
    cells = [_promised(numpy), _promised(eager), *([] if jitted == "same" else [_promised(jitted)])]
    assert any(len(cell) > 1 for cell in cells) or any(cell != cells[0] for cell in cells), "no difference"
    assert why


def test_what_the_random_calls_leave_out_is_in_the_document() -> None:
    expressions = {row[1].strip("`") for row in ROWS}
    assert {rule.row for rule in ALLOWED} <= expressions
    assert ZERO_SIGNS_DIFFER
