"""``docs/random.md``: its examples are true, its tables complete; what has loops loads when first used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tracejit as tj

from ...support import check_document

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "random.md"


def test_examples() -> None:
    check_document("random.md", least=3)


def test_every_name_is_documented() -> None:
    text = DOCUMENT.read_text()
    assert [
        name for name in tj.random.__all__ if f"`{name}`" not in text and f"random.{name}(" not in text
    ] == []
    assert all(callable(getattr(tj.random, name)) for name in tj.random.__all__)


def test_loops_load_at_first_use() -> None:
    code = (
        "import sys, tracejit\n"
        "assert 'tracejit.random.gammas' not in sys.modules\n"
        "tracejit.random.poisson\n"
        "assert 'tracejit.random.counts' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
