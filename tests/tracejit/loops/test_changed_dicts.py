"""Dicts and sets that loops read and change: compiled, and as Python has them."""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .common import Cases, plain, reports

X = np.round(np.random.default_rng(5).normal(size=40), 2)
LABELS = np.random.default_rng(6).integers(-4, 9, 40)
case = CASES = Cases()


@case(X)
def counted(x):
    counts = {}
    for v in x:
        k = int(v * 3)
        if k in counts:
            counts[k] += 1
        else:
            counts[k] = 1
    return counts, len(counts)


@case(X, LABELS)
def sums_by_label(x, labels):
    sums = {}
    for i in range(len(x)):
        sums[labels[i]] = sums.get(labels[i], 0.0) + x[i]
    total = 0.0
    for k, v in sums.items():
        total = 0.5 * total + k * v
    return sums, total, sum(sums.values()), max(sums.keys())


@case(X, LABELS)
def sums_by_default(x, labels):
    sums, counts = defaultdict(float), defaultdict(int)
    for i in range(len(x)):
        sums[labels[i]] += x[i]
        counts[labels[i]] += 1
    total = 0.0
    for k in sums:
        total += sums[k] / counts[k]
    return total, len(counts)


@case(LABELS)
def distinct(labels):
    seen, out = set(), []
    for v in labels:
        if v not in seen:
            seen.add(v)
            out.append(v)
    return out, len(seen)


@case(LABELS, 9)
def pair_with_sum(labels, target):
    places, first, second = {}, -1, -1
    for i in range(len(labels)):
        if target - labels[i] in places:
            first, second = places[target - labels[i]], i
            break
        places[labels[i]] = i
    return first, second


@case(6, 5)
def paths_with_memo(n, m):
    memo, stack = {}, [(n, m)]
    while stack:
        i, j = stack[-1]
        if i == 0 or j == 0:
            memo[(i, j)] = 1
            stack.pop()
        elif (i - 1, j) in memo and (i, j - 1) in memo:
            memo[(i, j)] = memo[(i - 1, j)] + memo[(i, j - 1)]
            stack.pop()
        else:
            if (i - 1, j) not in memo:
                stack.append((i - 1, j))
            if (i, j - 1) not in memo:
                stack.append((i, j - 1))
    return memo[(n, m)], len(memo)


@case(1, 13, 7)
def cycle_length(n, a, c):
    seen, k = {}, 0
    while n not in seen:
        seen[n] = k
        n = (a * n + c) % 1000
        k += 1
    return k - seen[n], seen[n]


@case(LABELS)
def removed_and_added(labels):
    places = {}
    for i in range(len(labels)):
        k = labels[i]
        if k in places:
            del places[k]
        else:
            places[k] = i
        if len(places) > 5:
            places.pop(k, 0)
        if i % 13 == 12:
            places.clear()
    return places, len(places)


@case(LABELS)
def set_with_removals(labels):
    inside, most = set(), 0
    for v in labels:
        if v in inside:
            inside.remove(v)
        else:
            inside.add(v)
        inside.discard(v + 1)
        most = max(most, len(inside))
    return len(inside), most, 3 in inside


@case(X, LABELS)
def pairs_as_keys(x, labels):
    table = {}
    for i in range(1, len(x)):
        key = (labels[i - 1], labels[i])
        table[key] = table.get(key, 0) + 1
    most, best = 0, (0, 0)
    for key, count in table.items():
        if count > most:
            most, best = count, key
    return most, best, table


@pytest.mark.parametrize(
    ("function", "arguments", "mode"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_same_as_python(function: Any, arguments: Any, mode: str) -> None:
    expected = function(*arguments)
    jitted = tj.jit(function, loops=mode)
    for _ in range(2):
        result = jitted(*arguments)
        assert [type(part) for part in _containers(result)] == [type(part) for part in _containers(expected)]
        for ours, theirs in zip(_values(result), _values(expected), strict=True):
            np.testing.assert_allclose(ours, theirs)
    assert any(outcome == "compiled" for outcome, _ in reports(jitted))


def _containers(value: Any) -> list[Any]:
    return [part for part in value if isinstance(part, (dict, list, set))]


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in (*_values(key), *_values(item))]
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _values(item)]
    return [np.asarray(value)]


