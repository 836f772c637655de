"""Lists, deques and heaps that loops read and change: compiled, and as Python has them."""

from __future__ import annotations

import heapq
import random
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .common import Cases, agree, plain, reports
from .list_programs import program

X = np.round(np.random.default_rng(5).normal(size=40), 2)
GRID = (np.random.default_rng(6).random((9, 11)) < 0.7).astype(np.int64)
case = CASES = Cases()


@case(X)
def next_greater(x):
    result = np.full(len(x), -1)
    stack = []
    for i in range(len(x)):
        while stack and x[stack[-1]] < x[i]:
            result[stack.pop()] = i
        stack.append(i)
    return result, len(stack), stack


@case(GRID, 4, 5)
def filled_area(grid, row, column):
    seen = np.zeros(grid.shape, np.int64)
    stack, count = [(row, column)], 0
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or seen[i, j] or grid[i, j] == 0:
            continue
        seen[i, j] = 1
        count += 1
        stack.append((i + 1, j))
        stack.append((i - 1, j))
        stack.extend([(i, j + 1), (i, j - 1)])
    return count, seen


@case(X, mode="auto")
def sorted_in_place(a):
    stack = [(0, len(a) - 1)]
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        stack.append((low, i - 1))
        stack.append((i + 1, high))


@case(X)
def recurrence(x):
    out = [x[0], x[1]]
    while len(out) < 20:
        out.append(out[-1] * 0.5 + out[-2] * x[len(out)])
    return np.array(out), out[3], len(out)


@case(X)
def rising(x):
    out = []
    for v in x:
        if not out or v > out[-1]:
            out.append(v)
    return out, sum(out), max(out), min(out)


@case(27)
def halved(n):
    steps = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps.append(n)
    return steps, len(steps), max(steps)


@case(GRID, 4, 5, mode="auto")
def distances(grid, row, column):
    result = np.full(grid.shape, -1)
    result[row, column] = 0
    queue = deque([(row, column)])
    while queue:
        i, j = queue.popleft()
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < grid.shape[0] and 0 <= b < grid.shape[1] and grid[a, b] and result[a, b] < 0:
                result[a, b] = result[i, j] + 1
                queue.append((a, b))
    return result


@case(X)
def moving_largest(x):
    queue, result = [], np.zeros(len(x))
    for i in range(len(x)):
        while queue and x[queue[-1]] <= x[i]:
            queue.pop()
        queue.append(i)
        if queue[0] <= i - 5:
            queue.pop(0)
        result[i] = x[queue[0]]
    return result, len(queue), queue[-1]


@case(X)
def by_heap(x):
    heap, result = [], np.zeros(len(x))
    for v in x:
        heapq.heappush(heap, v)
    heap_before = np.array(heap)
    k = 0
    while heap:
        result[k] = heapq.heappop(heap)
        k += 1
    return result, heap_before, k


@case(X)
def largest_few(x):
    heap = [x[2], x[1], x[0]]
    for i in range(3, len(x)):
        if i == 3:
            heapq.heapify(heap)
        if x[i] > heap[0]:
            heapq.heapreplace(heap, x[i])
    lost = 0.0
    for v in x:
        lost += heapq.heappushpop(heap, v)
    return heap, lost


@case(X)
def heap_of_pairs(x):
    heap, order = [], np.zeros(len(x), np.int64)
    for i in range(len(x)):
        heapq.heappush(heap, (x[i] * 0 + round(x[i]), i))
    for i in range(len(x)):
        order[i] = heapq.heappop(heap)[1]
    return order


@case(X)
def inserted(x):
    out = []
    for v in x:
        k = 0
        while k < len(out) and out[k] < v:
            k += 1
        out.insert(k, v)
    return out


def pushed(items, v):
    items.append(v)


def last_of(items):
    return items[-1] if items else 0.0


