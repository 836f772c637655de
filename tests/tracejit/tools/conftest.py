"""Commands import the user's files, which are other ones in each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _imported_files_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = set(sys.modules)
    yield
    base = tmp_path_factory.getbasetemp().resolve()
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).resolve().is_relative_to(base):
            del sys.modules[name]
