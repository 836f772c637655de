"""Arrays of more than 2**31 bytes and elements: offsets and counts have 64 bits everywhere."""

from __future__ import annotations

import os

import pytest

from ..forked import forked
from .large_arrays import MOST, PROGRAMS


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_arrays(name: str) -> None:
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < MOST + (2 << 30):
        pytest.skip("there is too little memory for arrays of 2 GiB")
    forked(f"from tests.runtime.large_arrays import check\ncheck({name!r})")
