"""Passes that load on demand: what they are not concerned with, they would leave as it is."""

from __future__ import annotations

from collections import Counter

import pytest

from tracejit.ir.graph import Function
from tracejit.ir.passes import PIPELINE, Pass
from tracejit.ir.passes.on_demand import OnDemand

from ...fuzz.graphs import program

_ON_DEMAND = [pass_ for pass_ in PIPELINE if isinstance(pass_.apply, OnDemand)]
#: Passes that some of the programs must concern.
_COMMON = ("drop-choices", "move-pads", "rematerialize", "split-narrow-axes")


def test_passes_leave_what_does_not_concern_them_as_it_is() -> None:
    skipped, concerned = Counter[str](), Counter[str]()
    for seed in range(60):
        function: Function = program(seed).function
        for pass_ in PIPELINE:
            apply = pass_.apply
            if not isinstance(apply, OnDemand):
                function = apply(function)
                continue
            if apply.concerns(function):
                concerned[pass_.name] += 1
            else:
                assert apply.load()(function) is function, f"seed {seed}: {pass_.name}"
                skipped[pass_.name] += 1
            function = apply(function)
    assert set(skipped) == {pass_.name for pass_ in _ON_DEMAND}
    assert set(_COMMON) <= set(concerned)


@pytest.mark.parametrize("pass_", PIPELINE, ids=lambda pass_: pass_.name)
def test_every_pass_says_what_it_ensures(pass_: Pass) -> None:
    assert "Ensures" in pass_.promise
