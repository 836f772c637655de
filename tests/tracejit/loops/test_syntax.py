"""Walks over syntax trees beside those of Python's `ast`."""

import ast
from pathlib import Path

import pytest

from tracejit.loops.source import syntax

_LEAVES = (ast.operator, ast.cmpop, ast.unaryop, ast.boolop, ast.expr_context)
TEXT = """
import a.b as c, d
from . import e
async def f(a, /, b: int = 1, *args, c, d=2, **kw) -> int:
    async with a as b, c: await d
    async for i in x: yield
    else: yield from z
@decorated(1, *a, key=2, **b)
class A(B, metaclass=C):
    x: int
    y: int = 3
    del a, b[0], c.d
def g():
    global h, i
    try: raise A from b
    except (B, C) as e: pass
    except: assert x, y
    else: return
    finally: return {**a, 'k': v, None: w}, {1, 2}, [*a, 3], a[1:2, ..., ::3], f"{a!r:>{b}} {c}", b"x", 1j
    while (n := x) and not y or z: break
    else: continue
    a = b = lambda x, *y, z=1: x if y else ~z
    a @= -b < c <= d is not e in f
    [a for b in c if d if e for f in g], {a: b for c in d}, {a for b in c}, (a async for b in c)
    match a:
        case {'k': A(1, x=None), **rest} | [1, *_] as b if c: pass
        case _: pass
"""


@pytest.mark.parametrize("path", [None, *sorted(Path(syntax.__file__).parents[1].rglob("*.py"))])
def test_walk_is_that_of_ast_without_operators(path):
    tree = ast.parse(TEXT if path is None else path.read_text())
    expected = [node for node in ast.walk(tree) if not isinstance(node, _LEAVES)]
    assert syntax.walk(tree) == expected
    for node in expected:
        direct = [each for each in ast.iter_child_nodes(node) if not isinstance(each, _LEAVES)]
        assert list(syntax.children(node)) == direct
