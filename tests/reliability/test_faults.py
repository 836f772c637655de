"""Each program of `faults`, a few times; docs/reliability.md has the figures of long runs."""

from __future__ import annotations

import pytest

from ..rotation import share_of
from .faults import FAULTS, INTERRUPTED
from .running import ALL, run

#: Seconds after which a program hangs; none takes a tenth of it.
HANGS = 900


@pytest.mark.parametrize("name", [*FAULTS, *share_of([f"interrupted {name}" for name in INTERRUPTED], 2)])
def test_what_goes_wrong_leaves_the_rest_right(name: str) -> None:
    assert run(name, ALL[name].few, HANGS)
