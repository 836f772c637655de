"""Eager calls with native code or without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.dispatch import native_ops
from tracejit.dispatch.eager_functions import FUNCTIONS, Way


@contextmanager
def native_calls(on: bool) -> Iterator[None]:
    """Native calls as they are, or their Python functions alone."""
    assert native_ops.load() == ""
    native = [function for function in FUNCTIONS if function.way is Way.NATIVE]
    for function in native:
        function.take(Way.NATIVE if on else Way.PYTHON)
    try:
        yield
    finally:
        for function in native:
            function.take(Way.NATIVE)
