"""Functions made of rows do what their examples show."""

from __future__ import annotations

import doctest

import pytest

import tracejit as tj
from tracejit.surface.elementwise import ELEMENTWISE
from tracejit.surface.reductions import REDUCTIONS
from tracejit.surface.special import SPECIAL

FUNCTIONS = {f"tj.{row.name}": getattr(tj, row.name) for row in (*ELEMENTWISE, *REDUCTIONS)}
FUNCTIONS |= {f"tj.scipy.special.{row.name}": getattr(tj.scipy.special, row.name) for row in SPECIAL}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example(name):
    """`tests/test_doctests.py` runs the examples of functions that stand in a module."""
    examples = doctest.DocTestParser().get_doctest(FUNCTIONS[name].__doc__, {}, name, None, 0)
    assert len(examples.examples) > 1
    assert f"{name}(" in examples.examples[-1].source
    assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples).failed
