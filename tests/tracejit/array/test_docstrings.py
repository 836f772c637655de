"""Every public function has a docstring whose example runs and shows what it says."""

from __future__ import annotations

import doctest
import inspect

import pytest

import tracejit as tj
from tracejit.surface.elementwise import ELEMENTWISE
from tracejit.surface.namespaces import ARRAY


@pytest.mark.parametrize("name", [row.name for row in ELEMENTWISE])
def test_example(name):
    """Functions made of rows: `tests/test_doctests.py` runs the examples of those that stand in a module."""
    examples = doctest.DocTestParser().get_doctest(getattr(tj, name).__doc__, {"tj": tj}, name, None, 0)
    assert examples.examples
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name, home in ARRAY.homes.items() if home.startswith(".")])
def test_meaning_has_a_source(name):
    function = getattr(tj, name)
    if inspect.isfunction(function):
        assert ">>> " in function.__doc__
        assert "Semantics:" in function.__doc__
