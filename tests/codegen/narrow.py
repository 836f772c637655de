"""Programs run with part of the machine's vector features switched off."""

from __future__ import annotations

import platform
import zlib
from collections.abc import Callable
from typing import TypeVar

import pytest

from tracejit.codegen.llvm.target import host

from ..forked import forked
from ..rotation import share_of

#: The CPU features that are switched off, and the bits of the vectors that are left.
WIDTHS = [("-avx512f", 256), ("-avx512f,-avx2,-avx,-fma", 128)]
_DAYS = 5
Test = TypeVar("Test", bound=Callable[..., None])


def narrower(test: Test) -> Test:
    """Decorator of tests of the parameters `features` and `bits`. They have each width every fifth day, and
    each day about two fifths of the tests have one of them."""
    days = [*WIDTHS, *[None] * (_DAYS - len(WIDTHS))]
    turned = zlib.crc32(f"{test.__module__}.{test.__name__}".encode()) % _DAYS
    chosen = [width for width in share_of([*days[turned:], *days[:turned]], _DAYS) if width is not None]
    return pytest.mark.parametrize(("features", "bits"), chosen)(test)


def run_narrow(program: str, features: str, bits: int) -> None:
    """Run `program`, which prints "fine" at its end. Skipped where vectors cannot be made `bits` wide: on
    machines that have less, and on other ones than x86."""
    if platform.machine() not in ("x86_64", "AMD64") or host().vector_bits < bits:
        pytest.skip(f"this machine cannot have vectors of {bits} bits by switching off {features}")
    assert forked(program, TRACEJIT_CPU_FEATURES=features).strip() == "fine"
