"""The table of derivatives: every differentiable elementwise function with its truth."""

from __future__ import annotations

from . import activations, elementary, special
from .entries import Entry

ENTRIES: list[Entry] = [*elementary.ENTRIES, *activations.ENTRIES, *special.ENTRIES]
