"""Lists that loops append to."""

# ruff: noqa: B007, B905, C408, RUF005 - loops as users write them

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


@case(X)
def append_list(x):
    out = []
    for i in range(7):
        out.append(x[i] * 2)
    return np.array(out) if isinstance(x, np.ndarray) else tj.stack(out)


@case(X)
def append_list_returned(x):
    out = []
    s = 0.0
    for i in range(7):
        s += x[i]
        out.append(s)
    return out


@case(X)
def append_list_nparray(x):
    out = []
    s = 0.0
    for v in x:
        s += v
        out.append(s)
    return np.array(out)


@case(X)
def append_two_lists(x):
    a, b = [], []
    s = 0.0
    for v in x:
        s += v
        a.append(s)
        b.append((v, s))
    return a, b


@case(X)
def append_existing(x):
    a = [0.0]
    for v in x:
        a.append(v)
    return a, len(a)


@case(X)
def append_rows(x):
    a = []
    for i in range(5):
        a.append(x * i)
    return np.stack(a) if isinstance(x, np.ndarray) else tj.stack(a)


@case(X)
def nested_rows(x):
    out = []
    for i in range(4):
        row = []
        for j in range(5):
            row.append(x[i] * j)
        out.append(row)
    return out


@case(X)
def nested_same(x):
    out = []
    for i in range(4):
        for j in range(3):
            out.append(x[i] * j)
            out.append(x[j])
    return out, len(out), out[5], out[-2]


@case(X, mode="auto")
def cond_append(x):
    out = []
    for i in range(7):
        if x[i] > 0.5:
            out.append(x[i])
    return out


@case(X, mode="auto")
def alias(x):
    out = []
    u = x * 1.0
    for i in range(4):
        u += 1
        out.append(u)
    return out


@case(X, mode="auto")
def alias2(x):
    out = []
    u = x * 1.0
    for i in range(4):
        u[i] = 3
        out.append(u)
    return out


@case(X)
def alias_copy(x):
    out = []
    u = x * 1.0
    for i in range(4):
        u[i] = 3
        out.append(u.copy())
    return out


@case(X, mode="auto")
def last_written(x):
    out = []
    for i in range(4):
        row = x * i
        out.append(row)
    row[0] = 7
    return out


@case(X)
def iterate(x):
    out = []
    for i in range(7):
        out.append(x[i] * 2)
    s = 0.0
    for v in out:
        s += v
    for i in range(7):
        s += out[i] * i
    for a, b in zip(out, x):
        s += a * b
    return s, sum(out), max(out), out[2:4], out + [1.0], [*out], 3 in [len(out)]


@case(X)
def append_later(x):
    out = []
    for i in range(7):
        out.append(x[i] * 2)
    for i in range(7):
        out.append(x[i] * 3)
    out.append(5.0)
    return out


@case(X, mode="auto")
def ints(x):
    out = []
    for i in range(7):
        out.append(i)
    return np.array(out) * x


@case(X)
def dicts(x):
    out = []
    for i in range(5):
        out.append({"a": x[i], "b": (x[i] * 2, i)})
    return out


@case(X, 4, mode="auto")
def traced_n(x, n):
    out = []
    for i in range(n):
        out.append(x[i])
    return out


@case(X, mode="auto")
def in_while(x):
    out = []
    s = 0.0
    while s < 2:
        s += x[3]
        out.append(s)
    return out


@case(X, mode="auto")
def with_break(x):
    out = []
    for i in range(7):
        if x[i] > 0.5:
            break
        out.append(x[i])
    return out


@case(X, mode="auto")
def two_names(x):
    out = []
    o2 = out
    for i in range(4):
        out.append(x[i])
    return o2


@case(X)
def listcomp(x):
    s = 0.0
    for i in range(7):
        v = [x[i], 1.0]
        v.append(x[i] * 2)
        v[0] = 3.0
        d = {}
        d["q"] = x[i]
        s += v[0] + v[2] + d["q"]
    return s


@case(X)
def helper_list(x):
    s = 0.0
    for i in range(5):
        s += sum(mk(x, i))
    return s


def mk(x, i):
    r = []
    for j in range(3):
        r.append(x[i] * j)
    return r


@case(X, mode="auto")
def appended_by_an_inner_loop_and_read_around_it(x):
    out = []
    s = 0.0
    for i in range(4):
        if x[i] > 0.3:
            for j in range(3):
                out.append(x[i] * j)
        s = s * 0.5 + len(out)
    return out, s


@case(X, mode="auto")
def appended_by_an_inner_loop_and_returned_in_a_branch(x):
    out = []
    for i in range(4):
        if x[i] > 0.5:
            for j in range(3):
                out.append(x[i] * j)
            return out
    return out


@case(X, mode="auto")
def appended_again_and_read(x):
    out = []
    s = 0.0
    for i in range(4):
        out.append(x[i])
    for i in range(4):
        out.append(x[i] * 2)
        s += out[0]
    return out, s


@case(X, 2, mode="auto")
def read_where_another_loop_returns(x, n):
    out = []
    s = 0.0
    for i in range(4):
        out.append(x[i] * 2)
    for i in range(0, 4, 2):
        for j in range(5, -1, -n):
            if x[i] > 0.5:
                return s, out
            s += 0.5 * j
    return s, out


@case(X, mode="auto")
def changed_by_methods(x):
    out = []
    for i in range(4):
        out.append(x[i])
    for i in range(4):
        out.insert(0, out.pop() * 2)
    return out


@case(X, mode="auto")
def changed_by_items(x):
    out = []
    for i in range(4):
        out.append(x[i])
    for i in range(4):
        out[i] = out[i - 1] * 2
    return out


@case(X)
def lists_of_a_step(x):
    s = 0.0
    for i in range(4):
        row, weights = list(), [0.5] * 3
        for j in range(3):
            row.append(x[i] * j)
        for j in range(3):
            row.append(x[i] + j)
        row.append(1.0)
        weights[1] = x[i]
        s += sum(row) + row[4] + sum(weights)
    return s


def sum_of_squares(x):
    out = []
    s = 0.0
    for i in range(7):
        s = s * 0.5 + x[i] ** 2
        out.append(s)
    stacked = np.stack(out)
    return (stacked * stacked).sum()


def test_gradients_of_stacked_items():
    expected = np.asarray(tj.jit(tj.grad(sum_of_squares), loops="unrolled")(X))
    np.testing.assert_allclose(np.asarray(tj.jit(tj.grad(sum_of_squares), loops="compiled")(X)), expected)
    leaf = tj.tensor(X, requires_grad=True)
    tj.jit(sum_of_squares, loops="compiled")(leaf).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), expected)
    rows = np.stack([X, 2 * X])
    mapped = tj.jit(tj.vmap(sum_of_squares), loops="compiled")(rows)
    np.testing.assert_allclose(np.asarray(mapped), [sum_of_squares(row) for row in rows])


def test_a_stacked_list_is_a_list_to_its_users():
    seen = []

    def f(x):
        out = [1.0]
        for i in range(20):
            out.append(x[0] * i)
        seen.append((len(out), out[0], [1.0] + out[:1], out == list(out), 7 in [len(out)]))
        out[3] = 0.0
        del out[4]
        out.insert(0, 5.0)
        out.extend([2.0])
        return out

    jitted = tj.jit(f, loops="compiled")
    result = jitted(X)
    assert type(result) is list
    np.testing.assert_allclose([float(v) for v in result], f(X))
    assert seen[0] == (21, 1.0, [1.0, 1.0], True, False)


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
