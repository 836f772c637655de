"""Eager calls with native code or without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.dispatch import native_ops


@contextmanager
def native_calls(on: bool) -> Iterator[None]:
    """Native calls as they are, or their Python functions alone."""
    assert native_ops.load() == ""
    runs = [(call, call.run) for call in native_ops._NATIVE_FUNCTIONS]
    for call, _ in runs:
        if not on:
            call.use(call.slow)
    try:
        yield
    finally:
        for call, run in runs:
            call.use(run)
