"""A valid call of every public function and method: what the enumeration of wrong arguments starts from.

`public_calls` walks the public modules, so that a new function is in the enumeration as soon as it is public;
a LookupError says where `valid_arguments` needs a row for it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.surface.namespaces import NUMPYS

from .deferred_arguments import OF_DEFERRED
from .library_arguments import OF_LIBRARIES
from .valid_arguments import BY_NAME, OF_FUNCTIONS, OF_METHODS, F, Fresh, I

MODULES = (
    "",
    "nn",
    "random",
    "optim",
    "autograd",
    "autograd.functional",
    "extend",
    "debug",
    "testing",
    "pytree",
    "tree",
    "linalg",
    "fft",
    "emath",
    "scipy.linalg",
    "scipy.fft",
    "scipy.signal",
    "scipy.special",
)
#: Public names that are not functions of arguments: classes of errors, records that other functions make.
RECORDS = frozenset(
    [
        "Function",
        "FunctionCtx",
        "GradcheckError",
        "Tensor",
        "TensorType",
        "ndarray",
        "Optimizer",
        "Schedule",
        "Backend",
        "Gradient",
        "Kernel",
        "Sample",
        "CheckFailure",
        "ParameterOptimizer",
    ]
)
#: Functions that change or read the state of the process and take no argument.
BARE = frozenset(
    [
        "default_dtype",
        "get_backend",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "num_threads",
        "memory",
        "is_anomaly_check_nan_enabled",
        "is_anomaly_enabled",
        "isolated",
        "get_state",
        "next_key",
        "disable_jit",
    ]
)


@dataclass
class Call:
    """A function under its public name, and arguments that it takes: by parameter, in order."""

    name: str
    function: Callable[..., Any]
    table: Any
    #: Parameters that are passed by position: those that have to be, and ``*args``.
    positional: tuple[str, ...] = ()
    several: frozenset[str] = frozenset()

    def arguments(self) -> dict[str, Any]:
        """The arguments, made anew."""
        table = self.table() if callable(self.table) else self.table
        return {
            name: argument.make() if isinstance(argument, Fresh) else argument
            for name, argument in table.items()
        }

    def call_public(self, arguments: dict[str, Any]) -> Any:
        """The function's result for `arguments`."""
        places: list[Any] = []
        for name in self.positional:
            if name in arguments:
                places.extend(arguments[name] if name in self.several else [arguments[name]])
        return self.function(
            *places, **{name: argument for name, argument in arguments.items() if name not in self.positional}
        )


def public_calls() -> list[Call]:
    """A call of each public function, and of each method of Tensor."""
    calls: dict[str, Call] = {}
    for module_name in MODULES:
        module = importlib.import_module(f"tracejit.{module_name}".rstrip("."))
        names = getattr(module, "__all__", None)
        own = names is None
        for name in names if names is not None else vars(module):
            value = getattr(module, name)
            if not callable(value) or name.startswith("_") or name in RECORDS | BARE:
                continue
            if module_name == "" and name in NUMPYS.split():
                continue
            if isinstance(value, type) and issubclass(value, (BaseException, tj.autograd.Function)):
                continue
            if own and getattr(value, "__module__", "") != module.__name__:
                continue
            if name in ("record", "TreeDef") or isinstance(value, np.dtype):
                continue
            if own and name in tj.__all__:
                continue
            label = f"{module_name}.{name}".lstrip(".")
            if module_name and getattr(tj, name, None) is value:
                continue
            calls[label] = described(label, value)
    for name in dir(tj.Tensor):
        static = inspect.getattr_static(tj.Tensor, name)
        if (
            not inspect.isfunction(static)
            or name in _NO_METHODS
            or (name in vars(object) and name not in _DUNDERS)
        ):
            continue
        if name.startswith("_") and not name.startswith("__"):
            continue
        calls[f"Tensor.{name}"] = described(f"Tensor.{name}", static)
    return [*calls.values()]


#: Methods that take nothing but the tensor, or that Python calls with arguments of its own.
_NO_METHODS = frozenset(
    [
        "__init__",
        "__array__",
        "__format__",
        "__array_function__",
        "__array_ufunc__",
        "__dlpack__",
        "__buffer__",
        "__reduce__",
        "__deepcopy__",
        "__iter__",
        "__dlpack_device__",
    ]
)
_DUNDERS = frozenset(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
_INTEGERS = ("and", "or", "xor", "lshift", "rshift", "invert")


def described(label: str, function: Callable[..., Any]) -> Call:
    """The call of `function`, with an argument for every parameter."""
    method = label.removeprefix("Tensor.") if label.startswith("Tensor.") else ""
    table = (
        OF_METHODS.get(method, OF_FUNCTIONS.get(method))
        if method
        else OF_FUNCTIONS.get(label, OF_DEFERRED.get(label, OF_LIBRARIES.get(label)))
    )
    if table is None and any(
        method.strip("_") in (way + name for way in ("", "r", "i")) for name in _INTEGERS
    ):
        table = {"x": Fresh(lambda: tj.tensor(I)), "y": I}
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    several = frozenset(
        parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL
    )
    positional = tuple(
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
        or (several and parameter.kind is parameter.POSITIONAL_OR_KEYWORD)
    )
    if not callable(table):
        table = {
            parameter.name: argument
            for parameter in parameters
            if (argument := _argument(label, parameter, table)) is not inspect.Parameter.empty
        }
        if method and isinstance(table.get("x"), np.ndarray):
            table["x"] = Fresh(lambda array=table["x"]: tj.tensor(array))
    return Call(label, function, table, positional, several)


def _argument(label: str, parameter: inspect.Parameter, table: dict[str, Any] | None) -> Any:
    """The argument for `parameter`; ``Parameter.empty`` where it is left out."""
    name, empty = parameter.name, inspect.Parameter.empty
    if table is not None and name in table:
        return table[name]
    if table is not None and parameter.default is not empty:
        return empty
    if name in BY_NAME:
        return BY_NAME[name]
    if name == "self":
        return Fresh(lambda: tj.tensor(F))
    if name == "other":
        return 2.0
    if parameter.default is empty and parameter.kind is not parameter.VAR_POSITIONAL:
        raise LookupError(f"{label}: valid_arguments.py has no argument for {name!r}")
    return empty


if __name__ == "__main__":
    for call in public_calls():
        print(call.name, list(call.arguments()))