@case(X)
def in_helpers(x):
    out, total = [], 0.0
    for v in x:
        if v > 0:
            pushed(out, v)
        elif len(out) > 2:
            out.pop()
        total += last_of(out)
    return total, out


@case(X)
def list_in_a_step(x):
    total = 0.0
    for i in range(len(x)):
        chain = [i]
        while x[chain[-1]] > -0.5 and len(chain) < 6:
            chain.append((chain[-1] * 3 + 1) % len(x))
        for k in chain:
            total += x[k] * len(chain)
    return total


@case(X)
def written_and_swapped(x):
    out = [0.0, 1.0, 2.0]
    for i in range(len(x)):
        out[i % 3] += x[i]
        if out[0] > out[2]:
            out[0], out[2] = out[2], out[0]
        if len(out) > 2 and x[i] > 1:
            out[-1] = x[i]
    return out


@case(X)
def cleared(x):
    run, longest = [], 0
    for v in x:
        if v < 0:
            run.clear()
        else:
            run.append(v)
        longest = max(longest, len(run))
    return longest, run


@case(X)
def used_in_two_loops(x):
    stack = []
    for i in range(len(x)):
        if stack and x[i] < 0:
            stack.pop()
        else:
            stack.append(i)
    total = 0.0
    while stack:
        total = 0.5 * total + x[stack.pop()]
    for i in range(3):
        stack.append(i)
    return total, stack


@pytest.mark.parametrize(
    ("function", "arguments", "mode"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_same_as_python(function: Any, arguments: Any, mode: str) -> None:
    jitted = agree(function, *arguments, mode=mode)
    assert "path taken" not in str(jitted.explain())
    assert any(outcome == "compiled" for outcome, _ in reports(jitted))


def test_one_compilation_for_all_values() -> None:
    jitted = tj.jit(next_greater)
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=40)
        np.testing.assert_array_equal(jitted(x)[0], next_greater(x)[0])
    assert "1 signature compiled" in str(jitted.explain())


def test_numbers_widen() -> None:
    def halved(x):
        out = [1]
        for v in x:
            if v > 0:
                out.append(out[-1] * 0.5 + v)
        return out

    for result, value in zip(plain(tj.jit(halved)(X)), plain(halved(X)), strict=True):
        assert result == value


def test_a_list_of_numbers_by_traced_indices() -> None:
    def looked_up(x):
        table = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0]
        total = 0.0
        for v in x:
            total += table[int(v * 5) % 11]
        return total

    assert plain(agree(looked_up, X)(X)) == plain(looked_up(X))


def test_more_items_than_there_is_room_for() -> None:
    def grown(x, n):
        out = [x[0]]
        while len(out) < n:
            out.append(out[-1] * 0.5 + x[len(out) % 3])
        x[1] = len(out)
        return np.array(out).sum(), x[1] * 2

    jitted = tj.jit(grown)
    for n in (5, 700, 40_000, 7):
        mine, theirs = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
        np.testing.assert_allclose(plain(jitted(mine, n)), plain(grown(theirs, n)))
        np.testing.assert_array_equal(mine, theirs)
    assert "more items than there was room for" in str(jitted.explain())


def test_more_room_with_donated_arguments() -> None:
    def summed(x, n):
        out = [0.0]
        for i in range(len(x)):
            x[i] = x[i] + 1.0
        while len(out) < n:
            out.append(out[-1] + x[len(out) % 4])
        return x * out[-1]

    jitted = tj.jit(summed, donate_argnums=0)
    for n in (4, 3000):
        x = np.arange(1.0, 65.0)
        np.testing.assert_allclose(np.asarray(jitted(tj.tensor(x.copy()), n)), summed(x, n))


def test_first_tests_draw_once() -> None:
    def walked(x, rng):
        steps = 0
        while rng.random() < 0.8 and x[steps] > -3.0 and steps < 30:
            steps += 1
        return steps

    jitted = tj.jit(walked)
    ours, theirs = np.random.default_rng(4), np.random.default_rng(4)
    for _ in range(6):
        assert int(jitted(X, ours)) == walked(X, theirs)
    assert ours.random() == theirs.random()


