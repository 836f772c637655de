"""Variables that are None until a step gives them a value."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj

from .checking import load
from .common import Cases, plain, reports

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
X = np.random.default_rng(3).normal(size=30)
#: Arguments for which there is a value at the end, none, and one from the first step on.
DATA = (X, -np.abs(X) - 0.01, np.abs(X) + 0.01, X[::-1].copy())
case = Cases()


def outcome(function, *arguments):
    """The result of a call, or the class of its error."""
    try:
        return function(*arguments)
    except TypeError as error:
        return str(type(error).__mro__[-4])


def agree(function, arguments):
    """Assert that `function` gives what Python does for all `arguments`; the jitted function."""
    jitted = tj.jit(function)
    for x in arguments:
        expected = outcome(function, x)
        for argument in (x, tj.tensor(x)):
            result = outcome(jitted, argument)
            assert tj.tree_map(lambda _: 0, result) == tj.tree_map(lambda _: 0, expected)
            if not isinstance(expected, str):
                for own, value in zip(plain(result), plain(expected), strict=True):
                    np.testing.assert_allclose(own, value, rtol=1e-12)
    return jitted


@case(X)
def first(x):
    best = None
    for i in range(len(x)):
        if best is None and x[i] > 0.5:
            best = i
    return best


@case(X)
def last(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0.5:
            best = i
    return best


@case(X)
def place_of_the_least(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] < x[best]:
            best = i
    return best


@case(X)
def greatest_positive(x):
    best = None
    for v in x:
        if v > 0 and (best is None or v > best):
            best = v
    return -1.0 if best is None else best


@case(X)
def differences(x):
    previous = None
    total = 0.0
    for v in x:
        if v > 0:
            if previous is not None:
                total += v - previous
            previous = v
    return total


@case(X)
def of_an_inner_loop(x):
    total = 0.0
    for i in range(len(x)):
        best = None
        for j in range(i):
            if x[j] > x[i]:
                best = j
        if best is not None:
            total += x[best]
        else:
            total -= 1
    return total


@case(X)
def until_found(x):
    found = None
    for i in range(len(x)):
        if x[i] > 1:
            found = i
            break
    return found


@case(X)
def pair(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0:  # noqa: SIM102 - a conditional in a conditional
            if best is None or x[i] > best[1]:
                best = (i, x[i])
    return best


@case(X)
def none_again(x):
    current = None
    count = 0
    for v in x:
        if v > 0:
            if current is None:
                current = v
            else:
                current = current + v
        else:
            if current is not None and current > 1:
                count += 1
            current = None
    return count


def place_of_a_greater(x, i):
    best = None
    for j in range(i):
        if x[j] > x[i]:
            best = j
    return best


@case(X)
def of_a_function(x):
    total = 0.0
    for i in range(len(x)):
        k = place_of_a_greater(x, i)
        if k is not None:
            total += x[k] * i
    return total


@case(X)
def compared(x):
    best = None
    count = 0
    for i in range(len(x)):
        if best == i - 1:
            count += 1
        if best != i - 2:
            count += 2
        if best:
            count += 3
        if x[i] > 0:
            best = i
    return count


@case(X)
def runs(x):
    start = None
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            if start is None:
                start = i
        elif start is not None:
            out.append((start, i))
            start = None
    if start is not None:
        out.append((start, len(x)))
    return out


@case(X)
def a_value_at_first(x):
    best = x[0]
    count = 0
    for i in range(len(x)):
        if best is None:
            count += 1
        best = x[i] if x[i] > 0 else None
    return count, best is None


@case(X)
def in_a_while(x):
    best = None
    i = 0
    while best is None and i < len(x):
        if x[i] > 0.7:
            best = x[i]
        i += 1
    return best, i


@case(X)
def returned(x):
    best = None
    for i in range(len(x)):
        if x[i] > 1:
            return best
        if x[i] > 0:
            best = i
    return 3


@case(X)
def returned_where_it_is_not_none(x):
    best = None
    for i in range(len(x)):
        if best is not None and x[i] < x[best]:
            return best
        if x[i] > 0:
            best = i
    return None


@pytest.mark.parametrize("function", [function for function, *_ in case], ids=lambda f: f.__name__)
def test_form(function):
    jitted = agree(function, DATA)
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}
    assert str(jitted.explain()).count("path taken") <= 2


def used_without_a_test(x):
    best = None
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            best = x[i]
        total += best
    return total


def another_object(x):
    best = None
    count = 0
    for i in range(len(x)):
        other = best
        if x[i] > 0:
            best = i
        if best is other:
            count += 1
    return count


def in_a_list(x):
    best = None
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            best = i
        out.append(best)
    return out


def of_two_types(x):
    best = None
    for i in range(len(x)):
        if x[i] > 1:
            best = i
        elif x[i] > 0.5:
            best = x[:2]
    return best


def compared_in_a_chain(x):
    first = second = None
    count = 0
    for v in x:
        if first is second is None:
            count += 1
        if v > 0.5:
            first = v
        elif v < -0.5:
            second = v
    return count


def truth_values_that_are_objects(x):
    best = None
    count = 0
    for v in x:
        if (best is None) is True:
            count += 1
        if (v > 0) is False:  # which is one of NumPy's
            count += 100
        if v > 0.5:
            best = v
        elif v < -0.5:
            best = None
    return count


@pytest.mark.parametrize(
    "function",
    [
        compared_in_a_chain,
        truth_values_that_are_objects,
        used_without_a_test,
        another_object,
        in_a_list,
        of_two_types,
    ],
)
def test_other_uses_do_what_python_does(function):
    agree(function, DATA)


def asked_for_attributes(x):
    best = None
    count = 0
    for v in x:
        count += hasattr(best, "ndim") + 10 * (getattr(best, "ndim", 5) == 5)
        if v > 0:
            best = v
    return count


def test_it_has_no_attributes():
    agree(asked_for_attributes, DATA)


def with_a_default(x):
    best = None
    for v in x:
        if v > 0:
            best = v
    return 0.0 if best is None else best


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tj.cond(x.sum() > 0, with_a_default, lambda x: x[0], x),
        lambda x: tj.vmap(with_a_default)(x[None]),
        lambda x: tj.scan(lambda c, row: (c + with_a_default(row), c), 0.0, x[None]),
    ],
)
@pytest.mark.parametrize("size", [4, 30])
def test_it_does_not_reach_code_that_is_not_rewritten(function, size):
    with pytest.raises(tj.TracejitError, match="is None in one branch and has a value in the other"):
        tj.jit(function)(X[:size])


UPDATES = ("best = x[i]", "best = x[i] * s", "best = 0.5", "best = None", "best = s")
TESTS = ("x[i] > 0", "x[i] < -0.5", "best is None", "best is not None", "best is None or x[i] > best",
         "best is not None and best < x[i]", "x[i] > 0 and not best is None", "not (best is None or s < 1)",
         "x[i] > 0 and (best is None or best > s)")  # fmt: skip
USES = ("s = s + best if best is not None else s * 0.5", "s = 0.9 * s + (1.0 if best is None else best)",
        "s = 0.5 * s + x[i]", "s += best == x[i]", "s = s * 0.3 if best else s")  # fmt: skip


def program(seed: int, folder: Path):
    """The function of the random program number `seed`."""
    choice = random.Random(seed)

    def block(depth: int) -> list[str]:
        lines = []
        for _ in range(choice.choice((1, 2))):
            if depth and choice.random() < 0.7:
                lines += [f"if {choice.choice(TESTS)}:", *block(depth - 1)]
                if choice.random() < 0.4:
                    lines += ["else:", *block(depth - 1)]
            else:
                lines.append(choice.choice((*UPDATES, *USES)))
        return ["    " + line for line in lines]

    loop = ["for i in range(len(x)):", *block(2), "    s = 0.9 * s + 0.1 * x[i]"]
    if choice.random() < 0.3:
        loop = ["for k in range(3):", *["    " + line for line in ["best = None", *loop]]]
    if choice.random() < 0.3:
        loop += ["if best is not None:", "    s = s + best"]
    lines = ["s = 1.0", f"best = {choice.choice(('None', 'None', 'x[0]'))}", *loop, "return s, best"]
    text = "\n".join(["def f(x):", *["    " + line for line in lines], ""])
    return load(text, f"optional_{seed}", folder)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 16))
def test_random_programs(seed, tmp_path):
    function = program(seed, tmp_path)
    jitted = agree(function, DATA)
    assert "unrolled" not in str(jitted.explain())


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 6))
def test_gradients_of_random_programs(seed, tmp_path):
    function = program(seed, tmp_path)
    x, tangent = np.random.default_rng(seed).normal(size=(2, 20))

    def loss(jitted):
        return lambda x: sum(value * (k + 1.0) for k, value in enumerate(tj.tree_leaves(jitted(x))))

    compiled, unrolled = loss(tj.jit(function)), loss(tj.jit(function, loops="unrolled"))
    gradient = np.asarray(tj.grad(compiled)(x))
    np.testing.assert_allclose(gradient, np.asarray(tj.grad(unrolled)(x)), rtol=1e-9, atol=1e-12)
    forward = tj.jvp(compiled, (x,), (tangent,))[1]
    np.testing.assert_allclose(forward, gradient @ tangent, rtol=1e-9, atol=1e-12)
