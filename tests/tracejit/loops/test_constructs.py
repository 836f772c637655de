"""Statements in compiled loops: their results are those of unrolled code, and of Python on NumPy arrays."""

# ruff: noqa: B007, B905, F841 - loops as users write them

import math

import numpy as np
import pytest

import tracejit as tj

from .common import agree

X = np.linspace(0.1, 1.0, 7)
WEIGHTS = np.arange(7.0)


def signed_sum(a, i):
    s = 0.0
    for j in range(i):
        if a[j] > 0.3:
            s += a[j]
        else:
            s -= 1.0
    return s


def negated_below(a, k):
    if a[k] > 0.5:
        return a[k]
    if a[k] > 0.2:
        return -a[k]
    return 0.0


def product(n, x):
    if n <= 1:
        return x
    return n * product(n - 1, x)


class Model:
    def __init__(self):
        self.weight = 2.0
        self.calls = 0
        self.__private = 3.0

    def step(self, v):
        return self.weight * v

    def bump(self, v):
        self.calls = self.calls + 1
        return v

    def run(self, x):
        t = 0.0
        for i in range(7):
            t += self.step(x[i]) * self.__private
        return t


class Derived(Model):
    def step(self, v):
        return super().step(v) + 1.0

    def total(self, x):
        t = 0.0
        for i in range(7):
            t += x[i]
        return super().step(t)


def swapped_arrays(x):
    u = x * 1.0
    v = x * 0.0
    for t in range(5):
        for i in range(1, 6):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u
    return u, v


def swapped_arguments(u, v):
    for t in range(5):
        for i in range(1, 6):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u
    return u * 1.0, v * 1.0


def written_argument(out, x):
    for i in range(len(x)):
        out[i] = x[i] * 2


def two_names_of_an_array(x):
    a = x * 1.0
    b = a
    for i in range(1, 7):
        a[i] = b[i - 1] + 1
    return a, b


def written_view(x):
    a = x * 1.0
    b = a[1:4]
    for i in range(3):
        b[i] = a[i] * 2
    return a, b


def rows(x):
    s = 0.0
    for r in x:
        s = s + r.sum()
    return s


def remainder_of_the_index(x):
    s = 0.0
    for i in range(7):
        if i % 2:
            s += x[i]
        else:
            s -= x[i]
    return s


def defined_in_the_loop(x):
    for i in range(7):
        w = x[i] * 2
    return i, w


def defined_in_a_loop_of_traced_length(x, n):
    for i in range(n):
        w = x[i] * 2
    return i, w


def weak_float(x):
    s = 0.0
    for i in range(7):
        s = s + x[i] * 0.5
    return s


def weak_integer(x):
    s = 0
    for i in range(7):
        s = s + x[i]
    return s


def calls_a_function_with_a_loop(x):
    t = 0.0
    for i in range(7):
        t += signed_sum(x, i)
    return t


def calls_a_function_with_returns(x):
    t = 0.0
    for i in range(7):
        t += negated_below(x, i)
    return t


def dead_print(x):
    t = 0.0
    for i in range(2):
        if False:
            print(i)
        t += x[i]
    return t


def python_functions(x):
    t = 0.0
    for i in range(7):
        t += (
            math.sqrt(x[i])
            + math.exp(x[i])
            + math.floor(x[i] * 5)
            + int(x[i] * 9)
            + round(x[i] * 3)
            + divmod(i, 3)[0]
            + float(i)
            + abs(x[i] - 0.5)
        )
    return t


def calls_a_closure(x):
    def g(v):
        return v * k

    t = 0.0
    for k in range(1, 5):
        t += g(x[k])
    return t


def triangular(x):
    c = np.float64(0)
    d = tj.zeros((7, 7)) if not isinstance(x, np.ndarray) else np.zeros((7, 7))
    for i in range(7):
        for j in range(i, 7):
            d[i, j] = x[i] * x[j]
            d[j, i] += 1.0
    return d


