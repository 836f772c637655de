"""Every parameter of NumPy's functions and methods is taken here, at NumPy's place and by NumPy's name."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.bad_input.valid_calls import Call, public_calls
from tracejit.array.numpy_calls.signatures import WITHOUT_MEANING, argument_map
from tracejit.surface.namespaces import NUMPYS
from tracejit.tools.numpy_names import OTHER_PARAMETERS

pytestmark = pytest.mark.skipif(np.__version__[:4] != "2.4.", reason="the parameters are NumPy 2.4's")

#: Functions whose signature NumPy does not tell, and `tj.trace`, which is another function.
_WITHOUT_SIGNATURE = {"fromstring", "trace"}


def _functions() -> list[str]:
    return [
        name
        for name in sorted(tj.__all__)
        if name not in {*NUMPYS.split(), *_WITHOUT_SIGNATURE}
        and inspect.isroutine(getattr(np, name, None))
        and not isinstance(getattr(np, name), type)
    ]


def _parameters(function: Any) -> list[inspect.Parameter]:
    named = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind not in named
    ]


@pytest.mark.parametrize("name", _functions())
def test_functions_take_numpys_parameters(name: str) -> None:
    theirs = getattr(np, name)
    arguments = argument_map(theirs, getattr(tj, name))
    assert arguments is not None
    own = [
        parameter.name
        for parameter in arguments.ours.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    for place, parameter in enumerate(_parameters(theirs)):
        other = (name, parameter.name) in OTHER_PARAMETERS
        taken = arguments.takes(parameter.name) or parameter.name in WITHOUT_MEANING
        assert taken != other, f"{name}: {parameter.name} is {'not ' * (not taken)}taken"
        if arguments.variadic or parameter.kind is parameter.KEYWORD_ONLY or not place < len(own):
            continue
        if parameter.name not in WITHOUT_MEANING:
            assert arguments.agreeing[parameter.name] == own[place]


@pytest.mark.parametrize("name", [name for name in _functions() if name not in ("array", "asarray")])
def test_defaults_are_numpys(name: str) -> None:
    arguments = argument_map(getattr(np, name), getattr(tj, name))
    assert arguments is not None
    for parameter in _parameters(getattr(np, name)):
        default = parameter.default
        if parameter.name in arguments.agreeing and default is not np._NoValue:
            own = arguments.ours[arguments.agreeing[parameter.name]].default
            assert (name, parameter.name) in _OTHER_DEFAULTS or own is default or own == default


#: Defaults of another value and the same meaning; the dtypes are ``default_dtype()``.
_OTHER_DEFAULTS = {
    ("einsum", "optimize"),
    ("eye", "dtype"),
    ("frombuffer", "dtype"),
    ("fromfile", "dtype"),
    ("histogram", "density"),
    ("histogram2d", "density"),
    ("histogramdd", "density"),
    ("save", "allow_pickle"),
    ("tri", "dtype"),
    ("expand_dims", "axis"),
}


def _methods() -> list[str]:
    return [
        name
        for name in dir(np.ndarray)
        if not name.startswith("_")
        and hasattr(tj.Tensor, name)
        and inspect.isroutine(getattr(np.ndarray, name))
        and name not in ("view",)  # PyTorch's, a reshape
    ]


@pytest.mark.parametrize("name", _methods())
def test_methods_take_numpys_parameters(name: str) -> None:
    ours = inspect.signature(getattr(tj.Tensor, name)).parameters
    places = [parameter.name for parameter in ours.values()]
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in ours.values())
    for place, parameter in enumerate(_parameters(getattr(np.ndarray, name))):
        if place == 0 or variadic:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            assert place < len(places)
        else:
            assert places[place] == parameter.name or parameter.kind is parameter.KEYWORD_ONLY
            own = ours[parameter.name].default
            assert own == parameter.default or own is parameter.default


#: Functions that take their first argument by place alone: looking for names would show in the time they
#: take.
_BY_PLACE_ALONE = {"copy", "expand_dims", "reshape", "squeeze", "swapaxes", "transpose"}
#: Functions without comparable results: files, memory that is not written, and texts of two kinds of arrays.
_NO_RESULT = {"empty", "empty_like", "fromfile", "frombuffer", "fromiter", "fromfunction", "load", "loadtxt"}
_NO_RESULT |= {"genfromtxt", "save", "savetxt", "array_repr", "result_type", "vectorize", "iterable"}


def _numpy_calls() -> list[Call]:
    """Calls of functions that take arguments by NumPy's names."""
    names = set(_functions()) - _BY_PLACE_ALONE - _NO_RESULT
    return [call for call in public_calls() if call.name in names]


@pytest.mark.parametrize("call", _numpy_calls(), ids=lambda call: call.name)
def test_arguments_are_taken_by_numpys_names(call: Call) -> None:
    theirs, ours = getattr(np, call.name), getattr(tj, call.name)
    arguments = argument_map(theirs, ours)
    assert arguments is not None
    by_own = {own: name for name, own in arguments.agreeing.items()}
    parameters = inspect.signature(theirs).parameters

    def outcome(function: Any) -> Any:
        values = call.arguments()
        if arguments.variadic or not set(values) <= set(by_own):
            pytest.skip("arguments of a list, or that NumPy does not have")
        places = []
        named = {by_own[name]: value for name, value in values.items()}
        for name, parameter in parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in named:
                places.append(named.pop(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*places, **named)

    _assert_same(outcome(ours), outcome(theirs))


def _assert_same(actual: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for item, other in zip(actual, expected, strict=True):
            _assert_same(item, other)
    elif isinstance(expected, (tj.Tensor, np.ndarray, np.generic, int, float)):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-12, atol=1e-14)
    else:
        assert actual is expected or actual == expected
