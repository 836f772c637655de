"""The examples of ``docs/optim.md`` are true, and ``import tracejit`` does not pay for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tracejit as tj

from ...support import check_document

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "optim.md"


def test_examples() -> None:
    check_document("optim.md", least=16)


def test_every_name_is_documented() -> None:
    text = DOCUMENT.read_text()
    inner = {"Optimizer", "ParameterOptimizer", "Schedule", "global_norm"}
    assert [name for name in tj.optim.__all__ if f"{name}" not in text and name not in inner] == []


def test_it_is_imported_on_first_use() -> None:
    code = (
        "import sys, tracejit\n"
        "assert 'tracejit.optim' not in sys.modules\n"
        "assert tracejit.optim is sys.modules['tracejit.optim']\n"
        "assert not hasattr(tracejit, 'optimise')\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
