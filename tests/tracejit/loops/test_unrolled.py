"""Loops that are not compiled: the same results, and the reason."""

# ruff: noqa: B007, SIM105 - loops as users write them

import math

import numpy as np
import pytest

import tracejit as tj
from tracejit.loops.source.functions import Converted

from .common import agree, reports

X = np.linspace(0.1, 1.0, 7)


class Model:
    def __init__(self):
        self.weight = 2.0
        self.calls = 0

    def step(self, v):
        return self.weight * v

    def bump(self, v):
        self.calls = self.calls + 1
        return v


MODEL = Model()


def appended_and_read(x):
    o = [x]
    for i in range(7):
        o.append(o[-1] * 0.5 + x[i])
    return o


def appended_by_two_names(x):
    o = []
    p = o
    for i in range(7):
        o.append(x[i] * 2)
    return p


def indexed_list(x):
    ws = [x, x + 1.0, x * 2.0]
    s = 0.0
    for i in range(3):
        s += ws[i] * x[i]
    return s


def a_number_or_none_in_a_list(x):
    best = None
    o = []
    for i in range(7):
        if x[i] > 0.5:
            best = x[i]
        o.append(best)
    return len(o)


def python_numbers_alone(x):
    k = 0
    for i in range(7):
        k = k + i
    return x * k, k


def integer_becomes_float(x):
    k = 1
    for i in range(7):
        k = k * 0.5
    return x * k


def sets_an_attribute(x):
    t = 0.0
    for i in range(7):
        t += MODEL.bump(x[i])
    return t


def ranges_to_the_index(x):
    a = x * 1.0
    for i in range(5):
        a[: i + 2] = np.arange(i + 2)
    return a


def contains_try(x):
    s = 0.0
    for i in range(7):
        try:
            s += x[i]
        except ValueError:
            pass
    return s


def _not_negative(v):
    if v < 0:
        raise ValueError("neg")
    return v


def raises_in_a_helper(x):
    s = 0.0
    for i in range(7):
        s += _not_negative(x[i])
    return s


def dict_written(x):
    d = {"a": 0.0}
    for i in range(7):
        d["a"] += x[i]
    return d


def containers(x):
    lst = [x[0], x[1]]
    s = 0.0
    for v in lst:
        s += v
    for k, v in {"a": 1.0}.items():
        s += v
    for c in "abc":
        s += 1
    return s


CASES = [
    (appended_and_read, (X,), "appends to a list that it also reads"),
    (appended_by_two_names, (X,), "a list that another name refers to"),
    (indexed_list, (X,), "Python integer"),
    (a_number_or_none_in_a_list, (X,), "may be None becomes a part"),
    (python_numbers_alone, (X,), "Python numbers alone"),
    (integer_becomes_float, (X.astype(np.float32),), "Python numbers alone"),
    (sets_an_attribute, (X,), "sets an attribute"),
    (ranges_to_the_index, (X,), "Python integer"),
    (contains_try, (X,), "a try statement"),
    (raises_in_a_helper, (X,), "ValueError: neg"),
    (dict_written, (X,), "writes a dict"),
    (containers, (X,), "iterates over a list; ranges and arrays"),
]


@pytest.mark.parametrize(("function", "arguments", "reason"), CASES)
def test_unrolled(function, arguments, reason, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, *arguments, mode="auto")
    assert any(outcome == "unrolled" and reason in text for outcome, text in reports(jitted))
    with pytest.raises(tj.TraceError, match="cannot be compiled"):
        tj.jit(function, loops="compiled")(*arguments)


EDITED = """
def kernel(x):
    total = 0.5
    for i in range(len(x)):
        total += x[i] * 3.0
    return total


def outer():
    def kernel(x):
        total = 0.5
        for i in range(len(x)):
            total += x[i] * 3.0
        return total

    return kernel
"""


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("old", "new"), [("", ""), ("3.0", "4.0"), ("+=", "-="), ("0.5", "x[0]")])
def test_files_that_were_edited_after_their_code_was_loaded(old, new, nested, tmp_path):
    path = tmp_path / "edited.py"
    path.write_text(EDITED)
    namespace = {}
    exec(compile(EDITED, str(path), "exec"), namespace)
    path.write_text(EDITED.replace(old, new) if old else EDITED)
    kernel = namespace["outer"]() if nested else namespace["kernel"]
    jitted = tj.jit(kernel)
    np.testing.assert_allclose(float(jitted(X)), 0.5 + 3.0 * X.sum(), rtol=1e-14)
    if not old:
        np.testing.assert_allclose(float(tj.jit(kernel, loops="compiled")(X)), float(jitted(X)), rtol=1e-14)
        return
    ((outcome, reason),) = reports(jitted)
    assert outcome == "unrolled"
    assert "has changed since it was loaded" in reason


def test_comprehensions_are_named_where_they_become_much_code():
    x = np.linspace(-1.0, 1.0, 100)

    def long(x):
        return sum(x[i] * x[i + 1] for i in range(99)), {"a": [v * 2 for v in x]}

    def short(x):
        return [x[i] * 2 for i in range(3)]

    for mode in ("auto", "compiled"):
        jitted = tj.jit(long, loops=mode)
        total, parts = jitted(x)
        np.testing.assert_allclose(float(total), long(x)[0])
        np.testing.assert_allclose([float(part) for part in parts["a"]], 2 * x)
        named = reports(jitted)
        assert [outcome for outcome, _ in named] == ["unrolled"]
        assert "comprehension" in named[0][1]
    jitted = tj.jit(short)
    np.testing.assert_allclose([float(part) for part in jitted(x)], 2 * x[:3])
    assert reports(jitted) == []


def test_comprehensions_are_named_in_nested_functions_and_beside_calls_that_ask():
    x = np.linspace(-1.0, 1.0, 100)

    def nested(x):
        def doubled(values):
            return [v * 2 for v in values]

        return sum(doubled(x))

    def asking(x):
        return sum(v * math.sqrt(w) for v, w in zip(x, x * x, strict=True))

    for function in (nested, asking):
        jitted = tj.jit(function)
        np.testing.assert_allclose(float(jitted(x)), function(x), atol=1e-12)
        ((outcome, reason),) = reports(jitted)
        assert outcome == "unrolled", function
        assert "comprehension" in reason


def test_functions_with_comprehensions_alone_are_rewritten_further_where_another_trace_asks():
    def roots(function, values):
        return [function(v) * 2 for v in values]

    before, comprehending = roots.__code__, {roots: "comprehensions"}
    with Converted(comprehending):
        light = roots.__code__
        with Converted({roots: "function"}):
            full = roots.__code__
            with Converted(comprehending):
                assert roots.__code__ is full
        assert roots(abs, [-1]) == [2]
    assert roots.__code__ is before
    assert len({before, light, full}) == 3
