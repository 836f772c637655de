"""The functions of the main namespace take the parameters that the standard gives them, with its defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .standard import CONSTANTS, DTYPES, signatures

_FUNCTIONS = signatures("")
#: Parameters whose None, which NumPy has for other reasons, means the standard's default.
_NONE_IS_THE_DEFAULT = {
    ("argsort", "stable"),
    ("sort", "stable"),
    ("std", "correction"),
    ("var", "correction"),
}


@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_parameters(name: str) -> None:
    function: Callable[..., Any] = getattr(tj, name)
    ours = inspect.signature(function)
    positional, named = [], {}
    for parameter in _FUNCTIONS[name].parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = parameter.default
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            positional.append(parameter.name)
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            assert parameter.name in ours.parameters, f"{parameter.name} cannot be given by name"
    bound = ours.bind(*positional, **named)
    theirs = {
        key for key, parameter in _FUNCTIONS[name].parameters.items() if parameter.default != parameter.empty
    }
    for key in theirs & set(bound.signature.parameters):
        expected = _FUNCTIONS[name].parameters[key].default
        default = ours.parameters[key].default
        if default is not None or (name, key) not in _NONE_IS_THE_DEFAULT:
            assert default == expected, f"{key}: {default}, expected {expected}"


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name: str) -> None:
    value, expected = getattr(tj, name), getattr(np, name)
    assert value is expected or value == expected or (value != value and expected != expected)


def test_dtypes() -> None:
    present = {name: getattr(tj, name) for name in DTYPES}
    assert all(tj.zeros(2, dtype=dtype).dtype == np.dtype(name) for name, dtype in present.items())
