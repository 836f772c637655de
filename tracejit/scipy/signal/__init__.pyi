# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .convolutions import (
    choose_conv_method as choose_conv_method,
    convolve as convolve,
    correlate as correlate,
    fftconvolve as fftconvolve,
)
