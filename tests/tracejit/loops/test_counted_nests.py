"""A walk over random nests of loops whose trip counts are known only at run time: values, gradients.

``python -m tests.tracejit.loops.test_counted_nests 100 200`` walks over further seeds."""

import linecache
import math
import sys

import numpy as np
import pytest

import tracejit as tj

from .counted_nests import LONG, SIZE, CountedNestGenerator


def function_of(seed):
    """The function of a seed, with its source where it is looked for."""
    text, name = CountedNestGenerator(seed).program(), f"<counted nest {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = {"np": np, "math": math}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def check(seed):
    """Compare a program with Python, and its gradient with forward mode; whether Python can run it."""
    f, r = function_of(seed), np.random.default_rng(seed)
    a, x, m = r.normal(size=(SIZE, SIZE)), r.normal(size=LONG), r.integers(0, SIZE, SIZE)
    try:
        with np.errstate(all="ignore"):
            expected = f(a, x, m)
    except IndexError:
        return False
    if not abs(expected) < 1e6:
        return False
    directions = r.normal(size=(SIZE, SIZE)), r.normal(size=LONG)
    np.testing.assert_allclose(tj.jit(f)(a, x, m), expected, rtol=1e-9, atol=1e-9)
    gradients = tj.jit(tj.grad(f, argnums=(0, 1)))(a, x, m)
    slope = sum(np.sum(part.numpy() * along) for part, along in zip(gradients, directions, strict=True))

    def along(a, x):
        return tj.jvp(lambda a, x: f(a, x, m), (a, x), tuple(map(tj.tensor, directions)))[1]

    forward = tj.jit(along)(tj.tensor(a), tj.tensor(x)).numpy()
    np.testing.assert_allclose(slope, forward, rtol=1e-8, atol=1e-8)
    return True


@pytest.mark.parametrize("seed", range(24))
def test_gradients_are_those_of_forward_mode(seed):
    print(f"seed {seed}:\n{CountedNestGenerator(seed).program()}")
    if not check(seed):
        pytest.skip("Python raises, or the numbers grow")


def test_most_programs_run():
    assert sum(map(check, range(24, 32))) >= 4


if __name__ == "__main__":
    FIRST, LAST = map(int, sys.argv[1:])
    WRONG = []
    for SEED in range(FIRST, LAST):
        try:
            check(SEED)
        except Exception as error:
            WRONG.append(SEED)
            print(f"seed {SEED}: {error}\n{CountedNestGenerator(SEED).program()}")
    print(f"seeds {FIRST} to {LAST - 1}: wrong {WRONG}")
    sys.exit(bool(WRONG))
