"""Reads of a jitted function outside its arguments: inputs, guards, and what is said of them."""

from __future__ import annotations

import random
import time
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.reads import read_function

from ...support import processor_seconds, ratio

X = tj.tensor([1.0, 2.0, 3.0])


class Counted:
    """A function that knows how often it was traced."""

    def __init__(self, function: Any) -> None:
        self.traces = 0
        self._function = function

    def __call__(self, *args: Any) -> Any:
        self.traces += 1
        return self._function(*args)


def traces(jitted: Any) -> int:
    """Number of compilations of a jitted function of one signature."""
    (signature,) = jitted.explain().signatures
    return 1 + len(signature.earlier)


@pytest.mark.parametrize(
    "function",
    [
        lambda o, x: x - o.k * x,
        lambda o, x: o.k / x,
        lambda o, x: tj.maximum(x, o.k),
        lambda o, x: tj.where(x > o.k, x, o.k),
        lambda o, x: (x * o.k).sum() + o.k,
        lambda o, x: sum([part * o.k for part in (x, x + 1)]),
        lambda o, x: {"a": x}["a"] * o.k,
        lambda o, x: (lambda y: y * o.k)(x),
        lambda o, x: tj.grad(lambda w: (w * w * o.k).sum())(x),
        lambda o, x: tj.scan(lambda c, y: (c + y * o.k, c), tj.zeros(()), x)[0],
        lambda o, x: [row * o.k for row in x][1],
    ],
)
def test_floats_that_meet_tensors_are_inputs(function: Any) -> None:
    settings = types.SimpleNamespace(k=0.5)
    jitted = tj.jit(lambda x: function(settings, x))
    for value in (0.5, 1.5, -2.0, 1.5):
        settings.k = value
        for _ in range(2):
            np.testing.assert_allclose(np.asarray(jitted(X)), np.asarray(function(settings, X)), rtol=1e-15)
    assert traces(jitted) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda o, x: x * (1 - o.k),
        lambda o, x: x**o.k,
        lambda o, x: x * float(str(o.k)),
        lambda o, x: x * max(o.k, 1.0),
        lambda o, x: x + [o.k, 2 * o.k][0] * 3,
        lambda o, x: sum([part * o.k for part in (x, 2.0)]),
        lambda o, x: (lambda y, z: y * o.k + z * o.k)(x, 3.0),
        lambda o, x: tj.full(3, o.k) * x,
    ],
)
def test_other_floats_are_guarded(function: Any) -> None:
    settings = types.SimpleNamespace(k=0.5)
    jitted = tj.jit(lambda x: function(settings, x))
    for value in (0.5, 1.5, 2.5, 1.5):
        settings.k = value
        for _ in range(2):
            np.testing.assert_allclose(np.asarray(jitted(X)), np.asarray(function(settings, X)), rtol=1e-15)
    assert traces(jitted) == 3


def test_numbers_that_are_one_object_are_told_apart() -> None:
    """The literal, both attributes and the module's constant are the same float object."""
    first = types.SimpleNamespace(k=0.1)
    second = types.SimpleNamespace(k=first.k)

    def function(x: Any) -> Any:
        scaled = [x * each.k for each in (first, second)]
        return scaled[0] - 2 * scaled[1] + x * 0.1

    jitted = tj.jit(function)
    for first.k, second.k in ((0.1, 0.1), (0.2, 0.1), (0.1, 0.3), (0.2, 0.2)):
        for _ in range(2):
            # a contracted multiply-add rounds once less
            np.testing.assert_allclose(np.asarray(jitted(X)), np.asarray(function(X)), rtol=1e-14)


def test_values_that_go_back_and_forth_compile_once_each() -> None:
    model = types.SimpleNamespace(training=True, mode="a")
    calls = 0

    @tj.jit
    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        x = x * 2 if model.training else x
        return x + 1 if model.mode == "a" else x

    for number in range(24):
        model.training, model.mode = number % 2 == 0, "ab"[number // 4 % 2]
        expected = (np.array([2.0, 4.0, 6.0]) if model.training else np.arange(1.0, 4)) + (model.mode == "a")
        np.testing.assert_array_equal(np.asarray(f(X)), expected)
    assert calls == 4


def test_what_is_not_read_is_not_guarded() -> None:
    model = types.SimpleNamespace(k=1, history=[], other={"a": 1})
    jitted = tj.jit(lambda x: x * model.k)
    for number in range(5):
        model.history.append(number)
        model.other = {"a": number}
        jitted(X)
    assert traces(jitted) == 1


def test_only_the_branch_that_is_taken_counts() -> None:
    model = types.SimpleNamespace(verbose=False, seen=0)

    @tj.jit
    def f(x: Any) -> Any:
        if model.verbose:
            return x * time.time() * model.seen
        return x

    for model.seen in range(3):
        f(X)
    assert traces(f) == 1


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: x * time.time(), "time.time"),
        (lambda x: x * np.random.default_rng(3).normal(), None),
    ],
)
def test_clocks_are_frozen_with_a_warning(function: Any, name: str | None) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jitted = tj.jit(function)
        jitted(X), jitted(X)
    messages = [str(warning.message) for warning in caught if warning.category is tj.FrozenResultWarning]
    assert len(messages) == (name is not None)
    assert all(f"{name}() runs while the function is traced" in message for message in messages)
    assert all(warning.filename == __file__ for warning in caught)


