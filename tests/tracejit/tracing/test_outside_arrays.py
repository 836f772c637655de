"""Jitted functions that write arrays which are no arguments: each call writes them, or is refused."""

from __future__ import annotations

import os
import random
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

SEED = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))

#: Ways to write the array ``G`` or parts of it, where ``x`` is the argument and ``i`` an index. ``L``, ``D``
#: and ``o`` hold it.
WRITES = {
    "element": "G[i] += x[i]",
    "element by another": "G[i] = x[-1 - i]",
    "constant": "G[i] += 1.0",
    "item of a list": "L[0][i] += x[i]",
    "item of a dict": "D['a'][i] = x[i] + D['a'][i]",
    "attribute": "o.buf[i] += x[i]",
    "property": "o.same[i] += x[i]",
    "name of an item": "a = L[0]\na[i] += x[i]",
    "slice": "G[i:i + 2] = x[i:i + 2]",
    "view": "a = G[1:]\na[i] += x[i]",
    "reversed view": "a = G[::-1]\na[i] += x[i]",
    "transposed": "a = G.reshape(2, -1).T\na[0, 1] += x[i]",
    "flat": "G.flat[i] = x[i] * 2.0",
    "rows": "for r in G.reshape(3, 2):\n    for j in range(2):\n        r[j] += x[j]",
    "rows beside others": "for r, v in zip(G.reshape(3, 2), x):\n    r[0] += v",
    "in place": "a = G\na += x",
    "out": "np.add(G, x, out=G)",
    "fill": "G.fill(3.0)",
    "sort": "G.sort()",
    "copyto": "np.copyto(G, 2.0)",
    "helper": "write(G, x, i)",
    "helper of an attribute": "write(o.buf, x, i)",
    "method": "o.write(x, i)",
    "inner function": "def inner(v):\n    G[i] += v\ninner(x[i])",
    "lambda": "(lambda v: G.__setitem__(i, v))(x[i])",
    "object made here": "Holder(G).write(x, i)",
    "tensor of the memory": "a = tj.asarray(G)\na[i] += x[i]",
    "one of two": "L[i % 2][i] += x[i]",
}
#: Places where a write stands.
PLACES = {
    "alone": "i = 0\n{}",
    "loop": "for i in range(4):\n{}",
    "while loop": "i = 0\nwhile i < 4:\n{}\n    i += 1",
    "condition": "i = 1\nif x[0] > 0:\n{}",
    "condition that is known": "i = 1\nif FLAG:\n{}",
    "long loop": "for k in range(60):\n    i = k % 4\n{}",
    "try": "i = 2\ntry:\n{}\nfinally:\n    i = 0",
}


class Holder:
    """An object with an array."""

    def __init__(self, buf: Any) -> None:
        self.buf = buf

    @property
    def same(self) -> Any:
        return self.buf

    def write(self, x: Any, i: int) -> None:
        self.buf[i] += x[i]


def write(array: Any, x: Any, i: int) -> None:
    array[i] += x[i]


def program(place: str, written: str, result: str, tmp_path: Any) -> Callable[[], tuple[Any, dict[str, Any]]]:
    """Makes a function that writes so at such a place, and the objects that it finds outside."""
    body = PLACES[place]
    lines = textwrap.indent(WRITES[written], "    " if "\n{" in body and body != PLACES["alone"] else "")
    text = f"def f(x):\n{textwrap.indent(body.format(lines), '    ')}\n    return {result}\n"
    path = tmp_path / "program.py"
    path.write_text(text)

    def make() -> tuple[Any, dict[str, Any]]:
        array = np.arange(6.0)
        scope = {
            "np": np, "tj": tj, "write": write, "Holder": Holder, "FLAG": True,
            "G": array, "L": [array, np.ones(6)], "D": {"a": array}, "o": Holder(array),
        }  # fmt: skip
        exec(compile(text, str(path), "exec"), scope)
        return scope["f"], scope

    return make


