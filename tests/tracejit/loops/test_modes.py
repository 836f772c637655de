"""Modes of loops: reports, warnings, guards, and what is compiled how often."""

import gc
import threading

import numpy as np
import pytest

import tracejit as tj

from .common import reports

X = np.linspace(0.1, 1.0, 100)
RATE = 0.5
WEIGHTS = [1.0, 2, 0.5]


def summed(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def scaled(x):
    s = 0.0
    for i in range(len(x)):
        s += RATE * x[i]
    return s


def test_a_hundred_lengths_compile_once():
    jitted = tj.jit(summed)
    for n in range(101):
        np.testing.assert_allclose(float(jitted(X, n)), X[:n].sum(), rtol=1e-12)
    (signature,) = jitted.explain().signatures
    assert not signature.paths
    assert not signature.earlier


def test_a_number_of_the_module_is_an_input(monkeypatch):
    jitted = tj.jit(scaled)
    before = float(jitted(X))
    monkeypatch.setitem(globals(), "RATE", 0.25)
    assert float(jitted(X)) == pytest.approx(before / 2)
    (signature,) = jitted.explain().signatures
    assert signature.captures == ("RATE",)
    assert not signature.earlier


def test_functions_keep_their_code():
    code = summed.__code__
    tj.jit(summed)(X, 3)
    assert summed.__code__ is code
    assert summed(X, 2) == X[0] + X[1]


def test_functions_work_in_other_threads_meanwhile():
    results, inside = [], threading.Event()

    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        if not inside.is_set():
            inside.set()
            thread = threading.Thread(target=lambda: results.append(f(X)))
            thread.start()
            thread.join()
        return s

    assert float(tj.jit(f)(X)) == pytest.approx(X.sum())
    assert results[0] == pytest.approx(X.sum())


def test_the_error_has_the_users_line():
    def f(x):
        s = 0.0
        for i in range(len(x) + 1):
            s += x[i]
        return s

    line = f.__code__.co_firstlineno + 3
    with pytest.raises(tj.OutOfBoundsError, match=rf"test_modes.py:{line}\)"):
        tj.jit(f)(X)


def test_short_loops_are_unrolled_without_a_word():
    def f(x):
        s = 0.0
        for i in range(3):
            s += x[i]
        return s

    jitted = tj.jit(f)
    jitted(X)
    assert reports(jitted) == []
    compiled = tj.jit(f, loops="compiled")
    compiled(X)
    assert reports(compiled) == [("compiled", "3 steps at once, as arrays")]


def test_unrolled_loops_are_not_compiled():
    jitted = tj.jit(scaled, loops="unrolled")
    jitted(X)
    assert reports(jitted) == []


def test_explain_tells_what_became_of_loops():
    jitted = tj.jit(scaled)
    jitted(X)
    line = scaled.__code__.co_firstlineno + 2
    assert f"loop at test_modes.py:{line}: compiled: 100 steps" in jitted.explain()
    assert jitted.explain().as_dict()["signatures"][0]["loops"][0]["outcome"] == "compiled"


def test_much_unrolled_code_is_worth_a_warning():
    def f(x):
        values = [x]
        for i in range(4500):
            values.append(values[-1] * i)
        return values[-1]

    with pytest.warns(tj.UnrolledLoopWarning, match="it appends to a list"):
        tj.jit(f).trace(X)


def unrolled_while(x):
    k = 0
    while k < 4500:
        try:
            x = x * k
        finally:
            k += 1
    return x


def test_much_code_of_a_while_that_cannot_be_compiled_is_worth_a_warning():
    with pytest.warns(
        tj.UnrolledLoopWarning, match=r"test_modes.py:\d+ is unrolled, .* a try statement"
    ) as seen:
        tj.jit(unrolled_while).trace(X)
    assert len(seen) == 1
    tj.jit(unrolled_while, loops="unrolled").trace(X)


def test_much_code_without_source_is_worth_a_warning():
    scope = {}
    exec("def f(x):\n    for i in range(4500): x = x * 2\n    return x", scope)
    with pytest.warns(
        tj.UnrolledLoopWarning, match="f: the loop at <string>:1 .* the source of f cannot be found"
    ):
        tj.jit(scope["f"]).trace(X)


def test_the_view_of_too_much_code_says_which_loop_is_unrolled():
    def f(x):
        for i in range(10_500):
            x = x * WEIGHTS[i % 3]
        return x

    with (
        pytest.warns(tj.UnrolledLoopWarning),
        pytest.raises(tj.TracejitError, match=r"loop at test_modes.py:\d+: unrolled: .* Python integer"),
    ):
        tj.jit(f).view(X)


def test_helpers_without_source_are_unrolled():
    scope = {}
    exec("def half(v):\n    for _ in range(3): v = v * 0.5\n    return v", scope)
    half = scope["half"]

    def f(x):
        s = 0.0
        for i in range(20):
            s += half(x[i])
        return s

    jitted = tj.jit(f)
    assert float(jitted(X)) == pytest.approx(X[:20].sum() / 8)
    line = f.__code__.co_firstlineno + 2
    assert f"loop at test_modes.py:{line}: unrolled: it calls half" in jitted.explain()
    with pytest.raises(tj.TraceError, match="the source of half cannot be found"):
        tj.jit(f, loops="compiled")(X)


def test_functions_without_source_are_unrolled():
    scope = {}
    exec("def f(x):\n    s = 0.0\n    for i in range(50): s += x[i]\n    return s", scope)
    jitted = tj.jit(scope["f"])
    np.testing.assert_allclose(float(jitted(X)), X[:50].sum())
    assert reports(jitted) == [("unrolled", "the source of f cannot be found")]
    with pytest.raises(tj.TraceError, match="the source of f cannot be found"):
        tj.jit(scope["f"], loops="compiled")(X)


def test_unknown_modes_are_errors():
    with pytest.raises(tj.TracejitError, match="loops must be"):
        tj.jit(summed, loops="rolled")


def test_a_loop_without_steps_defines_nothing():
    def f(x, n):
        for i in range(n):
            w = x[i]
        return w

    jitted = tj.jit(f)
    assert float(jitted(X, 3)) == X[2]
    with pytest.raises(NameError):
        jitted(X, 0)


def test_transforms_see_loops():
    def f(v):
        s = 0.0
        for i in range(20):
            if v[i] > 0.5:
                s += v[i] * v[i]
        return s

    rows = np.random.default_rng(0).uniform(size=(3, 20))
    np.testing.assert_allclose(np.asarray(tj.jit(tj.vmap(f))(rows)), [f(row) for row in rows])
    gradient = np.asarray(tj.jit(tj.grad(f))(rows[0]))
    np.testing.assert_allclose(gradient, np.where(rows[0] > 0.5, 2 * rows[0], 0.0))
    second = np.asarray(tj.jit(tj.hessian(f))(rows[0]))
    np.testing.assert_allclose(second, np.diag(np.where(rows[0] > 0.5, 2.0, 0.0)))


def test_branches_share_what_the_step_has_read():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                s += x[i] * x[i]
        return s

    text = str(tj.jit(f).trace(X))
    assert text.count("gather(") == 1
    np.testing.assert_allclose(np.asarray(tj.jit(tj.grad(f))(X)), np.where(X > 0.5, 2 * X, 0.0))


def test_rewritten_code_goes_with_its_function(tmp_path):
    from tracejit.frontend.rewritten import _ORIGINALS
    from tracejit.loops.source.functions import _CHECKED, _REWRITTEN

    path = tmp_path / "passing.py"
    path.write_text("def f(x):\n    s = 0.0\n    for i in range(50): s += x[i]\n    return s\n")

    def run():
        scope = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        tj.jit(scope["f"], loops="compiled")(X)

    def sizes():
        gc.collect()
        return len(_REWRITTEN), len(_ORIGINALS), len(_CHECKED)

    run()
    before = sizes()
    for _ in range(3):
        run()
    assert sizes() <= before