def zipped(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    for i, (a, b) in enumerate(zip(x, y)):
        s += a * b * i
    for a in reversed(x):
        s = s * 0.5 + a
    for v in tj.arange(5) if not isinstance(x, np.ndarray) else np.arange(5):
        s += v
    return s


def while_true(x):
    k = 0
    while True:
        x = x * 0.5
        k += 1
        if x.max() < 0.01:
            break
    return x, k


def newton(a):
    x = a
    err = 1.0
    it = 0
    while err > 1e-9 and it < 50:
        nx = 0.5 * (x + a / x)
        err = abs(nx - x)
        x = nx
        it += 1
    return x, it


def empty_range(x):
    s = 1.0
    for i in range(3, 3):
        s = x[i]
    else:
        s = s + 1
    return s


def generator_expression(x):
    return sum(x[i] * i for i in range(7))


def augmented_array(x):
    a = x * 1.0
    for i in range(3):
        a += x * i
        a *= 0.5
    return a


def augmented_argument(a, x):
    for i in range(3):
        a += x * i
    return a * 2


def fresh_array_written(x):
    a = x * 1.0
    for i in range(3):
        b = a * 2
        b[i] = 1.0
        a = b
    return a


def previous_array(x):
    old = x * 1.0
    new = x * 1.0
    for i in range(4):
        old = new
        new = new * 0.5
    return old, new


def scalar_written_in_a_step(x):
    s = 0.0
    for i in range(7):
        tmp = x[i]
        tmp += 1
        s += tmp
    tmp = 3
    return s + tmp


def annotated(x):
    s: float = 0.0
    for i in range(7):
        v: float = x[i]
        s += v
    return s


def walrus_in_a_test(x):
    s = 0.0
    for i in range(7):
        if (v := x[i]) > 0.5:
            s += v
    while (s := s * 0.5) > 0.1:
        pass
    return s


def calls_a_recursive_function(x):
    s = 0.0
    for i in range(7):
        s += product(3, x[i])
    return s


def calls_an_empty_function(x):
    def empty():
        """doc"""

    s = 0.0
    for i in range(7):
        empty()
        s += x[i]
    return s


def tuple_carried(x):
    a, b = 0.0, 1.0
    st = (a, b)
    for i in range(7):
        p, q = st
        st = (q, p + x[i])
    return st


def dict_carried(x):
    d = {"a": 0.0}
    for i in range(7):
        d = {"a": d["a"] + x[i]}
    return d


def vmap_in_a_step(x):
    s = 0.0
    for i in range(7):
        s = s + tj.vmap(lambda v: v * 2)(x).sum() if not isinstance(x, np.ndarray) else s + (x * 2).sum()
    return s


def gradient_in_a_step(x):
    for i in range(3):
        g = tj.grad(lambda v: (v * v).sum())(x) if not isinstance(x, np.ndarray) else 2 * x
        x = x - 0.1 * g
    return x


def for_else(x):
    s = 0.0
    for i in range(3):
        for j in range(3):
            if x[i] > x[j]:
                continue
            if x[j] > 0.8:
                break
            s += x[j]
        else:
            s -= 1
    return s


def global_array(x):
    s = 0.0
    for i in range(7):
        s += WEIGHTS[i] * x[i]
    return s


def chained_comparison(x):
    s = 0.0
    for i in range(7):
        s += x[i] if 0 < i < 6 and x[i - 1] < x[i] < x[i + 1] else 0.0
    return s


def bool_carried(x):
    seen = False
    n = 0
    for i in range(7):
        if x[i] > 0.5 and not seen:
            seen = True
            n = i
    return seen, n


def scalars_share_no_memory(x):
    a = x[0]
    b = a
    for i in range(7):
        a += x[i]
        b = a
    return a, b


def argument_of_rank_0(x, y):
    for i in range(3):
        x += y[i]
    return x


def linear_search(x):
    i = 0
    while i < 6 and x[i] < 0.5:
        i += 1
    return i


def empty_body(x, n):
    i = 5
    for i in range(n):
        pass
    return i


def traced_bounds(x, a, b, c):
    s = 0.0
    for i in range(a, b, 2):
        s += x[i]
    for i in range(b, a, -1):
        s -= x[i] * 2
    return s


def loop_below_try_star(x):
    s = 0.0
    try:
        for i in range(7):
            s += x[i] * s + 1.0
    except* ValueError:
        s = -1.0
    return s


CASES = [
    (swapped_arrays, (X,), "auto"),
    (
        swapped_arguments,
        (
            X,
            X * 2,
        ),
        "auto",
    ),
    (
        written_argument,
        (
            X * 0,
            X,
        ),
        "compiled",
    ),
    (two_names_of_an_array, (X,), "compiled"),
    (written_view, (X,), "compiled"),
    (rows, (np.ones((3, 4)),), "compiled"),
    (remainder_of_the_index, (X,), "compiled"),
    (defined_in_the_loop, (X,), "compiled"),
    (
        defined_in_a_loop_of_traced_length,
        (
            X,
            4,
        ),
        "compiled",
    ),
    (weak_float, (X.astype(np.float32),), "compiled"),
    (weak_integer, (np.arange(7, dtype=np.int8),), "compiled"),
    (calls_a_function_with_a_loop, (X,), "compiled"),
    (calls_a_function_with_returns, (X,), "compiled"),
    (dead_print, (X,), "compiled"),
    (python_functions, (X,), "compiled"),
    (calls_a_closure, (X,), "compiled"),
    (triangular, (X,), "compiled"),
    (
        zipped,
        (
            X,
            X,
        ),
        "compiled",
    ),
    (while_true, (X,), "compiled"),
    (newton, (2.0,), "compiled"),
    (empty_range, (X,), "auto"),
    (generator_expression, (X,), "auto"),
    (augmented_array, (X,), "compiled"),
    (
        augmented_argument,
        (
            X * 1,
            X,
        ),
        "compiled",
    ),
    (fresh_array_written, (X,), "compiled"),
    (previous_array, (X,), "compiled"),
    (scalar_written_in_a_step, (X,), "compiled"),
    (annotated, (X,), "compiled"),
    (walrus_in_a_test, (X,), "auto"),
    (calls_a_recursive_function, (X,), "compiled"),
    (calls_an_empty_function, (X,), "compiled"),
    (tuple_carried, (X,), "compiled"),
    (dict_carried, (X,), "compiled"),
    (vmap_in_a_step, (X,), "compiled"),
    (gradient_in_a_step, (X,), "compiled"),
    (for_else, (X,), "compiled"),
    (global_array, (X,), "compiled"),
    (chained_comparison, (X,), "compiled"),
    (bool_carried, (X,), "compiled"),
    (scalars_share_no_memory, (X,), "compiled"),
    (
        argument_of_rank_0,
        (
            np.array(1.0),
            X,
        ),
        "compiled",
    ),
    (linear_search, (X,), "compiled"),
    (
        empty_body,
        (
            X,
            3,
        ),
        "compiled",
    ),
    (
        empty_body,
        (
            X,
            0,
        ),
        "compiled",
    ),
    (
        traced_bounds,
        (
            X,
            1,
            6,
            2,
        ),
        "compiled",
    ),
    (loop_below_try_star, (X,), "compiled"),
    (Model().run, (X,), "compiled"),
    (Derived().total, (X,), "compiled"),
]


@pytest.mark.parametrize(("function", "arguments", "mode"), CASES)
def test_construct(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