def check(make: Callable[[], tuple[Any, dict[str, Any]]], options: dict[str, Any], seed: int) -> bool:
    """Compare calls with and without jit. Whether one ran as Python."""
    draws = np.random.default_rng(seed)
    (plain, expected), (function, scope) = make(), make()
    jitted, uncompiled = tj.jit(function, **options), False
    for _ in range(4):
        x = draws.normal(size=6)
        result = plain(x.copy())
        before = [array.copy() for array in scope["L"]]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                got = jitted(x.copy())
            except (tj.TraceError, tj.TracejitError):
                assert options  # refused, and nothing is written
                for array, was in zip(scope["L"], before, strict=True):
                    np.testing.assert_array_equal(array, was)
                return True
        told = [warning for warning in seen if warning.category is tj.UncompiledCallWarning]
        assert not (told and uncompiled)
        assert all("pass the array as an argument" in str(warning.message) for warning in told)
        uncompiled |= bool(told)
        # sums of six numbers in another order
        np.testing.assert_allclose(np.asarray(got), np.asarray(result), rtol=1e-13)
        for array, other in zip(scope["L"], expected["L"], strict=True):
            np.testing.assert_array_equal(array, other)
    return uncompiled


@pytest.mark.parametrize("written", WRITES)
def test_writes_are_made_at_each_call(written: str, tmp_path: Any) -> None:
    for place in ("alone", "loop"):
        assert check(program(place, written, "x.sum()", tmp_path), {}, 1), place


def test_random_programs(tmp_path: Any) -> None:
    draws = random.Random(SEED)
    print("random programs from seed", SEED)
    for number in range(60):
        place, written = draws.choice(list(PLACES)), draws.choice(list(WRITES))
        result = draws.choice(["x.sum()", "x * 2", "x.sum() + G.sum()", "x + G"])
        options = draws.choice([{}, {}, {"loops": "compiled"}, {"loops": "unrolled"}])
        print(number, place, written, result, options)
        check(program(place, written, result, tmp_path), options, number)


def test_a_write_that_every_call_makes_is_known_before_the_function_runs() -> None:
    array, runs = np.zeros(3), []

    @tj.jit
    def f(x: Any) -> Any:
        runs.append(1)
        for i in range(len(x)):
            array[i] += x[i]
        return x.sum()

    with pytest.warns(
        tj.UncompiledCallWarning, match="f: array is written, an array that is not an argument"
    ):
        f(np.ones(3))
    assert len(runs) == 1
    with pytest.raises(tj.TracejitError, match="array is written"):
        f.trace(np.ones(3))
    assert array.tolist() == [1.0, 1.0, 1.0]


def test_calls_that_write_nothing_are_compiled() -> None:
    array = np.zeros(3)

    def f(x: Any, flag: bool) -> Any:
        if flag:
            array[0] += 1.0
        return 2 * x

    jitted = tj.jit(f, static_argnums=1)
    for flag in (False, True, False, True, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UncompiledCallWarning)
            jitted(np.ones(3), flag)
    assert array[0] == 3.0
    assert len(jitted.explain().signatures) == 1


def test_arrays_that_the_function_makes_are_its_own() -> None:
    @tj.jit
    def f(x: Any) -> Any:
        sums, table = np.zeros(4), np.ones((2, 2))
        for i in range(len(x)):
            sums[i % 4] += x[i]
        table[0] = 3.0
        shared = tj.asarray(table)
        shared[1, 1] = 5.0
        return sums.sum() + shared.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [float(f(np.arange(6.0))) for _ in range(2)] == [27.0, 27.0]


def test_dates_and_objects_outside_are_restored_bit_by_bit() -> None:
    dates, objects = np.array(["2020-01-01"], "M8[D]"), np.array([None, 1], object)

    @tj.jit
    def f(x: Any) -> Any:
        for array in (dates, dates):
            array[0] += 1
        view = objects[1:]
        view[0] = view[0] + 1
        return x.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.UncompiledCallWarning)
        f(np.ones(2)), f(np.ones(2))
    assert str(dates[0]) == "2020-01-05"
    assert objects.tolist() == [None, 3]
