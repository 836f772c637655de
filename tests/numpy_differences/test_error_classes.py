"""Classes of errors: where NumPy's function raises ValueError, TypeError or IndexError, ours raises one that
is that, too.

Each function gets one argument that is wrong, in all ways that `WRONG` has for the parameter's name. Arrays
are read and written by wrong keys (`KEYS`) and made Python numbers (`CONVERSIONS`), and functions of
numbers get those that are out of range (`OUT_OF_RANGE`): eagerly, and while a function is traced.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator
from functools import partial
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


def missing_classes(ours: Exception, theirs: Exception) -> list[str]:
    """The built-in classes that NumPy's error has and ours has not."""
    kinds = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)
    return [kind.__name__ for kind in kinds if isinstance(theirs, kind) and not isinstance(ours, kind)]


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
        if missing_classes(ours, theirs):
            kinds = f"{type(ours).__name__}, NumPy's {type(theirs).__name__}"
            yield f"{name}{args}{options}: {kinds}: {ours}; {theirs}"


@pytest.mark.parametrize("name", [name for name in names() if name not in LEFT_OUT])
def test_errors_are_of_numpys_classes(name: str) -> None:
    assert not list(different(name))


def test_what_is_left_out_has_a_reason() -> None:
    assert LEFT_OUT.keys() <= set(names())
    assert all(list(different(name)) for name in LEFT_OUT)


#: Keys that are wrong for an array of shape (2, 3), and some that are right for one of other ranks.
KEYS: Final[dict[str, Any]] = {
    "text": "a", "text beside": (0, "a"), "float": 1.5, "float beside": (0, 1.5), "complex": 1j,
    "object": object(), "set": {1}, "dict": {}, "list of text": ["a"], "list of floats": [0.5],
    "array of floats": np.array([0.5]), "float of rank 0": np.array(0.5), "array of text": np.array(["a"]),
    "outside": 2, "outside below": (0, -4), "outside in a list": [5],
    "outside in an array": np.array([[0, 7]]),
    "huge": 2**70, "too many": (0, 0, 0), "too many with arrays": ([0], [0], [0]),
    "two ellipses": (..., ...), "slice of text": slice("a", None), "slice of floats": slice(1.5, None),
    "no step": slice(None, None, 0), "ragged arrays": ([0, 1], [0, 1, 2]),
    "long mask": np.ones(3, bool), "short mask": np.ones(1, bool),
    "mask of columns": (slice(None), np.ones(2, bool)),
    "large mask": np.ones((3, 3), bool), "mask of three axes": np.ones((2, 3, 1), bool),
    "list mask": [True, False, True], "mask beside places": (np.array([True, True]), [0, 1, 2]),
}  # fmt: skip
#: Python numbers of arrays of several elements, and of none.
CONVERSIONS: Final[dict[str, Any]] = {
    "float": float, "int": int, "complex": complex, "index": lambda x: range(9)[x],
    "item": lambda x: x.item(), "format": lambda x: format(x, ".2f"), "iterate": lambda x: list(x.sum()),
    "length": lambda x: len(x.sum()),
}  # fmt: skip
#: Calls with numbers that are out of range, of the namespace `n` and an array of shape (2, 3).
OUT_OF_RANGE: Final[dict[str, Any]] = {
    "arange": lambda n, x: n.arange(0, 5, 0), "arange of floats": lambda n, x: n.arange(0.0, 5.0, 0.0),
    "bincount": lambda n, x: n.bincount(np.array([1, -1])),
    "bincount with weights": lambda n, x: n.bincount(np.array([-1]), np.ones(1)),
    "bincount minlength": lambda n, x: n.bincount(np.array([1]), minlength=-1),
    "unravel_index": lambda n, x: n.unravel_index(100, (2, 3)),
    "unravel_index below": lambda n, x: n.unravel_index(np.array([-7]), (2, 3)),
    "ravel_multi_index": lambda n, x: n.ravel_multi_index((np.array([5]), np.array([0])), (2, 3)),
    "choose": lambda n, x: n.choose(np.array([5]), [np.ones(1)]),
    "choose below": lambda n, x: n.choose(np.array([-1]), [np.ones(1)]),
    "take": lambda n, x: n.take(x, [100]), "take along": lambda n, x: n.take(x, -9, axis=1),
    "take_along_axis": lambda n, x: n.take_along_axis(x, np.array([[9]]), axis=1),
    "delete": lambda n, x: n.delete(x, 9, axis=0), "insert": lambda n, x: n.insert(x, 9, 1.0, axis=0),
    "partition": lambda n, x: n.partition(x, 7, axis=1),
    "argpartition": lambda n, x: n.argpartition(x, 7, axis=1),
    "quantile": lambda n, x: n.quantile(x, 1.5), "percentile": lambda n, x: n.percentile(x, -1),
    "linspace": lambda n, x: n.linspace(0, 1, -3), "logspace": lambda n, x: n.logspace(0, 1, -3),
    "geomspace": lambda n, x: n.geomspace(0, 1, 5), "zeros": lambda n, x: n.zeros(-1),
    "full": lambda n, x: n.full((2, -1), 1.0), "repeat": lambda n, x: n.repeat(x, -1),
    "split": lambda n, x: n.split(x, 4, axis=1), "split in none": lambda n, x: n.array_split(x, 0),
    "diff": lambda n, x: n.diff(x, n=-1), "vander": lambda n, x: n.vander(x[0], N=-1),
    "tri": lambda n, x: n.tri(-1), "eye": lambda n, x: n.eye(-1), "pad": lambda n, x: n.pad(x, -1),
    "histogram": lambda n, x: n.histogram(x, bins=-1),
    "histogram range": lambda n, x: n.histogram(x, range=(3, 1)),
    "digitize": lambda n, x: n.digitize(x, np.array([0.0, 2.0, 1.0])),
    "matrix_power": lambda n, x: n.linalg.matrix_power(np.zeros((2, 2)), -1),
    "fft": lambda n, x: n.fft.fft(x, n=0), "fftfreq": lambda n, x: n.fft.fftfreq(0),
    "power": lambda n, x: n.power(np.array([2]), np.array([-1])), "max": lambda n, x: n.max(x[:0]),
    "argmax": lambda n, x: n.argmax(x[:0]), "average": lambda n, x: n.average(x, weights=x * 0.0),
}  # fmt: skip
#: Calls that give a result here, by the reason.
NO_ERRORS: Final = {
    "average": "0 / 0 is NaN, as it is while a function is traced",
    "geomspace": "it has NaN, as it has while a function is traced",
}
#: Calls whose numbers traced code does not know; kernels check them or nothing does.
NOT_TRACED: Final = frozenset(("bincount", "bincount with weights"))


