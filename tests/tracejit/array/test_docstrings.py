"""Every public function of arrays names the function whose semantics it has, and shows an example."""

from __future__ import annotations

import inspect

import pytest

import tracejit as tj
from tracejit.surface.namespaces import ARRAY


@pytest.mark.parametrize("name", [name for name, home in ARRAY.homes.items() if home.startswith(".")])
def test_meaning_has_a_source_and_an_example(name):
    function = getattr(tj, name)
    if inspect.isfunction(function):
        assert ">>> " in function.__doc__
        assert "Semantics:" in function.__doc__
