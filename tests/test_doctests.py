"""Runs the examples in the docstrings of every module of the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracejit
from tracejit.ir.registry import OPS

#: Modules whose examples read what the cache on disk has.
USE_CACHE = ("tracejit.jitted.exporting",)


@pytest.fixture(autouse=True)
def _marks() -> Iterator[None]:
    """Ops that an example changed and put back are the package's own again: what uses them goes to disk."""
    before, foreign = OPS.copy(), set(OPS.foreign)
    yield
    after = OPS.copy()
    OPS.foreign -= {name for name in before if name not in foreign and after.get(name) == before[name]}


def module_names() -> list[str]:
    """Every module of the package, found through its installed or linked layout."""
    modules = pkgutil.walk_packages(tracejit.__path__, "tracejit.")
    return ["tracejit", *sorted(module.name for module in modules if not module.name.endswith("__main__"))]


@pytest.mark.parametrize("name", module_names())
def test_examples(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Module by module, so that a failure names the module and the others still run."""
    if name in USE_CACHE:
        monkeypatch.setenv("TRACEJIT_CACHE", "1")
        monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    if name.startswith("tracejit.dask."):
        pytest.importorskip("dask.array")
    module = importlib.import_module(name)
    failed = attempted = 0
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for case in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        result = runner.run(case)
        failed += result.failed
        attempted += result.attempted
    assert not failed, capsys.readouterr().out


def test_there_are_examples_in_every_layer() -> None:
    finder = doctest.DocTestFinder()
    for layer in ("tracejit.ir", "tracejit.runtime", "tracejit.array"):
        names = [name for name in module_names() if name.startswith(layer)]
        assert any(
            case.examples for name in names for case in finder.find(importlib.import_module(name), name)
        ), layer
