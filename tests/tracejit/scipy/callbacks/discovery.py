"""Functions of SciPy that take callbacks, found in the signatures and docstrings of its public modules."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, Final

import scipy

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
#: The headings behind the parameters of a docstring.
_BEHIND_PARAMETERS: Final = re.compile(r"^(?:Attributes|Returns|See Also|Notes|Examples)\n-+$", re.M)


def callback_parameters() -> dict[str, set[str]]:
    """The parameters that take callbacks, by the name of the function below ``scipy``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are deprecated
        return {name: found for name, function in _functions() if (found := _parameters(function))}


def _functions() -> Iterator[tuple[str, Any]]:
    """The public functions, classes and methods, each by one name."""
    modules = sorted(_modules(scipy), key=lambda module: (_is_deprecated(module), module.__name__))
    seen: set[int] = set()
    for module in modules:
        place = module.__name__.partition(".")[2]
        for name in sorted(set(getattr(module, "__all__", ()))):
            value = getattr(module, name, None)
            if not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{place}.{name}", value
            if inspect.isclass(value):
                for key, method in vars(value).items():
                    if not key.startswith("_") and inspect.isfunction(method):
                        yield f"{place}.{name}.{key}", method


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    """The public modules below `package`."""
    for found in pkgutil.iter_modules(package.__path__):
        if not found.name.startswith("_") and found.name not in ("tests", "conftest"):
            module = importlib.import_module(f"{package.__name__}.{found.name}")
            yield module
            if found.ispkg:
                yield from _modules(module)


def _is_deprecated(module: ModuleType) -> bool:
    """Whether `module` gives names of others, with a warning."""
    return "__getattr__" in vars(module) and not hasattr(module, "__path__")


def _parameters(function: Any) -> set[str]:
    signature: Mapping[str, inspect.Parameter]
    try:
        signature = inspect.signature(function).parameters
    except (TypeError, ValueError):  # classes and functions in C that do not tell
        signature = {}
    parameters = set(signature)
    text = inspect.getdoc(function) or ""
    found = parameters & (_documented(text) | _NAMES)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.values()):
        found |= _documented(_BEHIND_PARAMETERS.split(text)[0])  # the signature does not name those of Rbf
    return found


def _documented(text: str) -> set[str]:
    """The parameters that a docstring says take functions."""
    return {name.strip(" *") for names, _ in _DOCUMENTED.findall(text) for name in names.split(",")}