def written(x: Any, key: Any) -> None:
    x[key] = 1.0


def of_calls() -> Iterator[tuple[str, Any]]:
    """Each call as a function of a namespace and an array."""
    for name, key in KEYS.items():
        yield f"x[{name}]", lambda n, x, key=key: x[key]
        yield f"x[{name}] = 1", lambda n, x, key=key: written(x, key)
        yield f"x.T[1][{name}]", lambda n, x, key=key: x.T[1][key]
    for name, convert in CONVERSIONS.items():
        yield f"{name} of x", lambda n, x, convert=convert: convert(x)
        yield f"{name} of nothing", lambda n, x, convert=convert: convert(x[:0])
    yield from OUT_OF_RANGE.items()


CALLS: Final = dict(of_calls())


def traced(call: Any, x: Any) -> None:
    tj.jit(lambda y: (call(tj, y), y)[1])(x)


@pytest.mark.parametrize("name", CALLS)
def test_keys_and_numbers_have_errors_of_numpys_classes(name: str) -> None:
    call = CALLS[name]
    theirs = error_of(lambda x: call(np, x), (RIGHT,), {})
    eager = error_of(lambda x: call(tj, tj.asarray(x)), (RIGHT,), {})
    assert theirs is None or eager is None or not missing_classes(eager, theirs), (eager, theirs)
    compiled = None if name in NOT_TRACED else error_of(lambda x: traced(call, x), (RIGHT,), {})
    assert theirs is None or compiled is None or not missing_classes(compiled, theirs), (compiled, theirs)


def test_wrong_keys_are_errors() -> None:
    wrong = [name for name, call in CALLS.items() if error_of(partial(call, np), (RIGHT,), {})]
    silent = {name for name in wrong if not error_of(partial(CALLS[name], tj), (tj.asarray(RIGHT),), {})}
    assert len(wrong) > 110
    assert silent == NO_ERRORS.keys()


@pytest.mark.parametrize("size", [4, 100_000])
def test_kernels_raise_errors_of_numpys_classes(size: int) -> None:
    numbers = np.zeros(size, np.int64)
    numbers[-1] = -1
    count = tj.jit(lambda x: tj.bincount(x, minlength=3))
    np.testing.assert_array_equal(count(np.abs(numbers)), [size - 1, 1, 0])
    theirs = error_of(np.bincount, (numbers,), {})
    ours = error_of(count, (numbers,), {})
    assert theirs is not None
    assert ours is not None
    assert not missing_classes(ours, theirs)
    assert isinstance(ours, IndexError)
    assert str(ours).startswith("bincount: an element is negative")
