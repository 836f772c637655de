"""Where NumPy's function raises ValueError, TypeError or IndexError, ours raises one that is that, too.

Each function gets one argument that is wrong, in all ways that `WRONG` has for the parameter's name. A third
of the functions is drawn in each run; ``TRACEJIT_ERROR_SEED`` repeats a draw, and ``all`` takes every one.
"""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.skipif(
    np.__version__[:4] != "2.4.", reason="the reasons are about NumPy 2.4's errors"
)

RIGHT: Final = np.arange(6.0).reshape(2, 3)
#: Wrong arguments by the name of a parameter.
WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "axis": (9, -7, "x", 1.5, (0, 0)), "axis1": (9,), "axis2": (9,), "axes": ((0, 9), "x"), "dtype": ("float33",),
    "out": (np.zeros((7, 7)),), "keepdims": ("x",), "casting": ("x",), "where": (np.ones((4, 5), bool),),
    "mode": ("x",), "method": ("x",), "side": ("x",), "indexing": ("x",), "order": ("x",), "ddof": ("x",),
    "shape": ((4, 4), "x", -3), "initial": ("x",), "indices": ([99], "x"), "kth": (99,), "repeats": (-1, "x"),
    "n": ("x", -3), "k": ("x",), "bins": (-1, "x"), "weights": (np.ones(9),), "source": (9,), "destination": (9,),
    "shift": ("x",), "reps": ("x",), "pad_width": ("x",),
}  # fmt: skip
#: Wrong arrays.
OPERANDS: Final = ("text", None, np.ones((4, 5)), object())
#: Functions of files, and those whose names mean something else here.
NOT_CALLED: Final = frozenset(
    "fromfile genfromtxt load loadtxt random save savetxt savez savez_compressed set_printoptions test trace".split()
)
#: Functions for which floats of rank 2, or what else is right elsewhere, are a mistake, too; and which of two
#: mistakes is found first is nobody's promise.
TWO_MISTAKES: Final = frozenset()


def wrong_calls(function: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    parameters = list(inspect.signature(function).parameters.values())
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [each for each in parameters if each.default is each.empty and each.kind in places]
    for place, parameter in enumerate(required):
        for wrong in WRONG.get(parameter.name, OPERANDS):
            yield tuple(wrong if i == place else RIGHT for i in range(len(required))), {}
    for parameter in parameters:
        if parameter not in required:
            for wrong in WRONG.get(parameter.name, ()):
                yield (RIGHT,) * len(required), {parameter.name: wrong}


def error_of(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Exception | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*args, **options)
        except Exception as error:
            return error
    return None


def names() -> list[str]:
    found = []
    for name in tj.__all__:
        theirs, ours = getattr(np, name, None), getattr(tj, name)
        if (
            callable(theirs)
            and not isinstance(theirs, type)
            and theirs is not ours
            and name not in NOT_CALLED
        ):
            found.append(name)
    return sorted(found)


def different(name: str) -> Iterator[str]:
    try:
        calls = list(wrong_calls(getattr(np, name)))
    except ValueError:  # a function in C that does not tell what it takes
        return
    for args, options in calls:
        theirs = error_of(getattr(np, name), args, options)
        ours = error_of(getattr(tj, name), args, options)
        if theirs is None or ours is None:
            continue
        missing = [
            kind.__name__
            for kind in (ValueError, TypeError, IndexError)
            if isinstance(theirs, kind) and not isinstance(ours, kind)
        ]
        if missing:
            yield f"{name}{args}{options}: {type(ours).__name__}: {ours}; NumPy: {type(theirs).__name__}: {theirs}"


def test_errors_are_of_numpys_classes() -> None:
    seed = os.environ.get("TRACEJIT_ERROR_SEED") or str(time.time_ns())
    drawn = [name for name in names() if name not in TWO_MISTAKES]
    if seed != "all":
        rng = np.random.default_rng(int(seed))
        drawn = sorted(rng.choice(drawn, len(drawn) // 3, replace=False))
    problems = [problem for name in drawn for problem in different(name)]
    assert not problems, f"TRACEJIT_ERROR_SEED={seed}\n" + "\n".join(problems)
