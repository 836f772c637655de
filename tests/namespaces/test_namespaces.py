"""docs/namespaces.md says of the names of other namespaces whether they are here, and how they differ."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from tracejit.surface.namespaces import SCIPY_SPECIAL as SCIPY_SPECIAL_NAMES

from .__main__ import NAMESPACES, document
from .jax_numpy import JAX_NUMPY
from .namespace import Namespace
from .scipy_special import SCIPY_SPECIAL

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "namespaces.md"
of_numpy_2_4 = pytest.mark.skipif(np.__version__[:4] != "2.4.", reason="the tables are of NumPy 2.4")


@of_numpy_2_4
def test_the_document_is_what_the_libraries_are() -> None:
    assert DOCUMENT.read_text().splitlines() == list(document()), "run python -m tests.namespaces"


@of_numpy_2_4
@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda namespace: namespace.name)
def test_every_name_is_of_one_kind(namespace: Namespace) -> None:
    kinds = {name: namespace.kinds(name) for name in namespace.names}
    assert {name: kind for name, kind in kinds.items() if len(kind) != 1} == {}
    assert set(namespace.differs) | namespace.absent_names <= set(namespace.names)


@pytest.mark.parametrize("namespace", [JAX_NUMPY, SCIPY_SPECIAL], ids=lambda namespace: namespace.name)
def test_what_is_absent_is_absent(namespace: Namespace) -> None:
    assert not namespace.present & namespace.absent_names


def test_a_name_that_stands_elsewhere_does_not_stand_here() -> None:
    elsewhere = {name for name, reason in SCIPY_SPECIAL.differs.items() if reason.startswith("among NumPy's")}
    assert elsewhere
    assert not elsewhere & set(SCIPY_SPECIAL_NAMES.homes)


@pytest.mark.parametrize("namespace", [JAX_NUMPY, SCIPY_SPECIAL], ids=lambda namespace: namespace.name)
def test_names_that_are_written_down_are_those_of_the_library(namespace: Namespace) -> None:
    package, version = namespace.version.split()
    if not pytest.importorskip(package.lower()).__version__.startswith(version):
        pytest.skip(f"the names are those of {namespace.version}")
    theirs = importlib.import_module(namespace.name)
    public = {name for name in getattr(theirs, "__all__", dir(theirs)) if not name.startswith("_")}
    assert public == set(namespace.names)
