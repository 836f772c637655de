"""Programs that read what lies outside, with a change of that: what they give in Python and jitted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tracejit as tj

#: Code that sets up what is read with the value ``v``, code that changes it, and an expression that reads it.
Read = tuple[str, str, str]

X = np.array([1.0, 2.0, 3.0])
_IMPORTS = """
import abc, builtins, collections, contextlib, contextvars, copy, dataclasses, datetime, decimal, enum
import fractions, functools, inspect, io, itertools, json, locale, logging, math, operator, os, pathlib
import random, re, string, sys, threading, time, types, typing, weakref, warnings
class Plain: pass
"""

_RESTORED = """
builtins.abs, math.floor, math.pi, np.hypot = ORIGINAL_ABS, ORIGINAL_FLOOR, ORIGINAL_PI, ORIGINAL_HYPOT
tj.square, fractions.Fraction.limit_denominator = ORIGINAL_SQUARE, ORIGINAL_LIMIT
tj.set_default_dtype(tj.float64)
os.environ.pop('MADE_K', None)
os.chdir(HOME)
vars(builtins).pop('made_k', None)
vars(string).pop('made_k', None)
builtins.round = ORIGINAL_ROUND
decimal.setcontext(decimal.Context())
logging.disable(0)
logging.root.setLevel(logging.WARNING)
locale._override_localeconv = {}
os.environ.clear()
os.environ.update(ENVIRONMENT)
time.tzset()
for name in [name for name in sys.modules if name.startswith('made_')]: del sys.modules[name]
sys.path[:], sys.argv, sys.dont_write_bytecode = PATH, ARGUMENTS, WRITES_NOTHING
sys.setswitchinterval(0.005)
sys.set_int_max_str_digits(4300)
threading.current_thread().name = 'MainThread'
np.seterrcall(None)
np.setbufsize(8192)
import tempfile
tempfile.tempdir, tempfile.template = None, 'tmp'
"""
_ORIGINALS = """
ORIGINAL_ABS, ORIGINAL_FLOOR, ORIGINAL_PI, ORIGINAL_HYPOT = abs, math.floor, math.pi, np.hypot
ORIGINAL_SQUARE, ORIGINAL_LIMIT = tj.square, fractions.Fraction.limit_denominator
HOME = os.getcwd()
ORIGINAL_ROUND, ENVIRONMENT = round, dict(os.environ)
PATH, ARGUMENTS, WRITES_NOTHING = list(sys.path), sys.argv, sys.dont_write_bytecode
"""


def outcomes(case: Read, folder: Any) -> tuple[list[tuple[Any, Any]], list[str]]:
    """Results of Python and of the jitted function after each change, and the texts of warnings."""
    setup, change, read = case
    names: dict[str, Any] = {"__name__": "made", "tj": tj, "np": np, "FILE": str(folder / "file.txt")}
    names |= {"v": 0.5, "v0": 0.5, "v1": 2.25}
    exec(_IMPORTS + _ORIGINALS, names)
    results, told = [], list[str]()
    limit, errors, options = names["sys"].getrecursionlimit(), np.geterr(), np.get_printoptions()
    try:
        exec(compile(setup, "made", "exec", dont_inherit=True), names)
        exec(f"def f(x):\n    K = {read}\n    return x * K", names)
        function, jitted = names["f"], tj.jit(names["f"])
        for step in (None, 2.25, 0.5, 2.25):
            if step is not None:
                names["v"] = step
                exec(change, names)
            for _ in range(2):
                expected = np.array(function(X))
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    results.append((expected, np.array(jitted(X))))
                told += [str(warning.message) for warning in seen]
    finally:
        exec(_RESTORED, names)
        names["sys"].setrecursionlimit(limit)
        np.seterr(**errors)
        np.set_printoptions(**options)
    return results, told


def check(
    case: Read, folder: Any, told: str | None = None, *, steady: bool = False, uncompiled: str = ""
) -> None:
    """Check that the jitted function gives what Python gives, or that a warning says `told`. Only of a
    `steady` case do the changes leave the result as it was. Warnings may say `uncompiled`."""
    results, messages = outcomes(case, folder)
    if told is not None:
        assert any(told in message for message in messages), messages
        return
    assert all(uncompiled and uncompiled in message for message in messages), messages
    for expected, result in results:
        np.testing.assert_array_equal(result, expected)
    changed = len({expected.tobytes() for expected, _ in results}) > 1
    assert changed != steady
