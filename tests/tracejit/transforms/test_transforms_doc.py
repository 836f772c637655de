"""The examples of ``docs/transforms.md`` are true, and every transform is in it."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "transforms.md"


def test_examples(capsys: pytest.CaptureFixture[str]) -> None:
    result = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert result.attempted > 20
    assert not result.failed, capsys.readouterr().out


def test_every_transform_is_documented() -> None:
    text = DOCUMENT.read_text()
    for name in (
        "grad",
        "value_and_grad",
        "vjp",
        "jvp",
        "linearize",
        "jacrev",
        "jacfwd",
        "hessian",
        "hvp",
        "vmap",
    ):
        assert f"`{name}(" in text, name
