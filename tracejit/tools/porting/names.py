"""The names of HIPS autograd that a program uses and that its namespace here does not have."""

from __future__ import annotations

import ast
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...array.numpy_calls.protocol import HOST, public_function
from .imports import LIBRARY, is_of_library, namespace_of

#: What to do where a name is missing.
ADVICE: Final = {
    "Box": "make the class a pytree with tj.register_pytree_node, or a dataclass",
    "VSpace": "make the class a pytree with tj.register_pytree_node, or a dataclass",
    "Node": "tj.make_ir(f)(x) and tj.graph_of(y) show what is computed",
    "trace": "tj.make_ir(f)(x) and tj.graph_of(y) show what is computed",
    "const_graph": "tj.jit(f) runs what was traced",
    "const_graph_unary": "tj.jit(f) runs what was traced",
    "full_graph": "tj.make_ir(f)(x) shows what is computed",
    "register_notrace": "use notrace_primitive",
    "tracers": "tj.jit(f) runs what was traced",
    "core": "its functions for users are in autograd.extend",
}
_NO_DERIVATIVE: Final = "it takes arrays alone: neither derivatives nor tj.jit follow it"


@dataclass(frozen=True)
class Missing:
    """A use of a name that the namespace does not have, or that derivatives do not follow there."""

    line: int
    name: str
    advice: str

    def __str__(self) -> str:
        return f"{self.name}: {self.advice}" if self.advice else f"{self.name} is missing"


def missing_names(tree: ast.Module) -> list[Missing]:
    """What the program `tree` imports of HIPS autograd, or uses of its modules, and is not here: by lines."""
    missing: dict[tuple[int, str], Missing] = {}
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        for name, bound in _imported(node):
            problem = _problem(name, node.lineno)  # type: ignore[attr-defined]
            if problem is not None:
                missing[problem.line, problem.name] = problem
            elif bound and isinstance(_resolved(name), ModuleType):
                modules[bound] = name
    for node in ast.walk(tree):
        path = _dotted(node)
        if path is not None and path[0] in modules:
            problem = _problem(".".join([modules[path[0]], *path[1:]]), node.lineno)  # type: ignore[attr-defined]
            if problem is not None:
                missing[problem.line, problem.name] = problem
    shortest = [
        use
        for use in missing.values()
        if not any(
            other.line == use.line and use.name.startswith(f"{other.name}.") for other in missing.values()
        )
    ]
    return sorted(shortest, key=lambda use: (use.line, use.name))


def _imported(node: ast.AST) -> list[tuple[str, str]]:
    """The dotted names that an import takes of the library, and the variable that each is bound to."""
    if isinstance(node, ast.ImportFrom) and node.level == 0 and is_of_library(node.module):
        names = [alias for alias in node.names if alias.name != "*"]
        return [(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in names] or [
            (str(node.module), "")
        ]
    if isinstance(node, ast.Import):
        aliases = [alias for alias in node.names if is_of_library(alias.name)]
        found = [(alias.name, alias.asname or "") for alias in aliases]
        return found + [(LIBRARY, LIBRARY) for alias in aliases if not alias.asname]
    return []


def _dotted(node: ast.AST) -> list[str] | None:
    """``a.b.c`` as its names; None for other expressions."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if names and isinstance(node, ast.Name) else None


def _resolved(name: str) -> Any:
    """What the namespace has under the library's dotted `name`; up to the first thing that is no module.
    Raises AttributeError where it has nothing."""
    value: Any = importlib.import_module(namespace_of(LIBRARY))
    module = LIBRARY
    for part in name.split(".")[1:]:
        module = f"{module}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(namespace_of(module))
            except ModuleNotFoundError:
                raise AttributeError(module) from None
        if not isinstance(value, ModuleType):
            return value
    return value


def _problem(name: str, line: int) -> Missing | None:
    try:
        value = _resolved(name)
    except AttributeError as error:
        return Missing(line, str(error), ADVICE.get(str(error).rpartition(".")[2], ""))
    if _takes_arrays_alone(value, name):
        return Missing(line, name, _NO_DERIVATIVE)
    return None


def _takes_arrays_alone(value: Any, name: str) -> bool:
    """Whether `value` is a function of NumPy's that has no counterpart here to which tensors would go."""
    own = getattr(value, "__name__", "")
    if getattr(np, own, None) is not value or own in HOST:
        return False
    takes_tensors = isinstance(value, np.ufunc) or hasattr(value, "_implementation")
    return takes_tensors and public_function(own) is None
