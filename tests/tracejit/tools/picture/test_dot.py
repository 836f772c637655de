"""DOT text, read back by a strict reader of the part of the language that is used."""

from __future__ import annotations

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

from tracejit.tools.picture import Picture, PictureEdge, PictureGroup, PictureNode, to_dot

TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|->|[A-Za-z_][A-Za-z_0-9]*|-?[0-9]*\.?[0-9]+|[{}\[\]=;,])')


def tokens(text):
    read, at = [], 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        assert match, f"not a token: {text[at : at + 40]!r}"
        read.append(match[1])
        at = match.end()
    return read


def shown(token):
    """The text that Graphviz shows for a quoted string: its escapes and references undone."""
    assert token[0] == token[-1] == '"'
    body = re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), token[1:-1])
    assert not re.search(r"&(?!amp;)", body)
    return body.replace("&amp;", "&")


class Reader:
    """graph := digraph ID { statement* }, with just the statements that are written."""

    def __init__(self, text):
        self.tokens = tokens(text)[::-1]
        self.nodes, self.edges, self.groups = {}, [], {}
        assert self.take() == "digraph"
        self.title = shown(self.take())
        self.block(None)
        assert not self.tokens

    def take(self, *expected):
        token = self.tokens.pop()
        assert not expected or token in expected, (token, expected)
        return token

    def block(self, group):
        self.take("{")
        while (token := self.take()) != "}":
            if token == "subgraph":
                name = self.take()
                assert name.startswith("cluster_")
                self.groups[name] = group
                self.block(name)
                continue
            following = self.tokens[-1]
            if following == "=":
                self.take("=")
                self.take()
            elif following == "->":
                self.take("->")
                self.edges.append((token, self.take(), self.attributes()))
            else:
                attributes = self.attributes()
                if token not in ("graph", "node", "edge"):
                    assert token not in self.nodes
                    self.nodes[token] = (group, attributes)
            self.take(";")

    def attributes(self):
        results = {}
        if self.tokens[-1] != "[":
            return results
        self.take("[")
        while True:
            name = self.take()
            self.take("=")
            results[name] = self.take()
            if self.take(",", "]") == "]":
                return results


HOSTILE = [
    '<script>alert("x")</script>',
    "&\"'<>",
    "&amp;lt;",
    "back\\slash\\",
    "\\n is not a line end",
    'ends with a quote"',
    "{a|b}",
    "<b>bold</b>",
    "naïve 汉字 🐍",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_comes_out_as_it_is(text):
    picture = Picture(
        (PictureNode(text, (text, "second"), "op", text, "g"), PictureNode("other", ())),
        (PictureEdge(text, "other", text, text),),
        (PictureGroup("g", text),),
        text,
    )
    read = Reader(to_dot(picture))
    assert read.title == (text or "picture")
    group, node = read.nodes["n0"]
    assert group == "cluster_0"
    assert shown(node["label"]) == f"{text}\nsecond"
    assert shown(node["comment"]) == text
    ((source, target, edge),) = read.edges
    assert (source, target) == ("n0", "n1")
    if text:
        assert shown(node["tooltip"]) == text
        assert shown(edge["label"]) == shown(edge["headlabel"]) == text
    else:
        assert "tooltip" not in node
        assert edge == {}


def test_controls_are_made_visible():
    read = Reader(to_dot(Picture((PictureNode("a", ("one\ntwo\x00\x1b\x7f\ud800",)),))))
    assert shown(read.nodes["n0"][1]["label"]) == "one\u240atwo\u2400\u241b\u2421\ufffd"


def test_groups_nest_and_edges_repeat():
    nodes = (
        PictureNode("a", ("a",), "leaf"),
        PictureNode("b", ("b",), group="in"),
        PictureNode("c", ("c",), group="out"),
    )
    groups = (PictureGroup("out", "out"), PictureGroup("in", "in", "out"), PictureGroup("empty", "empty"))
    edges = (PictureEdge("a", "b"), PictureEdge("a", "b"), PictureEdge("b", "c"))
    read = Reader(to_dot(Picture(nodes, edges, groups)))
    assert read.groups == {"cluster_0": None, "cluster_1": "cluster_0", "cluster_2": None}
    assert [group for group, _ in read.nodes.values()] == [None, "cluster_0", "cluster_1"]
    assert {shown(node["comment"]): group for group, node in read.nodes.values()}["b"] == "cluster_1"
    assert [(a, b) for a, b, _ in read.edges] == [("n0", "n1"), ("n0", "n1"), ("n1", "n2")]


def test_deep_nesting():
    groups = [PictureGroup("0", "0"), *(PictureGroup(str(i), str(i), str(i - 1)) for i in range(1, 3000))]
    text = to_dot(Picture((PictureNode("a", ("a",), group="2999"),), (), tuple(groups)))
    assert text.count("{") == text.count("}") == 3001


def test_the_empty_picture():
    read = Reader(to_dot(Picture(())))
    assert (read.nodes, read.edges, read.title) == ({}, [], "picture")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("text", HOSTILE)
def test_graphviz_agrees(text):
    picture = Picture(
        (PictureNode("a", ("x" + text,), "op", text), PictureNode("b", ())), (PictureEdge("a", "b", text),)
    )
    done = subprocess.run(
        ["dot", "-Tsvg"], input=to_dot(picture), capture_output=True, text=True, check=True, timeout=600
    )
    assert "Error" not in done.stderr
    labels = [
        element.text
        for element in ElementTree.fromstring(done.stdout).iter()
        if element.tag.endswith("}text")
    ]
    # Graphviz writes spaces as no-break spaces, and no element for an empty label
    assert {"x" + text, text} - {""} <= {label.replace("\xa0", " ") for label in labels}
