"""Random programs of Python's integers, whose operators are errors for some numbers, and many of them:
``python -m tests.tracejit.loops.number_error_programs``.

A compiled program gives what Python gives, or raises an error of the class that Python raises. Where an
operand is one of NumPy's integers, a division by zero is 0 and a warning there, and 0 here.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

import tracejit as tj

from .checking import load

#: Operations that are errors where the second operand `{b}` is 0, or negative.
_OPERATIONS: Final = (
    "{a} // {b}", "{a} % {b}", "divmod({a}, {b})[0]", "divmod({a}, {b})[1]", "{a} << ({b} % 9 - 1)",
    "{a} >> ({b} + 2)", "math.isqrt({b} + 1)", "math.isqrt({b})",
)  # fmt: skip
_LINE: Final = """
    s = {operation}
"""
_SUM: Final = """
    s = 0
    for i in range(len(x)):
        s += {operation}
"""
_CARRIED: Final = """
    s = k
    for i in range(len(x)):
        s = ({operation}) + s // 3
"""
_WHILE: Final = """
    s, i = 0, 0
    while i < k + 20:
        s += {operation}
        i += 1
"""
_BRANCH: Final = """
    s = 0
    for i in range(len(x)):
        if x[i] > {limit}:
            s += {operation}
        else:
            s -= 1
"""
_NESTED: Final = """
    s = 0
    for i in range(5):
        for j in range(i, 7):
            s += ({operation}) * j
"""
_HELPER: Final = """
    s = 0
    for i in range(len(x)):
        s += helper(x, k, n, i)
"""
_WRITES: Final = """
    s = 0
    for i in range(len(x)):
        x[i] = {operation}
"""
_INNER_WHILE: Final = """
    s = 0
    for i in range(len(x)):
        t = j = 0
        while j < i % 4 + {limit} % 3:
            t += {operation}
            j += 1
        x[i] = t - i
"""
_FORMS: Final = (_INNER_WHILE, _LINE, _SUM, _CARRIED, _WHILE, _BRANCH, _NESTED, _HELPER, _WRITES)
#: Operands that are Python's integers, by whether they need a loop; and those that are NumPy's.
_NUMBERS: Final = (("k", "n", "n - 3", "len(x) - n", "2 * k + n", "7"), ("i", "i - n", "n - i", "i * k + 1"))
_SCALARS: Final = (("x[2]", "x[n % 5]"), ("x[i]", "x[i] - n"))
#: Numbers of the calls, `k` and `n`.
CALLS: Final = ((3, 4), (0, 0), (5, -2), (1, 3), (-4, 17), (2, 30))


def program(seed: int) -> str:
    """The source of a program: a function f of an array and two integers."""
    draw = random.Random(seed)
    form = draw.choice(_FORMS)
    loops = form is not _LINE
    operands = _NUMBERS[0] + _NUMBERS[1] * loops
    a, b = draw.choice(operands), draw.choice(operands)
    operation = draw.choice(_OPERATIONS)
    if draw.random() < 0.25 and "<<" not in operation and "isqrt" not in operation:
        a = draw.choice(_SCALARS[0] + _SCALARS[1] * loops)
    text = operation.format(a=f"({a})", b=f"({b})")
    body = form.format(operation=text, limit=draw.choice((-5, 3, 40)))
    return (
        f"import math\n\n\ndef helper(x, k, n, i):\n    return {text if loops else 0}\n\n\n"
        f"def f(x, k, n):{body}    return s\n"
    )


def check(seed: int, folder: Path) -> list[str]:
    """Assert that the calls of the program `seed` do what Python does: the errors of those that raise."""
    function = load(program(seed), f"numbers_{seed}", folder)
    jitted, errors = tj.jit(function), []
    for k, n in CALLS:
        arrays = [np.arange(-6, 34) for _ in range(2)]
        expected = _outcome(function, arrays[0], k, n)
        result = _outcome(jitted, arrays[1], k, n)
        text = f"seed {seed}, f(x, {k}, {n}): {expected!r} in Python, {result!r} compiled\n{program(seed)}"
        if isinstance(expected, Exception):
            errors.append(type(expected).__name__)
            assert isinstance(result, type(expected)), text
        else:
            assert not isinstance(result, Exception), text
            assert result == expected, text
        assert np.array_equal(*arrays), text
    return errors


def _outcome(function: Any, *arguments: Any) -> Any:
    """The integer that a call returns, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy's integers
        try:
            return int(function(*arguments))
        except (ArithmeticError, ValueError) as error:
            return error


def main() -> int:
    """Check many programs; 1 where one differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tracejit.loops.number_error_programs", description=main.__doc__
    )
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    options = parser.parse_args()
    failed, raised = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.programs):
            try:
                raised += len(check(seed, Path(folder)))
            except AssertionError as error:
                failed += 1
                print(error)
    count = options.programs
    print(f"{count} programs, {count * len(CALLS)} calls, {raised} raise as in Python, {failed} differ")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