def _drawn_in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * GENERATOR.beta(2.0, 1.0)
    return total


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: x * np.random.logistic(size=len(x)), "np.random.logistic"),
        (lambda x: x * GENERATOR.random(len(x), np.float32), "np.random.random"),
        (lambda x: x * random.random(), "random.random"),
        (_drawn_in_a_loop, "np.random.beta"),
    ],
)
def test_random_numbers_are_not_frozen(function: Any, name: str) -> None:
    state = GENERATOR.bit_generator.state
    with pytest.raises(tj.TraceError, match=rf"{name}\(\) draws random numbers"):
        tj.jit(function)(X)
    assert GENERATOR.bit_generator.state == state


def test_draws_that_do_not_happen_are_no_error() -> None:
    assert np.array_equal(tj.jit(lambda x, noisy: x * np.random.rand() if noisy else x)(X, None), X)


def test_asserts_that_pytest_rewrites_depend_on_what_they_test_alone() -> None:
    class Model:
        def __init__(self) -> None:
            self.rate, self.steps = 2, 0

        def __call__(self, x: Any) -> Any:
            assert self.rate > 0, self
            assert x.size == self.rate + 1
            return x * self.rate

    model = Model()
    jitted = tj.jit(model)
    for model.steps in range(3):
        jitted(X)
    assert traces(jitted) == 1


def test_clocks_that_installed_packages_read_are_their_own_affair(tmp_path: Path) -> None:
    """Clocks are theirs, too, where they call the user's code back: a plugin, a hook."""
    package = tmp_path / "site-packages" / "installed.py"
    module = types.ModuleType("installed")
    exec(compile("def run(hook): return hook() > 0", str(package), "exec"), vars(module))

    def clock() -> float:
        return time.time()

    f = tj.jit(lambda x: x * 3 if module.run(clock) else x)
    assert f(X).tolist() == (3 * X).tolist()


GENERATOR = np.random.default_rng(0)


def test_arrays_that_the_function_makes_and_writes_are_what_they_were() -> None:
    @tj.jit
    def f(x: Any) -> Any:
        scale = np.ones(3)
        y = x * scale
        scale[0] = 7
        z = x * scale
        scale[:] = 0
        return y, z

    for _ in range(2):
        y, z = f(X)
        assert y.tolist() == [1, 2, 3]
        assert z.tolist() == [7, 2, 3]


def test_elements_that_numpy_reads_are_guarded_bit_by_bit() -> None:
    table = np.arange(6.0).reshape(2, 3)
    jitted = tj.jit(lambda x: x * table.max(axis=0).sum() + np.sign(table[0, 0]))
    for _ in range(3):
        table += 1
        for _ in range(2):
            expected = np.asarray(X) * table.max(axis=0).sum() + np.sign(table[0, 0])
            np.testing.assert_array_equal(np.asarray(jitted(X)), expected)
    (signature,) = jitted.explain().signatures
    assert signature.native_entry
    assert "table, which the function closes over" in signature.reason


def test_what_the_function_changes_itself_is_listed() -> None:
    log: list[float] = []
    model = types.SimpleNamespace(calls=0)

    @tj.jit
    def f(x: Any) -> Any:
        model.calls += 1
        log.append(1.0)
        return x + 1

    for _ in range(3):
        f(X)
    assert model.calls == len(log) == 1
    (signature,) = f.explain().signatures
    assert [text.partition(":")[0] for text in signature.unwatched] == ["model.calls", "log"]
    assert "not watched: model.calls" in f.explain()


def test_code_that_is_replaced_in_place() -> None:
    """Code may be replaced in place, as IPython's autoreload does it."""

    def helper(x: Any) -> Any:
        return x + 1

    jitted = tj.jit(lambda x: helper(x))
    assert jitted(X).tolist() == [2, 3, 4]
    helper.__code__ = (lambda x: x * 10).__code__
    assert jitted(X).tolist() == [10, 20, 30]


