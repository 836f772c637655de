"""The stub of what Tensor has beyond its own class body: operators, methods and properties bound to it."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..tensors import tensor
from ..tensors.tensor import Tensor

_HEAD: Final = '''\
"""The operators and methods that ``methods.bind`` gives Tensor, declared for type checkers.

Only read while type checking: Tensor derives from `Signatures` there.
"""

import builtins
from typing import TYPE_CHECKING, Any

{outside}
if TYPE_CHECKING:
{inside}
class Signatures:
    """What Tensor offers beside what its own class body defines."""

'''
#: Functions that wrap others without their annotations.
_RESULTS: Final = {
    "T": "Tensor",
    "mT": "Tensor",
    "__divmod__": "tuple[Tensor, Tensor]",
    "__rdivmod__": "tuple[Tensor, Tensor]",
}


#: Names that some versions of Python put into classes.
_OF_PYTHON: Final = ("__annotations__", "__annotate_func__", "__annotations_cache__")
_Kind = inspect._ParameterKind


class _Plain:
    """A class with what Python puts into every class."""

    __slots__ = ("__weakref__",)


def signatures() -> str:
    """The text of the stub, without the head of all stubs."""
    automatic = {*vars(_Plain), *Tensor.__slots__, *_OF_PYTHON}
    names = [name for name in vars(Tensor) if name not in automatic and name not in _own()]
    writer = _Writer(set(names))
    body = "".join(line for name in names for line in writer.declaration(name, vars(Tensor)[name]))
    imports = [f"from {module} import {name}\n" for name, module in sorted(writer.imports.items())]
    outside = "".join(line for line in imports if not line.startswith("from ."))
    inside = "".join(f"    {line}" for line in imports if line.startswith("from ."))
    return _HEAD.format(outside=outside, inside=inside) + body


def _own() -> set[str]:
    """The names that the class body of Tensor defines."""
    tree = ast.parse(Path(tensor.__file__).read_text())
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor"]
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    own = {target.id for target in targets if isinstance(target, ast.Name)}
    return own | {node.name for node in body if isinstance(node, ast.FunctionDef)}


class _Writer:
    """Writes declarations, and collects the names that they need."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self.imports: dict[str, str] = {}

    def declaration(self, name: str, value: Any) -> Iterator[str]:
        """The lines that declare an attribute of Tensor."""
        if isinstance(value, property):
            yield f"    @property\n    def {name}(self) -> {self._result(name, value.fget)}: ...\n"
            if value.fset is not None:
                yield f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n"
            return
        parameters = ", ".join(self._parameters(value))
        ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        yield f"    def {name}({parameters}) -> {self._result(name, value)}: ...{ignored}\n"

    def _parameters(self, function: Any) -> Iterator[str]:
        yield "self"
        before = _Kind.POSITIONAL_OR_KEYWORD
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            kind = parameter.kind
            if before is _Kind.POSITIONAL_ONLY is not kind:
                yield "/"
            if kind is _Kind.KEYWORD_ONLY and before not in (_Kind.KEYWORD_ONLY, _Kind.VAR_POSITIONAL):
                yield "*"
            before = kind
            stars = {_Kind.VAR_POSITIONAL: "*", _Kind.VAR_KEYWORD: "**"}.get(kind, "")
            default = "" if parameter.default is parameter.empty else " = ..."
            yield f"{stars}{parameter.name}: {self._type(parameter.annotation, function)}{default}"
        if before is _Kind.POSITIONAL_ONLY:
            yield "/"

    def _result(self, name: str, function: Any) -> str:
        """The type of a result: a tensor where the function does not say."""
        is_class = inspect.isclass(function)
        annotation = function.__name__ if is_class else _annotations(function).get("return", "Tensor")
        if name in _RESULTS or (annotation == "Any" and name.startswith("__i")):
            return _RESULTS.get(name, "Tensor")
        return self._type(annotation, function)

    def _type(self, annotation: Any, function: Any) -> str:
        """An annotation as it reads in the stub; Any where it names what cannot be imported."""
        if not isinstance(annotation, str):
            return "Any"
        words = {word: self._place(word, function) for word in re.findall(r"[A-Za-z_]\w*", annotation)}
        if None in words.values():
            return "Any"
        self.imports |= {word: place for word, place in words.items() if place != "builtins" and place}
        shadowed = [word for word, place in words.items() if place == "builtins" and word in self._names]
        return re.sub(rf"\b({'|'.join(shadowed)})\b", r"builtins.\1", annotation) if shadowed else annotation

    def _place(self, word: str, function: Any) -> str | None:
        """The module to import a class from, seen from that of the stub; None of other values."""
        if word in ("None", "Any"):
            return "builtins"
        scope = getattr(inspect.unwrap(function), "__globals__", {})
        value = Tensor if word == "Tensor" else scope.get(word, vars(builtins).get(word, function))
        if not inspect.isclass(value):
            return None
        module = value.__module__
        if module == "builtins" and not hasattr(builtins, word):
            return "types"
        return re.sub(r"^tracejit\.(tensors\b)?", lambda found: "" if found[1] else "..", module)


def _annotations(function: Any) -> dict[str, str]:
    return getattr(inspect.unwrap(function), "__annotations__", {})
