"""The examples of ``docs/custom_derivatives.md`` are true, and ``tj.testing`` is loaded at its first use."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "custom_derivatives.md"


def test_examples(capsys: pytest.CaptureFixture[str]) -> None:
    result = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert result.attempted > 30
    assert not result.failed, capsys.readouterr().out


def test_testing_is_imported_on_first_use() -> None:
    code = (
        "import sys, tracejit\n"
        "assert 'tracejit.testing' not in sys.modules\n"
        "assert tracejit.testing is sys.modules['tracejit.testing']\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