def test_a_value_that_changes_at_each_read_is_refused() -> None:
    class Restless:
        count = 0

        @property
        def value(self) -> int:
            type(self).count += 1
            return self.count

    restless = Restless()
    jitted = tj.jit(lambda x: x * restless.value)
    with pytest.raises(tj.TraceError, match=r"restless.count, .* each time while it was traced"):
        jitted(X)


def test_missing_attributes_that_come_later() -> None:
    model = types.SimpleNamespace()
    jitted = tj.jit(lambda x: x * getattr(model, "scale", 1) + ({}.get("a") or 0))
    assert jitted(X).tolist() == [1, 2, 3]
    model.scale = 5
    assert jitted(X).tolist() == [5, 10, 15]
    del model.scale
    assert jitted(X).tolist() == [1, 2, 3]


def test_thirty_layers_in_a_loop() -> None:
    class Layer:
        def __init__(self, k: int) -> None:
            self.k, self.w = k, tj.ones(3)

        def __call__(self, x: Any) -> Any:
            return x + self.w * self.k

    layers = [Layer(number) for number in range(30)]

    def net(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    jitted = tj.jit(net)
    for change in (lambda: None, lambda: setattr(layers[17], "k", 100), lambda: layers.append(Layer(7))):
        change()
        np.testing.assert_array_equal(np.asarray(jitted(X)), np.asarray(net(X)))
    layers[3].w = tj.zeros(3)
    np.testing.assert_array_equal(np.asarray(jitted(X)), np.asarray(net(X)))
    assert traces(jitted) == 3


def test_a_failure_of_the_reader_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise KeyError("inside")

    monkeypatch.setattr("tracejit.frontend.operations.Operations.binary", fail)
    scale = 2.0
    jitted = tj.jit(lambda x: x * scale)
    with pytest.warns(
        tj.CompilerWarning, match=r"the guards of <lambda>: KeyError: 'inside' .* may go unnoticed"
    ):
        assert jitted(X).tolist() == [2, 4, 6]
    assert "not watched: the function could not be followed" in jitted.explain()


def test_long_functions_take_no_longer_for_each_line() -> None:
    def seconds(lines: int) -> float:
        scope: dict[str, Any] = {"sin": tj.sin}
        source = "def f(x):\n" + "".join(f"    x = sin(x) * {line}.5\n" for line in range(lines))
        exec(compile(source, "/home/user/program.py", "exec"), scope)
        return processor_seconds(lambda: read_function(scope["f"], (X,), {}, frozenset(), "f"))

    # eight times is linear, 64 times quadratic
    assert ratio(lambda: seconds(8_000), lambda: seconds(1_000), 24) < 24


def test_numbers_of_code_that_is_equal() -> None:
    """Code that was compiled twice is equal; each function has its own."""
    source = "def f(x):\n    return x * settings.k + settings.k * sin(x)\n"
    for k in (2.0, 3.0):
        scope: dict[str, Any] = {"sin": tj.sin, "settings": types.SimpleNamespace(k=k)}
        exec(compile(source, "/home/user/program.py", "exec"), scope)
        f = tj.jit(scope["f"])
        for factor in (k, 5.0, 7.0):
            scope["settings"].k = factor
            assert f(X).tolist() == (X * factor + factor * tj.sin(X)).tolist()
        assert traces(f) == 1


def test_code_that_is_too_long_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.frontend.calls._MAX_STEPS", 200)
    scope: dict[str, Any] = {"settings": types.SimpleNamespace(k=np.array(2.0))}
    for name, lines in (("long", 1_000), ("helper", 400)):
        exec(f"def {name}(x):\n" + "    x = x + 1.0\n" * lines + "    return x * settings.k\n", scope)
    exec("def calls(x):\n    return helper(x)\n", scope)
    jitted = tj.jit(scope["long"])  # its own instructions are followed in any case
    assert jitted(X).tolist() == [2002.0, 2004.0, 2006.0]
    scope["settings"].k = np.array(3.0)
    assert jitted(X).tolist() == [3003.0, 3006.0, 3009.0]
    with pytest.warns(
        tj.FrozenResultWarning, match=r"calls: not watched: the function is too long .* is a constant"
    ):
        tj.jit(scope["calls"])(X)


def test_more_objects_than_are_watched_are_warned_of() -> None:
    table = [[float(number)] for number in range(21_000)]
    jitted = tj.jit(lambda x: x + np.array(table).sum())
    with pytest.warns(tj.FrozenResultWarning, match=r"not watched: table\[19999\] and more: .* over 20,000 "):
        jitted(X)
    assert str(jitted.explain()).count("not watched") == 1
    table[7][0] += 1.0
    with pytest.warns(tj.FrozenResultWarning):
        assert jitted(X).tolist() == (X + np.array(table).sum()).tolist()
