"""Where NumPy's function raises ValueError, TypeError or IndexError, ours raises one that is that, too.

Each function gets one argument that is wrong, in all ways that `WRONG` has for the parameter's name.
"""

from __future__ import annotations

import copy
import inspect
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
    "axis": (9, -7, "x", 1.5, (0, 0)),
    "axis1": (9,),
    "axis2": (9,),
    "axes": ((0, 9), "x"),
    "dtype": ("float33",),
    "out": (np.zeros((7, 7)),),
    "keepdims": ("x",),
    "casting": ("x",),
    "where": (np.ones((4, 5), bool),),
    "mode": ("x",),
    "method": ("x",),
    "side": ("x",),
    "indexing": ("x",),
    "order": ("x",),
    "ddof": ("x",),
    "shape": ((4, 4), "x", -3),
    "initial": ("x",),
    "indices": ([99], "x"),
    "kth": (99,),
    "repeats": (-1, "x"),
    "n": ("x", -3),
    "k": ("x",),
    "bins": (-1, "x"),
    "weights": (np.ones(9),),
    "source": (9,),
    "destination": (9,),
    "shift": ("x",),
    "reps": ("x",),
    "pad_width": ("x",),
}
#: Wrong arrays.
OPERANDS: Final = ("text", None, np.ones((4, 5)), object())
#: Functions of files, and those whose names mean something else here.
NOT_CALLED: Final = frozenset((
    "fromfile", "genfromtxt", "load", "loadtxt", "random", "save", "savetxt", "savez",
    "savez_compressed", "set_printoptions", "test", "trace",
))  # fmt: skip
#: Functions left out, by the reason.
LEFT_OUT: Final = {
    "average": "shapes that do not fit without axis= are a TypeError of NumPy's",
    **dict.fromkeys(("divmod", "frexp", "modf"), "one array for two results"),
    **dict.fromkeys(
        ("delete", "extract", "sort", "sort_complex", "take", "tensordot", "trapezoid"),
        "text and objects are arrays of rank 0, whose axes are missing",
    ),
    **dict.fromkeys(
        ("place", "put", "putmask"), "text that is no number is found in the array that is written"
    ),
    **dict.fromkeys(("polyadd", "polysub", "polyval"), "coefficients are a line here"),
    "vecdot": "`axes` are not a list",
}


def wrong_calls(function: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls of NumPy's `function` with one mistake; none of a function that takes no arrays as `RIGHT` is."""
    parameters = list(inspect.signature(function).parameters.values())
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [each for each in parameters if each.default is each.empty and each.kind in places]
    kinds = (RIGHT, RIGHT.astype(np.int64))
    taken = [right for right in kinds if error_of(function, (right,) * len(required), {}) is None]
    if not taken:
        return
    right = taken[0]
    for place, parameter in enumerate(required):
        for wrong in WRONG.get(parameter.name, OPERANDS):
            yield tuple(wrong if i == place else right for i in range(len(required))), {}
    for parameter in parameters:
        if parameter not in required:
            for wrong in WRONG.get(parameter.name, ()):
                yield (right,) * len(required), {parameter.name: wrong}


def error_of(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Exception | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*copy.deepcopy(args), **copy.deepcopy(options))
        except Exception as error:
            return error
    return None


def names() -> list[str]:
    listed = []
    for name in tj.__all__:
        theirs, ours = getattr(np, name, None), getattr(tj, name)
        if (
            callable(theirs)
            and not isinstance(theirs, type)
            and theirs is not ours
            and name not in NOT_CALLED
        ):
            listed.append(name)
    return sorted(listed)


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
            kinds = f"{type(ours).__name__}, NumPy's {type(theirs).__name__}"
            yield f"{name}{args}{options}: {kinds}: {ours}; {theirs}"


@pytest.mark.parametrize("name", [name for name in names() if name not in LEFT_OUT])
def test_errors_are_of_numpys_classes(name: str) -> None:
    assert not list(different(name))


def test_what_is_left_out_has_a_reason() -> None:
    assert LEFT_OUT.keys() <= set(names())
    assert all(list(different(name)) for name in LEFT_OUT)
