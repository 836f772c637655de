"""The driver of the Array API's suite: where the suite comes from, what its report says, what may fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import suite
from .expected import EXPECTED, reason_for, unused

_REPORT = """<testsuites><testsuite>
<testcase classname="t" name="good"/>
<testcase classname="t" name="skipped"><skipped message="why"/></testcase>
<testcase classname="t" name="bad"><failure message="short">long</failure></testcase>
<testcase classname="t" name="broken"><error message="short"/></testcase>
</testsuite></testsuites>"""


def test_the_report(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(_REPORT)
    outcome = suite._read(tmp_path / "report.xml", "output")
    assert outcome == suite.Outcome(1, {"t::bad": "long", "t::broken": "short"}, "output")


def test_a_clone_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "clone" / "array_api_tests"
    package.mkdir(parents=True)
    (package / "dtype_helpers.py").write_text("text")
    monkeypatch.setenv(suite.FOLDER, str(tmp_path / "clone"))
    folder = suite.fetch(tmp_path / "copy")
    assert folder == tmp_path / "copy"
    assert (tmp_path / "copy" / "array_api_tests" / "dtype_helpers.py").read_text() == "text"


def test_no_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(suite.FOLDER, str(tmp_path))
    assert "no folder array_api_tests" in str(suite.fetch(tmp_path / "copy"))
    monkeypatch.delenv(suite.FOLDER)
    monkeypatch.setattr(suite, "_REPOSITORIES", {".": (str(tmp_path / "nowhere"), "0" * 40)})
    assert "nowhere" in str(suite.fetch(tmp_path / "copy"))
    monkeypatch.setenv("PATH", "")
    assert suite.fetch(tmp_path / "copy") == "there is no git"


def test_what_may_fail() -> None:
    assert reason_for("test_data_type_functions::test_finfo[float32]", "tracejit") is not None
    assert reason_for("test_data_type_functions::test_finfo_dtype[float32]", "tracejit") is None
    assert reason_for("test_special_cases::test_unary[cos(x_i is NaN) -> NaN]", "tracejit") is None
    limits = "test_data_type_functions::test_finfo[float32]"
    assert reason_for("test_data_type_functions::test_iinfo[int8]", "tracejit") is None
    assert reason_for("test_data_type_functions::test_iinfo[int8]", "numpy") is not None
    assert len(unused([limits])) == len(EXPECTED) - 1
