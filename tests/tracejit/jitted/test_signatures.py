"""``tracejit/tensors/signatures.pyi`` lists exactly what Tensor has beyond its own class body."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tracejit as tj

_PACKAGE = Path(tj.__file__).parent


def _class_body(file, name):
    tree = ast.parse((_PACKAGE / file).read_text())
    (definition,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return definition.body


def _defined(body):
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


STUBS = {
    node.name: node
    for node in _class_body("tensors/signatures.pyi", "Signatures")
    if isinstance(node, ast.FunctionDef)
    and not any(isinstance(decorator, ast.Attribute) for decorator in node.decorator_list)  # setters
}
OWN = _defined(_class_body("tensors/tensor.py", "Tensor"))
#: The names that Python puts into every class with __slots__.
AUTOMATIC = {
    "__module__",
    "__doc__",
    "__qualname__",
    "__weakref__",
    "_data",
    "_node",
    "_grad",
    "_memory",
    "_aliases",
    "_hooks",
    "_requires_grad",
    "__static_attributes__",
    "__firstlineno__",
    "__annotations__",
    "__annotate_func__",
    "__annotations_cache__",
}


def test_the_list_is_what_is_bound():
    bound = set(vars(tj.Tensor)) - OWN - AUTOMATIC
    assert set(STUBS) == bound


@pytest.mark.parametrize("name", sorted(STUBS))
def test_arguments_are_those_of_the_bound_function(name):
    stub, bound = STUBS[name], vars(tj.Tensor)[name]
    is_property = any(
        isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in stub.decorator_list
    )
    assert is_property == isinstance(bound, property)
    if is_property or name.startswith("__"):
        return
    parameters = list(inspect.signature(bound).parameters.values())[1:]
    a = stub.args
    positional = [argument.arg for argument in a.args[1:]]
    keyword = [kwonlyarg.arg for kwonlyarg in a.kwonlyargs]
    real_positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    real_keyword = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    assert positional == real_positional
    assert keyword == real_keyword
    assert (a.vararg is not None) == any(
        parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters
    )
    with_default = len(a.defaults)
    assert with_default == sum(
        parameter.default is not parameter.empty for parameter in parameters if parameter.name in positional
    )
