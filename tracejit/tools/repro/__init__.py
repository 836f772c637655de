"""Programs that come out wrong: tried in a process of their own, and made smaller. See docs/debugging.md.

`cases` has Functions with their inputs, `trials` runs one by the interpreter and as native code and says how
they differ, surviving a crash;
`reducing` makes the Function and its inputs smaller as long as that stays so.
"""

from __future__ import annotations

from .cases import Case
from .reducing import reduce_case
from .trials import Trials, Verdict

__all__ = ["Case", "Trials", "Verdict", "reduce_case"]
