# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from . import (
    fft as fft,
    linalg as linalg,
    signal as signal,
    special as special,
)