def test_sets_as_results() -> None:
    def inside(labels):
        seen = set()
        for v in labels:
            if v > 0:
                seen.add(v)
        return seen

    assert tj.jit(inside)(LABELS) == inside(LABELS)


def test_many_keys_need_more_room() -> None:
    def squares(n):
        roots, total = {}, 0
        for i in range(n):
            roots[i * i * 7919 - 5] = i
        for i in range(n):
            total += roots[i * i * 7919 - 5]
        return total, len(roots)

    jitted = tj.jit(squares)
    for n in (10, 3000, 5):
        assert plain(jitted(n)) == [n * (n - 1) // 2, n]


def test_missing_keys_raise() -> None:
    def looked_up(labels, k):
        places = {0: 0}
        for i in range(len(labels)):
            places[labels[i]] = i
            if i == 30:
                i = places[k]
        return i

    jitted = tj.jit(looked_up)
    assert float(jitted(LABELS, 2)) == looked_up(LABELS, 2)
    with pytest.raises(KeyError):
        jitted(LABELS, 77)


def test_changed_while_a_loop_goes_along() -> None:
    def doubled(labels):
        counts = {}
        for v in labels:
            counts[v] = counts.get(v, 0) + 1
        for k in counts:
            counts[k] *= 2
        return counts[3]

    jitted = tj.jit(doubled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert float(jitted(LABELS[:6] * 0 + 3)) == 12.0


STATEMENTS = (
    "d[{k}] = {v}", "d[{k}] = d.get({k}, 0.0) + {v}", "if {k} in d: s += d[{k}]", "if {k} in d: del d[{k}]",
    "s += d.pop({k}, 0.5)", "s += len(d)", "if {k} in d: d[{k}] *= 0.5", "for key in d: s += key",
    "for key, value in d.items(): s = 0.5 * s + key * value", "if len(d) > 6: d.clear()",
    "if {k} in u: u.remove({k})", "c[{k}] += 1", "s += c[{k}]", "for value in c.values(): s += value",
    "p[({k}, {k})] = {v}", "if ({k}, i) in p: s += p[({k}, i)]", "s += p.get(({k}, {k}), 1.0)",
)  # fmt: skip
KEYS = ("k", "i", "k + i % 3", "k * 1000003", "-k", "i % 4")
VALUES = ("v", "s", "v * 0.5", "1.5")


def program(seed: int) -> str:
    """The source of a function ``f(x, labels)``."""
    draw = random.Random(seed)
    lines = ["def f(x, labels):", "    d, u, c, p, s = {}, set(), defaultdict(int), {}, 0.0"]
    lines += ["    for i in range(len(x)):", "        v, k = x[i], labels[i]"]
    for _ in range(draw.randint(2, 6)):
        text = draw.choice(STATEMENTS).replace("{v}", draw.choice(VALUES))
        while "{k}" in text:
            text = text.replace("{k}", draw.choice(KEYS), 1)
        test = draw.choice(("", "", "if v > 0: ", "if i % 3 == 1: "))
        is_simple = not text.startswith(("if", "for"))
        lines.append("        " + (test if is_simple else "") + text)
    return "\n".join([*lines, "    return s, len(d), len(u), len(c), len(p)"]) + "\n"


@pytest.mark.parametrize("number", range(10))
def test_random_programs(number: int, tmp_path: Path) -> None:
    source = program(SEED * 1000 + number)
    path = tmp_path / "dicts.py"
    path.write_text(source)
    names: dict[str, Any] = {"np": np, "defaultdict": defaultdict, "Counter": Counter, "deque": deque}
    exec(compile(source, str(path), "exec"), names)
    jitted, rng = tj.jit(names["f"]), np.random.default_rng(number)
    for _ in range(2):
        x, labels = rng.normal(size=14), rng.integers(-3, 6, 14)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = plain(names["f"](x, labels))
            except Exception as error:
                with pytest.raises(type(error)):
                    jitted(x, labels)
                continue
            np.testing.assert_allclose(plain(jitted(x, labels)), expected, rtol=1e-9, err_msg=source)
