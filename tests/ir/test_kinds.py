"""Traits of kinds fit each other, and what ops of the kinds do."""

from __future__ import annotations

import pytest

from tracejit.ir.kinds import Kind
from tracejit.ir.registry import OPS, Op


@pytest.mark.parametrize("kind", Kind, ids=str)
def test_traits_fit_each_other(kind: Kind) -> None:
    traits = kind.traits
    assert not (traits.movable and traits.can_fail), "what is moved before a loop may run where nothing asks"
    assert not (traits.fusable and not traits.has_kernel)
    assert not traits.step_regions or traits.control
    assert bool(traits.label) is traits.control
    assert not traits.indexes_operand or traits.can_fail, "an index may be out of range"


def test_kinds_are_their_names_in_text() -> None:
    assert Kind("arg-sort") is Kind.ARG_SORT
    assert len({kind.value for kind in Kind}) == len(Kind)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_records_have_what_their_kind_promises(op: Op) -> None:
    traits = op.kind.traits
    regions = op.regions is not None
    assert regions or not traits.control
    if traits.updates_operand:
        assert op.params[:2] == ("x", "v"), "the operand that is updated comes first"
    if traits.indexes_operand:
        assert op.params[-1] == "*indices"
