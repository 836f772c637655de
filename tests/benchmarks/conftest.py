"""The benchmarks are not installed: they are imported from the checkout, and what they import is not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if "benchmarks" not in sys.modules:
    folder = Path(__file__).parents[2] / "benchmarks"
    spec = importlib.util.spec_from_file_location(
        "benchmarks", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["benchmarks"])
