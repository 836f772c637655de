"""Repeats, and maps over rows of a few columns, whose elements lie apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

SHAPES = ((3, 41), (1, 16), (2, 100))


def _array(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    array = np.arange(np.prod(shape)).reshape(shape) % 251
    return array > 100 if dtype == "bool" else array.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
@pytest.mark.parametrize("count", [2, 3, 8, 9])
def test_repeats(count: int, dtype: str) -> None:
    for shape in SHAPES:
        x = _array(shape, dtype)
        compiled = tj.jit(lambda x: (tj.repeat(x, count, axis=1), tj.tile(x, (count, 1))))
        repeated, tiled = compiled(x)
        np.testing.assert_array_equal(repeated.numpy(), np.repeat(x, count, axis=1))
        np.testing.assert_array_equal(tiled.numpy(), np.tile(x, (count, 1)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_planes_become_columns(columns: int, dtype: str) -> None:
    for size in (1, 7, 16, 33, 200):
        planes = _array((columns, 5, size), dtype)
        compiled = tj.jit(lambda x: (x.transpose(1, 2, 0) + x.dtype.type(1), x[:, ::-1].transpose(1, 2, 0)))
        plus, turned = compiled(planes)
        np.testing.assert_array_equal(plus.numpy(), planes.transpose(1, 2, 0) + planes.dtype.type(1))
        np.testing.assert_array_equal(turned.numpy(), planes[:, ::-1].transpose(1, 2, 0))


def test_pixels_are_repeated_and_mirrored() -> None:
    image = _array((6, 40, 3), "float64")
    compiled = tj.jit(
        lambda x: (x.repeat(2, axis=0).repeat(2, axis=1) * 0.5, x[:, ::-1] + x[::-1], tj.rot90(x) * 2.0)
    )
    large, mirrored, turned = compiled(image)
    np.testing.assert_array_equal(large.numpy(), image.repeat(2, axis=0).repeat(2, axis=1) * 0.5)
    np.testing.assert_array_equal(mirrored.numpy(), image[:, ::-1] + image[::-1])
    np.testing.assert_array_equal(turned.numpy(), np.rot90(image) * 2.0)


def test_lanes_lie_along_pixels() -> None:
    planes = tj.zeros((3, 64, 64))
    text = tj.jit(lambda x: x.transpose(1, 2, 0) * 2.0).lower(planes).as_text("loops")
    assert "for [4096]," in text
    assert "b1[3]+2 <- " in text
