"""Lists that grow under conditions: whether a trace may have them, and whether it has."""

from __future__ import annotations

from ..base.records import record


@record(eq=False, frozen=False)
class Growth:
    """Whether lists may grow under conditions in a trace, so that their lengths are traced numbers, and
    whether one does. `refusal` is the reason why they may not, empty where they may."""

    refusal: str = ""
    happens: bool = False
