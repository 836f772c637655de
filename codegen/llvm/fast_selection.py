"""Workarounds for LLVM's instruction selection on x86: text that it compiles correctly.

Without optimization LLVM 20 to 22 select ``vblendvps`` and ``vblendvpd`` for a choice between two numbers on
machines with AVX, and fold the load of the first into it. The instruction reads 16 bytes: of a number that
ends a page, the page behind it too, which ended the process. What is frozen is not folded.

Without AVX it takes the upper lanes of a quotient for 0 where those of its operands are, though they are NaN,
and drops the choice of its lower lanes: the rest of a row that summed x / y came out as NaN. Of a frozen
quotient it keeps the choice.
"""

from __future__ import annotations

import re
from typing import Final

#: A choice between two numbers, of which the first is a register.
_CHOICE: Final = (
    r"(?m)^  (?P<result>%\S+) = select (?P<test>i1 \S+), (?P<type>float|double) (?P<first>%[^,\s]+), "
)
_FROZEN: Final = (
    r"  \g<result>.frozen = freeze \g<type> \g<first>"
    "\n"
    r"  \g<result> = select \g<test>, \g<type> \g<result>.frozen, "
)
#: A choice of the lanes that a mask of constants says, of a register or zeros.
_LANES: Final = (
    r"(?m)^  (?P<result>%\S+) = select (?P<mask><\d+ x i1> <[^>]*>), (?P<type><\d+ x (?:float|double)>) "
    r"(?P<first>%[^,\s]+), "
)
_FROZEN_LANES: Final = (
    r"  \g<result>.frozen = freeze \g<type> \g<first>"
    "\n"
    r"  \g<result> = select \g<mask>, \g<type> \g<result>.frozen, "
)


def with_frozen_choices(text: str) -> str:
    """`text`, in which choices between numbers are of values that no load is folded into."""
    return re.sub(_CHOICE, _FROZEN, text)


def with_frozen_lanes(text: str) -> str:
    """`text`, in which choices of lanes are of vectors about whose other lanes nothing is known."""
    return re.sub(_LANES, _FROZEN_LANES, text)
