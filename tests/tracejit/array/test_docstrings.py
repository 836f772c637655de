"""Every public function has a docstring whose example runs and shows what it says."""

from __future__ import annotations

import doctest
import sys

import pytest

import tracejit as tj

ARRAY = sys.modules["tracejit.array"]


@pytest.mark.parametrize("name", ARRAY.__all__)
def test_example(name):
    function = getattr(ARRAY, name)
    text = function.__doc__
    assert text
    assert "Semantics:" in text
    examples = doctest.DocTestParser().get_doctest(text, {"tj": tj}, name, None, 0)
    assert examples.examples
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
    assert result.failed == 0
