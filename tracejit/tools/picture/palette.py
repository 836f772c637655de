"""The colours of kinds and groups, for light and dark grounds, and the cleaning of text.

Contrast of text on its box is at least 7 and of borders on the ground at least 3, by the formula of WCAG 2.1
(1.4.6 and 1.4.11); the tests compute it.
"""

from __future__ import annotations

import re
from typing import Final

from ...base.records import record


@record
class Colors:
    """A box's fill, border and text."""

    fill: str
    line: str
    text: str


@record
class Theme:
    """The colours of a picture."""

    ground: str
    text: str
    faint: str
    edge: str
    groups: tuple[str, ...]
    kinds: dict[str, Colors]


LIGHT: Final = Theme(
    ground="#ffffff",
    text="#1f2937",
    faint="#566070",
    edge="#7b8798",
    groups=("#e6edf7", "#efe9f8", "#e6f3ea", "#faf0e0", "#fae9ee"),
    kinds={
        "parameter": Colors("#dcebff", "#3b78c9", "#12335f"),
        "leaf": Colors("#dcf5e3", "#2f8f50", "#0f4022"),
        "constant": Colors("#f1f2f4", "#838b98", "#374151"),
        "op": Colors("#fffdf7", "#a2875a", "#33280f"),
        "call": Colors("#efe6ff", "#8157c9", "#3a1d70"),
        "result": Colors("#ffe6cc", "#c96f12", "#552c00"),
    },
)
DARK: Final = Theme(
    ground="#14181f",
    text="#e5e9f0",
    faint="#a3adbb",
    edge="#7d899a",
    groups=("#1f2a3a", "#2a2338", "#1c2e26", "#332a1c", "#35212a"),
    kinds={
        "parameter": Colors("#16304f", "#5a97e6", "#d9e9ff"),
        "leaf": Colors("#123822", "#4cae6f", "#d3f7df"),
        "constant": Colors("#262c35", "#7a8595", "#d8dde5"),
        "op": Colors("#2a2620", "#a8916a", "#f6eedd"),
        "call": Colors("#30214f", "#9d78e0", "#ecdfff"),
        "result": Colors("#472a0c", "#df8b35", "#ffe9d1"),
    },
)

#: Characters that XML 1.0 forbids or that break terminals and Graphviz: controls, lone surrogates, two
#: noncharacters.
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029]")


def clean(text: str) -> str:
    """`text` on one line: controls become their pictures, and what has no text form becomes U+FFFD.

    >>> clean("a" + chr(10) + "b")
    'a␊b'
    """
    return _UNPRINTABLE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
