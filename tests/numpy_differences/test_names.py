"""docs/numpy.md says of every public name of NumPy's whether it is here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.numpy_names import DIFFERS, absent_attributes, absent_names, public_names, table

pytestmark = pytest.mark.skipif(np.__version__[:4] != "2.4.", reason="the table is of NumPy 2.4")
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "numpy.md"


def test_the_document_is_what_the_libraries_are() -> None:
    assert DOCUMENT.read_text().splitlines() == list(table()), "run python -m tracejit.tools.numpy_names"


def test_every_name_is_of_one_kind() -> None:
    absent = absent_names()
    for name in public_names():
        kinds = [name in tj.__all__ and name not in DIFFERS, name in DIFFERS, name in absent]
        assert kinds.count(True) == 1, f"{name}: same, different, absent: {kinds}"
    assert set(absent) | set(DIFFERS) <= set(dir(np))


def test_every_attribute_of_arrays_is_here_or_has_a_reason() -> None:
    missing = {name for name in dir(np.ndarray) if not hasattr(tj.Tensor, name)}
    assert missing == set(absent_attributes())


@pytest.mark.parametrize("name", sorted(absent_names()))
def test_what_is_absent_is_absent(name: str) -> None:
    assert name not in tj.__all__


@pytest.mark.parametrize("name", [name for name in public_names() if name in tj.__all__])
def test_what_is_here_is_of_its_kind(name: str) -> None:
    ours, theirs = getattr(tj, name), getattr(np, name)
    assert callable(ours) == callable(theirs) or isinstance(ours, np.dtype)
