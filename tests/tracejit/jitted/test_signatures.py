"""``tracejit/array/signatures.pyi`` lists exactly what Tensor has beyond its own class body."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tracejit as tj

_PACKAGE = Path(tj.__file__).parent


def _class_body(file, name):
    tree = ast.parse((_PACKAGE / file).read_text())
    (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return found.body


def _defined(body):
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return names


STUBS = {
    node.name: node
    for node in _class_body("array/signatures.pyi", "Signatures")
    if isinstance(node, ast.FunctionDef)
}
OWN = _defined(_class_body("eager/tensor.py", "Tensor"))
#: What Python puts into every class with __slots__.
AUTOMATIC = {
    "__module__",
    "__doc__",
    "__qualname__",
    "__weakref__",
    "_data",
    "_node",
    "_grad",
    "_version",
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
    is_property = any(isinstance(one, ast.Name) and one.id == "property" for one in stub.decorator_list)
    assert is_property == isinstance(bound, property)
    if is_property or name.startswith("__"):
        return
    parameters = list(inspect.signature(bound).parameters.values())[1:]
    a = stub.args
    positional = [one.arg for one in a.args[1:]]
    keyword = [one.arg for one in a.kwonlyargs]
    real_positional = [
        one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    real_keyword = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    assert positional == real_positional
    assert keyword == real_keyword
    assert (a.vararg is not None) == any(one.kind is one.VAR_POSITIONAL for one in parameters)
    with_default = len(a.defaults)
    assert with_default == sum(one.default is not one.empty for one in parameters if one.name in positional)
