"""Fixtures of the tests of ``tj.jit``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tracejit as tj


@pytest.fixture
def float32_default() -> Iterator[None]:
    tj.set_default_dtype("float32")
    yield
    tj.set_default_dtype("float64")