def test_more_room_in_gradients() -> None:
    def decayed(x, n):
        out = [x]
        while len(out) < n:
            out.append(out[-1] * 0.999)
        return out[-1]

    slope = tj.jit(tj.grad(decayed))
    for n in (3, 600):
        assert slope(2.0, n) == pytest.approx(0.999 ** (n - 1))


def test_gradients_flow_through_lists() -> None:
    def kept(x):
        stack = []
        for i in range(len(x)):
            while len(stack) > 0 and stack[-1] < x[i]:
                stack.pop()
            stack.append(x[i] * x[i])
        total = 0.0
        while stack:
            total = 0.5 * total + stack.pop()
        return total

    x = np.random.default_rng(3).normal(size=20)
    slope, step = tj.jit(tj.grad(kept))(x), 1e-6
    for k in range(20):
        moved = [x + sign * step * (np.arange(20) == k) for sign in (1, -1)]
        assert slope[k] == pytest.approx((kept(moved[0]) - kept(moved[1])) / (2 * step), abs=1e-6)


@case(np.sort(np.abs(X)), np.sort(np.abs(X)) + 0.1)
def merged_intervals(a, b):
    out = []
    for i in range(len(a)):
        if not out or a[i] > out[-1][1]:
            out.append((a[i], b[i]))
        else:
            out[-1] = (out[-1][0], max(out[-1][1], b[i]))
    return out, len(out)


@case(X)
def both_ends(x):
    queue, total = deque([0]), 0.0
    for i in range(len(x)):
        if x[i] > 0:
            queue.appendleft(i)
        else:
            queue.append(i)
        if len(queue) > 5:
            total += x[queue.pop()] - x[queue.popleft()]
    kept = list(queue)
    kept.append(7)
    return total, len(queue), kept


@case(X)
def two_tests_of_a_list(x):
    stack, total, k = [], 0.0, 0
    for v in x:
        while stack and stack[-1] < v:
            stack.pop()
        stack.append(v)
    while stack and k < 6:
        total += stack.pop()
        k += 1
    return total, k


@case(X)
def numbers_at_first(x):
    items, total = list(range(30)), 0.0
    while len(items) > 3:
        total += x[items.pop()]
    return total


def test_items_that_nothing_uses_are_checked() -> None:
    def emptied(x, seen):
        stack, queue = [], deque()
        for i in range(len(x)):
            seen[i] = len(stack)
            if x[i] > 0:
                stack.append(x[i])
                queue.append(i)
            elif x[i] > -2:
                stack.pop()
            else:
                queue.popleft()
        return len(stack), len(queue)

    for x in ([-1.0, -1.0], [1.0, -1.0, -1.0], [-3.0, 1.0], [1.0, -1.0]):
        ours, theirs = np.full(3, -1), np.full(3, -1)
        try:
            expected: Any = emptied(np.array(x), theirs)
        except IndexError:
            with pytest.raises(IndexError, match="pop from"):
                tj.jit(emptied)(np.array(x), ours)
        else:
            assert tuple(plain(tj.jit(emptied)(np.array(x), ours))) == expected
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "out.pop()",
        "out[0]",
        "out[-1]",
        "out[i]",
        "out.pop(0)",
        "heapq.heappop(out)",
        "out[2 * i]",
        "out.pop(3)",
    ],
)
def test_errors_of_lists(text: str, tmp_path: Path) -> None:
    source = (
        "def f(x):\n    out, s = [x[0]], 0.0\n    for i in range(1, len(x)):\n"
        f"        s += {text}\n        if x[i] > 9: out.append(x[i])\n        if x[i] > 8: out.pop()\n"
        "    return s\n"
    )
    path = tmp_path / "errors.py"
    path.write_text(source)
    names: dict[str, Any] = {"heapq": heapq}
    exec(compile(source, str(path), "exec"), names)
    for x in (np.ones(5), np.array([1.0, 9.5, 9.5])):
        try:
            expected: Any = names["f"](x)
        except IndexError as error:
            expected = type(error)
        jitted = tj.jit(names["f"], loops="compiled")
        if expected is IndexError:
            with pytest.raises(IndexError):
                jitted(x)
        else:
            assert jitted(x) == expected


