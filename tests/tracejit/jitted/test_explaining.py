"""``f.explain()``: why a function compiled again, from what to what; what is in its programs; as data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

scale = 2.0
weights: Any = None


def last_reason(f: Callable[..., Any], *calls: tuple[Any, ...], **options: Any) -> str:
    """Reason why the last of `calls` compiled."""
    jitted = tj.jit(f, **options)
    for args in calls:
        jitted(*args)
    return str(jitted.explain().signatures[-1].reason)


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        ((np.ones(3), 1.0), (np.ones(4), 1.0), "argument x changed from f64[3] to f64[4]"),
        ((np.ones(3), 1.0), (np.ones(3, "f4"), 1.0), "argument x changed from f64[3] to f32[3]"),
        ((np.ones(3), 1.0), (np.ones(3), 1), "argument p changed from Python float to Python int"),
        ((np.ones(3), 1.0), (np.ones(3), np.ones(2)), "argument p changed from Python float to f64[2]"),
        (
            (np.ones(3), 1.0),
            (np.ones(4), 1),
            "argument x changed from f64[3] to f64[4]; argument p changed from Python float to Python int",
        ),
        ((1.0, {"a": 1.0}), (1.0, {"a": 1.0, "b": 2.0}), "argument p['b'] is new"),
        ((1.0, {"a": 1.0, "b": 2.0}), (1.0, {"a": 1.0}), "argument p['b'] is gone"),
        ((1.0, [1.0]), (1.0, (1.0,)), "the structure of argument p changed from [*] to (*,)"),
        ((1.0, [1.0]), (1.0, [1.0, 2.0]), "argument p[1] is new"),
        ((1.0, {"a": [1.0]}), (1.0, {"a": np.ones(2)}), "argument p['a'][0] is gone; argument p['a'] is new"),
    ],
)
def test_what_changed(first: Any, then: Any, reason: str) -> None:
    assert last_reason(lambda x, p: x, first, then) == reason


def test_the_nearest_signature_is_compared_with() -> None:
    calls = [(np.ones(3), 1.0), (np.ones(4, "f4"), [2]), (np.ones(3), 1)]
    assert last_reason(lambda x, p: x, *calls) == "argument p changed from Python float to Python int"


def test_static_arguments_and_the_default_dtype() -> None:
    f = tj.jit(lambda x, n: x * n, static_argnames="n")
    f(1.0, 2), f(1.0, 3)
    (change,) = f.explain().signatures[1].changes
    assert (change.what, change.before, change.after) == ("static", "1=2", "1=3")
    g = tj.jit(lambda x: x * tj.zeros(3))
    g(1.0)
    tj.set_default_dtype(tj.float32)
    try:
        g(1.0)
    finally:
        tj.set_default_dtype(tj.float64)
    assert g.explain().signatures[1].reason == "the default dtype changed from float64 to float32"


def test_changes_as_data() -> None:
    f = tj.jit(lambda x, y: x.sum() + y.sum())
    f(tj.ones(3), tj.ones(2))
    f(tj.ones((3, 1)), tj.ones(2, dtype=tj.float32))
    change, other = f.explain().signatures[1].changes
    assert (change.what, change.name, change.before, change.after) == ("shape", "x", "f64[3]", "f64[3,1]")
    assert (other.what, other.name, other.before, other.after) == ("dtype", "y", "f64[2]", "f32[2]")


def test_what_is_closed_over() -> None:
    global scale, weights
    scale, weights = 2, tj.ones(3)
    rate = 0.5

    @tj.jit
    def f(x: Any) -> Any:
        return x * weights * tj.full(3, scale)[0] * rate

    f(1.0)
    (signature,) = f.explain().signatures
    assert signature.captures == ("weights", "rate")
    assert signature.guards == (("scale", "2"),)
    rate = 0.25
    assert f(1.0)[0] == 0.5
    scale = 3
    f(1.0)
    weights = tj.ones((2, 2))
    f(1.0)
    (signature,) = f.explain().signatures
    assert signature.reason == "weights, which the function closes over, changed from f64[3] to f64[2,2]"
    assert signature.earlier == (
        "first call",
        "scale, which the function closes over, was bound to another value (2 before, 3 now)",
    )
    assert "compiled before: first call" in f.explain()


def test_paths_with_lines_and_hits() -> None:
    @tj.jit
    def f(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    line = f._fn.__code__.co_firstlineno + 2
    f(tj.ones(3)), f(tj.ones(3)), f(-tj.ones(3))
    (signature,) = f.explain().signatures
    assert signature.programs == ()
    paths = {path.decisions: path for path in signature.paths}
    place = f"test_explaining.py:{line}"
    assert set(paths) == {((True, place),), ((False, place),)}
    assert paths[((True, place),)].hits == 2
    assert paths[((False, place),)].reason == f"a value at {place} was False, not True"
    assert f"True at {place}" in f.explain()


def test_what_is_not_native_and_why() -> None:
    def order(x: Any) -> Any:
        return np.argsort(x)

    @tj.jit
    def f(x: Any, i: Any) -> Any:
        y = tj.pure_callback(order, tj.TensorType(tj.int64, (3,)), x)
        return tj.gcd(y, i)

    f(tj.ones(3), tj.asarray([1, 2, 3]))
    first = f._fn.__code__.co_firstlineno
    (signature,) = f.explain().signatures
    calls = {call.op: (call.where, call.why) for call in signature.programs[0].host_calls}
    assert calls == {
        "pure_callback": (f"test_explaining.py:{first + 2}", "it is a Python function"),
        "gcd": (f"test_explaining.py:{first + 3}", "it has no machine code"),
    }
    assert not signature.native_entry
    assert "there is no native entry" in f.explain()


def test_the_programs_of_a_gradient() -> None:
    f = tj.jit(lambda x: tj.exp(x).sum())
    f(tj.ones(3).requires_grad_()).backward()
    (signature,) = f.explain().signatures
    assert [program.label for program in signature.programs] == [
        "forward, keeping what its gradient needs",
        "backward",
    ]
    assert all(program.milliseconds["codegen"] > 0 for program in signature.programs)
    f(tj.ones(3))
    (signature,) = f.explain().signatures
    assert signature.programs[0].label == "forward"
    assert signature.programs[0].milliseconds["trace"] > 0
    assert signature.milliseconds == sum(sum(program.milliseconds.values()) for program in signature.programs)


def test_asking_compiles_nothing() -> None:
    f = tj.jit(lambda x: x * 2)
    f(tj.ones(3).requires_grad_())
    labels = [program.label for program in f.explain().signatures[0].programs]
    assert labels == [program.label for program in f.explain().signatures[0].programs]
    assert "forward" not in labels, "nobody called without gradients"


def test_it_is_text_and_data() -> None:
    f = tj.jit(lambda x: x * 2)
    f(tj.ones(3))
    explanation = f.explain()
    assert isinstance(explanation, str)
    assert repr(explanation) == str(explanation)
    assert explanation.where.startswith("test_explaining.py:")
    data = json.loads(json.dumps(explanation.as_dict()))
    assert data["signatures"][0]["arguments"] == [["x", "f64[3]"]]
    assert data["signatures"][0]["programs"][0]["kernels"] == 1
    assert data["signatures"][0]["total_milliseconds"] > 0


def test_code_from_the_cache_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "1")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    program = "import tracejit as tj\nf = tj.jit(lambda x: tj.exp(x))\nf(tj.ones(3))\nprint(f.explain())\n"
    (tmp_path / "program.py").write_text(program)
    run = [sys.executable, str(tmp_path / "program.py")]
    first, second = (subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in "ab")
    assert "found in the cache on disk" not in first
    assert "kernels: 1, arena 0 bytes; found in the cache on disk" in second


def test_operations_that_became_loops_again() -> None:
    @tj.jit(loops="unrolled")
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(100):
            s += x[i] * x[i]
        return s

    total(np.ones(100))
    explained = total.explain()
    assert "99 times the same 6 operations at test_explaining.py:" in explained
    (text,) = explained.signatures[0].programs[0].rerolled
    assert text in explained


def _keeps_both(x: Any) -> Any:
    return tj.fori_loop(0, 60, lambda i, pair: (pair[0].at[i].set(0.5), pair[0]), (x, x))


def _keeps_old_until_read(x: Any) -> Any:
    def step(i: Any, pair: Any) -> Any:
        y, total = pair
        new = y.at[i].set(total)
        return new, total + (y[::-1] * new).sum()

    return tj.fori_loop(0, 60, step, (x, 0.0))


def _joins(x: Any) -> Any:
    return tj.fori_loop(0, 60, lambda i, y: tj.concatenate([y[1:], y[:1] * 0.5]), x)


def _trades_places(x: Any) -> Any:
    return tj.fori_loop(0, 60, lambda i, pair: (pair[1].at[i].set(pair[0][i]), pair[0]), (x, x * 2))


def _writes_in_place(x: Any) -> Any:
    return tj.fori_loop(0, 60, lambda i, y: y.at[i].set(0.5 * y[i - 1]), x)


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (_keeps_both, "the array that it writes to is read afterwards as it was before, or is kept"),
        (_keeps_old_until_read, "the array that it writes to is read afterwards"),
        (_joins, "joined arrays are one array in memory"),
        (_trades_places, "the next step finds in another place of the loop's state"),
        (_writes_in_place, ""),
    ],
)
def test_copies_at_each_step_are_named_with_line_reason_and_remedy(f: Any, why: str) -> None:
    jitted = tj.jit(f)
    x = np.ones(100_000)
    jitted(x)
    explanation = jitted.explain()
    copies = explanation.signatures[0].programs[0].copies
    assert bool(copies) == bool(why)
    profile = tj.profile(jitted, x)
    assert ("This line copies" in profile.summary()) == bool(why)
    if why:
        where, text = next((where, text) for where, text in copies if why in text)
        assert where.startswith("test_explaining.py:")
        assert "This line copies f64[100000], 800 kB, at each of 60 steps, because" in text
        assert "To save that, " in text
        assert "This line copies f64[100000], 800 kB" in explanation


def test_long_lists_are_shortened() -> None:
    numbers = [float(number) for number in range(1000)]
    f = tj.jit(lambda parts: sum(parts) + np.array(numbers).sum())
    f([tj.ones(1) for _ in range(100)])
    text = str(f.explain())
    assert "numbers[38] is 38.0 and 961 more" in text.replace("\n       ", "")
    assert "and 60 more" in text
    assert len(text) < 5_000
    (signature,) = f.explain().signatures
    assert len(signature.guards) == 1001
    assert len(signature.arguments) == 100
