"""Fixtures of the tests of ``tj.jit``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tracejit as tj
from tracejit.jitted.function import JitFunction


@pytest.fixture
def float32_default() -> Iterator[None]:
    tj.set_default_dtype("float32")
    yield
    tj.set_default_dtype("float64")


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of the calls that entries leave to Python, of functions jitted from here on."""
    calls: list[Any] = []
    slow = JitFunction._slow

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return slow(self, *args, **kwargs)

    monkeypatch.setattr(JitFunction, "_slow", noted)
    return calls
