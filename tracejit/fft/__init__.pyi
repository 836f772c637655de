# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .frequencies import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)

from .lines import (
    fft as fft,
    hfft as hfft,
    ifft as ifft,
    ihfft as ihfft,
    irfft as irfft,
    rfft as rfft,
)

from .several_axes import (
    fft2 as fft2,
    fftn as fftn,
    ifft2 as ifft2,
    ifftn as ifftn,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft2 as rfft2,
    rfftn as rfftn,
)