def test_other_names_of_a_list() -> None:
    def two(x):
        out = other = []
        for v in x:
            if not out or v > other[-1]:
                out.append(v)
        return out, other

    def held(x):
        out = [x[0]]
        pair = (out, 1)
        for v in x:
            if v > out[-1]:
                out.append(v)
        return len(pair[0])

    for function in (two, held):
        assert plain(tj.jit(function)(X[:6])) == plain(function(X[:6]))


def test_a_list_that_a_loop_goes_along_and_changes() -> None:
    def followed(x):
        queue = [0]
        for k in queue:
            if x[k] > 0 and len(queue) < 9:
                queue.append((k * 2 + 1) % len(x))
        return queue

    assert plain(tj.jit(followed)(np.abs(X[:8]) + 1)) == plain(followed(np.abs(X[:8]) + 1))


def test_effects_do_not_happen_twice() -> None:
    seen: list[float] = []

    def noting(x, n):
        tj.debug.callback(seen.append, x[0])
        out = [x[0]]
        while len(out) < n:
            out.append(out[-1] + x[1])
        return out[-1]

    jitted = tj.jit(noting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.UncompiledCallWarning)
        assert float(jitted(np.array([1.0, 2.0]), 5000)) == 1.0 + 2.0 * 4999
    assert len(seen) == 1


@pytest.mark.parametrize("number", range(12))
def test_random_programs(number: int, tmp_path: Path) -> None:
    seed = SEED * 1000 + number
    source = program(seed)
    path = tmp_path / "lists.py"
    path.write_text(source)
    names: dict[str, Any] = {"np": np, "heapq": heapq, "deque": deque}
    exec(compile(source, str(path), "exec"), names)
    jitted, rng = tj.jit(names["f"]), random.Random(seed)
    for _ in range(2):
        x = np.array([rng.gauss(0, 1) for _ in range(10)])
        failed: Any = None
        try:
            expected = plain(names["f"](x.copy()))
        except Exception as error:
            failed = error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (tj.UncompiledCallWarning))
            warnings.simplefilter("ignore", tj.UnrolledLoopWarning)
            if failed is not None:
                with pytest.raises(type(failed)):
                    jitted(x)
                continue
            results = plain(jitted(x))
        assert len(results) == len(expected), source
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-9, err_msg=source)


@pytest.mark.parametrize("number", range(8))
def test_random_programs_have_the_gradients_of_the_tape(number: int, tmp_path: Path) -> None:
    seed = SEED * 1000 + 500 + number
    source = program(seed)
    path = tmp_path / "lists.py"
    path.write_text(source)
    names: dict[str, Any] = {"np": np, "heapq": heapq, "deque": deque}
    exec(compile(source, str(path), "exec"), names)

    def total(x: Any) -> Any:
        leaves = tj.tree_leaves(names["f"](x * 1.0))
        return sum([np.sum(leaf) for leaf in leaves], 0.0 * x[0])

    rng = random.Random(seed)
    for _ in range(2):
        x = np.array([rng.gauss(0, 1) for _ in range(10)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (tj.UncompiledCallWarning))
            warnings.simplefilter("ignore", tj.UnrolledLoopWarning)
            try:
                expected = tj.grad(total)(x)
            except Exception:
                continue  # the function fails
            result = tj.jit(tj.grad(total))(x)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9, err_msg=source)
