"""Random Python programs do jitted what they do as Python: ``python -m tests.python_programs`` runs many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ..rotation import SEED
from .checking import Refused, TooLong, check, examine
from .containers import ContainerPrograms
from .generator import Generator
from .reducer import reduce_text
from .worker import number_of, program_of

PROGRAMS = 40


@pytest.mark.parametrize("index", range(PROGRAMS))
def test_a_new_program(index: int) -> None:
    number = number_of(SEED, index)
    text = program_of(number)
    try:
        finding = examine(text, number)
    except (Refused, TooLong):
        return
    assert finding is None, f"TRACEJIT_FUZZ_SEED={SEED}, program {index}: {finding}\n{text}"


@pytest.mark.parametrize("kind", [Generator, ContainerPrograms])
def test_a_seed_gives_one_program(kind: Any) -> None:
    assert kind(7).program() == kind(7).program() != kind(8).program()


def test_what_differs_is_found_and_reduced() -> None:
    """A function that counts its calls is not what is traced once."""
    text = """
CALLS = []


def f(x, a, n, z, y):
    s = x[0]
    for i in range(3):
        x[i] = s
    CALLS.append(0)
    x[5] = float(len(CALLS))
    return s
"""

    def fails(smaller: str) -> bool:
        try:
            return check(smaller, 0) is not None
        except Exception:  # no program any more, or refused
            return False

    assert fails(text)
    smaller = reduce_text(text, fails, seconds=600)
    assert "CALLS.append" in smaller
    assert "for i" not in smaller


def test_an_index_out_of_bounds_may_go_untold_where_no_result_needs_it() -> None:
    text = """
def f(x, a, n, z, y):
    s = 0.0
    for i in range(len(a)):
        s = a[i, i]
    return {result}
"""
    assert check(text.format(result="a"), 2) is None
    assert check(text.format(result="s"), 2) is None  # both raise


def test_an_error_that_is_lost_with_a_needed_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tj, "jit", lambda f: lambda *arguments: np.zeros(3))
    finding = check("def f(x, a, n, z, y):\n    return a[4] + 1.0\n", 2)
    assert finding is not None
    assert finding.kind == "value"
