"""The table of lowerings, and what its records promise."""

from __future__ import annotations

import pytest

from tracejit.codegen.module.families import LOWERINGS
from tracejit.ir.kinds import Kind

#: Kinds whose ops are members of fusions, or are gone before code is written.
INSIDE = {kind for kind in Kind if kind.traits.fusable} | {
    Kind.VIEW, Kind.CREATION, Kind.ALLOCATION, Kind.COMPOSITE,
}  # fmt: skip


def test_every_kind_with_a_kernel_has_one_lowering() -> None:
    assert set(LOWERINGS) == set(Kind) - INSIDE
    for kind, lowering in LOWERINGS.items():
        assert kind in lowering.kinds
        assert all(LOWERINGS[other] is lowering for other in lowering.kinds)


@pytest.mark.parametrize("kind", LOWERINGS, ids=str)
def test_words_are_said_where_the_viewer_asks(kind: Kind) -> None:
    """A kernel of its own says why it is scalar; those at the limit of arithmetic, and index reductions, work
    on whole vectors."""
    lowering = LOWERINGS[kind]
    explained = kind.traits.control or kind in (Kind.REGION, Kind.HOST, Kind.ARG_REDUCTION)
    assert explained or lowering.why_scalar or lowering.arithmetic
