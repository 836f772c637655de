"""SVG: well-formed, escaped, addressable, and of good contrast."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import pytest

import tracejit as tj
from tracejit.tools.picture import KINDS, Picture, PictureEdge, PictureGroup, PictureNode, to_svg
from tracejit.tools.picture.palette import DARK, LIGHT
from tracejit.tools.picture.svg import size_of

NS = "{http://www.w3.org/2000/svg}"


def read(picture, **options):
    return ElementTree.fromstring(to_svg(picture, **options))


def of_class(root, name):
    return [element for element in root.iter() if name in (element.get("class") or "").split()]


SAMPLE = Picture(
    (
        PictureNode("x", ("x", "f64[3]"), "leaf", "train.py:7"),
        PictureNode("two", ("2",), "constant"),
        PictureNode("y", ("mul", "f64[3]"), "op", group="g"),
    ),
    (PictureEdge("x", "y", port="x"), PictureEdge("two", "y", "1")),
    (PictureGroup("g", "fusion"),),
    "func @f",
)


def test_nodes_and_edges_can_be_found():
    root = read(SAMPLE)
    assert root.tag == NS + "svg"
    assert root.get("aria-label") == "func @f"
    nodes = of_class(root, "node")
    assert [node.get("data-node") for node in nodes] == ["x", "two", "y"]
    assert [node.get("class") for node in nodes] == ["node leaf", "node constant", "node op"]
    assert [[text.text for text in node.findall(NS + "text")] for node in nodes] == [
        ["x", "f64[3]"],
        ["2"],
        ["mul", "f64[3]"],
    ]
    assert nodes[0].find(NS + "title").text == "x\nleaf\ntrain.py:7"
    edges = of_class(root, "edge")
    assert [(edge.get("data-source"), edge.get("data-target")) for edge in edges] == [
        ("x", "y"),
        ("two", "y"),
    ]
    assert [element.text for element in of_class(edges[0], "port")] == ["x"]
    assert [element.text for element in of_class(edges[1], "label")] == ["1"]
    (group,) = of_class(root, "group")
    assert group.get("data-group") == "g"
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) == 3 + 2 + 2  # nodes, edges, the arrow, the picture
    assert all(identifier.startswith(root.get("id")) for identifier in ids)


def test_style_touches_nothing_else():
    root = read(SAMPLE)
    style = root.find(NS + "style").text
    assert "prefers-color-scheme:dark" in style
    rules = re.sub(r"@media[^{]*\{", "", style).split("}")
    selectors = [selector for rule in rules if "{" in rule for selector in rule.split("{")[0].split(",")]
    assert len(selectors) > 20
    assert all(selector.startswith(f"#{root.get('id')} ") for selector in selectors)
    assert "http" not in style
    assert "url(" not in style


def test_legend():
    assert of_class(read(SAMPLE), "legend") == []
    (legend,) = of_class(read(SAMPLE, legend=True), "legend")
    assert [element.text for element in legend.iter(NS + "text")] == ["leaf", "constant", "op"]


HOSTILE = [
    "<script>alert(1)</script>",
    "&\"'<>",
    "]]>",
    "<!--",
    "&amp;",
    "-->",
    "'/><script>",
    "汉字 🐍",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_comes_out_as_it_is(text):
    nodes = (PictureNode(text, (text, text), "op", text, text), PictureNode("b", ()))
    root = read(Picture(nodes, (PictureEdge(text, "b", text, text),), (PictureGroup(text, text),), text))
    assert {element.tag.removeprefix(NS) for element in root.iter()} == {
        "svg", "style", "defs", "marker", "path", "rect", "text", "title", "g",
    }  # fmt: skip
    node = of_class(root, "node")[0]
    assert node.get("data-node") == text
    assert [element.text for element in node.findall(NS + "text")] == [text, text]
    assert node.find(NS + "title").text.split("\n") == [text, "op", text]
    edge = of_class(root, "edge")[0]
    assert edge.get("data-source") == text
    assert [element.text for element in edge.iter(NS + "text")] == [text, text]
    assert root.get("aria-label") == text


def test_what_xml_forbids_is_replaced():
    root = read(Picture((PictureNode("a\x00", ("a\x00b\x1b\n\ufffe\ud800c",)),)))
    assert of_class(root, "title")[0].text == "a\u2400b\u241b\u240a\ufffd\ufffdc"


def test_long_lines_are_cut_and_whole_in_the_tooltip():
    root = read(Picture((PictureNode("a", ("value=" + "7" * 100,)),)))
    (node,) = of_class(root, "node")
    assert node.find(NS + "text").text == "value=" + "7" * 37 + "…"
    assert node.find(NS + "title").text.split("\n")[0] == "value=" + "7" * 100
    assert float(node.find(NS + "rect").get("width")) < 450


@pytest.mark.parametrize("count", [0, 1])
def test_small_pictures(count):
    root = read(Picture(tuple(PictureNode(str(i), ("x",)) for i in range(count))), legend=True)
    assert len(of_class(root, "node")) == count
    assert float(root.get("width")) > 0


def test_sizes_follow_the_text():
    narrow, wide = size_of(PictureNode("a", ("add",))), size_of(PictureNode("a", ("a much longer name",)))
    assert narrow[0] < wide[0]
    assert narrow[1] == wide[1]
    assert size_of(PictureNode("a", ("add", "f64[3]")))[1] > narrow[1]
    assert size_of(PictureNode("a", ("汉字汉字",)))[0] > size_of(PictureNode("a", ("abcd",)))[0]
    assert size_of(PictureNode("a", ()))[0] >= 40


def test_everything_lies_within_the_picture():
    chance = random.Random(3)
    pairs = [(chance.randrange(max(0, i - 9), i), i) for i in range(1, 80) for _ in range(2)]
    nodes = tuple(PictureNode(str(i), (f"node {i}",)) for i in range(80))
    root = read(Picture(nodes, tuple(PictureEdge(str(a), str(b)) for a, b in pairs)))
    width, height = float(root.get("width")), float(root.get("height"))
    numbers = [
        tuple(map(float, pair))
        for edge in of_class(root, "edge")
        for pair in re.findall(r"([-\d.]+),([-\d.]+)", edge.find(NS + "path").get("d"))
    ]
    assert len(numbers) > 300
    assert all(0 <= x <= width and 0 <= y <= height for x, y in numbers)


def test_written_to_a_file(tmp_path):
    path = tmp_path / "graph.svg"
    text = to_svg(SAMPLE, path)
    assert path.read_text(encoding="utf-8") == text
    assert to_svg(SAMPLE, str(path)) == text
    with pytest.raises(OSError):
        to_svg(SAMPLE, tmp_path / "missing" / "graph.svg")
    with pytest.raises(tj.TracejitError, match=r"expected a path to write to, or None.*got int"):
        to_svg(SAMPLE, 3)


def luminance(color):
    """WCAG 2.1, relative luminance."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour, other):
    high, low = sorted([luminance(colour), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(theme):
    assert set(theme.kinds) == set(KINDS)
    for colors in theme.kinds.values():
        assert contrast(colors.text, colors.fill) >= 7
        assert contrast(colors.line, theme.ground) >= 3
    assert contrast(theme.edge, theme.ground) >= 3
    for ground in (theme.ground, *theme.groups):
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.faint, ground) >= 4.5
        assert contrast(theme.edge, ground) >= 2.8
