"""Failures that are known and being mended, in one place: empty is what it should be.

`GATED` are the features that the generator leaves out, each with its reason; ``--all`` writes them anyway.
`FAILURES` are those that may still come out of ordinary programs: each by how it shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: Features of programs, or steps of the generator (regular expressions): why they are left out.
GATED: Final[dict[str, str]] = {}
#: Whether features that are gated are written all the same.
WRITE_ALL = False


@dataclass(frozen=True)
class KnownFailure:
    """A failure with this `mode` and `message`, of a program whose text has `text` (regular expressions)."""

    reason: str
    mode: str = ""
    message: str = ""
    text: str = ""

    def covers(self, mode: str, message: str, text: str) -> bool:
        pairs = ((self.mode, mode), (self.message, message), (self.text, text))
        return all(re.search(pattern, content) for pattern, content in pairs)


FAILURES: Final[tuple[KnownFailure, ...]] = ()


def gated(feature: str) -> bool:
    """Whether the generator leaves this feature out."""
    return not WRITE_ALL and any(re.fullmatch(pattern, feature) for pattern in GATED)


def known_reason(mode: str, message: str, text: str) -> str:
    """Reason why a failure is expected; "" where it is not."""
    return next((failure.reason for failure in FAILURES if failure.covers(mode, message, text)), "")
