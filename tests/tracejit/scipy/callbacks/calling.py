"""Calls of SciPy's functions with callbacks of NumPy's functions, and with the same functions jitted."""

from __future__ import annotations

import importlib
import inspect
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.sparse.linalg import LinearOperator

import tracejit as tj

#: The functions whose callback gets a record of the state, and the attribute of that which has arrays.
_RECORDS: Final = {
    "differentiate.derivative": "df",
    "integrate.tanhsinh": "integral",
    "optimize.elementwise.find_minimum": "x",
    "optimize.elementwise.find_root": "x",
    "optimize.linprog": "x",
}


def _is_far(*state):
    """The answer of a callback that stops nothing, computed from the first array that it is told of."""
    place = np.stack(state[0]) if isinstance(state[0], list) else state[0]
    return np.sum(place) < -1e9


class Callbacks:
    """Functions that a case calls SciPy with: as they are, or `jitted`, or functions `around` jitted ones."""

    def __init__(self, *, jitted: bool, around: bool = False) -> None:
        self.jitted, self.around = jitted, around
        #: The functions and parameters of SciPy's that got one of the functions.
        self.reached: set[tuple[str, str]] = set()
        self._functions: list[Callable[..., Any]] = []

    def __call__(self, function: Callable[..., Any], *, static: tuple[int, ...] = ()) -> Callable[..., Any]:
        return self._kept(tj.jit(function, static_argnums=static) if self.jitted else function)

    def _kept(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self.around:
            inner = function
            function = lambda *args, **options: inner(*args, **options)  # noqa: E731
        self._functions.append(function)
        return function

    def derivative(
        self,
        function: Callable[..., Any],
        by_hand: Callable[..., Any],
        transform: Callable[..., Any] = tj.grad,
    ) -> Callable[..., Any]:
        """The derivative of `function`: written `by_hand`, or a jitted `transform` of it."""
        return self._kept(tj.jit(transform(function)) if self.jitted else by_hand)

    def operator(self, matrix: Any) -> LinearOperator:
        """`matrix` as functions of vectors."""
        return self.call(
            "sparse.linalg.LinearOperator",
            matrix.shape,
            matvec=self(lambda x: matrix @ x),
            rmatvec=self(lambda x: matrix.T @ x),
            matmat=self(lambda x: matrix @ x),
            rmatmat=self(lambda x: matrix.T @ x),
            dtype=matrix.dtype,
        )

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        """SciPy's function `name` of the arguments."""
        module, _, rest = name.partition(".")
        while rest[0].islower() and "." in rest and not rest.startswith("rv_"):
            inner, _, rest = rest.partition(".")
            module = f"{module}.{inner}"
        function = operator.attrgetter(rest)(importlib.import_module(f"scipy.{module}"))
        if takes(function, "callback"):
            options.setdefault("callback", self._callback(name, options))
        try:
            named = inspect.signature(function).bind(*args, **options).arguments
        except (TypeError, ValueError):  # classes and functions in C that do not tell
            named = dict(enumerate(args)) | options
        for parameter, value in list(named.items()):
            named.update(value if parameter in ("kwargs", "options") and isinstance(value, dict) else {})
        self.reached.update((name, str(key)) for key, value in named.items() if self._holds_function(value))
        return function(*args, **options)

    def _callback(self, name: str, options: dict[str, Any]) -> Callable[..., Any]:
        """The record of the steps of the function `name`."""
        is_far = self(_is_far)
        if name in _RECORDS:
            return self._kept(lambda record: is_far(getattr(record, _RECORDS[name])))
        if options.get("method") == "trust-constr":
            return self._kept(lambda x, record: is_far(x))
        return is_far

    def _holds_function(self, value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(map(self._holds_function, value))
        return isinstance(value, LinearOperator) or any(value is function for function in self._functions)


def takes(function: Callable[..., Any], parameter: str) -> bool:
    """Whether `function` has a parameter of this name."""
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):  # classes and functions in C that do not tell
        return False


def leaves(result: Any, place: str = "result", depth: int = 0) -> dict[str, Any]:
    """The arrays and numbers in a `result` of SciPy's, by their places in it."""
    if isinstance(result, (tj.Tensor, np.ndarray, np.generic, int, float, complex)):
        return {place: result}
    if hasattr(result, "_asdict"):
        result = result._asdict()
    elif isinstance(result, (tuple, list)):
        result = dict(enumerate(result))
    elif not isinstance(result, dict):
        result = vars(result) if depth < 3 and hasattr(result, "__dict__") else {}
    found: dict[str, Any] = {}
    for key, value in result.items():
        if not callable(value):
            found.update(leaves(value, f"{place}.{key}", depth + 1))
    return found
