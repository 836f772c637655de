"""Invariants of a picture, and the errors where they do not hold."""

from __future__ import annotations

from itertools import pairwise

import pytest

import tracejit as tj
from tracejit.tools.picture import Picture, PictureEdge, PictureGroup, PictureNode, lay_out, to_dot, to_svg

A, B = PictureNode("a", ("a",)), PictureNode("b", ("b",))
WRONG = {
    "node twice": (Picture((A, B, A)), "two nodes have the id 'a'"),
    "group twice": (Picture((), (), (PictureGroup("g", ""),) * 2), "two groups have the id 'g'"),
    "unknown kind": (
        Picture((PictureNode("a", (), "blob"),)),
        "'a' has the kind 'blob'; expected one of parameter, leaf, constant, op, call, result",
    ),
    "unknown source": (Picture((A,), (PictureEdge("z", "a"),)), "'z' -> 'a' names 'z', which is no node"),
    "unknown target": (Picture((A,), (PictureEdge("a", "z"),)), "'a' -> 'z' names 'z', which is no node"),
    "unknown group": (Picture((PictureNode("a", (), group="g"),)), "'a' lies in the group 'g'"),
    "group before its parent": (
        Picture((), (), (PictureGroup("g", "", "h"), PictureGroup("h", ""))),
        "list outer groups first",
    ),
    "loop": (Picture((A,), (PictureEdge("a", "a"),)), "cycle, 'a' -> 'a'; a picture must be acyclic"),
    "cycle": (
        Picture((A, B), (PictureEdge("a", "b"), PictureEdge("b", "a"))),
        "cycle, 'a' -> 'b' -> 'a'|cycle, 'b' -> 'a' -> 'b'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("write", [to_dot, to_svg])
def test_errors(name, write):
    picture, message = WRONG[name]
    with pytest.raises(tj.TracejitError, match=message):
        write(picture)


def test_the_cycle_that_is_shown_is_one():
    nodes = tuple(PictureNode(str(box), ()) for box in range(50))
    pairs = [(box, box + 1) for box in range(49)] + [(30, 20), (5, 30)]
    picture = Picture(nodes, tuple(PictureEdge(str(a), str(b)) for a, b in pairs))
    with pytest.raises(tj.TracejitError, match="cycle, ") as caught:
        to_dot(picture)
    shown = str(caught.value).split("cycle, ")[1].split(";")[0].replace("'", "").split(" -> ")
    assert shown[0] == shown[-1]
    assert "..." in shown
    edges = set(pairs)
    for box, next_one in pairwise(shown):
        assert "..." in (box, next_one) or (int(box), int(next_one)) in edges


def test_sizes_are_counted():
    with pytest.raises(tj.TracejitError, match="each of the 2 nodes, got 1"):
        lay_out(Picture((A, B)), [(10, 10)])
