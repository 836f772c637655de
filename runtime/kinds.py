"""Descriptions of arrays for the native entry."""

from __future__ import annotations

from typing import Any

from ..codegen.entry import ArraySpec


def array_spec(dtype: Any, shape: tuple[int, ...]) -> ArraySpec:
    """What the entry checks of an array: its descriptor object and shape."""
    return ArraySpec(id(dtype), shape, dtype.itemsize)
