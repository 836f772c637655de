"""Texts of what is traced: values where code computes with them, and a name where they are only shown."""

import functools
import logging
import warnings

import numpy as np
import pytest

import tracejit as tj

X = np.array([1.0, -2.5, 3.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: float(str(x[0]) == "1.0"),
        lambda x: float(repr(x[0]) == "np.float64(1.0)"),
        lambda x: float(len(f"{x[1]}")),
        lambda x: float(len(f"{x[1]:.3f}")),
        lambda x: float(len("%s and %d" % (x[1], x[2]))),  # noqa: UP031
        lambda x: float(len("{} {:+.2e}".format(x[1], x[2]))),  # noqa: UP032
        lambda x: {"1.0": 5.0}.get(str(x[0]), 0.0),
        lambda x: float(" ".join(map(str, x)) == "1.0 -2.5 3.0"),
        lambda x: float(len(str(x[0] > 0))),
        lambda x: sum(float(text) for text in [str(value) for value in x]),
    ],
)
def test_text_of_a_number_is_its_value(function):
    jitted = tj.jit(function)
    for array in (X, X + 9.0):
        assert np.asarray(jitted(array)) == function(array)


@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (lambda x: float(len(str(x))), "str"),
        (lambda x: float(len(f"{x[:2]}")), "str"),
        (lambda x: float(len(repr(x))), "repr"),
        (lambda x: float(len(str(x[x > 0]))), "str"),
        (lambda x: float(len(str([x]))), "repr"),
    ],
)
def test_a_call_that_computes_with_the_text_of_an_array_runs_as_python(function, asked):
    with pytest.warns(
        tj.UncompiledCallWarning, match=rf"{asked}\(x.*asks for the elements of a traced array"
    ):
        assert np.asarray(tj.jit(function)(X)) == function(X)


def test_what_is_only_shown_has_no_value(capsys):
    def f(x):
        print("x is", x, f"{x[0]}")
        logging.getLogger("texts").warning("first %s", x[0])
        warnings.warn(f"last {x[-1]}", UserWarning, stacklevel=1)
        assert x.shape == (3,), f"wrong {x}"
        return x * 2

    jitted = tj.jit(f)
    assert logging.getLogger("texts").isEnabledFor(logging.WARNING)  # which the logger keeps
    with pytest.warns(UserWarning, match=r"last tensor\(<traced f64"):
        np.testing.assert_array_equal(jitted(X), X * 2)
    shown = capsys.readouterr()
    assert shown.out == "x is tensor(<traced f64[3]>) tensor(<traced f64[]>)\n"
    assert shown.err == "first tensor(<traced f64[]>)\n"
    assert len(jitted.explain().signatures) == 1


def test_errors_show_values():
    def f(x):
        if x[0] > 5:
            raise ValueError(f"too large: {x[0]} in {x}")
        return x

    jitted = tj.jit(f)
    np.testing.assert_array_equal(jitted(X), X)
    with pytest.raises(ValueError, match=r"too large: 9\.0 in \[9\. 9\. 9\.\]"):
        jitted(np.full(3, 9.0))


def test_keys_are_values():
    table = {1.0: 10.0, -2.5: 20.0}

    def f(x):
        seen = set()
        repeated = 0
        for value in x:
            repeated += value in seen
            seen.add(value)
        return table.get(x[0], 0.0) + table.get(x[1], 0.0) + len(seen) + 100 * repeated + (x[2] in {3.0})

    jitted = tj.jit(f)
    for array in (X, np.array([1.0, 1.0, 7.0])):
        assert np.asarray(jitted(array)) == f(array)


def test_nan_is_a_key_by_identity():
    def f(x):
        value = x[0]
        return float(value in {value: 1}) + 10 * float(x[1] in {x[0]: 1})

    assert np.asarray(tj.jit(f)(np.full(2, np.nan))) == f(np.full(2, np.nan)) == 1.0


@functools.singledispatch
def kind(value):
    return 0.0


@kind.register(np.ndarray)
def _(value):
    return 1.0


@kind.register(float)
def _(value):
    return 2.0


@kind.register(int)
def _(value):
    return 3.0


@pytest.mark.parametrize("argument", [X, np.array(2.0), 2.0, 2, np.float64(2.0), True], ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: kind(x),
        lambda x: float(x.__class__ is np.ndarray) + 2 * float(type(x) is np.ndarray),
        lambda x: float(isinstance(x, np.ndarray)) + 2 * float(isinstance(x, float)),
        lambda x: float(getattr(x, "ndim", -1)),
        lambda x: float(np.isscalar(x)) + 2 * float(hasattr(x, "shape")),
    ],
    ids=["singledispatch", "class", "isinstance", "getattr", "isscalar"],
)
def test_what_an_argument_is(function, argument):
    assert np.asarray(tj.jit(function)(argument)) == function(argument)


def test_handled_attributes_of_numbers():
    def f(x):
        try:
            return float(len(x.shape))
        except AttributeError:
            return -1.0

    assert np.asarray(tj.jit(f)(X)) == 1.0
    with pytest.warns(tj.UncompiledCallWarning, match=r"asks for `\.shape` of a traced number"):
        assert np.asarray(tj.jit(f)(2.0)) == -1.0


def test_handlers_of_all_errors_are_for_others():
    def f(x, scale):
        try:
            return x.sum() * scale
        except Exception:
            return -1.0

    assert np.asarray(tj.jit(f)(X, 2.0)) == f(X, 2.0)


def test_methods_that_tensors_lack():
    assert np.asarray(tj.jit(lambda x: x.is_integer() + 0.0)(2.0)) == 1.0
    assert np.asarray(tj.jit(lambda x: x[0].is_integer() + x[1].is_integer())(X)) == 1
    assert np.asarray(tj.jit(lambda k: k.bit_length())(5)) == 3
    assert np.asarray(tj.jit(lambda k: pow(k, 3, 7))(5)) == 6
    assert np.asarray(tj.jit(lambda x: x.item(1) + x.reshape(3, 1).item((2, 0)))(X)) == 0.5
    with pytest.warns(tj.UncompiledCallWarning, match=r"x\.byteswap"):
        np.testing.assert_array_equal(tj.jit(lambda x: x.byteswap())(np.arange(3)), np.arange(3).byteswap())
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
        tj.jit(lambda x: x.nothing)(X)
