"""Polling: a loop that takes long lets signals in at the end of each iteration.

*Requires*: a loop that is no lanes, nor inside of some.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes import LANES, For, Kernel, Node, Poll
from ..rewriting import NotApplicable, rewritten, with_body


def poll(kernel: Kernel, index: str) -> Kernel:
    """Let signals in at the end of each iteration of the loops over `index`."""
    step = f"poll({index})"

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        if any(outer.kind == LANES for outer in (loop, *around)):
            raise NotApplicable(f"{step}: lanes do not wait for one another")
        return [with_body(loop, (*loop.body, Poll()))]

    return rewritten(kernel, index, rewrite, step)
