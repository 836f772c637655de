"""The names of HIPS autograd that a program uses and that its namespace here does not have."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...array.numpy_calls.protocol import HOST, public_function

#: The library whose imports are changed, and the namespace that takes its place.
LIBRARY: Final = "autograd"
NAMESPACE: Final = "tracejit.compat.autograd"
_PARENT, _, _NAME = NAMESPACE.rpartition(".")

#: A place in the text, as bytes of UTF-8 from its beginning, and what stands there instead.
Edit = tuple[int, int, str]


def is_of_library(module: str | None) -> bool:
    """Whether `module` is HIPS autograd or one of its modules."""
    return module is not None and (module == LIBRARY or module.startswith(f"{LIBRARY}."))


def namespace_of(module: str) -> str:
    """The module that takes the place of one of the library's."""
    return NAMESPACE + module[len(LIBRARY) :]


def ported(source: str) -> str:
    """`source`, a Python program, with the imports of HIPS autograd changed. Raises SyntaxError."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for start, end, text in sorted(_edits(ast.parse(source), data, starts), reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode()


def _edits(tree: ast.Module, data: bytes, starts: list[int]) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and is_of_library(node.module):
            start = starts[node.lineno - 1] + node.col_offset
            name = re.compile(rb"from\s+(autograd)\b").match(data, start)
            if name is not None:
                yield (*name.span(1), NAMESPACE)
        elif isinstance(node, ast.Import) and any(is_of_library(alias.name) for alias in node.names):
            yield from _edits_of_import(node, starts)


def _edits_of_import(node: ast.Import, starts: list[int]) -> Iterator[Edit]:
    if all(alias.asname or not is_of_library(alias.name) for alias in node.names):
        for alias in node.names:
            if is_of_library(alias.name):
                start = starts[alias.lineno - 1] + alias.col_offset
                yield start, start + len(LIBRARY), NAMESPACE
        return
    # `import autograd.numpy` binds `autograd`: so does this, and modules of the namespace load at first use
    others = [ast.unparse(alias) for alias in node.names if not is_of_library(alias.name) or alias.asname]
    kept = [re.sub(rf"^{LIBRARY}\b", NAMESPACE, other) for other in others]
    parts = [f"from {_PARENT} import {_NAME}", *([f"import {', '.join(kept)}"] if kept else [])]
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    yield (
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
        "; ".join(parts),
    )


#: Advice for missing names.
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
    """The names of HIPS autograd that the program `tree` imports or uses and that are missing here, by
    line."""
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
    """The object in the namespace for the library's dotted `name`, resolved up to the first part that is no
    module. Raises AttributeError if there is none."""
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
