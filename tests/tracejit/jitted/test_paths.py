"""Python control flow under ``jit``: what eager code does, each path compiled once."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ...support import check_document


def doubled(x):
    y = x * 2
    while y.norm() < 1000:
        y = y * 2
    return y


def signed(x):
    if x.sum() > 0:
        return x * 3
    assert x.size > 0
    return -x, 5


def sized(x, n):
    return sum(x * i for i in range(n))


def picked(x, i):
    return [x, x * 10, x * 100][i]


def largest(x, y):
    return max(x.sum(), y.sum()) * 2


def filled(x, n):
    out = tj.zeros(4)
    for i in range(n):
        out[i] = x * i
    return out


CALLS = [
    (doubled, [([1.0, 2.0],), ([30.0, 40.0],), ([0.1, 0.1],), ([1.0, 2.0],), ([1e9, 0.0],)]),
    (signed, [([1.0],), ([-1.0],), ([2.0],), ([-3.0],)]),
    (sized, [([1.0, 2.0], 3), ([1.0, 2.0], 4), ([5.0, 6.0], 3), ([1.0, 1.0], 1)]),
    (picked, [([1.0], 0), ([1.0], 2), ([2.0], 0), ([2.0], -1)]),
    (largest, [([1.0], [2.0]), ([3.0], [2.0]), ([1.0], [1.0])]),
    (filled, [(2.0, 3), (2.0, 4), (5.0, 3), (5.0, 0)]),
]


def arguments(call):
    return [tj.tensor(argument) if isinstance(argument, list) else argument for argument in call]


@pytest.mark.parametrize(("function", "calls"), CALLS, ids=lambda value: getattr(value, "__name__", ""))
def test_what_eager_code_gives(function, calls):
    jitted = tj.jit(function)
    for call in [*calls, *reversed(calls)]:
        want, got = function(*arguments(call)), jitted(*arguments(call))
        assert type(want) is type(got) or isinstance(want, int)
        for a, b in zip(tj.tree_leaves(want), tj.tree_leaves(got), strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-13)


def test_each_path_is_compiled_once():
    traces = []

    @tj.jit
    def f(x):
        traces.append(1)
        return x * 2 if x > 0 else x - 1

    assert [f(point).item() for point in (1.0, -1.0, 2.0, -2.0, 0.0, 3.0)] == [2, -2, 4, -3, -1, 6]
    assert len(traces) == 2
    text = f.explain()
    assert "path taken 3 times: first call" in text
    assert "was False, not True" in text
    assert "True at test_paths.py:" in text


def test_gradients_follow_the_path():
    def f(x):
        return x * x if x > 0 else -3 * x

    x = tj.tensor(-2.0, requires_grad=True)
    jitted = tj.jit(f)
    for value, slope in ((2.0, 4.0), (-2.0, -3.0), (5.0, 10.0)):
        assert tj.grad(f)(value).item() == slope
        assert tj.grad(jitted)(value).item() == slope
        assert tj.jit(tj.grad(f))(value).item() == slope
        assert tj.jit(tj.value_and_grad(jitted))(value)[1].item() == slope
    jitted(x).backward()
    assert x.grad.item() == -3


def test_nan_and_signed_zero_are_values_of_their_own():
    f = tj.jit(lambda x: float(x))
    assert str(f(-0.0).item()) == "-0.0"
    assert f(0.0).item() == 0.0
    assert np.isnan(f(float("nan")).item())
    assert np.isnan(f(float("nan")).item())


def test_paths_beyond_the_limit_run_as_python_and_the_line_is_named():
    f = tj.jit(lambda x: x * [0.0, 1.0, 2.0, 3.0, 4.0][int(x)], max_paths=3)
    assert [f(float(i)).item() for i in range(3)] == [0, 1, 4]
    with pytest.warns(tj.UncompiledCallWarning, match=r"3 compiled paths .*test_paths\.py:\d+.*tj\.cond"):
        assert f(3.0) == 9
    for _ in range(2):  # which is said once
        assert [float(f(float(i))) for i in range(5)] == [0, 1, 4, 9, 16]
    x = tj.tensor(4.0, requires_grad=True)
    f(x).backward()
    assert x.grad == 4
    compiled = tj.jit(lambda x: x * [0.0, 1.0][int(x)], max_paths=1, loops="compiled")
    compiled(0.0)
    with pytest.raises(tj.TracejitError, match="1 compiled paths"):
        compiled(1.0)


def test_strict_behaviour_can_be_asked_for():
    with pytest.raises(tj.ConcretizationError, match=r"bool\(x\).*tj\.where"):
        tj.jit(lambda x: 1 if x > 0 else 2, on_branch="error")(1.0)
    with pytest.raises(tj.TracejitError, match="on_branch must be"):
        tj.jit(lambda x: x, on_branch="guess")
    with pytest.raises(tj.TracejitError, match="max_paths must be a positive integer"):
        tj.jit(lambda x: x, max_paths=0)


def test_types_alone_have_no_values():
    with pytest.raises(tj.ConcretizationError):
        tj.jit(signed).trace(tj.TensorType(tj.float64, (2,)))
    assert "gt(" in str(tj.jit(signed).trace(tj.ones(2)))


def test_what_is_closed_over_is_read_afresh_on_each_path():
    scale = tj.tensor(2.0)

    @tj.jit
    def f(x):
        return x * scale if x > scale else x + scale

    assert (f(3.0).item(), f(1.0).item()) == (6, 3)
    scale = tj.tensor(10.0)
    assert (f(3.0).item(), f(30.0).item()) == (13, 300)


def test_an_error_on_the_wrong_path_is_none():
    x = tj.arange(4.0)

    @tj.jit
    def f(x, i):
        return x[i] if i < 4 else x[0] * 100

    assert f(x, 2).item() == 2
    assert f(x + 1, 9).item() == 100
    assert f(x, 3).item() == 3


def test_random_numbers_are_those_of_the_path_taken():
    def f(x):
        a = tj.random.rand()
        return a + tj.random.rand() if x > 0 else a * 2

    jitted = tj.jit(f)
    tj.random.seed(3)
    want = [f(point).item() for point in (tj.tensor(1.0), tj.tensor(-1.0), tj.tensor(2.0))]
    tj.random.seed(3)
    assert [jitted(point).item() for point in (1.0, -1.0, 2.0)] == want


def test_the_document():
    check_document("control.md", least=3)


def test_an_error_in_a_later_decision_is_none_where_an_earlier_one_tells_the_path():
    def f(x, n):
        k = n
        while k < 4:
            if x[k] > 0.5:  # out of range for the first n of another path
                x = x * 2
            k += 1
        return x

    x = tj.tensor([0.1, 0.9, 0.2, 0.8, 0.3, 0.7])
    compiled = tj.jit(f, loops="unrolled")
    for n in (2, 0, 7, 1, 9):
        assert compiled(x, n).tolist() == f(x, n).tolist()
    with pytest.raises(IndexError):
        compiled(x[:2], 0)
