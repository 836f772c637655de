"""Functions of SciPy that take callbacks, found in the signatures and docstrings of its public modules."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final

MODULES: Final = (
    "cluster.hierarchy", "cluster.vq", "differentiate", "fft", "fftpack", "integrate",
    "interpolate", "linalg", "linalg.interpolative", "ndimage", "odr", "optimize",
    "optimize.elementwise", "signal", "signal.windows", "sparse", "sparse.csgraph", "sparse.linalg",
    "spatial", "spatial.distance", "spatial.transform", "special", "stats", "stats.contingency",
    "stats.mstats", "stats.qmc", "stats.sampling",
)  # fmt: skip

#: Names that SciPy gives parameters for callbacks, also where a docstring does not say what they take.
_NAMES: Final = frozenset(
    [
        "func",
        "fun",
        "f",
        "function",
        "jac",
        "hess",
        "hessp",
        "fprime",
        "fprime2",
        "grad",
        "callback",
        "callable",
        "statistic",
        "mapping",
        "comparator",
        "matvec",
        "rmatvec",
        "matmat",
    ]
)
#: A parameter of a docstring, and the words that tell that it takes a function.
_DOCUMENTED: Final = re.compile(
    r"^(\*{0,2}\w[\w, *]*) : (.*(?:callable|[Ff]unction|LinearOperator|ufunc).*)$", re.M
)


def callback_parameters() -> dict[str, set[str]]:
    """The parameters that take callbacks, by the name of the function below ``scipy``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are deprecated
        return {name: found for name, function in _functions() if (found := _parameters(function))}


def _functions() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        namespace = importlib.import_module(f"scipy.{module}")
        for name in sorted(set(namespace.__all__)):
            value = getattr(namespace, name, None)
            if inspect.isclass(value):
                yield f"{module}.{name}", value
                for key, method in vars(value).items():
                    if not key.startswith("_") and inspect.isfunction(method):
                        yield f"{module}.{name}.{key}", method
            elif callable(value):
                yield f"{module}.{name}", value


def _parameters(function: Any) -> set[str]:
    try:
        parameters = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # classes and functions in C that do not tell
        parameters = set()
    documented = {
        name.strip(" *")
        for names, _ in _DOCUMENTED.findall(inspect.getdoc(function) or "")
        for name in names.split(",")
    }
    return (documented & parameters) | (parameters & _NAMES)
