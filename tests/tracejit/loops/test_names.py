"""Names in statements, as the rewriting of loops analyses them."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tracejit.loops.source.names import NameTable, written_in_place
from tracejit.loops.source.syntax import walk

#: Statements, and the names that they load, assign, write in place, append to, and that inner scopes read.
CASES: dict[str, tuple[set[str], set[str], set[str], set[str], set[str]]] = {
    "a = b + c[d]": ({"b", "c", "d"}, {"a"}, set(), set(), set()),
    "a += b": ({"a", "b"}, {"a"}, {"a"}, set(), set()),
    "a[i, j] += b": ({"a", "b", "i", "j"}, set(), {"a"}, set(), set()),
    "a[i][j], b.c = d": ({"a", "b", "d", "i", "j"}, set(), {"a"}, set(), set()),
    "del a": ({"a"}, {"a"}, set(), set(), set()),
    "items.append(x + y)": ({"items", "x", "y"}, set(), set(), {"items"}, set()),
    "items.append(items[0])": ({"items"}, set(), set(), {"items"}, set()),
    "n = items.append(x)": ({"items", "x"}, {"n"}, set(), set(), set()),
    "import numpy.linalg, math as m": (set(), {"numpy", "m"}, set(), set(), set()),
    "a = [y := x for x in b]": ({"b", "x"}, {"a", "y"}, set(), set(), set()),
    "f = lambda x, y=a: (z := x)": ({"a", "x"}, {"f"}, set(), set(), {"a", "x"}),
    "def f(x=a): b[0] = x": ({"a", "b", "x"}, {"f"}, {"b"}, set(), {"a", "b", "x"}),
    "class C(B): y = x": ({"B", "x"}, {"C"}, set(), set(), {"B", "x"}),
    "for i in range(n): s[i] = t": ({"n", "range", "s", "i", "t"}, {"i"}, {"s"}, set(), set()),
    "if a: b = c\nelse: d.append(e)": ({"a", "c", "d", "e"}, {"b"}, set(), {"d"}, set()),
    "with a as b: c = d": ({"a", "d"}, {"b", "c"}, set(), set(), set()),
    "try: a = b\nexcept E as e: c = d": ({"b", "E", "d"}, {"a", "e", "c"}, set(), set(), set()),
    "match a:\n case [b, *c]: d = b\n case {'k': e, **f}: pass": (
        {"a", "b"}, {"b", "c", "d", "e", "f"}, set(), set(), set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_names_of_statements(text: str) -> None:
    (statement,) = ast.parse(text).body
    names = NameTable().of(statement)
    sets = names.loaded, names.assigned, names.written, names.appended, names.captured
    assert sets == CASES[text]
    assert written_in_place(walk(statement)) == names.written


def test_names_of_several_statements_are_those_of_each() -> None:
    body = ast.parse("items.append(x)\nfor i in items:\n    a[i] = b + 1\n    if a[i] > c: d = -b\n").body
    names = NameTable().of(*body)
    assert names.loaded == {"items", "x", "i", "a", "b", "c"}
    assert names.assigned == {"i", "d"}
    assert names.appended - names.used == set()  # the loop runs along it
    assert names.size == 7  # append(x), a[i], b + 1, the if, a[i], >, -b


def test_names_are_those_of_a_walk_over_every_node() -> None:
    text = textwrap.dedent(
        """
        while a < b:
            for k in range(c):
                try:
                    x[k] = f(k, lambda t: t + g)
                finally:
                    h[0][1] += y
            a = a + 1
        """
    )
    (loop,) = ast.parse(text).body
    names = NameTable().of(loop)
    nodes = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
    assert names.loaded == {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    assert names.assigned == {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    assert names.captured == {"t", "g"}
    assert names.written == {"x", "h"}
