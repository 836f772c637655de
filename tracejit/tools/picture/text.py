"""How wide text will be, without a font at hand.

Widths are in em of DejaVu Sans Bold (titles) and of DejaVu Sans Mono (details), the widest faces among
those that browsers put in for the families that `svg` names; in narrower ones boxes have a little air.
"""

from __future__ import annotations

import unicodedata
from typing import Final

MONO_EM: Final = 0.605
_WIDTHS: Final = (
    (" fijlrtI.,:;'|![]()-/\\`", 0.43),
    ('{}*"^', 0.7),
    ("mwMW@%", 1.05),
    ("ABCDEFGHKNOPQRUVXYZ_=+<>~&#", 0.8),
)
_TITLE: Final = {char: width for chars, width in _WIDTHS for char in chars}
_OTHER: Final = 0.7


def title_width(text: str, size: float) -> float:
    """The width of `text` in bold proportional type of `size` pixels."""
    return size * sum(_TITLE.get(char) or _cells(char) * _OTHER for char in text)


def detail_width(text: str, size: float) -> float:
    """The width of `text` in monospaced type of `size` pixels."""
    return size * MONO_EM * sum(map(_cells, text))


def _cells(char: str) -> float:
    if char.isascii():
        return 1.0
    if unicodedata.combining(char):
        return 0.0
    # What a monospaced face lacks comes from another face, up to twice as wide.
    return 1.75 if unicodedata.east_asian_width(char) in "WF" else 1.2


def shortened(text: str, most: int) -> str:
    """`text`, or its first characters and an ellipsis where it has more than `most`.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"
