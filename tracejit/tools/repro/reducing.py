"""Makes a case smaller as long as it stays interesting: delta debugging (Zeller, Hildebrandt 2002).

Every edit proposes smaller cases; the first that is interesting becomes the case. The edits go round until
none finds anything, or the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from .cases import Case
from .edits import EDITS, Chunked, Edit


def reduce_case(
    case: Case,
    interesting: Callable[[Case], bool],
    *,
    seconds: float = 120.0,
    progress: Callable[[str, Case], None] = lambda edit, case: None,
) -> Case:
    """The smallest case found in about `seconds` for which `interesting` holds, as it does for `case`.

    `progress` is told of each smaller case, with the name of the edit that made it.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> case = Case(tj.trace(lambda x, y: tj.sin(x * 2) + y, 1.0, 2.0), (np.array(1.0), np.array(2.0)))
        >>> def has_sin(case):
        ...     return any(one.op.name == "sin" for one in case.function.body)
        >>> [one.op.name for one in reduce_case(case, has_sin).function.body]
        ['sin']
    """
    end = time.monotonic() + seconds
    case = _first([case.tidied()], interesting, end) or case
    while time.monotonic() < end:
        before = case.size
        for edit in EDITS:
            case = _exhaust(edit, case, interesting, end, progress)
        if case.size == before:
            break
    return case


def _exhaust(
    edit: Edit,
    case: Case,
    interesting: Callable[[Case], bool],
    end: float,
    progress: Callable[[str, Case], None],
) -> Case:
    """Apply one edit while it helps."""
    if isinstance(edit, Chunked):
        return _in_chunks(edit, case, interesting, end, progress)
    while True:
        smaller = _first(_smaller(case, edit.proposals(case)), interesting, end)
        if smaller is None:
            return case
        case = smaller
        progress(edit.name, case)


def _in_chunks(
    edit: Chunked,
    case: Case,
    interesting: Callable[[Case], bool],
    end: float,
    progress: Callable[[str, Case], None],
) -> Case:
    """Take out parts by halves, quarters, and so on down to one by one."""
    length = edit.count(case)
    size = length
    while size >= 1 and time.monotonic() < end:
        start = 0
        while start < edit.count(case):
            proposals = edit.without(case, range(start, min(start + size, edit.count(case))))
            smaller = _first(_smaller(case, proposals), interesting, end)
            if smaller is None:
                start += size
            else:
                case = smaller
                progress(edit.name, case)
        size = min(size, max(1, edit.count(case))) // 2
    return case


def _smaller(case: Case, proposals: Iterator[Case]) -> Iterator[Case]:
    for proposal in proposals:
        tidy = proposal.tidied()
        if tidy.size < case.size:
            yield tidy


def _first(
    cases: Sequence[Case] | Iterator[Case], interesting: Callable[[Case], bool], end: float
) -> Case | None:
    for case in cases:
        if time.monotonic() > end:
            return None
        if interesting(case):
            return case
    return None
