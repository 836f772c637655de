"""Output in notebooks, read back as a browser would."""

from __future__ import annotations

import base64
import struct
import zlib
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.notebooks.tensors import PIXELS, picture


class _Page(HTMLParser):
    """The cells of tables, the sources of pictures, and all text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.images: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(source)
        assert not self.open, "elements that nobody closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "img":
            self.images.append(dict(attrs)["src"])
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def shown(thing: Any) -> _Page:
    return _Page(thing._repr_html_())


def pixels(source: str) -> Any:
    """The picture in a data URI as an array of bytes."""
    data = base64.b64decode(source.removeprefix("data:image/png;base64,"))
    width, height = struct.unpack(">II", data[16:24])
    length = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(height, 1 + 3 * width)
    return rows[:, 1:].reshape(height, width, 3)


def test_a_matrix() -> None:
    page = shown(tj.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5], [0.0, 1.0, 2.0]], requires_grad=True))
    assert page.rows == [["1", "2", "3"], ["4", "5", "6.5"], ["0", "1", "2"]]
    assert "float64[3, 3], requires_grad" in page.text
    assert "min 0, max 6.5" in page.text
    image = pixels(page.images[0])
    assert image.shape == (3, 3, 3)
    assert image[1, 2].tolist() == [170, 50, 30]
    assert image[2, 0].tolist() == [33, 60, 120]


@pytest.mark.parametrize(
    "shape", [(), (0,), (5,), (0, 3), (1, 1), (2, 0, 2), (300, 7), (7, 300), (2, 3, 40, 40)]
)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool", "complex64"])
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: str) -> None:
    page = shown(tj.ones(shape, dtype=dtype))
    assert f"{dtype}[{', '.join(map(str, shape))}]" in page.text
    assert all(len(row) <= 11 for row in page.rows)
    assert len(page.rows) <= 11


def test_large_matrices_have_their_ends() -> None:
    page = shown(tj.arange(30 * 30).reshape(30, 30))
    assert page.rows[0][:5] == ["0", "1", "2", "3", "4"]
    assert page.rows[0][5] == "⋯"
    assert page.rows[-1][-1] == "899"


def test_numbers_that_are_not_finite() -> None:
    page = shown(tj.tensor([[np.nan, np.inf, 1.0], [2.0, -np.inf, np.nan], [1.0, 1.0, 1.0]]))
    assert "min 1, max 2" in page.text
    assert "2 NaN, 2 infinite" in page.text
    assert pixels(page.images[0])[0, 0].tolist() == [255, 0, 255]


def test_pictures_are_means() -> None:
    matrix = np.zeros((640, 64))
    matrix[:10] = 1.0
    image = pixels(picture(matrix).split('"')[1])
    assert image.shape == (PIXELS, 64, 3)
    assert (image[0] == [170, 50, 30]).all()
    assert (image[1:] == [33, 60, 120]).all()


def test_traced_tensors_show_their_text() -> None:
    seen = []
    tj.jit(lambda x: seen.append(x._repr_html_()) or x)(1.0)
    assert seen == [None]


def test_explanations() -> None:
    f = tj.jit(lambda x: tj.exp(x) @ x)
    f(np.ones(3))
    f(np.ones(4, np.float32))
    page = shown(f.explain())
    assert [row[1] for row in page.rows] == ["arguments", "x: f64[3]", "x: f32[4]"]
    assert str(f.explain()) in page.text


def test_profiles() -> None:
    f = tj.jit(lambda x: tj.exp(x) @ x)
    f(np.ones(3))
    with tj.profile() as profile:
        f(np.ones(3))
        tj.sin(tj.ones(3))
    page = shown(profile)
    assert ["@lambda", "1"] in [row[:2] for row in page.rows]
    assert ["sin", "1"] in [row[:2] for row in page.rows]
    assert "eager kernels" in page.text


def test_stages() -> None:
    page = shown(tj.jit(lambda x: x < 1.0).lower(tj.ones(3)))  # "<" is no element
    for text in ("func @lambda(%x: f64[3])", "optimized", "fused", "lt(", "for [3]"):
        assert text in page.text
